// An open session: its history, its running turn, its policy, and everything the
// page may ask of it. Components show what is in here and call its methods.

import { call, explain, sessionPath, streamURL } from "./api.js";
import { textOf, toRows } from "./history.js";
import { Store } from "./html.js";
import { language, t } from "./i18n.js";
import { withMoments } from "./moments.js";
import { Outbox, unsure } from "./outbox.js";
import { earlier, freshTime, latest, update } from "./saying.js";
import { Connection } from "./sse.js";
import { apply, newTurn, withoutTurn } from "./turn.js";
import { noWaiting, questionOf, waitingOf } from "./waiting.js";

/** @import {AttachedFile, Explanation, Kind, Model, Row, ToolsAnswer} from "./types.js" */
/** @import {Turn} from "./turn.js" */
/** @import {ConnectionState} from "./sse.js" */
/** @import {Question, Waiting} from "./waiting.js" */

/**
 * @typedef {{text: string, detail: string}} Problem
 *
 * @typedef {object} State
 * @property {"loading" | "ready" | "failed"} phase
 * @property {Problem | null} problem why it failed
 * @property {any[]} messages of the branch, as the file has them
 * @property {number} missing how many messages stand before them and are not here yet
 * @property {{entry: string} | null} target the place that is asked for
 * @property {string} astray the place that was asked for and is not on this branch
 * @property {Record<string, string>} labels names of entries
 * @property {{text: string} | null} offered a text for the composer
 * @property {Turn | null} live the running turn
 * @property {boolean} busy
 * @property {{text: string, files: AttachedFile[], after: string, time: number} | null} pending sent, and not yet in the file
 * @property {ConnectionState} connection
 * @property {ToolsAnswer | null} tools
 * @property {Explanation | null} policy
 * @property {Problem | null} policyProblem
 * @property {boolean} changing a change of tools or model is under way
 * @property {Model[]} models
 * @property {string} thinking The thinking level.
 * @property {{id: string, provider: string} | null} model
 * @property {string} name
 * @property {string} file
 * @property {"" | "sending" | "stopping"} doing
 * @property {Problem | null} sendProblem
 * @property {Problem | null} turnProblem an error that the file does not have
 * @property {string[]} notices
 * @property {Waiting} waiting messages that wait for their place in the run
 * @property {Question[]} questions calls that wait for a yes
 * @property {string | null} delivered the text of a message of which no answer came, and which is in the file
 * @property {string[]} unheard messages that waited when the server went away
 * @property {string} said for screen readers
 */

/**
 * Histories of sessions that were open a moment ago, so that going back and forth
 * shows something at once. What is shown is always fetched again.
 * @type {Map<string, {messages: any[], missing: number}>}
 */
const recent = new Map();

/** The history of a policy that is not known yet. @type {import("./types.js").Moment[]} */
const none = [];

/**
 * Models that were chosen for sessions which have not used them yet: the file
 * does not know them before the first message.
 * @type {Map<string, {provider: string, id: string}>}
 */
export const startedWith = new Map();

/** How many messages of such a history are kept. */
const recentMessages = 400;

/** @param {string} id @param {any[]} messages @param {number} missing */
function remember(id, messages, missing) {
  let cut = Math.max(0, messages.length - recentMessages);
  while (cut > 0 && messages[cut]?.role === "toolResult") cut--;
  recent.delete(id);
  recent.set(id, { messages: cut ? messages.slice(cut) : messages, missing: missing + cut });
  for (const old of recent.keys()) {
    if (recent.size <= 6) break;
    recent.delete(old);
  }
}

/** @extends {Store<State>} */
export class OpenSession extends Store {
  /**
   * @param {string} id
   * @param {() => void} onChange the list of sessions may look different now
   */
  constructor(id, onChange) {
    const known = recent.get(id);
    super({
      phase: known ? "ready" : "loading", problem: null, messages: known?.messages ?? [], missing: known?.missing ?? 0, target: null, astray: "", labels: {}, offered: null, live: null, busy: false, pending: null,
      connection: "connecting", tools: null, policy: null, policyProblem: null, changing: false, models: [], model: null, thinking: "off",
      name: "", file: "", doing: "", sendProblem: null, turnProblem: null, notices: [], said: "",
      waiting: noWaiting, questions: [], delivered: null, unheard: [],
    });
    this.id = id;
    this.onChange = onChange;
    this.closed = false;
    this.ending = false;
    this.turns = 0;
    this.startedAt = 0;
    /** The next start is told again: the turn had begun before we came. */
    this.replayed = false;
    this.greeted = false;
    this.replayUntil = 0;
    this.connectedOnce = false;
    this.outbox = new Outbox(id);
    this.saying = "";
    this.saidAt = 0;
    /** @type {Connection | null} */
    this.connection = null;
    /** @type {Turn | null} the turn as of the last chunk; the state follows once per frame */
    this.turn = null;
    this.frame = 0;
    /** @type {Promise<void> | null} */
    this.fetching = null;
    this.fetchAgain = false;
    this.freshUntil = 0;
    this.tongue = language();
    this.loadingEarlier = false;
    /** @type {{messages: any[], live: boolean, start: number, history: import("./types.js").Moment[], rows: Row[]} | null} */
    this.made = null;
    /** @type {{rows: Row[], pending: State["pending"], live: Turn | null, list: Row[]} | null} */
    this.all = null;
    void this.open();
  }

  close() {
    this.closed = true;
    this.connection?.close();
    this.listeners.clear();
  }

  /** History first, then the stream: the stream brings the running turn from its start. */
  async open() {
    await this.refetch();
    if (this.closed || this.state.phase === "failed") return;
    this.connection = new Connection(streamURL(this.id), {
      frame: (f) => this.receive(f),
      state: (connection) => {
        if (this.closed) return;
        if (connection === "open") {
          if (this.connectedOnce) void this.again();
          this.connectedOnce = true;
          this.greeted = false;
        }
        if (connection === "waiting" && (this.connection?.failures ?? 0) === 2) this.say(t("composer.lostSaid"));
        this.set({ connection });
      },
      idle: () => !this.state.busy && !this.state.doing,
      refused: (e) => this.set({ sendProblem: explain(e) }),
    });
    void this.refreshState();
    void this.refreshPolicy();
    void this.refreshModels();
  }

  /** @param {string} said */
  say(said) {
    // What is said in one moment is heard as one: the second would swallow the first.
    const now = performance.now();
    this.saying = now - this.saidAt < 400 ? `${this.saying} ${said}` : said;
    this.saidAt = now;
    this.set({ said: this.saying });
  }

  /** After the stream was away, perhaps with the server: everything is asked for anew. */
  async again() {
    const waited = this.state.waiting;
    const before = new Set(this.state.messages.map((m) => m?.entryId));
    this.set({ waiting: noWaiting, questions: [] }); // what still waits is told anew
    this.onChange();
    void this.refreshState();
    void this.refreshPolicy();
    await this.refetch();
    // What had no answer is known now: the file has it, or not.
    if (this.outbox.sent && this.state.sendProblem && !this.state.doing) this.set({ sendProblem: { text: t("send.notArrived"), detail: t("send.unsureDetail") } });
    if (waited === noWaiting || this.closed) return;
    await new Promise((tell) => setTimeout(tell, 500)); // the first frames come with the stream
    const heard = [...this.state.waiting.steering, ...this.state.waiting.followUp];
    for (const m of this.state.messages) if (m?.role === "user" && !before.has(m.entryId)) heard.push(textOf(m.content));
    const unheard = [...waited.steering, ...waited.followUp].filter((text) => !heard.includes(text));
    if (unheard.length) this.set({ unheard: [...this.state.unheard, ...unheard] });
  }

  // ---- reading

  /** Fetches the history; calls that come meanwhile share one more fetch. */
  refetch() {
    if (this.fetching) {
      this.fetchAgain = true;
      return this.fetching;
    }
    this.fetching = this.fetchHistory().finally(() => {
      this.fetching = null;
    });
    return this.fetching;
  }

  async fetchHistory() {
    do {
      this.fetchAgain = false;
      const turns = this.turns;
      const ending = this.ending;
      try {
        const { messages: list, missing, labels } = await this.readMessages();
        if (this.closed) return;
        remember(this.id, list, missing);
        /** @type {Partial<State>} */
        const patch = { phase: "ready", problem: null, messages: list, missing, labels };
        if (this.state.pending && arrived(list, this.state.pending.after)) patch.pending = null;
        const delivered = this.state.doing === "sending" ? null : this.outbox.arrived(list);
        if (delivered !== null) Object.assign(patch, { delivered, sendProblem: null });
        if (ending && turns === this.turns) {
          patch.turnProblem = this.leftProblem(list);
          patch.pending = null;
          patch.live = null;
          this.turn = null;
          this.ending = false;
        }
        this.set(patch);
        void this.loadEarlier();
      } catch (e) {
        if (this.closed) return;
        if (this.state.phase === "loading") this.set({ phase: "failed", problem: explain(e) });
        // What is shown stays. A turn that has ended must still find its way home.
        if (this.ending) setTimeout(() => !this.closed && void this.refetch(), 3000);
        return;
      }
    } while (this.fetchAgain);
  }

  /** Only what is new, unless the addresses in what is here are about to end. */
  async readMessages() {
    const fresh = Date.now() < this.freshUntil;
    const { messages, missing } = this.state;
    if (fresh && messages.length) return update(this.id, messages, missing);
    const p = await latest(this.id);
    this.freshUntil = Date.now() + freshTime;
    return { messages: p.messages, missing: p.from, labels: p.labels };
  }

  /** Fetches what stands before, page by page, without being in the way. */
  async loadEarlier() {
    if (this.loadingEarlier) return;
    this.loadingEarlier = true;
    let failed = 0;
    while (!this.closed && this.state.missing > 0 && failed < 5) {
      const first = this.state.messages[0]?.entryId;
      try {
        const p = await earlier(this.id, String(first));
        if (this.closed) return;
        if (p.moved || this.state.messages[0]?.entryId !== first) break; // another branch; its fetch goes on
        this.set({ messages: p.messages.concat(this.state.messages), missing: p.messages.length ? p.from : 0 });
        failed = 0;
      } catch {
        failed++;
        await new Promise((ok) => setTimeout(ok, 2000 * failed));
      }
      await new Promise((ok) => ("requestIdleCallback" in window ? requestIdleCallback(ok, { timeout: 300 }) : setTimeout(ok, 20)));
    }
    this.loadingEarlier = false;
  }

  /** Puts a text into the composer. @param {string} text */
  offer(text) {
    this.set({ offered: text ? { text } : null });
  }

  /** Goes to an entry or a call, wherever in the conversation it is. @param {string} entry */
  goTo(entry) {
    this.set({ target: entry ? { entry } : null, astray: "" });
  }

  /** The place is shown. */
  reached() {
    this.set({ target: null, astray: "" });
  }

  /** The place is not on the branch that is shown. */
  notThere() {
    this.set({ target: null, astray: this.state.target?.entry ?? "" });
  }

  /**
   * The address of a picture may have ended, after a long sleep: new ones come with
   * the history.
   * @param {EventTarget | null} el
   */
  pictureFailed(el) {
    if (!(el instanceof HTMLImageElement) || !el.src.startsWith(`${location.origin}/api/`) || Date.now() < this.freshUntil - freshTime + 60_000) return;
    this.freshUntil = 0;
    void this.refetch();
  }

  /**
   * The error of the turn that ended, unless its last message says it already.
   * @param {any[]} messages
   */
  leftProblem(messages) {
    const error = this.turn?.error;
    if (!error) return this.state.turnProblem;
    const last = messages[messages.length - 1];
    if (last?.role === "assistant" && last.stopReason === "error") return null;
    return { text: error, detail: "" };
  }

  async refreshState() {
    try {
      const { state } = await call(sessionPath(this.id, "/state"));
      if (this.closed || !state) return;
      this.set({ model: state.model ?? startedWith.get(this.id) ?? this.state.model, name: state.sessionName ?? "", file: state.sessionFile ?? "", thinking: state.thinkingLevel || "off", busy: !!state.isStreaming });
    } catch {
      // The transcript is readable without it.
    }
  }

  async refreshPolicy() {
    try {
      const [tools, policy] = await Promise.all([call(sessionPath(this.id, "/tools")), call(sessionPath(this.id, "/policy"))]);
      if (this.closed) return;
      this.set({ tools, policy, policyProblem: null });
      // A session that was never asked has no model of its own: name the one it would use.
      const would = /^([^/]+)\/(.+)$/.exec(policy?.ask?.model ?? "");
      if (would && !this.state.model) this.set({ model: { provider: would[1] ?? "", id: would[2] ?? "" } });
    } catch (e) {
      if (!this.closed) this.set({ policyProblem: explain(e) });
    }
  }

  async refreshModels() {
    try {
      const { models } = await call(sessionPath(this.id, "/models"));
      if (!this.closed && Array.isArray(models)) this.set({ models });
    } catch {
      // The choice then offers only the model in use.
    }
  }

  /** How the conversation begins, "" where that is not known yet. */
  firstSaid() {
    if (this.state.missing > 0) return "";
    const first = this.state.messages.find((m) => m?.role === "user");
    return first ? textOf(first.content).trim().slice(0, 300) : "";
  }

  /** The rows to show, as the same objects as before where nothing changed. */
  rows() {
    if (this.tongue !== language()) this.made = null;
    this.tongue = language();
    const { messages, live, pending, policy } = this.state;
    const start = live?.startedAt ?? 0;
    const history = policy?.record?.history ?? none;
    if (!this.made || this.made.history !== history || this.made.messages !== messages || this.made.live !== !!live || this.made.start !== start) {
      const shown = withoutTurn(messages, live);
      const rows = reuse(this.made?.rows ?? [], withMoments(toRows(shown), shown, history));
      this.made = { messages, live: !!live, start, history, rows };
    }
    const all = this.all;
    if (all?.rows === this.made.rows && all.pending === pending && all.live === live) return all.list;
    /** @type {Row[]} */
    const list = this.made.rows.slice();
    if (pending) list.push(pendingRow(pending));
    if (live) for (const r of live.rows) if (r.parts.length) list.push(r);
    this.all = { rows: this.made.rows, pending, live, list };
    return list;
  }

  // ---- the stream

  /** @param {any} f a decoded frame */
  receive(f) {
    if (this.closed) return;
    if (f?.kind === "uiMessageChunk" && f.chunk) this.chunk(f.chunk);
    else if (f?.kind === "control" && f.payload) this.control(f.payload);
  }

  /** @param {any} chunk */
  chunk(chunk) {
    switch (chunk.type) {
      case "start":
        this.turns++;
        this.ending = false;
        this.turn = newTurn(this.startedAt, this.replayed ? null : new Set(this.state.messages.map((m) => String(m?.entryId))));
        this.replayUntil = this.replayed ? performance.now() + 400 : 0;
        this.replayed = false;
        this.set({ live: this.turn, busy: true, turnProblem: null });
        this.say(t("page.answerBegins"));
        // The user's message may come from another window.
        setTimeout(() => !this.closed && void this.refetch(), 250);
        return;
      case "finish":
        this.end(t("page.answerComplete"));
        return;
      case "abort":
        if (this.turn) this.turn = apply(this.turn, chunk, Date.now());
        this.end(t("page.stopped"));
        return;
      case "error":
        if (!this.turn) {
          this.set({ turnProblem: { text: String(chunk.errorText || t("turn.failed")), detail: "" } });
          return;
        }
        // A turn that failed is over when it says so; before that it is a remark.
        if (this.state.busy) {
          this.turn = { ...this.turn, notice: String(chunk.errorText ?? "") };
          this.draw();
          return;
        }
        break;
      case "tool-input-available":
        if (this.state.busy) this.say(t("page.toolRuns", { tool: String(chunk.toolName ?? "") }));
    }
    // A stream that begins in the middle of a turn: show what comes, hide nothing.
    // What is told again happened before: how long it took is not known here.
    const now = this.turn?.before === null && performance.now() < this.replayUntil ? 0 : Date.now();
    this.turn = apply(this.turn ?? newTurn(Infinity, null), chunk, now);
    this.draw();
  }

  /** Puts the turn into the state once per frame, however many chunks come. */
  draw() {
    if (this.frame) return;
    this.frame = 1;
    const now = () => {
      if (!this.frame) return;
      this.frame = 0;
      if (!this.closed && this.turn) this.set({ live: this.turn });
    };
    if (document.hidden) setTimeout(now, 250);
    else requestAnimationFrame(now);
  }

  /** @param {string} said */
  end(said) {
    const news = !this.ending;
    this.ending = true;
    this.set({ live: this.turn, busy: false, doing: this.state.doing === "stopping" ? "" : this.state.doing });
    if (news) this.say(said);
    if (!news && !this.turn) return; // busy:false and the last chunk say the same
    void this.refetch();
    if (!news) return;
    void this.refreshPolicy(); // a receipt may have been written
    this.onChange();
  }

  /** @param {any} p the payload of a control frame */
  control(p) {
    switch (p.control) {
      case "session-state": {
        const s = p.snapshot ?? {};
        const was = this.state.busy;
        if (!this.greeted) this.replayed = !!s.busy;
        this.greeted = true;
        this.startedAt = s.busy ? Number(s.turn?.startedAt ?? 0) : 0;
        /** @type {Partial<State>} */
        const patch = { busy: !!s.busy };
        if (!s.busy && this.state.questions.length) patch.questions = [];
        if (s.model?.id) patch.model = { id: s.model.id, provider: s.model.provider };
        if (typeof s.title === "string" && s.title) patch.name = s.title;
        this.set(patch);
        // Its finish may have been lost with a connection.
        if (!s.busy && (was || this.turn)) this.end(t("page.answerComplete"));
        return;
      }
      case "session-status":
        if (p.state === "error") this.set({ sendProblem: { text: t("session.notStarted"), detail: String(p.detail ?? "") } });
        return;
      case "policy":
        if (this.state.tools) {
          this.set({ tools: { ...this.state.tools, kind: p.kind ?? this.state.tools.kind, tools: p.tools ?? this.state.tools.tools, source: p.source ?? this.state.tools.source } });
        }
        this.say(t("session.policyChanged"));
        void this.refreshPolicy();
        this.onChange();
        return;
      case "queue":
        this.set({ waiting: waitingOf(p) });
        return;
      case "extension-ui": {
        const q = questionOf(p.request);
        if (!q || this.state.questions.some((o) => o.id === q.id)) return;
        this.set({ questions: [...this.state.questions, q] });
        this.say(t("page.asks", { question: q.title }));
        this.onChange();
        return;
      }
      case "ask-answered":
        this.set({ questions: this.state.questions.filter((q) => q.id !== p.id) });
        this.onChange();
        return;
      case "history": // another program wrote to the session, or its leaf was moved
        void this.refetch();
        void this.refreshState();
        this.onChange();
        return;
      case "notice":
        this.notice(String(p.text ?? ""));
        return;
      case "error":
        // These are ends of a life, not failures: the next prompt begins another.
        if (!["idle", "stopped", "shutdown"].includes(String(p.code))) this.notice(String(p.message ?? t("session.ended")));
    }
  }

  /** @param {string} text */
  notice(text) {
    if (!text || this.state.notices.includes(text)) return;
    this.set({ notices: [...this.state.notices.slice(-2), text] });
    this.say(text);
  }

  /** @param {string} text */
  dismiss(text) {
    this.set({ notices: this.state.notices.filter((n) => n !== text) });
  }

  // ---- asking

  /**
   * Sends a prompt. It is true when the server has taken it; until then the caller
   * keeps the text.
   * @param {string} text @param {AttachedFile[]} [files] @param {{type: string, data: string, mimeType: string}[]} [images]
   */
  async send(text, files = /** @type {AttachedFile[]} */ ([]), images = /** @type {{type: string, data: string, mimeType: string}[]} */ ([])) {
    if (this.state.doing) return false;
    this.set({ doing: "sending", sendProblem: null, turnProblem: null });
    // The stream first, so that the turn's beginning is not missed.
    await this.connection?.ready(3000);
    const last = this.state.messages[this.state.messages.length - 1];
    const pending = { text, files, after: String(last?.entryId ?? ""), time: Date.now() };
    try {
      await call(sessionPath(this.id, "/messages"), { method: "POST", body: { ...withFiles(text, files, this.outbox.take(text, files)), ...(images.length ? { images } : {}) } });
      this.outbox.settle();
      if (arrived(this.state.messages, pending.after)) this.set({ doing: "" });
      else this.set({ doing: "", pending });
      // A command may lead to no message at all.
      if (text.startsWith("/")) setTimeout(() => this.state.pending === pending && !this.state.busy && this.set({ pending: null }), 1500);
      this.onChange();
      return true;
    } catch (e) {
      this.notSent(e);
      return false;
    }
  }

  /** A message was refused, or nobody knows what became of it. @param {unknown} e */
  notSent(e) {
    if (!unsure(e)) {
      this.outbox.settle();
      this.set({ doing: "", sendProblem: explain(e) });
      return;
    }
    this.set({ doing: "", sendProblem: { text: t("send.unsure"), detail: t("send.unsureDetail") } });
    void this.refetch(); // the file may say that it arrived
  }

  /**
   * Says something to the running turn. It is true when the server has taken it.
   * @param {string} text @param {"steer" | "follow_up"} how @param {AttachedFile[]} [files]
   */
  async queue(text, how, files = []) {
    if (this.state.doing) return false;
    this.set({ doing: "sending", sendProblem: null });
    try {
      await call(sessionPath(this.id, `/${how}`), { method: "POST", body: withFiles(text, files, this.outbox.take(text, files)) });
      this.outbox.settle();
      this.set({ doing: "" });
      this.say(t("composer.waits"));
      return true;
    } catch (e) {
      this.notSent(e);
      return false;
    }
  }

  /** Takes back what waits, and returns it as one text. */
  async takeBack() {
    try {
      const { steering, followUp } = await call(sessionPath(this.id, "/clear_queue"), { method: "POST" });
      return [...(steering ?? []), ...(followUp ?? [])].join("\n\n");
    } catch (e) {
      this.set({ sendProblem: explain(e) });
      return "";
    }
  }

  /**
   * Takes back one waiting message; false where it went in already.
   * @param {"steering" | "followUp"} line @param {number} index @param {string} text
   */
  async takeBackOne(line, index, text) {
    try {
      await call(sessionPath(this.id, "/clear_queue"), { method: "POST", body: { line, index, text } });
      return true;
    } catch (e) {
      this.set({ sendProblem: explain(e) });
      return false;
    }
  }

  /** Sums up earlier messages; the stream tells how it goes. */
  async compact() {
    this.set({ sendProblem: null });
    try {
      await call(sessionPath(this.id, "/compact"), { method: "POST" });
    } catch (e) {
      this.set({ sendProblem: explain(e) });
    }
  }

  /** @param {string} id @param {boolean} confirmed */
  async answer(id, confirmed) {
    try {
      await call(sessionPath(this.id, "/ui-response"), { method: "POST", body: { type: "extension_ui_response", id, confirmed } });
    } catch (e) {
      this.set({ sendProblem: explain(e) });
    }
    this.set({ questions: this.state.questions.filter((q) => q.id !== id) });
  }

  async abort() {
    if (this.state.doing === "stopping") return;
    this.set({ doing: "stopping" });
    try {
      await call(sessionPath(this.id, "/abort"), { method: "POST" });
      setTimeout(() => this.state.doing === "stopping" && this.set({ doing: "" }), 5000);
    } catch (e) {
      this.set({ doing: "", sendProblem: explain(e) });
    }
  }

  /** @param {() => Promise<any>} ask */
  async change(ask) {
    this.set({ changing: true, policyProblem: null });
    /** @type {Problem | null} */
    let problem = null;
    try {
      await ask();
    } catch (e) {
      problem = explain(e);
    }
    if (this.closed) return;
    await this.refreshPolicy();
    this.set(problem ? { changing: false, policyProblem: problem } : { changing: false });
    this.onChange();
  }

  /** @param {string[]} tools */
  setTools(tools) {
    return this.change(() => call(sessionPath(this.id, "/tools"), { method: "PUT", body: { tools } }));
  }

  /** @param {string} preset */
  setPreset(preset) {
    return this.change(() => call(sessionPath(this.id, "/tools"), { method: "PUT", body: { preset } }));
  }

  followSettings() {
    return this.change(() => call(sessionPath(this.id, "/tools"), { method: "DELETE" }));
  }

  /** @param {string} provider @param {string} modelId */
  async setModel(provider, modelId) {
    const before = this.state.model;
    this.set({ model: { id: modelId, provider }, sendProblem: null });
    try {
      await call(sessionPath(this.id, "/models"), { method: "POST", body: { provider, modelId } });
      this.say(t("session.modelIs", { model: modelId }));
      void this.refreshState(); // another model may have other levels
      void this.refreshPolicy();
    } catch (e) {
      this.set({ model: before, sendProblem: explain(e) });
    }
  }

  /** @param {string} level */
  async setThinking(level) {
    const before = this.state.thinking;
    this.set({ thinking: level, sendProblem: null });
    try {
      const { level: now } = await call(sessionPath(this.id, "/thinking"), { method: "POST", body: { level } });
      this.set({ thinking: now || level });
      this.say(now === "off" ? t("session.thinksNot") : t("session.thinksAt", { level: now || level }));
      void this.refreshPolicy();
    } catch (e) {
      this.set({ thinking: before, sendProblem: explain(e) });
    }
  }

  /** @param {string} name */
  async rename(name) {
    try {
      await call("sessions/rename", { method: "POST", body: { sessionId: this.id, name } });
      this.set({ name: name.trim() });
      this.onChange();
    } catch (e) {
      this.set({ sendProblem: explain(e) });
    }
  }
}

/**
 * Tells whether a user message stands after the given entry.
 * @param {any[]} messages @param {string} after
 */
function arrived(messages, after) {
  for (let i = messages.length - 1; i >= 0; i--) {
    if (messages[i]?.entryId === after) return false;
    if (messages[i]?.role === "user") return true;
  }
  return false;
}

/** @type {WeakMap<object, Row>} */
const pendingRows = new WeakMap();

/** @param {string} text @param {AttachedFile[]} files @param {string} entryId what the entry is to be called */
const withFiles = (text, files, entryId) => ({ message: text, entryId, ...(files.length ? { attachmentIds: files.map((f) => f.id) } : {}) });

/** @param {{text: string, files: AttachedFile[], time: number}} p @returns {Row} */
function pendingRow(p) {
  let row = pendingRows.get(p);
  if (!row) {
    row = { kind: "user", key: "pending", text: p.text, images: [], files: p.files, time: p.time, pending: true };
    pendingRows.set(p, row);
  }
  return row;
}

/**
 * Keeps the old object of a row that says the same. An entry never changes once
 * it is written; only results join their calls later.
 * @param {Row[]} old @param {Row[]} fresh
 */
function reuse(old, fresh) {
  const shift = old.length - fresh.length;
  /** @type {Map<string, Row> | null} */
  let byKey = null;
  return fresh.map((r, i) => {
    if (old[i] === r || old[i + shift] === r) return r;
    byKey ??= new Map(old.map((o) => [o.key, o]));
    const was = byKey.get(r.key);
    return was && was !== r && sign(was) === sign(r) ? was : r;
  });
}

/** @param {Row} r */
function sign(r) {
  if (r.kind === "moment") return r.moments.map((m) => `${m.entry} ${m.holds}`).join();
  if (r.kind !== "assistant") return `${r.kind} ${r.text.length}`;
  return r.parts.map((p) => (p.type === "tool" ? `${p.id} ${p.state}` : `${p.type} ${p.text.length}`)).join() + (r.error ?? "") + r.aborted;
}
