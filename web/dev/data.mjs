// Sample sessions for the mock: of every kind, with names in several scripts,
// one of them long, one hostile.

let serial = 0;
const entryId = () => (0x1000 + serial++).toString(16).padStart(8, "0");

export const agentsMd = `# AGENTS.md

Write Go that reads top-down. Errors say what, where and why.

- Run \`go test ./...\` before you say that something works.
- Never touch files outside this folder.
`;

export const available = [
  ["read", "Read a file, or a part of it"],
  ["bash", "Run a command in the session's folder"],
  ["edit", "Replace exact text in a file"],
  ["write", "Create or overwrite a file"],
  ["grep", "Search the contents of files"],
  ["find", "Find files by their names"],
  ["ls", "List a folder"],
];

const text = (s) => ({ type: "text", text: s });
const call = (id, name, args) => ({ type: "toolCall", id, name, arguments: args });

export function user(s, at) {
  return { role: "user", content: [text(s)], timestamp: at, entryId: entryId() };
}
export function assistant(content, at, more = {}) {
  return { role: "assistant", content: typeof content === "string" ? [text(content)] : content, api: "openai-completions", provider: "example", model: "sonata-large", usage: {}, stopReason: "stop", timestamp: at, durationMs: 4200, entryId: entryId(), ...more };
}
export function result(id, name, out, at, more = {}) {
  return { role: "toolResult", toolCallId: id, toolName: name, content: [text(out)], isError: false, timestamp: at, durationMs: 340, entryId: entryId(), ...more };
}

const goAnswer = `The lock is taken **before** the size is checked, so two writers can never see the same end. Three places matter:

1. \`journal.Append\` takes the lock and re-reads the size.
2. If somebody else wrote, it *adopts* their last entry as parent.
3. Only then are our lines written, in one \`write(2)\`.

\`\`\`go
func (j *journal) Append(lines ...[]byte) (Position, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	end, err := j.file.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, fmt.Errorf("append to %s: %w", j.path, err)
	}
	// A foreign writer may have been here: never fuse with a torn line.
	if end != j.end {
		return j.adopt(end, lines)
	}
	return j.write(lines)
}
\`\`\`

| case | what happens | lost |
|---|---|---|
| torn tail | closed with a newline | the fragment only |
| foreign entry | adopted as parent | nothing |
| full disk | truncated to the known end | the refused entry |

> A change that was refused can never take effect later.

Remaining: see [the format notes](https://example.org/format) and \`session/journal.go\`.`;

const build = `ok  	example.org/till/ledger	0.412s
ok  	example.org/till/ledger/journal	1.930s
--- FAIL: TestAppendAfterTornTail (0.01s)
    journal_test.go:88: got 4 entries, want 5
FAIL
FAIL	example.org/till/ledger/store	0.219s`;

function review(t) {
  return [
    user("Why can two processes append to one ledger without losing entries?\nLook at the journal, then run the tests.", t),
    assistant([{ type: "thinking", thinking: "The user wants the mechanism. I should read journal.go first, then the tests.\n\n- lock order\n- size check" }, text("I'll read the journal first."), call("c1", "read", { path: "ledger/journal/journal.go" }), call("c2", "grep", { pattern: "Append\\(", path: "ledger" })], t + 2e3, { stopReason: "toolUse" }),
    result("c1", "read", Array.from({ length: 140 }, (_, i) => `${i + 1}\tfunc line${i}() error { return nil }`).join("\n"), t + 3e3),
    result("c2", "grep", "ledger/journal/journal.go:41:func (j *journal) Append(lines ...[]byte) (Position, error) {\nledger/store/store.go:17:\tpos, err := s.j.Append(raw)", t + 3e3),
    assistant([call("c3", "bash", { command: "go test ./ledger/..." })], t + 5e3, { stopReason: "toolUse" }),
    result("c3", "bash", build + "\n\nCommand exited with code 1", t + 9e3, { isError: true, durationMs: 3910 }),
    assistant([call("c4", "edit", { path: "ledger/journal/journal.go", oldText: "\tif end > j.end {\n\t\treturn j.adopt(end, lines)", newText: "\tif end != j.end {\n\t\treturn j.adopt(end, lines)" }), call("c5", "bash", { command: "go test ./ledger/..." })], t + 12e3, { stopReason: "toolUse" }),
    result("c4", "edit", "Replaced 1 block in ledger/journal/journal.go.", t + 12e3, { durationMs: 12 }),
    result("c5", "bash", "ok  \texample.org/till/ledger\t0.398s\nok  \texample.org/till/ledger/journal\t1.874s\nok  \texample.org/till/ledger/store\t0.201s", t + 15e3, { durationMs: 2870 }),
    assistant(goAnswer, t + 16e3, { durationMs: 6100 }),
    user("谢谢！请用中文总结一下，并说明为什么“换行符”这么重要。", t + 60e3),
    assistant("要点如下：\n\n- **换行符是边界**：没有换行的尾行会和下一次写入粘在一起，两条记录一起丢失。\n- 因此在追加之前，先用换行把残缺的尾行*封口*。\n- 残片保留在文件里，作为“死行”，并被报告。\n\n- [x] 加锁\n- [ ] 写回归测试 🧪", t + 64e3),
  ];
}

function long(n, t) {
  const out = [{ role: "compactionSummary", summary: "The team moved the importer from CSV to JSONL. **Open:** retry on 429, tests for empty files.", tokensBefore: 182000, timestamp: t, entryId: entryId() }];
  for (let i = 1; out.length < n; i++) {
    const at = t + i * 60e3;
    out.push(user(`Step ${i}: what is left in the importer?`, at));
    if (i % 3 === 0) {
      out.push(assistant([text(`Checking batch ${i}.`), call(`l${i}`, "bash", { command: `./import --batch ${i} --dry-run` })], at + 1e3, { stopReason: "toolUse" }));
      out.push(result(`l${i}`, "bash", `batch ${i}: 120 rows, 0 errors`, at + 2e3));
    }
    out.push(assistant(i % 5 === 0 ? goAnswer : `Batch **${i}** is imported. Next:\n\n1. compare the counts of batch ${i}\n2. remove \`tmp/batch-${i}.csv\`\n\nNothing else is open.`, at + 3e3));
  }
  return out.slice(0, n);
}

const hostile = `<script>alert(1)</script> <img src=x onerror=alert(2)>

[click](javascript:alert(3)), [data](data:text/html,x), [file](../README.md), ![pixel](https://tracker.example/p.png), <https://example.org/?q=<b>>

<style>body{display:none}</style><a href="https://example.org" onclick="alert(4)" id="app">raw link</a>

\`\`\`html
<script>alert(5)</script>
\`\`\``;

const pinned = (tools) => ({ kind: "pinned", tools, by: "selection" });
const open = (by = "settings") => ({ kind: "open", tools: ["read", "bash", "edit", "write"], by });
const chat = () => ({ kind: "chat-only", tools: [], by: "selection" });

/** @returns {any[]} sessions, each with its messages and policy */
export function sessions(now = Date.now()) {
  const min = 60e3, hour = 60 * min, day = 24 * hour;
  const till = "/home/ada/src/till", site = "/home/ada/src/company/website-with-a-rather-long-name", notes = "/home/ada/notes";
  const list = [
    ["Review of the ledger journal", till, 4 * min, review(now - 4 * min - 70e3), pinned(["read", "bash", "edit", "grep"])],
    ["", till, 50 * min, [user("Explain what a receipt is, in two sentences.", now - 50 * min), assistant("A receipt is a line in the session file that is written before a request is sent. It says which policy was in force and which prompt and tools the request carried.", now - 50 * min + 2e3)], chat()],
    ["Importer, 1 000 messages", till, 3 * hour, long(1000, now - 20 * hour), open()],
    ["子任务：检查迁移脚本 🔍", till, 5 * hour, [user("检查 migrations/ 里的脚本，列出不可逆的步骤。", now - 5 * hour), assistant("没有发现不可逆的步骤。", now - 5 * hour + 9e3)], { kind: "child", tools: ["read", "grep"], by: "snapshot" }],
    ["مراجعة نص الصفحة الرئيسية", site, 26 * hour, [user("راجع النص التالي من فضلك: Welcome to our site.", now - 26 * hour), assistant("النص واضح ومختصر. أقترح إضافة جملة واحدة عن الخصوصية.", now - 26 * hour + 4e3)], chat()],
    ["Landing page 🚀✨ with a name that somebody made very, very long because nothing stopped them from doing so, and which must still look like one line in the list", site, 28 * hour, [user("Make the hero smaller.", now - 28 * hour), assistant([text("Done in part."), call("x1", "write", { path: "src/hero.css", content: ".hero { min-height: 40vh; }\n" })], now - 28 * hour + 1e3, { stopReason: "aborted" })], open("default")],
    ["The provider failed", site, 3 * day, [user("Summarise the analytics.", now - 3 * day), assistant([], now - 3 * day + 1e3, { stopReason: "error", errorMessage: "429 Too Many Requests: the quota of this key is used up until tomorrow" })], open()],
    ["Hostile <b>text</b> & \"quotes\"", notes, 5 * day, [user(hostile, now - 5 * day), assistant(hostile, now - 5 * day + 1e3), { role: "bashExecution", command: "echo '<i>hi</i>'", output: "<i>hi</i>", exitCode: 0, cancelled: false, truncated: false, timestamp: now - 5 * day + 2e3, entryId: entryId() }, { role: "branchSummary", summary: "Another way was tried and left.", fromId: "x", timestamp: now - 5 * day, entryId: entryId() }], open("transcript")],
  ];
  for (let i = 0; i < 90; i++) {
    const at = now - 6 * day - i * 9 * hour;
    list.push([i % 4 ? `Note ${90 - i}` : "", i % 7 ? notes : "/home/ada/src/old-" + (i % 5), now - at, [user(`Question ${i} about nothing in particular`, at), assistant(`Answer ${i}.`, at + 2e3)], [chat(), open(), pinned(["read"]), open("default")][i % 4]]);
  }
  const out = list.map(([name, cwd, age, messages, policy], i) => ({
    id: `0199aa00-0000-7000-8000-${String(i).padStart(12, "0")}`, name, cwd, messages, policy,
    created: now - age - hour, updated: now - age, model: { provider: "example", id: "sonata-large" }, receipts: messages.length > 2 ? 3 : 1, differs: i === 2,
  }));
  out[1].model = { provider: "offline", id: "offline" };
  out.push({ id: "broken", name: "", cwd: "", messages: [], policy: { kind: "refused", tools: [], by: "default" }, created: now - 200 * day, updated: now - 200 * day, problem: "line 1 is no session header", model: null, receipts: 0 });
  return out;
}

/** What the mock answers, by a word in the prompt. */
export const answers = { goAnswer, build };
