// The sessions, by folder.

import { useState } from "preact/hooks";
import { splitPath, oneLine } from "./format.js";
import { Hits } from "./hits.js";
import { html, memo, useStore } from "./html.js";
import { named, t } from "./i18n.js";
import { Icon } from "./icons.js";
import { lineOf } from "./keymap.js";
import { LanguageChoice } from "./language.js";
import { hashOf } from "./place.js";
import { byFolder, titleOf, withChildren } from "./list.js";
import { kindOfList, kindWords } from "./policywords.js";
import { Time } from "./time.js";

/** @import {SessionList} from "./list.js" */
/** @import {SessionItem} from "./types.js" */

/**
 * @param {{list: SessionList, current: string, onNew: (cwd?: string) => void, onKeys: () => void, onMemory: () => void, onSettings: () => void, onPick: () => void}} props
 */
export function Sidebar({ list, current, onNew, onKeys, onMemory, onSettings, onPick }) {
  const { sessions, cursor, q, loaded, loading, problem, hits, moreHits, searching } = useStore(list);
  const groups = byFolder(sessions);
  return html`<div class="side-inner">
    <header class="side-head">
      <div class="brand">piweb</div>
      <button type="button" class="icon-button" aria-label=${t("list.memory")} title=${t("list.memory")} onClick=${onMemory}><${Icon} name="memory" /></button>
      <button type="button" class="icon-button" aria-label=${t("list.keys")} title=${t("list.keysTitle")} onClick=${onKeys}><${Icon} name="keys" /></button>
      <button type="button" class="new" onClick=${() => onNew()} title=${t("list.newTitle")}><${Icon} name="plus" />${t("list.new")}</button>
    </header>
    <div class="search"><${Icon} name="search" />
      <input id="search" type="search" placeholder=${t("list.search")} aria-label=${t("list.search")} autocomplete="off" spellcheck=${false} value=${q}
        onInput=${(/** @type {any} */ e) => list.search(e.target.value)} onKeyDown=${fromSearch} /><kbd>/</kbd></div>
    <nav class="list" aria-label=${t("page.sessions")} aria-busy=${loading} onKeyDown=${inList}>
      ${problem && html`<div class="strip bad" role="alert"><span><strong>${problem.text}</strong></span></div>`}
      ${loaded && !problem && sessions.length === 0 && html`<p class="quiet">${q ? t("list.noneCalled", { q: oneLine(q, 40) }) : t("list.none")}</p>`}
      ${groups.map((g) => html`<${Folder} key=${g.cwd} cwd=${g.cwd} items=${g.items} current=${current} onNew=${onNew} onPick=${onPick} />`)}
      ${cursor && html`<button type="button" class="more" onClick=${() => list.more()} disabled=${loading}>${t("list.more")}</button>`}
      ${q.trim() && html`<${Hits} hits=${hits} q=${q} more=${moreHits} searching=${searching} current=${current} onPick=${onPick} />`}
    </nav>
    <footer class="side-foot"><${LanguageChoice} /><button type="button" class="icon-button" aria-label=${t("settings.title")} title=${`${t("settings.title")} (,)`} onClick=${onSettings}><${Icon} name="gear" /></button></footer>
  </div>`;
}

/**
 * @param {{cwd: string, items: SessionItem[], current: string, onNew: (cwd?: string) => void, onPick: () => void}} props
 */
function Folder({ cwd, items, current, onNew, onPick }) {
  const [folded, setFolded] = useState(false);
  const { base, parent } = splitPath(cwd);
  return html`<section class="folder">
    <div class="folder-head"><h2><button type="button" class="folder-name" aria-expanded=${!folded} title=${cwd || t("list.noFolder")} onClick=${() => setFolded(!folded)}>
        <span class="turnable"><${Icon} name="chevron" /></span><bdi>${cwd ? base : t("list.noFolder")}</bdi><span class="parent"><bdi>${parent}</bdi></span></button></h2>
      ${cwd && html`<button type="button" class="icon-button quiet-button" aria-label=${t("list.newIn", { folder: base })} title=${t("list.newHere")} onClick=${() => onNew(cwd)}><${Icon} name="plus" /></button>`}
    </div>
    ${!folded && html`<ul>${withChildren(items).map(({ s, child }) => html`<li key=${s.sessionId}><${Item} s=${s} child=${child} current=${s.sessionId === current} onPick=${onPick} /></li>`)}</ul>`}
  </section>`;
}

const Item = memo((/** @type {{s: SessionItem, child: boolean, current: boolean, onPick: () => void}} */ { s, child, current, onPick }) => {
  const kind = kindOfList(s.kind);
  return html`<a class=${`item${s.problem ? " problem" : ""}${child ? " child" : ""}`} href=${hashOf(s.sessionId)} aria-current=${current ? "page" : undefined} onClick=${onPick} title=${s.problem ?? ""}>
    <span class="item-title" dir="auto">${oneLine(titleOf(s), 200)}</span>
    <span class="item-line">
      ${s.activity && html`<span class=${`dot ${s.activity}`} /><span class="visually-hidden">${named("activity", s.activity)}, </span>`}
      ${s.problem ? html`<span class="badge refused">${t("list.unreadable")}</span>` : s.subagent ? html`<span class=${`badge status-${s.subagent.status}`}>${s.subagent.profile}${t("say.comma")}${named("status", s.subagent.status)}</span>` : html`<span class=${`badge ${kind}`}>${kindWords(kind).label}</span>`}
      <${Time} at=${s.updatedAt ?? s.createdAt} short=${true} />
    </span>
  </a>`;
});

/** @param {KeyboardEvent} e */
function fromSearch(e) {
  const line = lineOf(e, "search");
  if (!line) return;
  const first = /** @type {HTMLElement | null} */ (document.querySelector(".list .item"));
  e.preventDefault();
  if (line === "openFirst") first?.click();
  else first?.focus();
}

/** Arrows go from session to session. @param {KeyboardEvent} e */
function inList(e) {
  const line = lineOf(e, "list");
  if (!line) return;
  const items = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".list .item")]);
  const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  e.preventDefault();
  if (line === "up" && at <= 0) {
    document.getElementById("search")?.focus();
    return;
  }
  const to = line === "first" ? 0 : line === "last" ? items.length - 1 : at + (line === "down" ? 1 : -1);
  items[Math.max(0, Math.min(items.length - 1, to))]?.focus();
}
