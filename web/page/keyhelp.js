// The keyboard map, to read.

import { useState } from "preact/hooks";
import { Dialog } from "./dialog.js";
import { html } from "./html.js";
import { t } from "./i18n.js";
import { capsOf, keymap, setSingleKeys, singleKeys } from "./keymap.js";

/** @import {Line} from "./keymap.js" */

const places = /** @type {const} */ (["page", "search", "list", "composer", "completion"]);

/** @param {{line: Line}} props */
function Row({ line }) {
  if (!line.what) return null;
  const keys = line.keys.map((k) => capsOf(k).map((cap, i) => html`${i > 0 && " + "}<kbd>${cap}</kbd>`));
  return html`<div><dt>${keys.map((k, i) => html`${i > 0 && ` ${t("keys.or")} `}${k}`)}</dt><dd>${t(line.what)}</dd></div>`;
}

/** @param {{onClose: () => void}} props */
export function Shortcuts({ onClose }) {
  const [single, setSingle] = useState(singleKeys);
  /** @param {any} e */
  const toggle = (e) => {
    setSingleKeys(e.target.checked);
    setSingle(e.target.checked);
  };
  return html`<${Dialog} title=${t("keys.title")} wide=${true} onClose=${onClose}>
    <div class="key-groups" tabindex="0" role="group" aria-label=${t("keys.title")}>
      ${places.map((where) => html`<section key=${where}><h3>${t(`keysWhere.${where}`)}</h3>
        <dl class="keys">${keymap.filter((l) => l.where === where).map((l) => html`<${Row} key=${l.id} line=${l} />`)}
          ${where === "composer" && html`<div><dt><kbd>@</kbd> <kbd>#</kbd> <kbd>/</kbd></dt><dd>${t("keys.complete")}</dd></div>`}</dl></section>`)}
    </div>
    <label class="choice key-setting"><input type="checkbox" name="single-keys" checked=${single} onChange=${toggle} /><span>${t("keys.single")}</span></label>
  <//>`;
}
