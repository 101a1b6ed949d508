// The running turn: stream chunks, folded into rows. Pure, apart from the clock
// that is handed in.

import { changeOf } from "./change.js";
import { previewOf, outputOf, picturesOf, textOf } from "./history.js";
import { t } from "./i18n.js";

/** @import {AssistantRow, Part, ToolPart} from "./types.js" */

/**
 * @typedef {object} Turn
 * @property {number} startedAt Unix milliseconds of the server, 0 where unknown
 * @property {Set<string> | null} before entries that were in the file when it began, null where
 *   it had begun before we came
 * @property {AssistantRow[]} rows one per step
 * @property {string} status what it is doing beyond writing, "" for nothing
 * @property {string} notice something about the turn that is no failure
 * @property {string} error
 * @property {boolean} aborted
 */

/** @param {number} startedAt @param {Set<string> | null} before @returns {Turn} */
export function newTurn(startedAt, before) {
  return { startedAt, before, rows: [], status: "", notice: "", error: "", aborted: false };
}

/**
 * Folds a chunk into the turn. Rows and parts that change become new objects, the
 * others stay the same objects: the transcript draws only what changed.
 * @param {Turn} turn
 * @param {any} chunk
 * @param {number} now Unix milliseconds, 0 where the chunk is older than that
 * @returns {Turn}
 */
export function apply(turn, chunk, now) {
  switch (chunk.type) {
    case "start-step":
      return push(turn, now);
    case "text-start":
      return addPart(turn, { type: "text", id: String(chunk.id), text: "" }, now);
    case "text-delta":
      return grow(turn, "text", String(chunk.id), String(chunk.delta ?? ""), now);
    case "reasoning-start":
      return addPart(turn, { type: "thinking", id: String(chunk.id), text: "", open: true }, now);
    case "reasoning-delta":
      return grow(turn, "thinking", String(chunk.id), String(chunk.delta ?? ""), now);
    case "reasoning-end":
      return change(turn, String(chunk.id), (p) => (p.type === "thinking" ? { ...p, open: false } : p));
    case "tool-input-available":
      return addPart(turn, {
        type: "tool", id: String(chunk.toolCallId), name: String(chunk.toolName ?? "tool"), input: chunk.input ?? {},
        state: "running", output: "", images: [], startedAt: now,
      }, now);
    case "tool-output-available":
      return change(turn, String(chunk.toolCallId), (p) => (p.type === "tool" ? output(p, chunk, now) : p));
    case "tool-output-error":
      return change(turn, String(chunk.toolCallId), (p) =>
        p.type === "tool" ? { ...p, state: "error", preliminary: false, error: String(chunk.errorText || t("turn.toolFailed")), durationMs: took(p, now) } : p);
    case "data-pi-compaction":
      return { ...turn, status: chunk.data?.phase === "start" ? t("turn.summarising") : "" };
    case "data-pi-auto-retry": {
      const d = chunk.data ?? {};
      return { ...turn, status: d.phase === "start" ? t("turn.retry", { error: d.errorMessage ?? t("turn.error"), attempt: d.attempt ?? 1, most: d.maxAttempts ?? "?" }) : "" };
    }
    case "error":
      return { ...turn, error: String(chunk.errorText || t("turn.failed")) };
    case "abort":
      return { ...turn, aborted: true };
  }
  return turn;
}

/** @param {Turn} turn @param {number} now @returns {Turn} */
function push(turn, now) {
  const last = turn.rows[turn.rows.length - 1];
  if (last && last.parts.length === 0) return turn;
  /** @type {AssistantRow} */
  const row = { kind: "assistant", key: `live${turn.rows.length}`, parts: [], time: now, live: true };
  return { ...turn, rows: [...turn.rows, row] };
}

/** @param {Turn} turn @param {Part} part @param {number} now @returns {Turn} */
function addPart(turn, part, now) {
  const t = turn.rows.length ? turn : push(turn, now);
  if (part.type === "tool" && find(t, part.id)) return change(t, part.id, () => part);
  const rows = t.rows.slice();
  const row = /** @type {AssistantRow} */ (rows[rows.length - 1]);
  rows[rows.length - 1] = { ...row, parts: [...row.parts, part] };
  return { ...t, status: "", rows };
}

/** @param {Turn} turn @param {string} id */
function find(turn, id) {
  return turn.rows.some((r) => r.parts.some((p) => p.id === id));
}

/**
 * @param {Turn} turn
 * @param {string} id
 * @param {(p: Part) => Part} f
 * @returns {Turn}
 */
function change(turn, id, f) {
  const rows = turn.rows.slice();
  for (let r = rows.length - 1; r >= 0; r--) {
    const row = /** @type {AssistantRow} */ (rows[r]);
    const i = row.parts.findIndex((p) => p.id === id);
    if (i < 0) continue;
    const parts = row.parts.slice();
    parts[i] = f(/** @type {Part} */ (parts[i]));
    rows[r] = { ...row, parts };
    return { ...turn, rows };
  }
  return turn;
}

/** @param {Turn} turn @param {"text" | "thinking"} type @param {string} id @param {string} delta @param {number} now */
function grow(turn, type, id, delta, now) {
  const t = find(turn, id) ? turn : addPart(turn, type === "text" ? { type, id, text: "" } : { type, id, text: "", open: true }, now);
  return change(t, id, (p) => (p.type === type ? { ...p, text: p.text + delta } : p));
}

/** @param {ToolPart} p @param {number} now */
const took = (p, now) => (p.startedAt && now ? Math.max(0, now - p.startedAt) : undefined);

/** The pictures of a result; those that came without their data, by the small one. @param {any} content @param {any} details */
function shownPictures(content, details) {
  const all = picturesOf(content);
  const small = previewOf(details);
  return small.length ? [...small, ...all.slice(1)] : all;
}

/** @param {ToolPart} p @param {any} chunk @param {number} now @returns {ToolPart} */
function output(p, chunk, now) {
  const out = chunk.output;
  // An output is a tool's result {content, details}, its content, or plain text.
  const content = out && typeof out === "object" && !Array.isArray(out) ? out.content : out;
  let text = textOf(content);
  if (!text && content === undefined && out !== undefined) text = JSON.stringify(out, null, 2);
  if (chunk.preliminary) return { ...p, output: text, preliminary: true };
  return { ...p, state: chunk.isError ? "error" : "done", error: chunk.isError ? text : undefined, output: text, images: shownPictures(content, out?.details), files: outputOf(out?.details), change: changeOf(out?.details), preliminary: false, durationMs: took(p, now) };
}

/** Clocks of one machine, read by two goroutines. */
const slack = 2000;
/** From a prompt to its turn everything may have to be loaded. */
const loadTime = 60_000;

/**
 * History without what the running turn shows itself. Messages are written to
 * the file while the turn runs, so both know them.
 *
 * Where we saw the turn begin, what was in the file before is no part of it. Where
 * it had begun already, its prompt divides: the last user message, if that is
 * about as old as the turn. Where nothing tells when it began, the last user
 * message divides in any case.
 * @param {any[]} messages
 * @param {Turn | null} turn
 */
export function withoutTurn(messages, turn) {
  if (!turn || turn.startedAt === Infinity) return messages;
  const own = (/** @type {any} */ m) => m?.role === "assistant" || m?.role === "toolResult";
  const since = turn.startedAt - slack;
  const before = turn.before;
  if (before) return messages.filter((m) => !(own(m) && !before.has(String(m.entryId)) && m.timestamp >= since));
  let prompt = messages.length - 1;
  while (prompt >= 0 && messages[prompt]?.role !== "user") prompt--;
  if (prompt < 0) return messages;
  if (turn.startedAt > 0 && messages[prompt].timestamp < turn.startedAt - loadTime) return messages.filter((m) => !(own(m) && m.timestamp >= since));
  return messages.filter((m, i) => !(own(m) && i > prompt));
}
