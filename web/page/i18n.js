// The page's language: every text that a person reads comes from a catalogue in
// words/, by its key. Numbers, dates and lists are written as the language does.
//
//   t("say.showAll")                      a text
//   t("say.bytes", { n: 1200 })           with values; numbers as the language writes them
//   tx("start.hint", { new: html`…`, … }) with elements, as a list for a template
//   named("status", id)                   the text "status.<id>", or the id itself
//
// A key must exist, and the values must be those that its text names: the type
// checker says so. A text in several forms ({one, other}) is chosen by its n.

import { en } from "./words/en.js";
import { zhHans } from "./words/zh-hans.js";

/**
 * @typedef {typeof en} Words
 * @typedef {keyof Words} Key
 */
/** @template {string} S @typedef {S extends `${string}{${infer P}}${infer R}` ? P | Holes<R> : never} Holes what a text wants to be told */
/** @template W @typedef {W extends string ? W : W[keyof W]} Forms the forms of an entry */
/** @template {Key} K @typedef {Holes<Extract<Forms<Words[K]>, string>> | (Words[K] extends string ? never : "n")} Names */
/** @template {Key} K @template V @typedef {[Names<K>] extends [never] ? [] : [Record<Names<K>, V>]} Values */

/** @template {string} K @typedef {K extends `${infer A}.${string}` ? A : never} TableOf */
/** @typedef {"en" | "zh-Hans"} Lang */

/** @type {Record<Lang, Record<Key, string | {one?: string, other: string}>>} */
const catalogues = { en, "zh-Hans": zhHans };

/** The languages that there are, each by its own name. */
export const languages = /** @type {const} */ ([["en", "English"], ["zh-Hans", "简体中文"]]);

const setting = "piweb.language";

/** What a person has chosen, "" for the browser's language. @returns {Lang | ""} */
export function chosenLanguage() {
  try {
    const v = globalThis.localStorage?.getItem(setting);
    return v === "en" || v === "zh-Hans" ? v : "";
  } catch {
    return "";
  }
}

/**
 * The first language of a browser that there is a catalogue for.
 * @param {readonly string[]} wanted
 * @returns {Lang}
 */
export function pickLanguage(wanted) {
  for (const l of wanted) {
    if (/^zh\b/i.test(l)) return "zh-Hans";
    if (/^en\b/i.test(l)) return "en";
  }
  return "en";
}

const wanted = () => globalThis.navigator?.languages ?? ["en"];

/** @type {Lang} */
let now = chosenLanguage() || pickLanguage(wanted());
/** @type {Set<() => void>} */
const watchers = new Set();

/** The language of the page. */
export const language = () => now;

/** Where a language is spoken changes how a date looks: "en-GB". @returns {string} */
export const locale = () => wanted().find((l) => pickLanguage([l]) === now && l.slice(0, 2).toLowerCase() === now.slice(0, 2)) ?? now;

/** Tells when the language is another. @param {() => void} tell */
export function watchLanguage(tell) {
  watchers.add(tell);
  return () => void watchers.delete(tell);
}

/** Keeps a choice, "" to follow the browser. @param {Lang | ""} choice */
export function chooseLanguage(choice) {
  try {
    if (choice) localStorage.setItem(setting, choice);
    else localStorage.removeItem(setting);
  } catch {
    // It then holds as long as the page.
  }
  use(choice || pickLanguage(wanted()));
}

/** @param {Lang} next */
function use(next) {
  if (globalThis.document) document.documentElement.lang = next;
  if (next === now) return;
  now = next;
  made.clear();
  for (const tell of [...watchers]) tell();
}

/** Formatters of the language: making one is slow. @type {Map<string, any>} */
const made = new Map();

/** @template T @param {string} name @param {() => T} make @returns {T} */
export function formatter(name, make) {
  let f = made.get(name);
  if (!f) made.set(name, (f = make()));
  return f;
}

/** A number as the language writes it. @param {number} n @param {Intl.NumberFormatOptions} [o] */
export const number = (n, o) => formatter(`number ${JSON.stringify(o)}`, () => new Intl.NumberFormat(locale(), o)).format(n);

/** Words as a list: "a, b and c", as the page writes English. @param {string[]} words */
export const list = (words) => formatter("list", () => new Intl.ListFormat(now === "en" ? "en-GB" : locale(), { type: "conjunction" })).format(words);

/** @param {Key} key @param {any} n */
function form(key, n) {
  const entry = catalogues[now][key];
  if (typeof entry === "string") return entry;
  const rule = formatter("plural", () => new Intl.PluralRules(now)).select(Number(n));
  return (rule === "one" && entry.one) || entry.other;
}

/**
 * The text of a key, in the page's language.
 * @template {Key} K @param {K} key @param {Values<K, string | number>} values
 * @returns {string}
 */
export function t(key, ...values) {
  return tx(key, .../** @type {any} */ (values)).join("");
}

/**
 * The text of a key in pieces: texts, and what was given for the places between.
 * @template {Key} K @param {K} key @param {Values<K, any>} values
 * @returns {any[]}
 */
export function tx(key, ...values) {
  const given = /** @type {Record<string, any>} */ (values[0] ?? {});
  return form(key, given.n)
    .split(/\{(\w+)\}/)
    .map((piece, i) => (i % 2 === 0 ? piece : typeof given[piece] === "number" ? number(given[piece]) : given[piece]));
}

/**
 * The text "table.id", for ids that others give; the id itself where there is none.
 * @param {TableOf<Key>} table @param {string} id
 */
export function named(table, id) {
  const key = /** @type {Key} */ (`${table}.${id}`);
  return Object.hasOwn(en, key) ? form(key, 1) : id;
}

if (globalThis.document) {
  document.documentElement.lang = now;
  addEventListener("languagechange", () => use(chosenLanguage() || pickLanguage(wanted())));
  addEventListener("storage", (e) => e.key === setting && use(chosenLanguage() || pickLanguage(wanted())));
}
