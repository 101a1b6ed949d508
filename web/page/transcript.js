// The transcript. However long a session is, at most `most` rows are in the page:
// a window that follows the end, and moves back when earlier rows are asked for.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { html, useStore } from "./html.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";
import { RowView } from "./rows.js";

/** @import {OpenSession} from "./session.js" */
/** @import {Row} from "./types.js" */

const most = 200;
const first = 60;
const step = 70;

/** @param {{session: OpenSession}} props */
export function Transcript({ session }) {
  const state = useStore(session);
  const rows = session.rows();
  // The window, as row numbers. -1 follows the end: `to` is then the number of rows,
  // and `from` a screen or two before it.
  const [view, setView] = useState({ from: -1, to: -1 });
  let to = view.to < 0 || view.to > rows.length ? rows.length : view.to;
  let from = view.from < 0 ? Math.max(0, rows.length - first) : Math.min(view.from, Math.max(0, to - 1));
  if (to - from > most) {
    // A reader who is elsewhere keeps the rows in front of them.
    if (view.from >= 0 && view.to < 0) to = from + most;
    else from = to - most;
  }
  const atEnd = to === rows.length;

  const scroller = useRef(/** @type {HTMLDivElement | null} */ (null));
  const content = useRef(/** @type {HTMLDivElement | null} */ (null));
  const stick = useRef(true);
  const [away, setAway] = useState(false);
  const anchor = useRef(/** @type {{key: string, top: number} | null} */ (null));

  // Follow the end while the reader is there, whatever makes the content grow.
  useEffect(() => {
    const box = scroller.current;
    const inner = content.current;
    if (!box || !inner) return;
    const follow = () => {
      if (stick.current) box.scrollTop = box.scrollHeight;
    };
    const sizes = new ResizeObserver(follow);
    sizes.observe(inner);
    sizes.observe(box);
    return () => sizes.disconnect();
  }, [state.phase]);

  useLayoutEffect(() => {
    const box = scroller.current;
    const a = anchor.current;
    if (box && a) {
      anchor.current = null;
      const el = box.querySelector(`[data-key="${CSS.escape(a.key)}"]`);
      if (el) box.scrollTop += el.getBoundingClientRect().top - a.top;
    }
  }, [view]);

  const onScroll = () => {
    const box = scroller.current;
    if (!box) return;
    const near = box.scrollHeight - box.scrollTop - box.clientHeight < 60;
    stick.current = near && atEnd;
    setAway(!(near && atEnd));
    if (!near && view.from < 0) setView({ from, to: -1 }); // rows that come must not push these out
  };

  /**
   * Moves the window and keeps the row at the given place where it is on screen.
   * @param {number} row @param {{from: number, to: number}} next
   */
  const move = (row, next) => {
    const box = scroller.current;
    const key = rows[row]?.key;
    const el = key && box?.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (el) anchor.current = { key, top: el.getBoundingClientRect().top };
    stick.current = false;
    setView(next);
  };
  const earlier = () => {
    const start = Math.max(0, from - step);
    const end = Math.min(to, start + most);
    move(from, { from: start, to: end === rows.length ? -1 : end });
  };
  const later = () => {
    const end = Math.min(rows.length, to + step);
    const start = Math.max(from, end - most);
    move(to - 1, { from: start, to: end === rows.length ? -1 : end });
  };
  const newest = () => {
    stick.current = true;
    setView({ from: -1, to: -1 });
    setAway(false);
    requestAnimationFrame(() => {
      const box = scroller.current;
      if (box) box.scrollTop = box.scrollHeight;
    });
  };
  // What the user just sent must be seen.
  useEffect(() => {
    if (state.pending) newest();
  }, [state.pending]);

  const shown = rows.slice(from, to);
  const model = state.model?.id ?? "";
  return html`<div class="transcript-frame">
    <div class="transcript" ref=${scroller} onScroll=${onScroll} tabindex="0" role="log" aria-label=${t("transcript.name")} aria-live="off">
      <div class="column" ref=${content}>
        ${from > 0 && html`<button type="button" class="more" onClick=${earlier}>${t("transcript.earlier")} <span class="faint">${t("transcript.count", { n: from })}</span></button>`}
        ${shown.map((r, i) => html`<div key=${r.key} data-key=${r.key} class="rowbox"><${RowView} row=${r} last=${closes(r, shown.slice(i + 1, i + 3).find((n) => n.kind !== "moment"))} model=${model} session=${session.id} /></div>`)}
        ${!atEnd && html`<button type="button" class="more" onClick=${later}>${t("transcript.later")} <span class="faint">${t("transcript.count", { n: rows.length - to })}</span></button>`}
        ${atEnd && html`<${Tail} session=${session} empty=${rows.length === 0} />`}
      </div>
    </div>
    ${away && html`<button type="button" class="pill" onClick=${newest}><${Icon} name="down" />${t("transcript.newest")}</button>`}
  </div>`;
}

/** The last answer before a person speaks carries the name of the model and the time. */
/** @param {Row} row @param {Row | undefined} next */
const closes = (row, next) => row.kind === "assistant" && next?.kind !== "assistant";

/** What stands after the last row. @param {{session: OpenSession, empty: boolean}} props */
function Tail({ session, empty }) {
  const { live, busy, turnProblem, pending } = session.state;
  const lastRow = live?.rows[live.rows.length - 1];
  const lastPart = lastRow?.parts[lastRow.parts.length - 1];
  const toolRuns = lastPart?.type === "tool" && lastPart.state === "running";
  const working = (busy || pending) && !live?.error && !toolRuns;
  return html`
    ${empty && !busy && !pending && html`<p class="quiet">${t("transcript.empty")}</p>`}
    ${live?.notice && html`<p class="status-line" dir="auto">${live.notice}</p>`}
    ${live?.status && html`<p class="status-line">${live.status}</p>`}
    ${working && !live?.status && html`<div class="waiting" aria-hidden="true"><i /><i /><i /></div>`}
    ${live?.error && html`<div class="trouble"><strong>${t("turn.failed")}</strong> <span dir="auto">${live.error}</span></div>`}
    ${turnProblem && html`<div class="trouble"><strong>${t("turn.failed")}</strong> <span dir="auto">${turnProblem.text}</span></div>`}
  `;
}
