// What is shown while no session is open: a first word on an empty machine, a
// short hint on any other.

import { useState } from "preact/hooks";
import { call, explain } from "./api.js";
import { OfferSubagents } from "./agents.js";
import { html, useStore } from "./html.js";
import { t, tx } from "./i18n.js";
import { Icon } from "./icons.js";

/** @import {SessionList} from "./list.js" */
/** @import {Bootstrap} from "./types.js" */

/**
 * @param {{boot: Bootstrap, list: SessionList, onNew: () => void, onMenu: () => void, onOpen: (id: string) => void}} props
 */
export function Start({ boot, list, onNew, onMenu, onOpen }) {
  const { sessions, loaded, q, problem } = useStore(list);
  const [making, setMaking] = useState(false);
  const [trouble, setTrouble] = useState(/** @type {{text: string, detail: string} | null} */ (null));
  const demo = async () => {
    setMaking(true);
    try {
      const { sessions } = await call("demo", { method: "POST" });
      await list.refresh();
      if (sessions?.[0]) onOpen(sessions[0]);
    } catch (e) {
      setTrouble(explain(e));
    }
    setMaking(false);
  };
  const empty = loaded && !problem && sessions.length === 0 && !q;
  return html`<div class="start">
    <header class="top bare"><button type="button" class="icon-button menu" aria-label=${t("page.sessions")} onClick=${onMenu}><${Icon} name="menu" /></button></header>
    ${!loaded ? null : empty ? html`<div class="welcome">
      <h1>${t("start.welcome")}</h1>
      <p>${t("start.what")}</p>
      <ul class="ideas">
        <li><strong>${t("kind.chat-only")}</strong> ${t("start.chatOnly")}</li>
        <li><strong>${t("start.pinnedName")}</strong> ${t("start.pinned")}</li>
        <li><strong>${t("start.receiptsName")}</strong> ${t("start.receipts")}</li>
      </ul>
      ${boot.offlineOnly && html`<p class="offline-note">${t("start.offlineLong")}</p>`}
      ${trouble && html`<div class="strip bad" role="alert"><span><strong>${trouble.text}</strong> <span class="detail" dir="auto">${trouble.detail}</span></span></div>`}
      <div class="buttons">
        ${boot.demoAvailable && html`<button type="button" class="primary" disabled=${making} onClick=${demo}>${t(making ? "start.writing" : "start.demo")}</button>`}
        <button type="button" class=${boot.demoAvailable ? "" : "primary"} onClick=${onNew}>${t("start.newSession")}</button>
      </div>
      ${boot.demoAvailable && html`<p class="faint">${t("start.demoWhat")}</p>`}
      <${OfferSubagents} />
    </div>` : html`<div class="welcome hint">
      <h1 class="visually-hidden">piweb</h1>
      <p>${tx("start.hint", { new: html`<kbd>n</kbd>`, search: html`<kbd>/</kbd>`, keys: html`<kbd>?</kbd>` })}</p>
      ${boot.offlineOnly && html`<p class="offline-note">${t("start.offline")}</p>`}
      <${OfferSubagents} />
    </div>`}
  </div>`;
}
