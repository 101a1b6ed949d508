// Times, sizes and names in words.

import { html } from "./html.js";

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const dayYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });

/** @param {Date} t a short form that fits a list */
export function shortTime(t, now = new Date()) {
  const age = now.getTime() - t.getTime();
  if (age < 60_000 && age > -60_000) return "now";
  if (age > 0 && age < 3_600_000) return `${Math.floor(age / 60_000)} min`;
  if (t.toDateString() === now.toDateString()) return clock.format(t);
  return t.getFullYear() === now.getFullYear() ? day.format(t) : dayYear.format(t);
}

/**
 * A <time> element.
 * @param {{at: number | string | undefined, short?: boolean}} props
 */
export function Time({ at, short }) {
  const t = new Date(at ?? NaN);
  if (Number.isNaN(t.getTime())) return null;
  return html`<time dateTime=${t.toISOString()} title=${full.format(t)}>${short ? shortTime(t) : `${sameDay(t) ? "" : day.format(t) + ", "}${clock.format(t)}`}</time>`;
}

/** @param {Date} t */
const sameDay = (t) => t.toDateString() === new Date().toDateString();

/** @param {number | undefined} ms */
export function duration(ms) {
  if (ms === undefined) return "";
  if (ms < 100) return "<0.1 s";
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 60_000) return `${Math.round(ms / 1000)} s`;
  const s = Math.round(ms / 1000);
  return s < 3600 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

/** @param {number} n */
export function bytes(n) {
  if (n < 10_000) return `${n.toLocaleString("en")} ${n === 1 ? "byte" : "bytes"}`;
  if (n < 1_000_000) return `${(n / 1000).toFixed(1)} kB`;
  return `${(n / 1_000_000).toFixed(1)} MB`;
}

/** @param {number} n @param {string} one @param {string} [many] */
export const count = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : (many ?? one + "s")}`;

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
