// What of a text is being completed: the same rules as on the server, where tokens
// are read when a message is sent.

/**
 * @typedef {object} TriggerRule
 * @property {string} trigger
 * @property {"wordTail" | "lineStart"} extract
 *
 * @typedef {object} Active What is being typed.
 * @property {string} trigger
 * @property {string} query behind the trigger, up to the caret
 * @property {number} start of the trigger, in the text
 * @property {number} end the caret
 */

/** @type {Record<string, string>} */
const fullWidth = { "＠": "@", "＃": "#", "＄": "$", "￥": "$", "／": "/" };

const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]$/u;
const goesOn = /[\p{L}\p{N}_\-.+%\\/:@&=~`*]$/u;

/** Whether a word may begin behind a text. @param {string} before */
export function startsWord(before) {
  const text = before.replace(/[\p{Mn}\p{Mc}]+$/u, "");
  return text === "" || unspaced.test(text) || !goesOn.test(text);
}

/**
 * @param {string} text
 * @param {number} caret
 * @param {TriggerRule[]} rules
 * @returns {Active | null}
 */
export function activeToken(text, caret, rules) {
  const before = text.slice(0, caret);
  const line = before.lastIndexOf("\n") + 1;
  /** @type {Active | null} */
  let best = null;
  for (const { trigger, extract } of rules) {
    let at = -1;
    if (extract === "lineStart") {
      if (plain(before[line]) === trigger && !/\s/.test(before.slice(line))) at = line;
    } else {
      at = wordStart(before, line, trigger);
    }
    if (at < 0 || (best && best.start > at)) continue;
    const query = unquoted(before.slice(at + 1));
    // A heading and the number of an issue begin with the same character.
    if (query === null || (trigger === "#" && !/^[^\s#]/.test(query))) continue;
    best = { trigger, query, start: at, end: caret };
  }
  return best;
}

/** @param {string | undefined} c */
const plain = (c) => (c === undefined ? "" : (fullWidth[c] ?? c));

/**
 * The last trigger of the line that begins a word and has no blank behind it,
 * unless it stands in quotes that are open.
 * @param {string} before
 * @param {number} line
 * @param {string} trigger
 */
function wordStart(before, line, trigger) {
  for (let at = before.length - 1; at >= line; at--) {
    if (plain(before[at]) !== trigger || !startsWord(before.slice(0, at))) continue;
    const rest = before.slice(at + 1);
    if (!/\s/.test(rest) || /^([a-z][a-z0-9_-]*:)?"/.test(rest)) return at;
  }
  return -1;
}

/**
 * The query of what stands behind a trigger; null where the token has ended.
 * @param {string} rest
 */
function unquoted(rest) {
  const named = /^[a-z][a-z0-9_-]*:(?=.)/.exec(rest);
  const id = named ? rest.slice(named[0].length) : rest;
  if (!id.startsWith('"')) return /\s/.test(id) ? null : id;
  let out = "";
  for (let i = 1; i < id.length; i++) {
    if (id[i] === '"') return null;
    if (id[i] === "\\" && (id[i + 1] === '"' || id[i + 1] === "\\")) i++;
    out += id[i];
  }
  return out;
}

/**
 * A token that stays open, so that typing goes on inside a folder.
 * @param {string} trigger
 * @param {string} path
 */
export function openToken(trigger, path) {
  if (!/[\s"'\\]/.test(path)) return trigger + path;
  return `${trigger}"${path.replace(/[\\"]/g, "\\$&")}`;
}
