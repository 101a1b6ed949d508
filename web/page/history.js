// Messages of a session file, as rows of the transcript.

import { changeOf } from "./change.js";
import { named, t, watchLanguage } from "./i18n.js";

/** @import {Row, AssistantRow, Part, ToolPart, Picture, AttachedFile} from "./types.js" */

/** Pictures are shown only from the message itself; nothing is fetched. */
const shown = /^image\/(png|jpeg|gif|webp)$/;

/**
 * @param {any} content a string, or blocks
 * @returns {any[]}
 */
function blocks(content) {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter((b) => b && typeof b === "object") : [];
}

/** @param {any} content */
export function textOf(content) {
  return blocks(content)
    .filter((b) => b.type === "text" && typeof b.text === "string")
    .map((b) => b.text)
    .join("\n");
}

/** An address of a picture on this server, or "". @param {any} url */
const ownAddress = (url) => (typeof url === "string" && url.startsWith("/api/pictures/") ? url : "");

/**
 * The small picture that comes with the end of a call.
 * @param {any} details
 * @returns {Picture[]}
 */
export function previewOf(details) {
  const p = details?.preview;
  const ok = p && typeof p.data_uri === "string" && /^data:image\/(png|jpeg|webp);base64,/.test(p.data_uri);
  return ok ? [{ src: p.data_uri, whole: ownAddress(p.url) || undefined, label: String(p.mime ?? t("picture.none")) }] : [];
}

/**
 * @param {any} content
 * @returns {Picture[]}
 */
export function picturesOf(content) {
  return blocks(content)
    .filter((b) => b.type === "image" && !b.attachmentId)
    .map((b) => {
      const mime = String(b.mimeType ?? "");
      const label = String(b.name ?? mime ?? t("picture.none"));
      const whole = ownAddress(b.url);
      if (whole) return { src: ownAddress(b.thumbUrl) || whole, whole, label };
      const ok = shown.test(mime) && typeof b.data === "string" && b.data !== "" && !b.data.startsWith("blob:");
      return { src: ok ? `data:${mime};base64,${b.data}` : "", label };
    });
}

/**
 * The files that a message has by reference.
 * @param {any} content
 * @returns {AttachedFile[]}
 */
export function filesOf(content) {
  return blocks(content)
    .filter((b) => b.type === "image" && typeof b.attachmentId === "string")
    .map((b) => ({ id: b.attachmentId, name: String(b.name || "file"), mimeType: String(b.mimeType ?? ""), size: Number(b.size) || 0, url: String(b.displayUrl ?? "") }));
}

/**
 * The file that a tool's result names as its outcome.
 * @param {any} details
 * @returns {AttachedFile[]}
 */
export function outputOf(details) {
  const id = details?.outputAttachmentId;
  return typeof id === "string" && id.startsWith("att_") ? [{ id, name: "", mimeType: "", size: 0, url: String(details.displayUrl ?? "") }] : [];
}

/** @param {any} m */
function noteTitle(m) {
  const d = m.details;
  if (m.customType !== "pi-web:subagent-notification" || typeof d?.description !== "string") return t("note.custom", { kind: m.customType ?? t("note.extension") });
  return t("note.subagent", { task: d.description.slice(0, 80), status: named("status", String(d.status)) });
}

/**
 * Rows by the message that they show, with the results that they were made with:
 * a long history is not made anew for one more message.
 * @type {WeakMap<object, {row: Row | null, results: any[]}>}
 */
let made = new WeakMap();
watchLanguage(() => (made = new WeakMap())); // titles of rows are words

/**
 * @param {any[]} messages in their order, each with its entryId
 * @returns {Row[]}
 */
export function toRows(messages) {
  /** @type {{m: any, key: string, results: any[]}[]} */
  const shows = [];
  /** Where the result of a call goes. @type {Map<string, {results: any[], n: number}>} */
  const calls = new Map();
  const keys = new Set();
  messages.forEach((m, i) => {
    if (!m || typeof m !== "object" || m.role === "system") return;
    if (m.role === "toolResult") {
      const call = calls.get(String(m.toolCallId));
      if (call) {
        call.results[call.n] = m;
        return;
      }
    }
    let key = String(m.entryId ?? `m${i}`);
    if (keys.has(key)) key += `~${i}`; // an id that a file has twice
    keys.add(key);
    /** @type {any[]} */
    const results = [];
    if (m.role === "assistant") {
      for (const b of blocks(m.content)) {
        if (b.type !== "toolCall") continue;
        calls.set(String(b.id), { results, n: results.length });
        results.push(null);
      }
    }
    shows.push({ m, key, results });
  });
  /** @type {Row[]} */
  const rows = [];
  for (const { m, key, results } of shows) {
    const known = made.get(m);
    const same = known && (known.row?.key ?? key) === key && known.results.length === results.length && results.every((r, i) => r === known.results[i]);
    const row = same ? known.row : rowOf(m, key, results);
    if (!same) made.set(m, { row, results });
    if (row) rows.push(row);
  }
  return rows;
}

/** @param {any} m @param {string} key @param {any[]} results @returns {Row | null} */
function rowOf(m, key, results) {
  const time = typeof m.timestamp === "number" ? m.timestamp : undefined;
  const edited = m.edited === "removed" || m.edited === "replaced" ? m.edited : undefined;
  switch (m.role) {
    case "user":
      return { kind: "user", key, text: textOf(m.content), images: picturesOf(m.content), files: filesOf(m.content), time, edited };
    case "assistant":
      return { ...assistant(m, key, time, results), edited };
    case "toolResult":
      return { kind: "note", key, title: t("note.orphan", { tool: m.toolName ?? t("note.aTool") }), text: textOf(m.content), plain: true, time };
    case "bashExecution":
      return shell(m, key, time);
    case "compactionSummary":
      return { kind: "note", key, title: t("note.compacted"), text: String(m.summary ?? ""), time };
    case "branchSummary":
      return { kind: "note", key, title: t("note.branch"), text: String(m.summary ?? ""), time };
    case "custom":
      return m.display === false ? null : { kind: "note", key, title: noteTitle(m), text: textOf(m.content), time };
    default:
      return { kind: "note", key, title: t("note.foreign", { role: m.role ?? t("note.noRole") }), text: JSON.stringify(m, null, 2), plain: true, time };
  }
}

/**
 * @param {any} m
 * @param {string} key
 * @param {number | undefined} time
 * @param {any[]} results of its calls in their order, null where there is none
 * @returns {AssistantRow}
 */
function assistant(m, key, time, results) {
  /** @type {Part[]} */
  const parts = [];
  let call = 0;
  blocks(m.content).forEach((b, n) => {
    const id = `${key}.${n}`;
    if (b.type === "text" && b.text?.trim()) parts.push({ type: "text", id, text: String(b.text) });
    else if (b.type === "thinking" && (b.thinking?.trim() || b.redacted)) {
      parts.push({ type: "thinking", id, text: String(b.thinking ?? ""), redacted: !!b.redacted });
    } else if (b.type === "toolCall") {
      /** @type {ToolPart} */
      const part = { type: "tool", id: String(b.id ?? id), name: String(b.name ?? "tool"), input: b.arguments ?? {}, state: "lost", output: "", images: [] };
      const result = results[call++];
      if (result) finish(part, result);
      parts.push(part);
    }
  });
  return {
    kind: "assistant", key, parts, time,
    model: m.model, provider: m.provider, durationMs: m.durationMs, usage: m.usage,
    aborted: m.stopReason === "aborted",
    cut: m.stopReason === "length",
    error: m.stopReason === "error" ? String(m.errorMessage || t("row.modelFailed")) : undefined,
  };
}

/** @param {ToolPart} part @param {any} m the result */
function finish(part, m) {
  const text = textOf(m.content);
  part.result = String(m.entryId ?? "");
  part.state = m.isError ? "error" : "done";
  if (m.isError) part.error = text || t("turn.toolFailed");
  else part.output = text;
  part.images = picturesOf(m.content);
  part.files = outputOf(m.details);
  part.change = changeOf(m.details);
  if (typeof m.durationMs === "number") part.durationMs = m.durationMs;
}

/** A command that the user ran: shown like a tool's call, because it is one. */
/** @param {any} m @param {string} key @param {number | undefined} time @returns {AssistantRow} */
function shell(m, key, time) {
  const failed = m.cancelled || (typeof m.exitCode === "number" && m.exitCode !== 0);
  const end = m.cancelled ? t("note.cancelled") : t("note.exitCode", { code: String(m.exitCode) });
  const output = String(m.output ?? "");
  return {
    kind: "assistant", key, time,
    parts: [{
      type: "tool", id: key, name: t("note.yourCommand"), input: { command: String(m.command ?? "") },
      state: failed ? "error" : "done", output: failed ? "" : output, error: failed ? `${output}\n(${end})`.trim() : undefined, images: [],
    }],
  };
}
