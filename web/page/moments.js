// The history of the policy along the transcript: where tools were chosen, and
// what was sent under which prompt.

import { list, t } from "./i18n.js";

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
const toolList = (tools) => (tools?.length ? list(tools) : t("moment.noTools"));

/** A moment in a few words. @param {Moment} m */
export function words(m) {
  switch (m.what) {
    case "selection":
      if (!m.counts) return t("moment.noCount");
      if (m.kind === "chat-only") return t("moment.chatOnly");
      return m.tools ? t("moment.tools", { tools: toolList(m.tools) }) : t("moment.settings");
    case "declaration":
      return t("moment.declared", { tools: toolList(m.tools) });
    case "subagent":
      return t("moment.subagent");
    default:
      return m.bytes ? t("moment.sent", { tools: toolList(m.tools), n: m.bytes }) : t("moment.sentNoPrompt", { tools: toolList(m.tools) });
  }
}
