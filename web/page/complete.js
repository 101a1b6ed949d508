// Completion while a message is written: what is asked for, what is shown, which
// one is chosen. The text stays the composer's; the list lies over the page.

import { call, sessionPath } from "./api.js";
import { Store } from "./html.js";
import { activeToken, openToken } from "./token.js";

/** @import {Active, TriggerRule} from "./token.js" */

/**
 * @typedef {object} Item
 * @property {string} kind
 * @property {string} id
 * @property {string} label
 * @property {string} [detail]
 * @property {string} [insertText]
 * @property {string} [previewUrl]
 * @property {[number, number][]} [matches]
 * @property {boolean} [folder]
 * @property {boolean} [link]
 *
 * @typedef {object} Preview
 * @property {string} id
 * @property {string} [text]
 * @property {boolean} [more]
 * @property {boolean} [binary]
 *
 * @typedef {object} CompletionState
 * @property {Active | null} token
 * @property {Item[]} items
 * @property {number} chosen
 * @property {boolean} asked an answer for this token is there
 * @property {boolean} partial more may come
 * @property {Preview | null} preview
 */

const quiet = 30; // ms without a key before the server is asked
const again = 250; // ms until a question whose answer was not final is asked again

/** @extends {Store<CompletionState>} */
export class Completion extends Store {
  /** @param {string} id of the session */
  constructor(id) {
    super({ token: null, items: [], chosen: 0, asked: false, partial: false, preview: null });
    this.id = id;
    /** @type {TriggerRule[]} */
    this.rules = [];
    /** @type {number | undefined} */
    this.timer = undefined;
    /** @type {number | undefined} */
    this.previewTimer = undefined;
    /** @type {AbortController | null} */
    this.asking = null;
    /** @type {Active | null} the token that the items are for */
    this.answered = null;
    /** Where the list was closed by hand; typing on does not open it again. */
    this.closedAt = -1;
  }

  async open() {
    try {
      this.rules = (await call(sessionPath(this.id, "/completion/triggers"))).triggers ?? [];
    } catch {
      this.rules = []; // then there is no completion, and nothing else is lost
    }
  }

  close() {
    this.stop();
    this.set({ token: null, items: [], chosen: 0, asked: false, partial: false, preview: null });
  }

  /** The person does not want it here. */
  dismiss() {
    this.closedAt = this.state.token?.start ?? -1;
    this.close();
  }

  stop() {
    clearTimeout(this.timer);
    clearTimeout(this.previewTimer);
    this.asking?.abort();
    this.asking = null;
  }

  /** Whether keys belong to the list. */
  get takesKeys() {
    return !!this.state.token && this.state.items.length > 0;
  }

  /** Whether an answer for what is typed now is still to come. */
  get waiting() {
    return !!this.state.token && this.answered !== this.state.token;
  }

  /** What is best when the answer is there, within a second. @returns {Promise<Item | undefined>} */
  settled() {
    return new Promise((tell) => {
      const end = () => {
        clearTimeout(late);
        stop();
        tell(this.state.items[0]);
      };
      const late = setTimeout(end, 1000);
      const stop = this.watch(() => {
        if (!this.waiting) end();
      });
    });
  }

  /**
   * Looks at the text again.
   * @param {string} text
   * @param {number} caret
   */
  update(text, caret) {
    const token = activeToken(text, caret, this.rules);
    const had = this.state.token;
    if (!token || token.start !== this.closedAt) this.closedAt = -1;
    if (!token || token.start === this.closedAt) {
      if (had) this.close();
      return;
    }
    if (had && had.trigger === token.trigger && had.query === token.query && had.start === token.start && had.end === token.end) return;
    this.stop();
    const same = had && had.trigger === token.trigger && had.start === token.start;
    this.set(same ? { token } : { token, items: [], chosen: 0, asked: false, partial: false, preview: null });
    this.timer = setTimeout(() => void this.ask(token), quiet);
  }

  /** @param {Active} token */
  async ask(token) {
    const asking = new AbortController();
    this.asking = asking;
    let answer;
    try {
      answer = await call(sessionPath(this.id, `/completion?trigger=${encodeURIComponent(token.trigger)}&q=${encodeURIComponent(token.query)}`), { signal: asking.signal });
    } catch {
      if (this.asking !== asking) return;
      this.answered = token;
      this.set({ asked: true, items: [], chosen: 0, partial: false });
      return;
    }
    if (this.asking !== asking) return;
    const { items: had, chosen: was } = this.state;
    const items = /** @type {Item[]} */ (byKind(answer.items ?? []));
    // What a person has moved to stays chosen when more comes in.
    const kept = was > 0 && this.state.asked && this.state.partial ? items.findIndex((i) => i.kind === had[was]?.kind && i.id === had[was]?.id) : -1;
    this.answered = token;
    this.set({ items, chosen: Math.max(kept, 0), asked: true, partial: !!answer.partial });
    this.look();
    if (answer.partial) this.timer = setTimeout(() => void this.ask(token), again);
  }

  /** @param {number} by */
  move(by) {
    const n = this.state.items.length;
    if (n === 0) return;
    const to = Math.abs(by) > 1 ? Math.max(0, Math.min(n - 1, this.state.chosen + by)) : (this.state.chosen + by + n) % n;
    this.choose(to);
  }

  /** @param {number} n */
  choose(n) {
    if (n === this.state.chosen) return;
    this.set({ chosen: n });
    this.look();
  }

  /** Fetches the beginning of the chosen file. */
  look() {
    clearTimeout(this.previewTimer);
    const item = this.state.items[this.state.chosen];
    if (this.state.preview && this.state.preview.id !== item?.id) this.set({ preview: null });
    if (!item || item.kind !== "file" || item.folder || this.state.preview) return;
    this.previewTimer = setTimeout(async () => {
      try {
        const p = await call(sessionPath(this.id, `/completion/preview?path=${encodeURIComponent(item.id)}`), { signal: this.asking?.signal });
        if (this.state.items[this.state.chosen] === item) this.set({ preview: { ...p, id: item.id } });
      } catch {
        // A file that cannot be shown can still be named.
      }
    }, 120);
  }

  /**
   * What the token becomes: with inside, that of a folder stays open.
   * @param {Item} item
   * @param {boolean} inside
   */
  textFor(item, inside) {
    const trigger = this.state.token?.trigger ?? "@";
    if (inside && item.folder) return openToken(trigger, item.id);
    return item.insertText ?? item.label;
  }
}

/**
 * Items of a kind together, kinds in the order in which they come first.
 * @param {Item[]} items
 */
function byKind(items) {
  /** @type {Map<string, Item[]>} */
  const groups = new Map();
  for (const i of items) {
    if (i.insertText === "") continue; // to be read, not to be chosen
    const g = groups.get(i.kind);
    if (g) g.push(i);
    else groups.set(i.kind, [i]);
  }
  return [...groups.values()].flat();
}
