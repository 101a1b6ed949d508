// Light or dark: as the system, or as a person has chosen for this browser.

import { html } from "./html.js";
import { t } from "./i18n.js";

/** @typedef {"" | "light" | "dark"} Theme */

const setting = "piweb.theme";

/** @returns {Theme} */
export function chosenTheme() {
  try {
    const v = localStorage.getItem(setting);
    return v === "light" || v === "dark" ? v : "";
  } catch {
    return "";
  }
}

/** @param {Theme} theme */
function apply(theme) {
  if (theme) document.documentElement.dataset["theme"] = theme;
  else delete document.documentElement.dataset["theme"];
}

/** @param {Theme} theme */
export function chooseTheme(theme) {
  try {
    if (theme) localStorage.setItem(setting, theme);
    else localStorage.removeItem(setting);
  } catch {
    // It then holds as long as the page.
  }
  apply(theme);
}

apply(chosenTheme());
addEventListener("storage", (e) => e.key === setting && apply(chosenTheme()));

/** @param {{onChange: () => void}} props */
export function ThemeChoice({ onChange }) {
  const now = chosenTheme();
  return html`<label class="setting"><span>${t("settings.theme")}</span>
    <select value=${now} onChange=${(/** @type {any} */ e) => (chooseTheme(e.target.value), onChange())}>
      <option value="" selected=${now === ""}>${t("settings.themeSystem")}</option>
      <option value="light" selected=${now === "light"}>${t("settings.themeLight")}</option>
      <option value="dark" selected=${now === "dark"}>${t("settings.themeDark")}</option>
    </select></label>`;
}
