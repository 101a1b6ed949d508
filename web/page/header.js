// The line above the transcript: which session this is, its policy in a word, its
// model.

import { useState } from "preact/hooks";
import { splitPath } from "./format.js";
import { openTree } from "./branches.js";
import { html, useStore } from "./html.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";
import { titleOf } from "./list.js";
import { kindWords } from "./policywords.js";

/** @import {OpenSession} from "./session.js" */
/** @import {SessionItem} from "./types.js" */

/**
 * @param {{session: OpenSession, item: SessionItem | undefined, policyOpen: boolean, onPolicy: () => void, onMenu: () => void}} props
 */
export function Header({ session, item, policyOpen, onPolicy, onMenu }) {
  const state = useStore(session);
  const kind = state.tools?.kind ?? "";
  const cwd = item?.cwd ?? state.policy?.read?.cwd ?? "";
  const title = state.name || (item ? titleOf(item) : session.firstSaid() || t("header.session"));
  return html`<header class="top">
    <button type="button" class="icon-button menu" aria-label=${t("page.sessions")} onClick=${onMenu}><${Icon} name="menu" /></button>
    <div class="top-title"><${Title} key=${session.id} title=${title} name=${state.name || item?.name || ""} path=${cwd} onRename=${(/** @type {string} */ n) => session.rename(n)} /></div>
    <div class="answering"><${ModelChoice} session=${session} /><${ThinkingChoice} session=${session} /></div>
    <button type="button" class="icon-button tree-button" aria-label=${t("tree.title")} title=${t("tree.button")} disabled=${state.phase !== "ready"} onClick=${() => openTree()}><${Icon} name="branch" /></button>
    <button type="button" class=${`kind-button ${kind}`} aria-pressed=${policyOpen} aria-label=${t("header.policyIs", { kind: kindWords(kind, state.tools?.source?.by).label || t("header.reading") })} title=${t("header.policyTitle")} onClick=${onPolicy}>
      <span class="kind-label">${kindWords(kind, state.tools?.source?.by).label || (state.phase === "failed" ? t("policy.title") : "…")}</span><${Icon} name="panel" /></button>
  </header>`;
}

/** @param {{title: string, name: string, path: string, onRename: (n: string) => void}} props */
function Title({ title, name, path, onRename }) {
  const [draft, setDraft] = useState(/** @type {string | null} */ (null));
  if (draft === null) {
    return html`<h1 class="title" dir="auto" title=${title.slice(0, 500)}>${title.slice(0, 300)}</h1>
      ${path && html`<span class="top-path" title=${path}><bdi>${splitPath(path).base}</bdi></span>`}
      <button type="button" class="icon-button quiet-button rename" aria-label=${t("header.rename")} title=${t("header.rename")} onClick=${() => setDraft(name)}><${Icon} name="pencil" /></button>`;
  }
  const done = () => {
    const next = draft.trim();
    if (next && next !== name) onRename(next.slice(0, 200));
    setDraft(null);
  };
  return html`<form class="rename-form" onSubmit=${(/** @type {Event} */ e) => (e.preventDefault(), done())}>
    <input type="text" aria-label=${t("header.name")} value=${draft} maxlength="200" dir="auto" ref=${(/** @type {HTMLElement | null} */ el) => el?.focus()}
      onInput=${(/** @type {any} */ e) => setDraft(e.target.value)} onBlur=${done}
      onKeyDown=${(/** @type {KeyboardEvent} */ e) => { if (e.key === "Escape") { e.stopPropagation(); setDraft(null); } }} /></form>`;
}

/** @param {{session: OpenSession}} props */
function ModelChoice({ session }) {
  const { model, models, busy } = session.state;
  const value = model ? `${model.provider}/${model.id}` : "";
  /** @type {Map<string, import("./types.js").Model[]>} */
  const byProvider = new Map();
  for (const m of models) byProvider.set(m.provider, [...(byProvider.get(m.provider) ?? []), m]);
  const known = models.some((m) => m.provider === model?.provider && m.id === model?.id);
  /** @param {any} e */
  const pick = (e) => {
    const m = models.find((m) => `${m.provider}/${m.id}` === e.target.value);
    if (m) void session.setModel(m.provider, m.id);
  };
  return html`<label class="model" title=${t(busy ? "header.modelBusy" : "header.model")}><span class="visually-hidden">${t("header.model")}</span>
    <select value=${value} disabled=${busy || (!models.length && !model)} onChange=${pick}>
      ${!model && html`<option value="">${t(models.length ? "header.modelUsual" : "header.modelNone")}</option>`}
      ${model && !known && html`<option value=${value}>${model.id}</option>`}
      ${[...byProvider].map(([p, ms]) => html`<optgroup label=${p === "offline" ? t("header.offline") : p}>${ms.map((m) => html`<option value=${`${m.provider}/${m.id}`} selected=${`${m.provider}/${m.id}` === value}>${m.name || m.id}</option>`)}</optgroup>`)}
    </select></label>`;
}

/** How much the model thinks before it answers, where it has a choice. @param {{session: OpenSession}} props */
function ThinkingChoice({ session }) {
  const { model, models, thinking, busy } = session.state;
  const levels = models.find((m) => m.provider === model?.provider && m.id === model?.id)?.thinkingLevels ?? [];
  if (levels.length < 2) return null;
  return html`<label class="model thinking-choice" title=${t(busy ? "header.thinkingBusy" : "header.thinkingTitle")}><span class="visually-hidden">${t("header.thinking")}</span>
    <select value=${thinking} disabled=${busy} onChange=${(/** @type {any} */ e) => void session.setThinking(e.target.value)}>
      ${!levels.includes(thinking) && html`<option value=${thinking} selected>${thinkingWords(thinking)}</option>`}
      ${levels.map((l) => html`<option value=${l} selected=${l === thinking}>${thinkingWords(l)}</option>`)}
    </select></label>`;
}

/** @param {string} level */
const thinkingWords = (level) => (!level || level === "off" ? t("header.thinkingOff") : t("header.thinkingIs", { level }));
