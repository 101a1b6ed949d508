// A stream of server-sent events over fetch. EventSource would be shorter, but
// it cannot be given Last-Event-ID, says nothing about why it failed, and
// reconnects on its own terms.

import { ApiError, answer } from "./api.js";

/**
 * A browser gives one server six connections. Pages that nobody looks at give
 * theirs back after a while, or the seventh page would wait for ever.
 */
const rest = 30_000;

/** The server sends something at least every 15 seconds; silence means it is gone. */
const silence = 40_000;
/** Where there is a reason to doubt the line, so much silence is enough. */
const doubt = 20_000;
/** How often the clock is looked at: one that jumped says that the machine slept. */
const beat = 5_000;

/**
 * Parser turns text into frames. It takes pieces of any size; line ends may be
 * LF, CRLF or CR, and a piece may end in the middle of one.
 */
export class Parser {
  /** @param {(frame: {event: string, id: string, data: string}) => void} emit */
  constructor(emit) {
    this.emit = emit;
    this.rest = "";
    this.event = "";
    this.id = "";
    /** @type {string[]} */
    this.data = [];
  }

  /** @param {string} text */
  push(text) {
    let all = this.rest + text;
    // A CR at the very end may be half of a CRLF: wait for the next piece.
    const hold = all.endsWith("\r") ? 1 : 0;
    if (hold) all = all.slice(0, -1);
    const lines = all.split(/\r\n|\n|\r/);
    this.rest = (lines.pop() ?? "") + (hold ? "\r" : "");
    for (const line of lines) this.line(line);
  }

  /** @param {string} line */
  line(line) {
    if (line === "") {
      if (this.data.length) this.emit({ event: this.event || "message", id: this.id, data: this.data.join("\n") });
      this.event = "";
      this.data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment: the heartbeat
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "data") this.data.push(value);
    else if (field === "event") this.event = value;
    else if (field === "id" && !value.includes("\0")) this.id = value;
  }
}

/**
 * @typedef {"connecting" | "open" | "waiting" | "paused" | "closed"} ConnectionState
 *
 * @typedef {object} Handlers
 * @property {(payload: any) => void} frame one decoded frame
 * @property {(state: ConnectionState, retryAt: number) => void} state
 * @property {(e: ApiError) => void} refused the server said no; there is no retry
 * @property {() => boolean} idle nothing is expected: the stream may rest while nobody looks
 */

/** Connection keeps one stream open until it is closed. */
export class Connection {
  /**
   * @param {string} url
   * @param {Handlers} handlers
   */
  constructor(url, handlers) {
    this.url = url;
    this.handlers = handlers;
    this.lastId = "";
    this.failures = 0;
    this.closed = false;
    this.isOpen = false;
    /** @type {AbortController | null} */
    this.current = null;
    /** @type {(() => void) | null} */
    this.wake = null;
    /** @type {(() => void)[]} */
    this.openWaiters = [];
    this.paused = false;
    this.resting = 0;
    /** When something was heard, or a try began. */
    this.heard = Date.now();
    this.slept = false;
    /** The next try needs no wait. */
    this.soon = false;
    /** Tries at once: the line is back, somebody looks, or wants it. */
    this.hurry = () => {
      clearTimeout(this.resting);
      if (document.hidden) {
        this.restLater();
        return;
      }
      this.paused = false;
      // A line that was cut while the machine slept says nothing of it.
      if (this.slept || Date.now() - this.heard > doubt) {
        this.soon = true;
        this.current?.abort();
      }
      this.slept = false;
      this.wake?.();
    };
    let last = Date.now();
    this.beat = setInterval(() => {
      const gap = Date.now() - last;
      last = Date.now();
      // Pages that nobody looks at have slow clocks.
      if (gap < beat * 4) return;
      this.slept = true;
      if (!document.hidden) this.hurry();
    }, beat);
    addEventListener("online", this.hurry);
    addEventListener("pageshow", this.hurry);
    document.addEventListener("visibilitychange", this.hurry);
    void this.run();
  }

  close() {
    this.closed = true;
    clearInterval(this.beat);
    removeEventListener("online", this.hurry);
    removeEventListener("pageshow", this.hurry);
    document.removeEventListener("visibilitychange", this.hurry);
    clearTimeout(this.resting);
    this.current?.abort();
    this.wake?.();
    this.opened();
  }

  restLater() {
    clearTimeout(this.resting);
    this.resting = window.setTimeout(() => {
      if (!document.hidden || this.closed) return;
      if (!this.handlers.idle()) {
        this.restLater();
        return;
      }
      this.paused = true;
      this.current?.abort();
    }, rest);
  }

  /**
   * Resolves when the stream is open, or after a while: a prompt must not be held
   * back for ever by a stream.
   * @param {number} ms
   */
  ready(ms) {
    if (this.isOpen || this.closed) return Promise.resolve();
    this.paused = false;
    this.wake?.();
    return /** @type {Promise<void>} */ (
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.openWaiters.push(() => {
          clearTimeout(timer);
          resolve();
        });
      })
    );
  }

  opened() {
    for (const tell of this.openWaiters.splice(0)) tell();
  }

  async run() {
    while (!this.closed) {
      this.handlers.state("connecting", 0);
      try {
        await this.once();
      } catch (e) {
        if (e instanceof ApiError && e.status >= 400 && e.status < 500 && ![408, 409, 429].includes(e.status)) {
          this.closed = true;
          this.handlers.state("closed", 0);
          this.handlers.refused(e);
          this.opened();
          return;
        }
      }
      this.isOpen = false;
      if (this.closed) return;
      if (this.paused) {
        this.handlers.state("paused", 0);
        await this.pause(Infinity);
        continue;
      }
      if (this.soon) {
        this.soon = false;
        continue;
      }
      this.failures++;
      const wait = Math.min(15_000, 400 * 2 ** Math.min(this.failures, 6)) * (0.75 + Math.random() / 2);
      this.handlers.state("waiting", Date.now() + wait);
      await this.pause(wait);
    }
  }

  /** @param {number} ms until woken, at most so long */
  async pause(ms) {
    await /** @type {Promise<void>} */ (
      new Promise((resolve) => {
        const timer = ms === Infinity ? 0 : setTimeout(resolve, ms);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      })
    );
    this.wake = null;
  }

  /** One connection, until it ends. */
  async once() {
    const abort = new AbortController();
    this.current = abort;
    this.heard = Date.now();
    let timer = setTimeout(() => abort.abort(), silence);
    try {
      /** @type {Record<string, string>} */
      const headers = { accept: "text/event-stream" };
      if (this.lastId) headers["last-event-id"] = this.lastId;
      const response = await fetch(this.url, { headers, signal: abort.signal, credentials: "same-origin", cache: "no-store" });
      if (!response.ok || !response.body) await answer(response);
      this.isOpen = true;
      this.handlers.state("open", 0);
      this.opened();
      const parser = new Parser((f) => {
        if (f.id) this.lastId = f.id;
        this.failures = 0;
        let payload;
        try {
          payload = JSON.parse(f.data);
        } catch {
          return; // one bad frame must not cost the stream
        }
        this.handlers.frame(payload);
      });
      const decoder = new TextDecoder();
      const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        this.heard = Date.now();
        clearTimeout(timer);
        timer = setTimeout(() => abort.abort(), silence);
        parser.push(decoder.decode(value, { stream: true }));
      }
    } finally {
      clearTimeout(timer);
    }
  }
}
