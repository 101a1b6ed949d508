// What a person does with the tree of a session: go somewhere else, write a message
// anew, make a session of a part, name an entry.

import { call, explain, sessionPath } from "./api.js";
import { keepDraft } from "./composer.js";
import { t } from "./i18n.js";

/** @import {OpenSession} from "./session.js" */
/** @import {TreeNode} from "./tree.js" */
/** @import {UserRow} from "./types.js" */

/** Asks for the tree; its detail is the entry to begin with, or "". */
export const showTree = "piweb-tree";

/** @param {string} [entry] */
export const openTree = (entry = "") => void dispatchEvent(new CustomEvent(showTree, { detail: entry }));

/**
 * All entries of a session, page by page from the newest.
 * @param {string} id @param {AbortSignal} signal
 * @returns {Promise<{nodes: TreeNode[], leaf: string}>}
 */
export async function readTree(id, signal) {
  /** @type {TreeNode[][]} */
  const pages = [];
  let before = 0;
  let leaf = "";
  do {
    const p = await call(sessionPath(id, `/tree?limit=5000${before ? `&before=${before}` : ""}`), { signal });
    if (!pages.length) leaf = String(p.leafId ?? "");
    pages.unshift(Array.isArray(p.entries) ? p.entries : []);
    before = Number(p.before) || 0;
  } while (before > 0);
  return { nodes: pages.flat(), leaf };
}

/**
 * Goes to another entry; null where that was not to be had.
 * @param {OpenSession} session @param {string} entryId @param {boolean} summarize
 * @returns {Promise<{text: string} | null>}
 */
async function navigate(session, entryId, summarize) {
  session.set({ sendProblem: null });
  try {
    const n = await call(sessionPath(session.id, "/navigate"), { method: "POST", body: { entryId, summarize } });
    if (n.pinned) session.notice(t("tree.pinned"));
    await session.refetch();
    void session.refreshPolicy();
    return { text: String(n.text ?? "") };
  } catch (e) {
    session.set({ sendProblem: explain(e) });
    return null;
  }
}

/**
 * Goes on from another entry. Going to a message that a person wrote puts it into
 * the composer. True when the session is there.
 * @param {OpenSession} session @param {string} entryId @param {boolean} summarize
 */
export async function goOnFrom(session, entryId, summarize) {
  const n = await navigate(session, entryId, summarize);
  if (!n) return false;
  session.offer(n.text);
  session.say(t("tree.moved"));
  return true;
}

/**
 * Makes a new session that ends with an entry, or in front of a message that is to
 * be written anew. Its id, or "".
 * @param {OpenSession} session @param {string} entryId @param {boolean} before
 */
export async function forkAt(session, entryId, before) {
  session.set({ sendProblem: null });
  try {
    const made = await call(sessionPath(session.id, "/forks"), { method: "POST", body: { entryId, before } });
    const id = String(made.sessionId);
    if (made.text) keepDraft(id, String(made.text));
    session.onChange();
    return id;
  } catch (e) {
    session.set({ sendProblem: explain(e) });
    return "";
  }
}

/** @param {OpenSession} session @param {string} entryId @param {string} label "" takes it away */
export async function setLabel(session, entryId, label) {
  await call(sessionPath(session.id, `/labels/${encodeURIComponent(entryId)}`), { method: "PUT", body: { label } });
  const labels = { ...session.state.labels };
  if (label.trim()) labels[entryId] = label.trim();
  else delete labels[entryId];
  session.set({ labels });
}

/**
 * The pictures of a message as they are sent.
 * @param {UserRow} row
 */
async function picturesOf(row) {
  return Promise.all(row.images.filter((p) => p.src).map(async (p) => {
    const blob = await (await fetch(p.whole ?? p.src)).blob();
    /** @type {string} */
    const url = await new Promise((ok, no) => {
      const r = new FileReader();
      r.onload = () => ok(String(r.result));
      r.onerror = () => no(r.error);
      r.readAsDataURL(blob);
    });
    return { type: "image", data: url.slice(url.indexOf(",") + 1), mimeType: blob.type };
  }));
}

/**
 * Writes a message anew: the conversation goes on in front of it, on a branch of its
 * own. Nothing happens before it is sent; what cannot be sent stays in the composer.
 * @param {OpenSession} session @param {UserRow} row @param {string} text
 */
export async function resend(session, row, text) {
  const images = await picturesOf(row).catch(() => []);
  if (!(await navigate(session, row.key, false))) return false;
  if (await session.send(text, row.files ?? [], images)) return true;
  session.offer(text);
  return false;
}
