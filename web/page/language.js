// The choice of the page's language.

import { html } from "./html.js";
import { chooseLanguage, chosenLanguage, languages, t } from "./i18n.js";

/** @import {Lang} from "./i18n.js" */

/** A row with the choice; the page is drawn anew at once. @param {{id?: string}} props */
export function LanguageChoice({ id = "language" }) {
  const chosen = chosenLanguage();
  /** @param {any} e */
  const pick = (e) => {
    chooseLanguage(/** @type {Lang | ""} */ (e.target.value));
    // What was chosen here was drawn anew with everything else.
    requestAnimationFrame(() => document.getElementById(id)?.focus());
  };
  return html`<label class="language"><span>${t("page.language")}</span>
    <select id=${id} value=${chosen} onChange=${pick}>
      <option value="" selected=${chosen === ""}>${t("page.languageBrowser")}</option>
      ${languages.map(([id, name]) => html`<option key=${id} value=${id} lang=${id} selected=${chosen === id}>${name}</option>`)}
    </select></label>`;
}
