// The policy in words. The names of kinds and rules are the server's; here is
// what they mean to a person.

/** @import {Explanation, ToolsAnswer} from "./types.js" */

/** @type {Record<string, {label: string, text: string}>} */
const kinds = {
  "chat-only": { label: "Chat Only", text: "No tools and no extensions. The model sees the context files and this conversation, nothing else." },
  pinned: { label: "Pinned", text: "Exactly the tools chosen for this session, also after reopening." },
  open: { label: "By settings", text: "No choice was recorded here. The tools follow your settings." },
  child: { label: "Subagent", text: "Its tools and its prompt were fixed when it was started." },
  refused: { label: "Refused", text: "Nothing may run in this session." },
};

/**
 * @param {string | undefined} kind
 * @param {string} [by] which rule decided
 */
export function kindWords(kind, by) {
  const k = kinds[kind ?? ""];
  if (!k) return { label: kind ?? "", text: "" };
  if (kind === "open" && by === "default") return { ...k, text: "No choice was recorded here and your settings name no tools, so the built-in default applies." };
  if (kind === "open" && by === "transcript") return { label: "By transcript", text: "The conversation itself declares these tools; nothing was chosen here." };
  return k;
}

/** Kinds as the list spells them. @param {string | undefined} kind */
export function kindOfList(kind) {
  const k = (kind ?? "").toLowerCase();
  if (k === "settings" || k === "by settings") return "open";
  if (k === "subagent") return "child";
  return k;
}

/** @type {Record<string, string>} */
const rules = {
  snapshot: "What its parent fixed",
  selection: "Choice recorded in this session",
  request: "Asked for when it was started",
  transcript: "Tools declared by the conversation",
  settings: "Your settings",
  default: "Built-in default",
};

/** @param {string} by */
export const ruleWords = (by) => rules[by] ?? by;

/** What a session may load, in the order of the panel. */
export const loadWords = /** @type {const} */ ([
  ["contextFiles", "Context files (AGENTS.md)"],
  ["systemPrompt", "SYSTEM.md"],
  ["appendPrompt", "APPEND_SYSTEM.md"],
  ["skills", "Skills"],
  ["templates", "Prompt templates"],
  ["extensions", "Extensions"],
  ["mcp", "MCP servers"],
]);

/**
 * What the built-in tools do, for people. Their own descriptions are for models.
 * @type {Record<string, string>}
 */
export const toolWords = {
  read: "Read a file",
  bash: "Run a command",
  edit: "Change text in a file",
  write: "Write a file",
  grep: "Search in files",
  find: "Find files by name",
  ls: "List a folder",
};

export const presets = /** @type {const} */ ([
  { id: "none", label: "Chat Only", hint: "no tools, nothing loaded", tools: [] },
  { id: "read-only", label: "Read only", hint: "read, grep, find, ls", tools: ["read", "grep", "find", "ls"] },
  { id: "default", label: "Default", hint: "read, bash, edit, write", tools: ["read", "bash", "edit", "write"] },
  { id: "full", label: "Full", hint: "all built-in tools", tools: ["read", "bash", "edit", "write", "grep", "find", "ls"] },
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
    const loaded = loadWords.filter(([k]) => k !== "contextFiles" && x?.decide.loads?.[k]).map(([, w]) => inSentence(w));
    return {
      title: "Go Chat Only?",
      text: `This unloads ${list(loaded.length ? loaded : ["extensions", "MCP servers", "skills"])}. The prompt becomes exactly the context files. The conversation stays.`,
      action: "Go Chat Only",
    };
  }
  return {
    title: "Leave Chat Only?",
    text: "This loads extensions, MCP servers and skills again and composes the prompt anew, from the next message on. The conversation stays.",
    action: next === "settings" ? "Follow settings" : "Allow tools",
  };
}

/** Names keep their capitals, other words lose them. @param {string} w */
const inSentence = (w) => (/^[A-Z]{2}/.test(w) ? w : w.charAt(0).toLowerCase() + w.slice(1));

/** @param {string[]} words */
export function list(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}
