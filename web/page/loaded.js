// What a session has loaded and from where, whether its folder is trusted, and the
// way to read everything anew.

import { useEffect, useState } from "preact/hooks";
import { call, explain, sessionPath } from "./api.js";
import { splitPath } from "./format.js";
import { folderGone } from "./gone.js";
import { html, useStore } from "./html.js";
import { named, t } from "./i18n.js";
import { inOurWords } from "./serverwords.js";

/** @import {OpenSession} from "./session.js" */

/**
 * @typedef {{trusted: boolean, reason: string, ask: boolean, brings: string[]}} Trust
 * @typedef {{name: string, description: string, path: string, hint?: string, scope: string, hidden?: boolean, warnings?: string[]}} Item
 * @typedef {{name: string, transport: string, source: string, state: string, reason?: string, tools: {name: string, onlyReads: boolean}[]}} Server
 * @typedef {{live: boolean, kind: string, folder: string, trust: Trust, skills: Item[], templates: Item[], servers: Server[],
 *   tools: {name: string, builtin: boolean}[], left: {path: string, reason: string}[], newer: string[]}} Loaded
 */

/**
 * Fetched anew when the policy, the notices or the turn say that it may be another.
 * @param {OpenSession} session
 */
function useLoaded(session) {
  const { policy, notices, busy, phase } = useStore(session);
  const [loaded, setLoaded] = useState(/** @type {Loaded | null} */ (null));
  useEffect(() => {
    if (phase !== "ready" || !policy || folderGone(policy)) return;
    const stop = new AbortController();
    call(sessionPath(session.id, "/resources"), { signal: stop.signal }).then(setLoaded, () => {}); // the policy says what is wrong
    return () => stop.abort();
  }, [session.id, policy, notices.length, busy, phase]);
  /** @param {"/trust" | "/reload"} path @param {unknown} body */
  const change = async (path, body) => {
    try {
      setLoaded(await call(sessionPath(session.id, path), { method: "POST", body }));
      return true;
    } catch (e) {
      session.set({ sendProblem: explain(e) });
      return false;
    }
  };
  const reload = async () => {
    if (await change("/reload", {})) {
      for (const n of session.state.notices.filter((n) => n.includes("/reload"))) session.dismiss(n);
      void session.refreshPolicy();
    }
  };
  /** @param {boolean | null} trusted */
  const trust = async (trusted) => {
    if ((await change("/trust", { trusted })) && !session.state.busy) await reload();
  };
  return { loaded, reload, trust };
}

/**
 * Asks once per folder: the answer is kept for all sessions in it.
 * @param {{session: OpenSession}} props
 */
export function TrustQuestion({ session }) {
  const { loaded, trust } = useLoaded(session);
  const [later, setLater] = useState(false);
  if (!loaded?.trust.ask || later || loaded.kind === "chat-only") return null;
  return html`<div class="strip trust-ask" role="region" aria-label=${t("loaded.trustName")}>
    <div class="grow"><strong>${t("loaded.trustAsk")}</strong>
      <p>${t("loaded.trustText")}</p>
      <ul class="files">${loaded.trust.brings.map((p) => html`<li key=${p}><bdi title=${p}>${p}</bdi></li>`)}</ul>
      <div class="buttons"><button type="button" class="primary" onClick=${() => trust(true)}>${t("loaded.trust")}</button>
        <button type="button" onClick=${() => trust(false)}>${t("loaded.trustNot")}</button>
        <button type="button" onClick=${() => setLater(true)}>${t("loaded.trustLater")}</button></div></div>
  </div>`;
}

/** @param {{session: OpenSession}} props */
export function LoadedPart({ session }) {
  const { loaded, reload, trust } = useLoaded(session);
  const { busy } = session.state;
  if (!loaded) return null;
  const extra = loaded.tools.filter((tool) => !tool.builtin && !tool.name.startsWith("mcp__"));
  const nothing = !loaded.skills.length && !loaded.templates.length && !loaded.servers.length && !extra.length;
  return html`<section>
    <h3>${t(loaded.live ? "loaded.is" : "loaded.would")}</h3>
    ${loaded.newer.length > 0 && html`<div class="strip"><div class="grow"><strong>${t("loaded.newer")}</strong>
      <ul class="files">${loaded.newer.map((n) => html`<li key=${n}><bdi>${n}</bdi></li>`)}</ul></div></div>`}
    ${nothing && html`<p class="faint">${t(loaded.kind === "chat-only" ? "loaded.chatOnly" : "loaded.nothing")}</p>`}
    <${Items} title=${t("loaded.skills")} items=${loaded.skills} prefix="/skill:" />
    <${Items} title=${t("loaded.templates")} items=${loaded.templates} prefix="/" />
    ${loaded.servers.length > 0 && html`<h4>${t("loaded.servers")}</h4><ul class="files plain">${loaded.servers.map((s) => html`<li key=${s.name} title=${s.source}>
      <code>${s.name}</code> <span class=${s.state === "failed" ? "warn block" : "faint block"} dir="auto">${serverLine(s)}</span></li>`)}</ul>`}
    ${extra.length > 0 && html`<h4>${t("loaded.ofExtensions")}</h4><ul class="files plain">${extra.map((tool) => html`<li key=${tool.name}><code>${tool.name}</code></li>`)}</ul>`}
    <p class="faint">${t(loaded.trust.trusted ? "loaded.trusted" : "loaded.untrusted", { why: inOurWords(loaded.trust.reason) })}
      ${loaded.trust.brings.length > 0 && html` <button type="button" class="small" disabled=${busy} onClick=${() => trust(!loaded.trust.trusted)}>${t(loaded.trust.trusted ? "loaded.trustEnd" : "loaded.trust")}</button>`}</p>
    <button type="button" class="small" disabled=${busy} onClick=${reload} title=${t("loaded.reloadTitle")}>${t("loaded.reload")}</button>
  </section>`;
}

/** @param {Server} s */
const serverLine = (s) => [named("mcpState", s.state), s.state === "ready" && t("say.tools", { n: s.tools.length }), s.reason].filter(Boolean).join(t("say.comma"));

/** @param {{title: string, items: Item[], prefix: string}} props */
function Items({ title, items, prefix }) {
  if (!items.length) return null;
  return html`<h4>${title}</h4><ul class="files plain">${items.map((i) => html`<li key=${i.path} title=${i.path}>
    <code>${prefix}${i.name}</code>${i.hidden && html` <span class="faint">${t("loaded.hidden")}</span>`} <span class="faint block" dir="auto">${splitPath(i.path).parent}</span>
    ${(i.warnings ?? []).map((w) => html`<span class="warn block" dir="auto" key=${w}>${w}</span>`)}</li>`)}</ul>`;
}
