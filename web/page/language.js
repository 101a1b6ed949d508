// The choice of the page's language.

import { html } from "./html.js";
import { chooseLanguage, chosenLanguage, languages, t } from "./i18n.js";

/** @import {Lang} from "./i18n.js" */

/**
 * The choice was drawn anew with everything else; a dialog around it opens a moment
 * later and takes the focus first.
 * @param {string} id
 */
function refocus(id) {
  let frames = 60;
  let steady = 0;
  const look = () => {
    if (document.activeElement?.id === id) steady++;
    else {
      steady = 0;
      document.getElementById(id)?.focus();
    }
    if (steady < 5 && --frames > 0) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

/** A row with the choice; the page is drawn anew at once. @param {{id?: string}} props */
export function LanguageChoice({ id = "language" }) {
  const chosen = chosenLanguage();
  /** @param {any} e */
  const pick = (e) => {
    chooseLanguage(/** @type {Lang | ""} */ (e.target.value));
    refocus(id);
  };
  return html`<label class="language"><span>${t("page.language")}</span>
    <select id=${id} value=${chosen} onChange=${pick}>
      <option value="" selected=${chosen === ""}>${t("page.languageBrowser")}</option>
      ${languages.map(([id, name]) => html`<option key=${id} value=${id} lang=${id} selected=${chosen === id}>${name}</option>`)}
    </select></label>`;
}
