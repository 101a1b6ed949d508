// What was said in a session, fetched in pages from the end: what a person looks
// at first is there first, and a turn that ends costs only what it said.

import { call, sessionPath } from "./api.js";

/** A page that comes in the background, in messages. */
const pageSize = 1000;
/** Addresses of pictures and files in messages are good for an hour. */
export const freshTime = 45 * 60_000;

/**
 * @typedef {object} Page
 * @property {any[]} messages
 * @property {number} from how many messages stand before the first one
 * @property {number} total
 * @property {string} leafId
 * @property {Record<string, string>} labels names of entries
 * @property {boolean} [moved] the entry that was named is not on the branch any more
 */

/** @param {string} id @param {Record<string, string>} q @returns {Promise<Page>} */
async function page(id, q) {
  const p = await call(sessionPath(id, `/transcript?${new URLSearchParams(q)}`));
  return { messages: Array.isArray(p.messages) ? p.messages : [], from: Number(p.from) || 0, total: Number(p.total) || 0, leafId: String(p.leafId ?? ""), labels: p.labels && typeof p.labels === "object" ? p.labels : {}, moved: !!p.moved };
}

/** The last messages. @param {string} id */
export const latest = (id) => page(id, {});

/** @param {string} id @param {string} entry */
export const earlier = (id, entry) => page(id, { before: entry, limit: String(pageSize) });

/**
 * Brings what is known up to date: what was said after it, or, if the conversation
 * goes on from another place, what is there now. Messages that stay are the same
 * objects.
 * @param {string} id @param {any[]} known @param {number} missing how many stand before them
 * @returns {Promise<{messages: any[], missing: number, labels: Record<string, string>}>}
 */
export async function update(id, known, missing) {
  let list = known;
  for (;;) {
    const last = list[list.length - 1]?.entryId;
    if (!last) break;
    const p = await page(id, { after: String(last), limit: "2000" });
    if (p.moved) return joined(list, missing, p);
    if (p.messages.length) list = list.concat(p.messages);
    if (!p.messages.length || p.from + p.messages.length >= p.total) return { messages: list, missing, labels: p.labels };
  }
  const p = await latest(id);
  return { messages: p.messages, missing: p.from, labels: p.labels };
}

/** Two branches have their beginning in common. @param {any[]} known @param {number} missing @param {Page} p */
function joined(known, missing, p) {
  const at = new Map(known.map((m, i) => [m?.entryId, i]));
  for (const [i, m] of p.messages.entries()) {
    const k = at.get(m?.entryId);
    if (k === undefined) continue;
    if (missing + k !== p.from + i) break; // something was taken out between them
    let n = 0;
    while (i + n < p.messages.length && known[k + n]?.entryId === p.messages[i + n]?.entryId) n++;
    return { messages: known.slice(0, k + n).concat(p.messages.slice(i + n)), missing, labels: p.labels };
  }
  return { messages: p.messages, missing: p.from, labels: p.labels };
}
