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
