// The policy in words. The names of kinds and rules are the server's; here is
// what they mean to a person.

import { list, named, t } from "./i18n.js";

/** @import {Explanation, ToolsAnswer} from "./types.js" */

/**
 * @param {string | undefined} kind
 * @param {string} [by] which rule decided
 */
export function kindWords(kind = "", by) {
  if (kind === "open" && by === "default") return { label: t("kind.open"), text: t("kindText.default") };
  if (kind === "open" && by === "transcript") return { label: t("kind.transcript"), text: t("kindText.transcript") };
  const text = named("kindText", kind);
  return { label: named("kind", kind), text: text === kind ? "" : text };
}

/** Kinds as the list spells them. @param {string | undefined} kind */
export function kindOfList(kind) {
  const k = (kind ?? "").toLowerCase();
  if (k === "settings" || k === "by settings") return "open";
  if (k === "subagent") return "child";
  return k;
}

/** @param {string} by */
export const ruleWords = (by) => named("rule", by);

/** What a session may load, in the order of the panel. */
export const loads = /** @type {const} */ (["contextFiles", "systemPrompt", "appendPrompt", "skills", "templates", "extensions", "mcp"]);

/** What a tool does, for people, where it is built in. @param {string} name */
export const toolWords = (name) => (named("toolDoes", name) === name ? undefined : named("toolDoes", name));

export const presets = /** @type {const} */ ([
  { id: "none", tools: [] },
  { id: "read-only", tools: ["read", "grep", "find", "ls"] },
  { id: "default", tools: ["read", "bash", "edit", "write"] },
  { id: "full", tools: ["read", "bash", "edit", "write", "grep", "find", "ls"] },
]);

/**
 * The preset in force, "" where the tools are no preset.
 * @param {ToolsAnswer} t
 */
export function presetOf(t) {
  if (t.kind === "open") return t.source?.by === "transcript" ? "" : "configured";
  if (t.kind === "chat-only") return "none";
  if (t.kind !== "pinned") return "";
  const has = t.tools.map((n) => (n === "powershell" ? "bash" : n));
  return presets.find((p) => p.tools.length === has.length && p.tools.every((n) => has.includes(n)))?.id ?? "";
}

/**
 * Asks before the Chat Only boundary is crossed, because then everything is
 * loaded anew. null where nothing has to be asked.
 * @param {ToolsAnswer} now
 * @param {string[] | "settings"} next
 * @param {Explanation | null} x
 * @returns {{title: string, text: string, action: string} | null}
 */
export function crossing(now, next, x) {
  const wasChat = now.kind === "chat-only";
  const willBeChat = next !== "settings" && next.length === 0;
  if (wasChat === willBeChat) return null;
  if (willBeChat) {
    const loaded = loads.flatMap((k) => (k !== "contextFiles" && x?.decide.loads?.[k] ? [t(`unload.${k}`)] : []));
    const what = list(loaded.length ? loaded : [t("unload.extensions"), t("unload.mcp"), t("unload.skills")]);
    return { title: t("crossing.go"), text: t("crossing.goText", { what }), action: t("crossing.goAction") };
  }
  return { title: t("crossing.leave"), text: t("crossing.leaveText"), action: t(next === "settings" ? "crossing.settingsAction" : "crossing.leaveAction") };
}
