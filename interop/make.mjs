// Writes a session of each kind with the real pi's SessionManager and prints the paths, one to a line.
//
//   node make.mjs PI-PACKAGE DIR CWD
//
// It is the other half of `made`: what package session writes pi reads, and what pi writes here
// piweb reads.
import { mkdirSync, renameSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [piPackage, dir, cwd] = process.argv.slice(2);
if (!cwd) {
  console.error("usage: node make.mjs PI-PACKAGE DIR CWD");
  process.exit(2);
}
const manager = pathToFileURL(join(resolve(piPackage), "dist/core/session-manager.js"));
const { SessionManager } = await import(manager.href);
mkdirSync(dir, { recursive: true });

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const text = (t) => ({ type: "text", text: t });
const image = { type: "image", data: PNG, mimeType: "image/png" };
const usage = { input: 3, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 5, cost: { input: 0.1, output: 1e-7, cacheRead: 0, cacheWrite: 0, total: 0.1000001 } };
const says = (content, more) => ({ role: "assistant", content, api: "x", provider: "p", model: "m", usage, stopReason: "stop", timestamp: 2, ...more });
const tool = (name) => ({ name, description: `the tool ${name}`, parameters: { type: "object", properties: { path: { type: "string" } } } });

/** A question and its answer; the ids of both. */
function turn(s, question) {
  return [s.appendMessage({ role: "user", content: question, timestamp: 1 }), s.appendMessage(says([text(`answer to ${question}`)]))];
}

const KINDS = {
  linear: (s) => turn(s, "again 漢字 \u2028 <&>"),
  named: (s) => s.appendSessionInfo(" a\nname 名前 "),
  "tools-changed": (s) => {
    s.appendMessage({ role: "system", content: "", sections: { preamble: "one" }, toolsAdded: [tool("read"), tool("bash")], timestamp: 1 });
    turn(s, "with two tools");
    s.appendMessage({ role: "system", content: "", sections: { preamble: null }, toolsAdded: [tool("edit")], toolsRemoved: [{ name: "bash" }], timestamp: 1 });
    turn(s, "with others");
  },
  branched: (s, [, first]) => {
    const [, left] = turn(s, "left");
    s.appendLabelChange(left, "left");
    s.branch(first);
    turn(s, "right");
  },
  "second-root": (s) => {
    s.resetLeaf();
    turn(s, "from the beginning");
  },
  "leaf-is-label": (s, [, first]) => s.appendLabelChange(first, "here"),
  "branch-summary": (s, [, first]) => {
    turn(s, "left");
    s.branchWithSummary(first, "what was left", { readFiles: [], modifiedFiles: ["x"] }, false, usage);
    turn(s, "on");
  },
  compacted: (s) => {
    const [kept] = turn(s, "kept");
    s.appendCompaction("what was before", kept, 1000, { readFiles: ["r"], modifiedFiles: [] }, false, usage);
    turn(s, "after");
  },
  "compacted-twice": (s) => {
    s.appendCompaction("what was before", turn(s, "kept by the first")[0], 1000);
    s.appendCompaction("what was before that", turn(s, "kept by the second")[0], 2000);
    turn(s, "after");
  },
  "compacted-nested-kept": (s, [user]) => {
    s.appendCompaction("what was before", user, 1000);
    turn(s, "between");
    s.appendCompaction("what was before that", user, 2000);
    turn(s, "after");
  },
  "compacted-retain-none": (s) => {
    s.appendCompaction("everything before", null, 1000);
    turn(s, "after");
  },
  "compacted-bad-kept": (s) => {
    s.appendCompaction("keeps what is not there", "ffffffff", 1000);
    turn(s, "after");
  },
  "context-edit": (s) => {
    const [question, answer] = turn(s, "changed");
    s.appendContextEdit(question, { content: "other words" });
    s.appendContextEdit(answer, null);
  },
  custom: (s) => {
    s.appendCustomEntry("someone:note", { any: ["thing", 1.5] });
    s.appendCustomMessageEntry("someone:said", "said by an extension", true, { d: 1 });
    s.appendCustomMessageEntry("someone:said", [text("in "), text("blocks")], false);
    turn(s, "and on");
  },
  commands: (s) => {
    const ran = { role: "bashExecution", exitCode: 0, cancelled: false, truncated: false, timestamp: 1 };
    s.appendMessage({ ...ran, command: "ls", output: "x\ny" });
    s.appendMessage({ ...ran, command: "secret", output: "z", excludeFromContext: true });
    s.appendUsage("cache_warm", "p", "m", usage, "a note");
    turn(s, "and on");
  },
  images: (s) => {
    s.appendMessage({ role: "user", content: [text("look"), image], timestamp: 1 });
    s.appendMessage(says([text("seen")]));
  },
  calls: (s) => {
    s.appendMessage({ role: "user", content: "read it", timestamp: 1 });
    s.appendMessage(says([{ type: "thinking", thinking: "hm", thinkingSignature: "s" }, { type: "toolCall", id: "c1", name: "read", arguments: { path: "a 漢.txt" } }], { stopReason: "toolUse" }));
    s.appendMessage({ role: "toolResult", toolCallId: "c1", toolName: "read", content: [text("what is in it"), image], details: { a: 1.5 }, isError: false, timestamp: 3, durationMs: 3 });
    s.appendMessage(says([text("done")]));
  },
  failed: (s) => {
    s.appendMessage({ role: "user", content: "fail", timestamp: 1 });
    s.appendMessage(says([], { stopReason: "error", errorMessage: "500" }));
    turn(s, "once more");
  },
  "settings-changed": (s) => {
    s.appendModelChange("other", "model");
    s.appendThinkingLevelChange("high");
    turn(s, "with other settings");
  },
};

for (const [name, more] of Object.entries(KINDS)) {
  const s = SessionManager.create(cwd, dir);
  s.appendModelChange("p", "m");
  s.appendThinkingLevelChange("off");
  more(s, turn(s, "hello"));
  const path = join(dir, `${name}.jsonl`);
  renameSync(s.getSessionFile(), path);
  console.log(path);
}
