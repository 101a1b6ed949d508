// The transcript. However long a session is, few rows are in the page: those near
// what is seen (window.js says which). A place in it can be gone to by its entry.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { openTree } from "./branches.js";
import { markLooked } from "./hits.js";
import { html, useStore } from "./html.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";
import { keep } from "./kept.js";
import { Shown } from "./rowactions.js";
import { RowView } from "./rows.js";
import { spentUntil } from "./usage.js";
import { Window } from "./window.js";

/** @import {OpenSession} from "./session.js" */
/** @import {Row} from "./types.js" */

/** @param {{session: OpenSession}} props */
export function Transcript({ session }) {
  const state = useStore(session);
  const rows = session.rows();
  const [, redraw] = useState({});
  const [away, setAway] = useState(false);
  const view = useMemo(() => new Window(session.id, () => redraw({})), [session]);
  view.tellAway = setAway;
  const { from, to } = view.show(rows);

  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const above = useRef(/** @type {HTMLDivElement | null} */ (null));
  const below = useRef(/** @type {HTMLDivElement | null} */ (null));
  useLayoutEffect(() => {
    if (box.current && above.current && below.current) view.attach(box.current, above.current, below.current);
    return () => view.close();
  }, [view]);
  useLayoutEffect(() => view.drawn());

  // Whoever works with the keyboard is not left nowhere when a row leaves the page.
  const focused = document.activeElement?.closest?.(".rowbox");
  const leaves = focused instanceof HTMLElement && !rows.slice(from, to).some((r) => r.key === focused.dataset["key"]);
  useLayoutEffect(() => {
    if (leaves) box.current?.focus({ preventScroll: true });
  }, [leaves]);

  // What the user just sent must be seen.
  useEffect(() => {
    if (state.pending) view.goToEnd();
  }, [state.pending]);

  useTarget(session, rows, view, box);

  const shown = rows.slice(from, to);
  const model = state.model?.id ?? "";
  return html`<${Shown.Provider} value=${session}><div class="transcript-frame">
    <div class="transcript" ref=${box} onScroll=${() => view.scrolled()} tabindex="0" role="log" aria-label=${t("transcript.name")} aria-live="off" aria-busy=${state.missing > 0}
      onPointerDown=${(/** @type {Event} */ e) => view.hold(e.target)} onKeyDown=${(/** @type {KeyboardEvent} */ e) => (e.key === "Enter" || e.key === " ") && view.hold(e.target)}
      onErrorCapture=${(/** @type {Event} */ e) => session.pictureFailed(e.target)}>
      <div class="column">
        <div ref=${above} />
        ${shown.map((r, i) => html`<div key=${r.key} data-key=${r.key} class="rowbox"><${RowView} row=${r} last=${closes(r, rows, from + i)} spent=${closes(r, rows, from + i) ? spentUntil(rows, from + i) : null} model=${model} session=${session.id} label=${state.labels[r.key] ?? ""} /></div>`)}
        <div ref=${below} />
        <${Tail} session=${session} empty=${rows.length === 0} />
      </div>
    </div>
    ${away && html`<button type="button" class="pill" onClick=${() => view.goToEnd()}><${Icon} name="down" />${t("transcript.newest")}</button>`}
    ${state.astray && html`<${Astray} session=${session} />`}
  </div><//>`;
}

/** The place that was asked for is somewhere else. @param {{session: OpenSession}} props */
function Astray({ session }) {
  const { astray } = session.state;
  return html`<div class="strip astray" role="status"><span class="grow">${t("transcript.astray")}</span>
    <button type="button" class="small" onClick=${() => { session.reached(); openTree(astray); }}>${t("transcript.inTree")}</button>
    <button type="button" class="icon-button" aria-label=${t("say.dismiss")} onClick=${() => session.reached()}><${Icon} name="close" /></button></div>`;
}

/**
 * Goes to the place that is asked for, as soon as its row is there.
 * @param {OpenSession} session @param {Row[]} rows @param {Window} view @param {{current: HTMLElement | null}} box
 */
function useTarget(session, rows, view, box) {
  const { target, missing } = session.state;
  useEffect(() => {
    if (!target) return;
    const at = placeOf(rows, target.entry);
    if (!at) {
      if (missing === 0) session.notThere();
      return;
    }
    session.reached();
    if (at.call) keep(`tool ${at.call}`, true);
    view.goTo(at.i);
    const key = rows[at.i]?.key ?? "";
    let tries = 20;
    const point = () => {
      const el = /** @type {HTMLElement | null} */ (box.current?.querySelector(`.rowbox[data-key="${CSS.escape(key)}"]`) ?? null);
      if (!el) {
        if (--tries > 0) requestAnimationFrame(point);
        return;
      }
      el.classList.add("found");
      el.tabIndex = -1;
      el.focus({ preventScroll: true });
      markLooked(el);
      setTimeout(() => el.classList.remove("found"), 2500);
    };
    requestAnimationFrame(point);
  }, [target, rows.length, missing]);
}

/**
 * The row that shows an entry or a call, and the call if it is one or its result.
 * @param {Row[]} rows @param {string} entry
 * @returns {{i: number, call: string} | null}
 */
export function placeOf(rows, entry) {
  for (let i = rows.length - 1; i >= 0; i--) {
    const r = /** @type {Row} */ (rows[i]);
    if (r.key === entry) return { i, call: "" };
    if (r.kind === "moment" && r.moments.some((m) => m.entry === entry)) return { i, call: "" };
    if (r.kind !== "assistant") continue;
    for (const p of r.parts) if (p.type === "tool" && (p.id === entry || p.result === entry)) return { i, call: p.id };
  }
  return null;
}

/** The last answer before a person speaks carries the name of the model and the time. */
/** @param {Row} row @param {Row[]} rows @param {number} i */
function closes(row, rows, i) {
  if (row.kind !== "assistant") return false;
  const next = rows[i + 1]?.kind === "moment" ? rows[i + 2] : rows[i + 1];
  return next?.kind !== "assistant";
}

/** What stands after the last row. @param {{session: OpenSession, empty: boolean}} props */
function Tail({ session, empty }) {
  const { live, busy, turnProblem, pending, messages, connection } = session.state;
  // A program that was killed leaves a message without an answer, and nothing else.
  const broken = messages[messages.length - 1]?.role === "user" && !busy && !live && !pending && !turnProblem && connection === "open";
  const lastRow = live?.rows[live.rows.length - 1];
  const lastPart = lastRow?.parts[lastRow.parts.length - 1];
  const toolRuns = lastPart?.type === "tool" && lastPart.state === "running";
  const working = (busy || pending) && !live?.error && !toolRuns;
  return html`
    ${empty && !busy && !pending && html`<p class="quiet">${t("transcript.empty")}</p>`}
    ${broken && html`<p class="status-line">${t("transcript.broken")}</p>`}
    ${live?.notice && html`<p class="status-line" dir="auto">${live.notice}</p>`}
    ${live?.status && html`<p class="status-line">${live.status}</p>`}
    ${working && !live?.status && html`<div class="waiting" aria-hidden="true"><i /><i /><i /></div>`}
    ${live?.error && html`<div class="trouble"><strong>${t("turn.failed")}</strong> <span dir="auto">${live.error}</span></div>`}
    ${turnProblem && html`<div class="trouble"><strong>${t("turn.failed")}</strong> <span dir="auto">${turnProblem.text}</span></div>`}
  `;
}
