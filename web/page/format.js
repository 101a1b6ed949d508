// Times, sizes and names in words, as the page's language writes them.

import { formatter, locale, number, t as say } from "./i18n.js";

/** @param {string} name @param {Intl.DateTimeFormatOptions} o */
const dates = (name, o) => formatter(`date ${name}`, () => new Intl.DateTimeFormat(locale(), o));
const clock = (/** @type {Date} */ t) => dates("clock", { hour: "2-digit", minute: "2-digit" }).format(t);
const day = (/** @type {Date} */ t) => dates("day", { day: "numeric", month: "short" }).format(t);
const dayYear = (/** @type {Date} */ t) => dates("dayYear", { day: "numeric", month: "short", year: "numeric" }).format(t);

/** A moment with all that is known of it. @param {Date} t */
export const wholeTime = (t) => dates("whole", { dateStyle: "full", timeStyle: "medium" }).format(t);

/** A moment in a line of text. @param {Date} t */
export const dateTime = (t) => dates("dateTime", { dateStyle: "medium", timeStyle: "short" }).format(t);

/** @param {Date} t a short form that fits a list */
export function shortTime(t, now = new Date()) {
  const age = now.getTime() - t.getTime();
  if (age < 60_000 && age > -60_000) return say("say.justNow");
  if (age > 0 && age < 3_600_000) return say("say.minutes", { n: Math.floor(age / 60_000) });
  if (t.toDateString() === now.toDateString()) return clock(t);
  return t.getFullYear() === now.getFullYear() ? day(t) : dayYear(t);
}

/** A moment in a transcript: the day only where it is another. @param {Date} t */
export const rowTime = (t) => `${t.toDateString() === new Date().toDateString() ? "" : day(t) + ", "}${clock(t)}`;

/** @param {number | undefined} ms */
export function duration(ms) {
  if (ms === undefined) return "";
  if (ms < 100) return say("say.secondsShort");
  if (ms < 9950) return say("say.secondsLong", { n: number(ms / 1000, { minimumFractionDigits: 1, maximumFractionDigits: 1 }) });
  if (ms < 60_000) return say("say.secondsLong", { n: Math.round(ms / 1000) });
  const s = Math.round(ms / 1000);
  return s < 3600 ? say("say.minutesSeconds", { m: Math.floor(s / 60), s: s % 60 }) : say("say.hoursMinutes", { h: Math.floor(s / 3600), m: Math.floor((s % 3600) / 60) });
}

/** A number with one digit behind the point, none where that is a zero. @param {number} n */
const short = (n) => number(n, { maximumFractionDigits: 1 });

/** An exact size, for what is compared. @param {number} n */
export function bytes(n) {
  if (n < 10_000) return say("say.bytes", { n });
  if (n < 1_000_000) return `${short(n / 1000)} kB`;
  return `${short(n / 1_000_000)} MB`;
}

/** The size of a file, as file managers write it. @param {number} n bytes */
export function fileSize(n) {
  if (n < 1024) return `${number(n)} B`;
  if (n < 1024 ** 2) return `${number(Math.round(n / 1024))} KB`;
  return n < 1024 ** 3 ? `${short(n / 1024 ** 2)} MB` : `${short(n / 1024 ** 3)} GB`;
}

/** Tokens, shortened where there are many. @param {number} n */
export const tokens = (n) => (n < 10_000 ? number(n) : number(n, { notation: "compact", maximumFractionDigits: n < 1_000_000 ? 0 : 1 }));

/** @param {number} usd @param {number} [digits] at least */
export const dollars = (usd, digits = 2) => number(usd, { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol", minimumFractionDigits: digits, maximumFractionDigits: 2 });

/**
 * The last element of a path, and what stands before it.
 * @param {string} path
 */
export function splitPath(path) {
  const clean = path.replace(/[/\\]+$/, "");
  const at = Math.max(clean.lastIndexOf("/"), clean.lastIndexOf("\\"));
  return { base: clean.slice(at + 1) || clean || "/", parent: at > 0 ? clean.slice(0, at) : "" };
}

/** One line of a text that may have many. @param {string} text @param {number} max */
export function oneLine(text, max) {
  const line = text.replace(/\s+/g, " ").trim();
  const letters = Array.from(line.slice(0, max * 2));
  return letters.length > max ? letters.slice(0, max - 1).join("") + "…" : line;
}
