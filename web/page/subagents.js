// A session's subagents beside it, and their results that wait.

import { useEffect, useState } from "preact/hooks";
import { Agents, SwitchOn } from "./agents.js";
import { Delegate } from "./delegate.js";
import { dollars, duration, oneLine } from "./format.js";
import { html, useStore } from "./html.js";
import { named, t, tx } from "./i18n.js";
import { hashOf } from "./place.js";

/** @import {Child, Children} from "./children.js" */
/** @import {OpenSession} from "./session.js" */
/** @import {SessionItem} from "./types.js" */

/**
 * @param {{session: OpenSession, kids: Children, item: SessionItem | undefined}} props
 */
export function SubagentsPart({ session, kids, item }) {
  const state = useStore(kids);
  const [dialog, setDialog] = useState("");
  const { busy } = useStore(session);
  useEffect(() => void kids.refresh(), [busy]);
  if (!state.loaded) return null;
  const parent = item?.subagent?.parentSessionId;
  const { children: list, limits, spent, problem, enabled, depth } = state;
  const refused = session.state.policy?.decide?.kind === "refused";
  return html`<section class="subagents"><h3>${t("subagents.title")}</h3>
    ${parent && html`<p>${t("subagents.isOne", { profile: item?.subagent?.profile ?? "" })} <a href=${hashOf(parent)}>${t("subagents.parent")}</a></p>`}
    ${list.length > 0 && html`<ul>${list.map((c) => html`<li key=${c.sessionId}><${Row} c=${c} kids=${kids} /></li>`)}</ul>
      <p class="faint">${t("subagents.spent", { n: spent.children ?? list.length, most: limits.total ?? "?", tokens: spent.tokens ?? 0, dollars: dollars(spent.dollars ?? 0), mostDollars: dollars(limits.dollars ?? 0, 0) })}${(spent.unpricedTokens ?? 0) > 0 && html` ${t("subagents.unpriced", { n: spent.unpricedTokens ?? 0, most: limits.tokens ?? "?" })}`}</p>`}
    ${problem && html`<div class="strip bad" role="alert"><span><strong>${problem.text}</strong> <span class="detail" dir="auto">${problem.detail}</span></span></div>`}
    ${!enabled ? html`<${SwitchOn} onDone=${() => kids.refresh()} />`
      : html`<div class="buttons">
        ${!refused && depth < (limits.depth ?? 1) && html`<button type="button" class="small" onClick=${() => setDialog("delegate")}>${t("subagents.delegate")}</button>`}
        <button type="button" class="small" onClick=${() => setDialog("agents")}>${t("subagents.profiles")}</button></div>`}
    ${dialog === "delegate" && html`<${Delegate} session=${session} cwd=${item?.cwd ?? ""} onClose=${() => setDialog("")} onStarted=${() => { setDialog(""); void kids.refresh(); }} />`}
    ${dialog === "agents" && html`<${Agents} cwd=${item?.cwd ?? session.state.policy?.read?.cwd ?? ""} onClose=${() => { setDialog(""); void kids.refresh(); }} />`}
  </section>`;
}

/** @param {{c: Child, kids: Children}} props */
function Row({ c, kids }) {
  const works = c.status === "running" || c.status === "queued";
  return html`<a href=${hashOf(c.sessionId)} dir="auto">${oneLine(c.description, 120)}</a>
    <span class="item-line"><span class=${`badge status-${c.status}`}>${named("status", c.status)}</span><span>${c.profile}</span>
      ${c.spent?.turns > 0 && html`<span>${t("subagents.turns", { n: c.spent.turns })}${c.spent.seconds ? `${t("say.comma")}${duration(c.spent.seconds * 1000)}` : ""}</span>`}
      ${works && html`<button type="button" class="link" aria-label=${t("subagents.stopName", { name: oneLine(c.description, 60) })} onClick=${() => kids.tell(c.sessionId, { action: "abort" })}>${t("subagents.stop")}</button>`}
      ${c.status === "interrupted" && html`<button type="button" class="link" aria-label=${t("subagents.resumeName", { name: oneLine(c.description, 60) })} onClick=${() => kids.tell(c.sessionId, { action: "resume", message: "Go on where you were interrupted." })}>${t("subagents.resume")}</button>`}</span>
    ${c.pending && html`<span class="pending-result">${t("subagents.pending")}</span>`}
    ${c.error && html`<span class="reason" dir="auto">${oneLine(c.error, 300)}</span>`}`;
}

/** Results that nobody was woken for. @param {{kids: Children}} props */
export function WaitingResults({ kids }) {
  const waits = useStore(kids).children.filter((c) => c.pending);
  if (waits.length === 0) return null;
  return html`<div class="waiting-results strip" role="status"><span>${tx("subagents.waiting", { n: waits.length, subject: html`<strong>${t("subagents.waitingSubject", { n: waits.length })}</strong>`, tasks: waits.slice(0, 5).map((c, i) => html`${i > 0 && t("say.comma")}<a href=${hashOf(c.sessionId)} dir="auto">${oneLine(c.description, 60)}</a>`) })}${waits.length > 5 && "…"}</span></div>`;
}
