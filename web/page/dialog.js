// A modal dialog on the browser's own <dialog>: focus stays inside, Esc closes.

import { useEffect, useRef } from "preact/hooks";
import { html } from "./html.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";

/**
 * @param {{title: string, onClose: () => void, children?: any, wide?: boolean}} props
 */
export function Dialog({ title, onClose, children, wide = false }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const el = ref.current;
    const before = document.activeElement;
    el?.showModal();
    return () => {
      el?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  /** A click beside the box. @param {MouseEvent} e */
  const onClick = (e) => {
    if (e.target === ref.current) onClose();
  };
  return html`<dialog ref=${ref} class=${wide ? "wide" : ""} aria-labelledby="dialog-title" onClick=${onClick}
    onCancel=${(/** @type {Event} */ e) => (e.preventDefault(), onClose())}>
    <div class="dialog-box">
      <header><h2 id="dialog-title">${title}</h2>
        <button type="button" class="icon-button" aria-label=${t("say.close")} onClick=${onClose}><${Icon} name="close" /></button></header>
      ${children}
    </div>
  </dialog>`;
}

const shortcuts = /** @type {const} */ ([
  ["/  or  Ctrl K", "keys.search"],
  ["n", "keys.new"],
  ["↑ ↓", "keys.list"],
  ["Enter", "keys.enter"],
  ["Alt ↑  Alt ↓", "keys.neighbours"],
  ["Shift Enter", "keys.newLine"],
  ["@  #  /", "keys.complete"],
  ["Esc", "keys.escape"],
  ["m", "keys.write"],
  ["t", "keys.tree"],
  ["p", "keys.policy"],
  [",", "keys.settings"],
  ["?", "keys.help"],
]);

/** @param {{onClose: () => void}} props */
export function Shortcuts({ onClose }) {
  return html`<${Dialog} title=${t("keys.title")} onClose=${onClose}>
    <dl class="keys">${shortcuts.map(([k, what]) => html`<div><dt>${k.split("  ").map((w) => (w === "or" ? ` ${t("keys.or")} ` : html`<kbd>${w}</kbd>`))}</dt><dd>${t(what)}</dd></div>`)}</dl>
  <//>`;
}
