// The history of the policy along the transcript: where tools were chosen, and
// what was sent under which prompt.

import { list } from "./policywords.js";

/** @import {Moment, MomentRow, Row} from "./types.js" */

/**
 * Puts the moments of a policy between the rows that they stand between in the
 * file. Moments of a branch that is not shown are left to the panel.
 * @param {Row[]} rows
 * @param {any[]} messages what the rows were made from
 * @param {Moment[]} history
 * @returns {Row[]}
 */
export function withMoments(rows, messages, history) {
  if (history.length === 0) return rows;
  const keys = new Set(rows.map((r) => r.key));
  /** The row that shows a message: a result is shown in the row of its call. @type {Map<string, string>} */
  const rowOf = new Map([["", ""]]);
  let last = "";
  for (const m of messages) {
    if (typeof m?.entryId !== "string") continue;
    if (keys.has(m.entryId)) last = m.entryId;
    rowOf.set(m.entryId, last);
  }
  /** @type {Map<string, MomentRow>} */
  const at = new Map();
  for (const m of history) {
    const key = rowOf.get(m.after ?? "");
    if (key === undefined) continue;
    const row = at.get(key);
    if (row) row.moments.push(m);
    else at.set(key, { kind: "moment", key: `policy-${m.entry}`, moments: [m] });
  }
  /** @type {Row[]} */
  const out = [];
  const first = at.get("");
  if (first) out.push(first);
  for (const r of rows) {
    out.push(r);
    const m = at.get(r.key);
    if (m) out.push(m);
  }
  return out;
}

/** @param {string[] | null | undefined} tools */
const toolList = (tools) => (tools?.length ? list(tools) : "no tools");

/** A moment in a few words. @param {Moment} m */
export function words(m) {
  switch (m.what) {
    case "selection":
      if (!m.counts) return "A choice of tools that does not count";
      if (m.kind === "chat-only") return "Chat Only from here on";
      return m.tools ? `Tools from here on: ${toolList(m.tools)}` : "From here on the settings decide about tools";
    case "declaration":
      return `Another program declared ${toolList(m.tools)}`;
    case "subagent":
      return "The session of a subagent";
    default:
      return `Sent with ${toolList(m.tools)}, ${m.bytes ? `a prompt of ${m.bytes.toLocaleString("en")} bytes` : "no system message"}`;
  }
}
