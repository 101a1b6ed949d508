// What a session has delegated: asked for when it is opened, often while something
// runs, and now and then else.

import { call, explain, sessionPath } from "./api.js";
import { Store } from "./html.js";

/**
 * @typedef {object} Child
 * @property {string} sessionId
 * @property {string} profile
 * @property {string} description
 * @property {string} status
 * @property {boolean} pending its result waits for the parent's next prompt
 * @property {string} [error]
 * @property {{turns: number, tokens: number, dollars: number, seconds: number}} spent
 *
 * @typedef {object} ChildrenState
 * @property {boolean} loaded
 * @property {boolean} enabled
 * @property {Child[]} children
 * @property {Record<string, number>} limits
 * @property {Record<string, number>} spent
 * @property {number} depth
 * @property {{text: string, detail: string} | null} problem
 */

const often = 1000;
const seldom = 15_000;

/** @extends {Store<ChildrenState>} */
export class Children extends Store {
  /** @param {string} id @param {() => void} onChange the list of sessions may look different now */
  constructor(id, onChange) {
    super({ loaded: false, enabled: true, children: [], limits: {}, spent: {}, depth: 0, problem: null });
    this.id = id;
    this.onChange = onChange;
    this.closed = false;
    this.timer = 0;
    this.last = "";
    void this.refresh();
  }

  get running() {
    return this.state.children.some((c) => c.status === "queued" || c.status === "running");
  }

  async refresh() {
    clearTimeout(this.timer);
    try {
      const a = await call(sessionPath(this.id, "/subagents"));
      if (this.closed) return;
      const children = /** @type {Child[]} */ (Array.isArray(a.subagents) ? a.subagents : []);
      this.set({ loaded: true, enabled: !!a.enabled, children, limits: a.limits ?? {}, spent: a.spent ?? {}, depth: a.depth ?? 0 });
      const now = children.map((c) => c.sessionId + c.status).join(" ");
      if (this.last !== now && this.last + now) this.onChange();
      this.last = now;
    } catch {
      // The page says elsewhere when the server is away.
    }
    if (!this.closed) this.timer = window.setTimeout(() => (document.hidden ? this.later() : void this.refresh()), this.running ? often : seldom);
  }

  later() {
    this.timer = window.setTimeout(() => (document.hidden ? this.later() : void this.refresh()), often);
  }

  /** @param {string} id @param {any} body */
  async tell(id, body) {
    this.set({ problem: null });
    try {
      await call(`subagents/${encodeURIComponent(id)}`, { method: "POST", body });
    } catch (e) {
      this.set({ problem: explain(e) });
    }
    await this.refresh();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }
}
