// What is shown while no session is open: a first word on an empty machine, a
// short hint on any other.

import { useState } from "preact/hooks";
import { call, explain } from "./api.js";
import { OfferSubagents } from "./agents.js";
import { html, useStore } from "./html.js";
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
    <header class="top bare"><button type="button" class="icon-button menu" aria-label="Sessions" onClick=${onMenu}><${Icon} name="menu" /></button></header>
    ${!loaded ? null : empty ? html`<div class="welcome">
      <h1>Welcome</h1>
      <p>A session is a conversation in one of your folders. It remembers what it may do: which tools it has, which files stand in its prompt, and what was really sent. You see all of that beside it.</p>
      <ul class="ideas">
        <li><strong>Chat Only</strong> No tools, nothing loaded. The prompt is exactly your context files.</li>
        <li><strong>Pinned tools</strong> Choose them once; they are the same when you reopen the session.</li>
        <li><strong>Receipts</strong> Each request leaves a line that says what it carried.</li>
      </ul>
      ${boot.offlineOnly && html`<p class="offline-note">No real model is set up. Answers come from the offline model and are made up, which is enough to look around.</p>`}
      ${trouble && html`<div class="strip bad" role="alert"><span><strong>${trouble.text}</strong> <span class="detail" dir="auto">${trouble.detail}</span></span></div>`}
      <div class="buttons">
        ${boot.demoAvailable && html`<button type="button" class="primary" disabled=${making} onClick=${demo}>${making ? "Writing…" : "Try the demo"}</button>`}
        <button type="button" class=${boot.demoAvailable ? "" : "primary"} onClick=${onNew}>New session</button>
      </div>
      ${boot.demoAvailable && html`<p class="faint">The demo writes a small project and a few sessions to look at.</p>`}
      <${OfferSubagents} />
    </div>` : html`<div class="welcome hint">
      <h1 class="visually-hidden">piweb</h1>
      <p>Pick a session, or press <kbd>n</kbd> for a new one, <kbd>/</kbd> to search, <kbd>?</kbd> for all keys.</p>
      ${boot.offlineOnly && html`<p class="offline-note">No real model is set up. Answers come from the offline model and are made up.</p>`}
      <${OfferSubagents} />
    </div>`}
  </div>`;
}
