// A message on its way. Each goes out under an id that becomes the id of its entry in
// the session's file: where no answer came, the file says whether it arrived, and
// sending it again cannot put it in twice.

import { ApiError } from "./api.js";

/** @typedef {{id: string, key: string, text: string}} Sent */

/** @param {string} session */
const place = (session) => `piweb.sent.${session}`;

/** An id that no entry has: 16 hexadecimal digits. */
export function newID() {
  return [...crypto.getRandomValues(new Uint8Array(8))].map((b) => b.toString(16).padStart(2, "0")).join("");
}

/** What makes two messages the same one, sent again. @param {string} text @param {{id: string}[]} files */
const keyOf = (text, files) => JSON.stringify([text, ...files.map((f) => f.id)]);

/** Whether nobody can say what became of a message. @param {unknown} e */
export const unsure = (e) => e instanceof ApiError && (e.status === 0 || e.status >= 500 || e.code === "BAD_ANSWER") && e.code !== "SHUTTING_DOWN";

/** Outbox holds the one message of a session whose answer has not come, also over a reload. */
export class Outbox {
  /** @param {string} session @param {Storage | undefined} [store] */
  constructor(session, store = globalThis.sessionStorage) {
    this.at = place(session);
    this.store = store;
    /** @type {Sent | null} */
    this.sent = null;
    try {
      this.sent = JSON.parse(store?.getItem(this.at) ?? "null");
    } catch {
      // It is then not known, and the person sees whether it is there.
    }
  }

  /**
   * The id to send a message under: that of the last try, where it is the same message.
   * @param {string} text @param {{id: string}[]} files
   */
  take(text, files) {
    const key = keyOf(text, files);
    if (this.sent?.key !== key) this.keep({ id: newID(), key, text });
    return /** @type {Sent} */ (this.sent).id;
  }

  /** @param {Sent | null} sent */
  keep(sent) {
    this.sent = sent;
    try {
      if (sent) this.store?.setItem(this.at, JSON.stringify(sent));
      else this.store?.removeItem(this.at);
    } catch {
      // It is then known as long as the page is open.
    }
  }

  /** The message is in the file, or was refused: there is nothing to wait for. */
  settle() {
    this.keep(null);
  }

  /**
   * The text of the message on its way, when it turns out that it has arrived.
   * @param {any[]} messages of the file
   * @returns {string | null}
   */
  arrived(messages) {
    const { sent } = this;
    if (!sent || !messages.some((m) => m?.entryId === sent.id)) return null;
    this.settle();
    return sent.text;
  }
}
