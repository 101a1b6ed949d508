// The list of completions over the composer. The text keeps the focus: the list is
// told to screen readers through it.

import { useEffect, useRef } from "preact/hooks";
import { html, useStore } from "./html.js";
import { named, t } from "./i18n.js";

/** @import {Completion, Item} from "./complete.js" */

/** @param {string} kind */
const titleOf = (kind) => named("complete", kind);

/** @param {number} n */
export const optionID = (n) => `completion-${n}`;

/** Controls and marks that turn the direction of a text, made visible. @param {string} text */
const visible = (text) => text.replace(/\n/g, "␊").replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\uFFFD");

/**
 * A part of a label with what matched marked.
 * @param {string} label
 * @param {number} from
 * @param {number} to
 * @param {[number, number][]} matches
 */
function marked(label, from, to, matches) {
  const out = [];
  let at = from;
  for (const [a, b] of matches) {
    const x = Math.max(a, from);
    const y = Math.min(b, to);
    if (x >= y) continue;
    if (x > at) out.push(visible(label.slice(at, x)));
    out.push(html`<mark>${visible(label.slice(x, y))}</mark>`);
    at = y;
  }
  if (at < to) out.push(visible(label.slice(at, to)));
  return out;
}

/** @param {{item: Item}} props */
function Label({ item }) {
  const { label, matches = [] } = item;
  const end = item.folder ? label.length - 1 : label.length;
  const cut = item.kind === "file" ? label.lastIndexOf("/", end - 1) + 1 : 0;
  return html`<bdi class="what">${marked(label, cut, label.length, matches)}</bdi>${cut > 0 && html`<bdi class="where">${marked(label, 0, cut - 1, matches)}</bdi>`}
    ${item.folder && html`<span class="visually-hidden">, ${t("popover.folder")}</span>`}${item.link && html`<span class="where">${t("popover.link")}</span>`}${item.detail && html`<bdi class="where">${visible(item.detail)}</bdi>`}`;
}

/**
 * @param {{completion: Completion, onPick: (item: Item, inside: boolean) => void}} props
 */
export function Popover({ completion, onPick }) {
  const { token, items, chosen, asked, partial, preview } = useStore(completion);
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [chosen, items]);
  const open = !!token && asked && (items.length > 0 || token.query !== "");
  const said = !open ? "" : items.length === 0 ? t(partial ? "popover.searching" : "popover.nothing") : t("popover.count", { n: items.length });
  /** @type {{kind: string, from: number, items: Item[]}[]} */
  const groups = [];
  items.forEach((item, n) => {
    const last = groups.at(-1);
    if (last && titleOf(last.kind) === titleOf(item.kind)) last.items.push(item);
    else groups.push({ kind: item.kind, from: n, items: [item] });
  });
  return html`<span class="visually-hidden" role="status">${said}</span>
    ${open && html`<div class="completions" onPointerDown=${(/** @type {PointerEvent} */ e) => e.preventDefault()}>
      <div class="completion-list" role="listbox" id="completions" aria-busy=${partial || completion.waiting} aria-label=${t("popover.name")} ref=${list}>
        ${groups.map((g) => html`<div role="group" aria-label=${titleOf(g.kind)} key=${g.kind}>
          ${groups.length > 1 && html`<div class="completion-kind" aria-hidden="true">${titleOf(g.kind)}</div>`}
          ${g.items.map((item, i) => html`<div role="option" class="completion" key=${item.kind + item.id} id=${optionID(g.from + i)} data-id=${item.id} aria-selected=${g.from + i === chosen ? "true" : "false"}
            onPointerMove=${() => completion.choose(g.from + i)} onClick=${() => onPick(item, !!item.folder)}><${Label} item=${item} /></div>`)}
        </div>`)}
        ${items.length === 0 && html`<p class="quiet">${t(partial ? "say.searching" : token.trigger === "@" && !token.query.startsWith("!") ? "popover.nothingFile" : "popover.nothingLong")}</p>`}
      </div>
      ${preview && html`<div class="completion-preview" aria-hidden="true">${preview.binary ? html`<p class="quiet">${t("popover.binary")}</p>` : html`<pre>${visibleLines(preview.text ?? "")}${preview.more ? "…" : ""}</pre>`}</div>`}
      <div class="completion-keys" aria-hidden="true">${t(items[chosen]?.folder ? "popover.keysFolder" : "popover.keys")}${partial ? ` · ${t("popover.more")}` : ""}</div>
    </div>`}`;
}

/** Like visible, but lines stay lines. @param {string} text */
const visibleLines = (text) => text.split("\n").map((l) => visible(l.replace(/\r$/, "").replaceAll("\t", "  "))).join("\n");
