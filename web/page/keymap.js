// The keyboard map. One table: handlers ask it which of its lines a key is, and the
// help shows it, so that the two cannot differ.
//
// A key that a browser, a screen reader or an input method needs is in no line: no
// Ctrl, no Meta, no function key; Alt only with arrows, "/" and Enter. Single
// characters can be switched off, as some people speak to their browser.

/**
 * @typedef {"page" | "list" | "search" | "composer" | "completion"} Where
 * @typedef {(typeof keymap)[number]} Line
 * @typedef {Line["id"]} KeyID
 */

/** Lines by where they hold. What is not for the help has no words. */
export const keymap = /** @type {const} */ ([
  { where: "page", id: "search", keys: ["/", "Alt+/"], what: "keys.search" },
  { where: "page", id: "new", keys: ["n"], what: "keys.new" },
  { where: "page", id: "write", keys: ["m"], what: "keys.write" },
  { where: "page", id: "tree", keys: ["t"], what: "keys.tree" },
  { where: "page", id: "policy", keys: ["p"], what: "keys.policy" },
  { where: "page", id: "settings", keys: [","], what: "keys.settings" },
  { where: "page", id: "before", keys: ["Alt+ArrowUp"], what: "keys.before" },
  { where: "page", id: "after", keys: ["Alt+ArrowDown"], what: "keys.after" },
  { where: "page", id: "escape", keys: ["Escape"], what: "keys.escape" },
  { where: "page", id: "help", keys: ["?"], what: "keys.help" },
  { where: "search", id: "toList", keys: ["ArrowDown"], what: "keys.toList" },
  { where: "search", id: "openFirst", keys: ["Enter"], what: "keys.openFirst" },
  { where: "list", id: "up", keys: ["ArrowUp"], what: "keys.up" },
  { where: "list", id: "down", keys: ["ArrowDown"], what: "keys.down" },
  { where: "list", id: "first", keys: ["Home"], what: "keys.first" },
  { where: "list", id: "last", keys: ["End"], what: "keys.last" },
  { where: "composer", id: "send", keys: ["Enter"], what: "keys.send" },
  { where: "composer", id: "newLine", keys: ["Shift+Enter"], what: "keys.newLine" },
  { where: "composer", id: "sendLast", keys: ["Alt+Enter"], what: "keys.sendLast" },
  { where: "completion", id: "nextItem", keys: ["ArrowDown"], what: "keys.nextItem" },
  { where: "completion", id: "previousItem", keys: ["ArrowUp"], what: "keys.previousItem" },
  { where: "completion", id: "nextPage", keys: ["PageDown"], what: "" },
  { where: "completion", id: "previousPage", keys: ["PageUp"], what: "" },
  { where: "completion", id: "take", keys: ["Enter"], what: "keys.take" },
  { where: "completion", id: "enter", keys: ["Tab", "ArrowRight"], what: "keys.enterFolder" },
  { where: "completion", id: "dismiss", keys: ["Escape"], what: "keys.dismiss" },
]);

const setting = "piweb.keys";

/** Whether single characters are keys. */
export function singleKeys() {
  try {
    return globalThis.localStorage?.getItem(setting) !== "off";
  } catch {
    return true;
  }
}

/** @param {boolean} on */
export function setSingleKeys(on) {
  try {
    if (on) localStorage.removeItem(setting);
    else localStorage.setItem(setting, "off");
  } catch {
    // It then stays as it is.
  }
}

/** Whether an input method is at work; 229 is how older browsers say so. @param {KeyboardEvent} e */
export const composing = (e) => e.isComposing || e.keyCode === 229;

/** A key with what is held down, as the table spells it. @param {KeyboardEvent} e */
function spelling(e) {
  const single = e.key.length === 1;
  // Alt makes other characters of a key; which one it is then its place says.
  const key = e.altKey && e.code === "Slash" ? "/" : e.key;
  return `${e.ctrlKey ? "Ctrl+" : ""}${e.metaKey ? "Meta+" : ""}${e.altKey ? "Alt+" : ""}${e.shiftKey && !single ? "Shift+" : ""}${key}`;
}

/** Where characters are typed, and arrows move. @param {EventTarget | null} el */
const takesText = (el) => el instanceof HTMLElement && (el.isContentEditable || el.matches("input, textarea, select"));

/**
 * The line that a key is, "" for none.
 * @param {KeyboardEvent} e @param {Where} where
 * @returns {KeyID | ""}
 */
export function lineOf(e, where) {
  if (composing(e)) return "";
  const key = spelling(e);
  const line = keymap.find((l) => l.where === where && /** @type {readonly string[]} */ (l.keys).includes(key));
  if (!line) return "";
  if (key.length === 1 && (takesText(e.target) || !singleKeys())) return "";
  // In a text, and in a list to choose from, these keys have work of their own.
  if (key.startsWith("Alt+Arrow") && takesText(e.target) && !(e.target instanceof HTMLTextAreaElement && e.target.value === "")) return "";
  return line.id;
}

/** What stands on a key. @type {Record<string, string>} */
const caps = { ArrowUp: "↑", ArrowDown: "↓", ArrowRight: "→", Escape: "Esc", PageUp: "PgUp", PageDown: "PgDn" };

/** @param {string} key as the table spells it */
export const capsOf = (key) => key.split(/(?<=.)\+/).map((k) => caps[k] ?? k);
