// What the server says in sentences of its own, as it says them in its terminal and
// its files. The ones that a person meets every day are said in the page's language;
// all others are shown as they are, and so is each of them in English.

import { language, t } from "./i18n.js";

/** @import {Key} from "./i18n.js" */

/** Sentences as package policy and config write them; the groups of a pattern fill its text in order. */
const sentences = /** @type {const} */ ([
  [/^exactly the context files$/i, "server.contextFiles", []],
  [/^exactly a given text of (\d+) bytes$/i, "server.givenText", ["n"]],
  [/^composed from what is in effect$/i, "server.composed", []],
  [/^composed, with (\d+) bytes appended$/i, "server.appended", ["n"]],
  [/^the session is Chat Only$/, "server.chatOnly", []],
  [/^no subagent$/, "server.noSubagent", []],
  [/^a subagent: (.*)$/, "server.aSubagent", ["tools"]],
  [/^nothing was chosen$/, "server.notChosen", []],
  [/^line (\d+): cleared, so the settings decide$/, "server.cleared", ["line"]],
  [/^line (\d+): (?:pinned to )?(.*)$/, "server.chosen", ["line", "tools"]],
  [/^none$/, "server.none", []],
  [/^the same as recorded$/, "server.same", []],
  [/^entry (\S+) declares (.*)$/, "server.declares", ["entry", "tools"]],
  [/^it declares nothing$/, "server.declaresNothing", []],
  [/^what it declares is our own, or was answered for by a receipt$/, "server.declaresOwn", []],
  [/^no defaultTools$/, "server.noDefaultTools", []],
  [/^no tools$/, "server.noTools", []],
  [/^there is no project$/, "server.noProject", []],
  [/^decided on the command line$/, "server.commandLine", []],
  [/^saved in trust\.json for (.*)$/, "server.savedTrust", ["folder"]],
  [/^the project brings nothing that needs trust$/, "server.nothingToTrust", []],
]);

/**
 * A sentence of the server in the page's language, or as it is.
 * @param {string} text
 * @returns {string}
 */
export function inOurWords(text) {
  if (language() === "en") return text;
  for (const [pattern, key, names] of sentences) {
    const m = pattern.exec(text);
    if (!m) continue;
    /** @type {Record<string, string>} */
    const values = {};
    names.forEach((name, i) => (values[name] = inOurWords(m[i + 1] ?? "")));
    return /** @type {(key: Key, values: Record<string, string>) => string} */ (t)(key, values);
  }
  return text;
}
