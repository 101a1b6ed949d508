// The window of a transcript: which rows are in the page, and where they stand.
//
// Only rows near what a person sees are there; two empty boxes stand for the rest,
// so that the scroll bar tells the truth. A row that was never shown has a guessed
// height. When it turns out to be another one, or a row changes its height later,
// the row that the reader looks at stays where it is:
//
// - what changes above it is taken from, or given to, the box above (the slack). So
//   the scroll position stays the same, and a movement under way goes on;
// - where that box has nothing to give, or the reader rests, the scroll position
//   takes it.
//
// At the end of a conversation the window follows the end instead.

/** @import {Row} from "./types.js" */

/** How many rows may be in the page, whatever their heights. */
export const mostRows = 180;
/** So few rows are all in the page: the browser's own search finds what they say. */
const few = 60;
/**
 * Rows are kept ready for so many pixels beyond what is seen: after a leap, while
 * something moves, and when nothing does; there they are made a few at a time.
 */
const leapt = 100;
const near = 500;
const far = 1400;
const step = 300;
/** So near to the end counts as the end, in pixels. */
const endZone = 40;
/** The reader rests when nothing has moved for so long, in milliseconds. */
const restTime = 160;

/** What a row that was never shown may be high, in pixels. @param {Row} r @param {number} width */
export function guess(r, width) {
  const line = Math.max(20, width / 7.6);
  /** @param {string} text */
  const lines = (text) => {
    let n = 0;
    for (let i = 0; i < text.length; n++) {
      const end = text.indexOf("\n", i);
      const to = end < 0 ? text.length : end;
      n += Math.floor((to - i) / line);
      i = to + 1;
      if (n > 400) break;
    }
    return Math.max(1, n);
  };
  switch (r.kind) {
    case "user":
      return 66 + 24 * Math.min(24, lines(r.text)) + 200 * r.images.length + 44 * (r.files?.length ?? 0);
    case "note":
      return 66;
    case "moment":
      return 34;
    default: {
      let h = 10 + (r.error ? 60 : 0) + (r.aborted || r.cut ? 28 : 0) + (r.model ? 14 : 0);
      for (const p of r.parts) h += p.type === "tool" ? 36 + 260 * p.images.length : p.type === "thinking" ? 30 : 10 + 24 * lines(p.text);
      return h;
    }
  }
}

/**
 * Heights of rows, and where each begins. Pure, apart from what it is told.
 */
export class Heights {
  constructor() {
    /** @type {Map<string, number>} */
    this.known = new Map();
    /** @type {readonly Row[]} */
    this.rows = [];
    /** @type {WeakMap<Row, number>} */
    this.guesses = new WeakMap();
    this.width = 700;
    /** The heights in order, and where each row begins. */
    this.sizes = new Float64Array(0);
    this.starts = new Float64Array(1);
    /** From this row on the starts are to be counted anew. */
    this.stale = 0;
  }

  /** @param {readonly Row[]} rows */
  lay(rows) {
    const old = this.rows;
    if (rows !== old) {
      const n = rows.length;
      if (this.sizes.length < n) {
        const room = Math.ceil(n * 1.25) + 16;
        const [sizes, starts] = [new Float64Array(room), new Float64Array(room + 1)];
        sizes.set(this.sizes);
        starts.set(this.starts);
        [this.sizes, this.starts] = [sizes, starts];
      }
      let i = 0;
      while (i < n && i < old.length && rows[i] === old[i]) i++;
      this.stale = Math.min(this.stale, i);
      for (; i < n; i++) {
        const r = /** @type {Row} */ (rows[i]);
        this.sizes[i] = this.known.get(r.key) ?? this.guess(r);
      }
      this.rows = rows;
    }
    const { sizes, starts } = this;
    for (let i = this.stale; i < rows.length; i++) starts[i + 1] = /** @type {number} */ (starts[i]) + /** @type {number} */ (sizes[i]);
    this.stale = rows.length;
  }

  /** A row was measured. @param {number} i @param {number} height */
  set(i, height) {
    const r = this.rows[i];
    if (!r) return;
    this.known.set(r.key, height);
    if (this.sizes[i] === height) return;
    this.sizes[i] = height;
    this.stale = Math.min(this.stale, i);
  }

  /** @param {Row} r */
  guess(r) {
    let h = this.guesses.get(r);
    if (h === undefined) {
      h = guess(r, this.width);
      this.guesses.set(r, h);
    }
    return h;
  }

  /** Where row i begins; the end of the last one for the number of rows. @param {number} i */
  start(i) {
    return this.starts[i] ?? 0;
  }

  get total() {
    return this.start(this.rows.length);
  }

  /** The row at a height: the last one that begins at or above it. @param {number} y */
  at(y) {
    let lo = 0;
    let hi = this.rows.length - 1;
    while (lo < hi) {
      const mid = (lo + hi + 1) >> 1;
      if (this.start(mid) <= y) lo = mid;
      else hi = mid - 1;
    }
    return lo;
  }

  /** Another width makes other heights: what was measured is forgotten. @param {number} width */
  widen(width) {
    if (Math.abs(width - this.width) < 1) return false;
    this.width = width;
    this.known.clear();
    this.guesses = new WeakMap();
    const rows = this.rows;
    this.rows = [];
    this.stale = 0;
    this.lay(rows);
    return true;
  }
}

/**
 * The rows to have in the page for what is seen between two heights: those that
 * are seen, and then as many around them as the limits let in, the nearer first.
 * @param {Heights} h @param {number} top @param {number} bottom @param {number} beyond
 * @returns {{from: number, to: number}}
 */
export function range(h, top, bottom, beyond) {
  const n = h.rows.length;
  if (n <= few) return { from: 0, to: n };
  let from = h.at(Math.max(0, top));
  let to = Math.min(n, h.at(Math.max(0, bottom)) + 1, from + mostRows);
  while (to - from < mostRows) {
    const up = from > 0 ? top - h.start(from) : Infinity;
    const down = to < n ? h.start(to) - bottom : Infinity;
    if (Math.min(up, down) > beyond) break;
    if (up <= down) from--;
    else to++;
  }
  return { from, to };
}

/** Where the reader of a session was. @type {Map<string, {key: string, dy: number}>} */
const places = new Map();

/** Moves the window of one transcript. */
export class Window {
  /** @param {string} session @param {() => void} redraw */
  constructor(session, redraw) {
    this.session = session;
    this.redraw = redraw;
    this.heights = new Heights();
    this.from = 0;
    this.to = 0;
    /** The reader is at the end and follows it. */
    this.stick = true;
    /** What the content stands lower than the heights say, in pixels. */
    this.slack = 0;
    /** The row that stays where it is, and how far below the top of what is seen it begins. */
    this.anchor = { i: 0, key: "", dy: 0 };
    this.beyond = near;
    this.lastTop = 0;
    this.moved = 0;
    this.resting = 0;
    this.holding = 0;
    /** The scroll position before the last drawing. */
    this.before = 0;
    /** @type {HTMLElement | null} */
    this.box = null;
    /** @type {HTMLElement | null} */
    this.above = null;
    /** @type {HTMLElement | null} */
    this.below = null;
    /** @type {(away: boolean) => void} */
    this.tellAway = () => {};
    this.observer = new ResizeObserver((all) => this.measured(all));
    /** @type {Set<HTMLElement>} */
    this.watched = new Set();
    const place = places.get(session);
    if (place) {
      this.stick = false;
      this.anchor = { i: -1, key: place.key, dy: place.dy };
    }
  }

  /** @param {HTMLElement} box @param {HTMLElement} above @param {HTMLElement} below */
  attach(box, above, below) {
    this.box = box;
    this.above = above;
    this.below = below;
    this.observer.observe(box);
    const content = box.firstElementChild;
    if (content) this.observer.observe(content);
    this.resting = window.setTimeout(() => this.rest(), restTime);
  }

  close() {
    clearTimeout(this.resting);
    clearTimeout(this.holding);
    this.observer.disconnect();
    if (this.stick) places.delete(this.session);
    else places.set(this.session, { key: this.anchor.key, dy: this.anchor.dy });
  }

  /**
   * The rows are these now; says which of them to draw. Called while drawing.
   * @param {readonly Row[]} rows
   */
  show(rows) {
    this.catchUp();
    const old = this.heights.rows;
    const kept = { from: this.from, to: this.to };
    const h = this.heights;
    h.lay(rows);
    this.findAnchor();
    this.before = this.box?.scrollTop ?? 0;
    const view = this.box?.clientHeight || 900;
    const top = this.stick ? h.total - view : h.start(this.anchor.i) - this.anchor.dy;
    const r = range(h, top, top + view, this.beyond);
    // What is there already and not far away stays: to make a row costs more than to keep it.
    while (r.from > kept.from && r.to - r.from < mostRows && rows[r.from - 1] === old[r.from - 1] && top - h.start(r.from) < 2 * far) r.from--;
    while (r.to < kept.to && r.to - r.from < mostRows && rows[r.to] === old[r.to] && h.start(r.to) - top - view < 2 * far) r.to++;
    this.from = r.from;
    this.to = r.to;
    return r;
  }

  /** Finds the anchor's row again: rows may have come before it, or be gone. */
  findAnchor() {
    const rows = this.heights.rows;
    const a = this.anchor;
    if (rows[a.i]?.key === a.key) return;
    const i = rows.findIndex((r) => r.key === a.key);
    if (i >= 0) this.anchor = { ...a, i };
    else if (a.i < 0) this.stick = true; // the place of another time is not here
    else if (a.key) {
      // What a turn showed is replaced by what the file has: it stands in the same place.
      const at = Math.max(0, Math.min(a.i, rows.length - 1));
      this.anchor = { i: at, key: rows[at]?.key ?? "", dy: a.dy };
    }
  }

  /** The rows are in the page: puts everything in its place. */
  drawn() {
    const box = this.box;
    if (!box) return;
    const rows = /** @type {HTMLElement[]} */ ([...box.querySelectorAll(".rowbox")]);
    const now = new Set(rows);
    for (const el of this.watched) if (!now.has(el)) this.observer.unobserve(el);
    rows.forEach((el, n) => {
      if (this.watched.has(el)) return;
      this.observer.observe(el, { box: "border-box" });
      this.heights.set(this.from + n, el.getBoundingClientRect().height);
    });
    this.watched = now;
    this.settle(this.before);
  }

  /** @param {ResizeObserverEntry[]} all */
  measured(all) {
    const h = this.heights;
    /** @type {Map<string, number> | null} */
    let places = null;
    const place = (/** @type {string} */ key) => {
      places ??= new Map(h.rows.slice(this.from, this.to).map((r, i) => [r.key, this.from + i]));
      return places.get(key) ?? -1;
    };
    for (const e of all) {
      const el = /** @type {HTMLElement} */ (e.target);
      const key = el.dataset["key"];
      const size = e.borderBoxSize[0];
      if (!size) continue;
      if (key !== undefined) h.set(place(key), size.blockSize);
      else if (el !== this.box && h.widen(size.inlineSize)) {
        for (const w of this.watched) h.set(place(w.dataset["key"] ?? ""), w.offsetHeight);
      }
    }
    this.catchUp();
    this.settle();
  }

  /** Somebody has scrolled, and the browser has not told yet. */
  catchUp() {
    if (this.box && this.box.scrollTop !== this.lastTop) this.scrolled();
  }

  /**
   * Heights are known anew: keeps the anchor where it is.
   * @param {number} [top] the scroll position that holds
   */
  settle(top = this.box?.scrollTop ?? 0) {
    const { box, above, below, heights: h } = this;
    if (!box || !above || !below) return;
    h.lay(h.rows);
    if (this.stick) {
      this.slack = 0;
      this.space(above, h.start(this.from));
      this.space(below, h.total - h.start(this.to));
      box.scrollTop = box.scrollHeight;
      this.lastTop = box.scrollTop;
      this.noteAnchor();
    } else {
      // The anchor begins dy below the top of what is seen; the slack makes it so.
      this.slack = top + this.anchor.dy - h.start(this.anchor.i);
      this.space(below, h.total - h.start(this.to));
      if (this.from === 0 || h.start(this.from) + this.slack < 0 || performance.now() - this.moved > restTime) this.fold();
      else {
        this.space(above, h.start(this.from) + this.slack);
        if (box.scrollTop !== top) box.scrollTop = top; // it was cut while the page was too short
      }
    }
    this.lookAgain();
  }

  /** The scroll position takes the slack. */
  fold() {
    const { box, above, heights: h } = this;
    if (!box || !above) return;
    this.slack = 0;
    this.space(above, h.start(this.from));
    const to = Math.max(0, h.start(this.anchor.i) - this.anchor.dy);
    if (Math.abs(to - box.scrollTop) >= 1) box.scrollTop = to;
    this.lastTop = box.scrollTop;
    // At an end there may be less room than was asked for.
    this.anchor.dy = h.start(this.anchor.i) - box.scrollTop;
  }

  /** @param {HTMLElement} el @param {number} px */
  space(el, px) {
    const height = `${Math.max(0, px)}px`;
    if (el.style.height !== height) el.style.height = height;
  }

  /** Draws again if what is seen is not all there, or nearly. */
  lookAgain() {
    const { box, heights: h } = this;
    if (!box || h.rows.length === 0) return;
    const top = box.scrollTop - this.slack;
    const r = range(h, top, top + box.clientHeight, this.beyond / 2);
    if (r.from < this.from || r.to > this.to) this.redraw();
  }

  /** Remembers which row is at the top of what is seen. */
  noteAnchor() {
    const { box, heights: h } = this;
    if (!box || h.rows.length === 0) return;
    const top = box.scrollTop - this.slack;
    let i = h.at(Math.max(0, top));
    // A row that begins in what is seen stays; one that begins above may grow upwards.
    if (h.start(i) < top && i + 1 < h.rows.length && h.start(i + 1) < top + box.clientHeight - 60) i++;
    // A row whose height is only guessed would push away those that are seen already.
    if (i < this.from && h.start(this.from) < top + box.clientHeight) i = this.from;
    this.anchor = { i, key: h.rows[i]?.key ?? "", dy: h.start(i) - top };
  }

  scrolled() {
    const box = this.box;
    if (!box) return;
    const top = box.scrollTop;
    if (top === this.lastTop) return; // our own doing, told late
    const left = box.scrollHeight - top - box.clientHeight;
    this.moved = performance.now();
    // Content that grows takes the end away from a reader who has not moved; who goes
    // up a little, goes.
    this.stick = top < this.lastTop ? left < 4 : this.stick || left < endZone;
    this.tellAway(!this.stick);
    clearTimeout(this.holding);
    this.beyond = Math.abs(top - this.lastTop) > box.clientHeight ? leapt : near;
    this.lastTop = top;
    this.noteAnchor();
    clearTimeout(this.resting);
    this.resting = window.setTimeout(() => this.rest(), restTime + 20);
    this.lookAgain();
  }

  /** Nothing moves: the slack goes, and more rows are made ready. */
  rest() {
    if (!this.box) return;
    this.catchUp();
    if (!this.stick && this.slack !== 0) this.fold();
    this.beyond = Math.min(far, this.beyond + step);
    this.redraw();
    if (this.beyond < far) this.resting = window.setTimeout(() => this.rest(), 50);
  }

  /**
   * A person does something in a row, which may change its height: its beginning
   * stays where it is.
   * @param {EventTarget | null} target
   */
  hold(target) {
    const { box, heights: h } = this;
    this.catchUp();
    // Only what opens and closes something; a click beside it changes nothing.
    const control = target instanceof Element ? target.closest("[aria-expanded], .link") : null;
    const el = /** @type {HTMLElement | null} */ (control?.closest(".rowbox") ?? null);
    if (!box || !el) return;
    const i = h.rows.findIndex((r) => r.key === el.dataset["key"]);
    if (i < 0) return;
    this.anchor = { i, key: el.dataset["key"] ?? "", dy: h.start(i) + this.slack - box.scrollTop };
    if (!this.stick) return;
    // What is opened at the end must not be pushed out of sight. If nothing was, or
    // little, the end is followed again.
    this.stick = false;
    clearTimeout(this.holding);
    this.holding = window.setTimeout(() => {
      this.stick = box.scrollHeight - box.scrollTop - box.clientHeight < endZone;
      this.tellAway(!this.stick);
    }, 400);
  }

  /** Goes to a row, and leaves some room above it. @param {number} i */
  goTo(i) {
    const { box, heights: h } = this;
    if (!box || !h.rows[i]) return;
    this.stick = false;
    this.tellAway(true);
    this.slack = 0;
    this.moved = 0;
    this.beyond = leapt;
    clearTimeout(this.resting);
    this.resting = window.setTimeout(() => this.rest(), restTime);
    this.anchor = { i, key: h.rows[i]?.key ?? "", dy: Math.min(120, box.clientHeight / 4) };
    this.redraw();
  }

  /** Goes to the end and follows it. */
  goToEnd() {
    this.stick = true;
    this.tellAway(false);
    this.redraw();
  }
}
