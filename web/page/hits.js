// What was found in messages: by session, each hit a way to where it was said.

import { oneLine } from "./format.js";
import { html } from "./html.js";
import { named, t } from "./i18n.js";
import { hashOf } from "./place.js";
import { Time } from "./time.js";

/** @import {SearchHit} from "./types.js" */

/** The words of the search whose hit was opened last. @type {string[]} */
let looked = [];

/** The words of a question to the search: "several words" are one. @param {string} q */
export const wordsOf = (q) => [...q.matchAll(/"([^"]+)"|(\S+)/g)].map((m) => m[1] ?? m[2] ?? "").filter(Boolean);

/** Marks the words that were looked for in what is shown, where the browser can. @param {HTMLElement} el */
export function markLooked(el) {
  if (typeof Highlight === "undefined" || !CSS.highlights) return;
  CSS.highlights.delete("looked-for");
  if (!looked.length) return;
  const found = new Highlight();
  const words = looked.map((w) => w.toLowerCase());
  const walk = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
  for (let n = walk.nextNode(); n && found.size < 500; n = walk.nextNode()) {
    const text = (n.nodeValue ?? "").toLowerCase();
    if (text.length !== n.nodeValue?.length) continue; // lower case has another length in some scripts
    for (const w of words) {
      for (let at = text.indexOf(w); at >= 0; at = text.indexOf(w, at + w.length)) {
        const r = new Range();
        r.setStart(n, at);
        r.setEnd(n, at + w.length);
        found.add(r);
      }
    }
  }
  CSS.highlights.set("looked-for", found);
  looked = []; // another place that is gone to has its own reason
}

/**
 * @param {{hits: SearchHit[], q: string, more: boolean, searching: boolean, current: string, onPick: () => void}} props
 */
export function Hits({ hits, q, more, searching, current, onPick }) {
  /** @type {Map<string, SearchHit[]>} */
  const groups = new Map();
  for (const h of hits) groups.set(h.sessionId, [...(groups.get(h.sessionId) ?? []), h]);
  /** @param {string} href */
  const pick = (href) => {
    looked = wordsOf(q);
    onPick();
    // The same place once more: the address does not change, and nobody would be told.
    if (location.hash === href) dispatchEvent(new Event("hashchange"));
  };
  return html`<section class="folder hits" aria-busy=${searching}>
    <div class="folder-head"><h2>${t("list.inMessages")}</h2></div>
    <p class=${hits.length ? "visually-hidden" : "quiet"} role="status">${searching ? t("say.searching") : hits.length ? t("list.hits", { n: hits.length }) : t("list.nothing")}</p>
    ${[...groups.values()].map((group) => html`<${Group} key=${group[0]?.sessionId} group=${group} current=${current} onPick=${pick} />`)}
    ${more && !searching && html`<p class="quiet">${t("list.moreHits")}</p>`}
  </section>`;
}

/** @param {{group: SearchHit[], current: string, onPick: (href: string) => void}} props */
function Group({ group, current, onPick }) {
  const first = /** @type {SearchHit} */ (group[0]);
  return html`<div class="hit-group"><h3 class="hit-session" dir="auto"><span>${oneLine(first.title || t("list.untitled"), 200)}</span><${Time} at=${first.updatedAt} short=${true} /></h3>
    <ul>${group.map((h) => {
      const href = hashOf(h.sessionId, h.where === "name" ? "" : h.entryId);
      return html`<li key=${h.entryId}><a class="item hit-item" href=${href} aria-current=${h.sessionId === current ? "true" : undefined} onClick=${() => onPick(href)}>
        <span class="hit-where">${named("where", h.where)}</span>
        <span class="hit" dir="auto">${h.snippet.map((p) => (p.hit ? html`<mark>${p.text}</mark>` : p.text))}</span></a></li>`;
    })}</ul></div>`;
}
