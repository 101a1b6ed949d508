// The list of sessions: fetched in pages, searched by the server, fetched again
// when something happened and now and then.

import { call, explain } from "./api.js";
import { Store } from "./html.js";
import { t } from "./i18n.js";

/** @import {SearchHit, SessionItem} from "./types.js" */

const page = 60;
const every = 15_000;

/**
 * @typedef {object} ListState
 * @property {SessionItem[]} sessions
 * @property {string} cursor of the next page, "" at the end
 * @property {string} q
 * @property {boolean} loaded something was read once
 * @property {boolean} loading
 * @property {{text: string, detail: string} | null} problem
 * @property {SearchHit[]} hits in messages, of what is searched for
 * @property {boolean} moreHits there may be more of them
 * @property {boolean} searching
 */

/** @extends {Store<ListState>} */
export class SessionList extends Store {
  constructor() {
    super({ sessions: [], cursor: "", q: "", loaded: false, loading: false, problem: null, hits: [], moreHits: false, searching: false });
    /** @type {AbortController | null} */
    this.asking = null;
    /** @type {AbortController | null} */
    this.seeking = null;
    this.seekTimer = 0;
    this.timer = 0;
    setInterval(() => !document.hidden && void this.refresh(), every);
    document.addEventListener("visibilitychange", () => !document.hidden && void this.refresh());
  }

  /** @param {string} q */
  search(q) {
    this.set({ q });
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.refresh(), 180);
    this.seeking?.abort(); // the server stops, too
    clearTimeout(this.seekTimer);
    if (!q.trim()) {
      this.set({ hits: [], searching: false });
      return;
    }
    this.set({ searching: true });
    this.seekTimer = window.setTimeout(() => void this.seek(q.trim()), 300);
  }

  /** Looks through the messages of all sessions. @param {string} q */
  async seek(q) {
    const seeking = new AbortController();
    this.seeking = seeking;
    try {
      const got = await call(`search?${new URLSearchParams({ q, limit: "60", perSession: "5" })}`, { signal: seeking.signal });
      if (this.seeking === seeking) this.set({ hits: Array.isArray(got.hits) ? got.hits : [], moreHits: !!got.more, searching: false });
    } catch {
      if (this.seeking === seeking && !seeking.signal.aborted) this.set({ hits: [], searching: false });
    }
  }

  /** Reads again what is shown. */
  async refresh() {
    const limit = Math.min(200, Math.max(page, this.state.sessions.length));
    await this.ask(limit, "", (fresh) => fresh);
  }

  /** Soon, but not for each of many reasons at once. */
  touch() {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.refresh(), 300);
  }

  async more() {
    if (this.state.cursor) await this.ask(page, this.state.cursor, (fresh) => [...this.state.sessions, ...fresh]);
  }

  /** @param {number} limit @param {string} cursor @param {(fresh: SessionItem[]) => SessionItem[]} join */
  async ask(limit, cursor, join) {
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    const query = new URLSearchParams({ limit: String(limit) });
    if (cursor) query.set("cursor", cursor);
    if (this.state.q.trim()) query.set("q", this.state.q.trim());
    this.set({ loading: true });
    try {
      const got = await call(`sessions?${query}`, { signal: asking.signal });
      const seen = new Set();
      const sessions = join(Array.isArray(got.sessions) ? got.sessions : []).filter((s) => s.sessionId && !seen.has(s.sessionId) && seen.add(s.sessionId));
      this.set({ sessions, cursor: got.nextCursor ?? "", loaded: true, loading: false, problem: null });
    } catch (e) {
      if (this.asking !== asking) return; // a newer question is under way
      this.set({ loading: false, loaded: true, problem: explain(e) });
    }
  }
}

/**
 * Sessions by folder, folders and sessions newest first.
 * @param {SessionItem[]} sessions
 */
export function byFolder(sessions) {
  /** @type {Map<string, SessionItem[]>} */
  const groups = new Map();
  const sorted = [...sessions].sort((a, b) => stamp(b).localeCompare(stamp(a)));
  for (const s of sorted) {
    const g = groups.get(s.cwd ?? "");
    if (g) g.push(s);
    else groups.set(s.cwd ?? "", [s]);
  }
  return [...groups].map(([cwd, items]) => ({ cwd, items }));
}

/**
 * Children stand below their parent, the oldest first; all others stay as they are.
 * One whose parent is not in the list stands for itself.
 * @param {SessionItem[]} items
 * @returns {{s: SessionItem, child: boolean}[]}
 */
export function withChildren(items) {
  const there = new Set(items.map((s) => s.sessionId));
  /** @type {Map<string, SessionItem[]>} */
  const below = new Map();
  /** @type {SessionItem[]} */
  const tops = [];
  for (const s of items) {
    const parent = s.subagent?.parentSessionId ?? "";
    if (!there.has(parent) || parent === s.sessionId) tops.push(s);
    else below.set(parent, [...(below.get(parent) ?? []), s]);
  }
  /** @type {{s: SessionItem, child: boolean}[]} */
  const out = [];
  const seen = new Set();
  /** @param {SessionItem} s @param {boolean} child */
  const put = (s, child) => {
    if (seen.has(s.sessionId)) return;
    seen.add(s.sessionId);
    out.push({ s, child });
    for (const c of (below.get(s.sessionId) ?? []).sort((a, b) => a.createdAt.localeCompare(b.createdAt))) put(c, true);
  };
  for (const s of tops) put(s, false);
  for (const s of items) put(s, false); // files can name each other in a circle
  return out;
}

/** @param {SessionItem} s */
const stamp = (s) => s.updatedAt ?? s.createdAt ?? "";

/** What a session is called. @param {SessionItem} s */
export function titleOf(s) {
  return s.name?.trim() || s.firstMessage?.trim() || t(s.problem ? "list.unreadableTitle" : "list.untitled");
}
