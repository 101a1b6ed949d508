// A fake server for working on the page: no session file is read, no model is
// asked. It speaks the same API as `piweb serve` and sends the same policy for
// scripts and styles.
//
//   node web/dev/mock.mjs [--port 7788] [--empty] [--speed 1]
//
// What a prompt says decides what happens: "error" fails the turn, "refuse" is
// refused with NO_MODEL, "tool" runs tools, "slow" a long one, "drop" cuts the
// connection in the middle, "long" writes a long answer, "notice" sends a notice.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { agentsMd, answers, assistant, available, result, sessions as sample, user } from "./data.mjs";

const arg = (name, fallback) => {
  const i = process.argv.indexOf("--" + name);
  return i < 0 ? fallback : (process.argv[i + 1] ?? "");
};
const has = (name) => process.argv.includes("--" + name);
const pageDir = fileURLToPath(new URL("../page/", import.meta.url));
const speed = Number(arg("speed", "1"));
const wait = (ms) => new Promise((r) => setTimeout(r, ms / speed));

let all = has("empty") ? [] : sample();
const presets = { none: [], "read-only": ["read", "grep", "find", "ls"], default: ["read", "bash", "edit", "write"], full: available.map(([n]) => n) };
const models = [["example", "sonata-large", "Sonata Large"], ["example", "sonata-small", "Sonata Small"], ["local", "étude-7b", "Étude 7B"], ["offline", "offline", "Offline model"]]
  .map(([provider, id, name]) => ({ provider, id, name, api: "openai-completions", reasoning: false, input: ["text"], contextWindow: 128000, maxTokens: 8192, cost: {} }));

class Refusal extends Error {
  constructor(status, code, message) {
    super(message);
    Object.assign(this, { status, code });
  }
}

// ---- live sessions

const live = new Map(); // id → {subs, seq, frames of the running turn, aborted}
function liveOf(id) {
  if (!live.has(id)) live.set(id, { subs: new Set(), seq: 0, turn: null, startedAt: 0, aborted: false });
  return live.get(id);
}
function write(res, seq, payload) {
  res.write(`event: ${payload.kind}\nid: ${seq}\ndata: ${JSON.stringify(payload)}\n\n`);
}
function emit(s, payload) {
  const l = liveOf(s.id);
  l.seq++;
  const frame = { ...payload, protocolVersion: "0.1.0" };
  if (l.turn && payload.kind === "uiMessageChunk") l.turn.push([l.seq, frame]);
  for (const res of l.subs) write(res, l.seq, frame);
}
const chunk = (s, c) => emit(s, { kind: "uiMessageChunk", chunk: c });
const control = (s, payload) => emit(s, { kind: "control", payload });
const snapshot = (s) => ({ control: "session-state", snapshot: { lifecycle: "active", busy: !!liveOf(s.id).turn, ...(liveOf(s.id).turn ? { turn: { startedAt: liveOf(s.id).startedAt } } : {}), model: s.model, title: s.name } });

let part = 0;
async function say(s, text, kind = "text") {
  const id = `p${++part}`;
  chunk(s, { type: `${kind}-start`, id });
  for (const piece of text.match(/[\s\S]{1,9}/gu) ?? []) {
    if (liveOf(s.id).aborted) break;
    chunk(s, { type: `${kind}-delta`, id, delta: piece });
    await wait(18);
  }
  chunk(s, { type: `${kind}-end`, id });
}

async function tool(s, name, input, output, o = {}) {
  const id = `t${++part}`;
  const at = Date.now();
  const a = assistant([{ type: "toolCall", id, name, arguments: input }], at, { stopReason: "toolUse" });
  s.messages.push(a);
  chunk(s, { type: "tool-input-available", toolCallId: id, toolName: name, input });
  for (let i = 1; i <= (o.steps ?? 0) && !liveOf(s.id).aborted; i++) {
    await wait(400);
    chunk(s, { type: "tool-output-available", toolCallId: id, preliminary: true, output: { content: [{ type: "text", text: output.split("\n").slice(0, i).join("\n") }] } });
  }
  await wait(o.ms ?? 300);
  if (o.error) chunk(s, { type: "tool-output-error", toolCallId: id, errorText: output });
  else chunk(s, { type: "tool-output-available", toolCallId: id, isError: false, output: { content: [{ type: "text", text: output }] } });
  s.messages.push(result(id, name, output, Date.now(), { isError: !!o.error, durationMs: Date.now() - at }));
  chunk(s, { type: "finish-step" });
  chunk(s, { type: "start-step" });
}

async function run(s, text) {
  const l = liveOf(s.id);
  Object.assign(l, { turn: [], startedAt: Date.now(), aborted: false });
  s.messages.push(user(text, Date.now()));
  control(s, snapshot(s));
  chunk(s, { type: "start" });
  chunk(s, { type: "start-step" });
  await wait(500);
  let more = {};
  let answer = `You said: *${text.slice(0, 80)}*\n\n${/long/.test(text) ? Array(12).fill(answers.goAnswer).join("\n\n") : answers.goAnswer.slice(0, 560)}`;
  if (/notice/.test(text)) control(s, { control: "notice", text: "Another program wrote to this session meanwhile. Its message stands beside this turn." });
  if (s.policy.tools.length && /tool|slow/.test(text)) {
    await say(s, "The user wants something done.\nI look first.", "reasoning");
    await tool(s, "read", { path: "ledger/journal/journal.go" }, "package journal\n");
    await tool(s, "bash", { command: "go test ./..." }, Array.from({ length: /slow/.test(text) ? 60 : 6 }, (_, i) => `ok  \texample.org/till/part${i}\t0.${i}12s`).join("\n"), { steps: /slow/.test(text) ? 60 : 6 });
    if (!l.aborted) await tool(s, "bash", { command: "go vet ./..." }, "vet: ledger/store/store.go:17: result of fmt.Errorf call not used", { error: true });
  }
  if (/drop/.test(text)) {
    await say(s, "This much arrives, then the connection is cut. ");
    for (const res of l.subs) res.destroy();
    l.subs.clear();
    l.closedUntil = Date.now() + 3500;
    await wait(5000);
  }
  if (/error/.test(text)) {
    more = { stopReason: "error", errorMessage: "The provider answered 503: overloaded" };
    answer = "";
  } else if (!l.aborted) await say(s, answer);
  if (l.aborted) {
    more = { stopReason: "aborted" };
  }
  s.messages.push(assistant(answer, Date.now(), { ...more, model: s.model.id, provider: s.model.provider }));
  chunk(s, { type: "finish-step" });
  l.turn = null;
  s.updated = Date.now();
  s.receipts++;
  control(s, snapshot(s));
  if (more.errorMessage) chunk(s, { type: "error", errorText: more.errorMessage });
  chunk(s, { type: l.aborted ? "abort" : "finish" });
}

// ---- answers

const sha = (t) => createHash("sha256").update(t).digest("hex");
const loads = (kind) => ({ contextFiles: true, systemPrompt: kind !== "chat-only", appendPrompt: kind !== "chat-only" && kind !== "child", skills: kind !== "chat-only", templates: kind !== "chat-only", extensions: kind !== "chat-only", mcp: kind !== "chat-only" });
const source = (s) => ({ by: s.policy.by, ...(s.policy.by === "selection" || s.policy.by === "snapshot" ? { entry: "a1b2c3d4" } : {}) });
const item = (s) => ({
  sessionId: s.id, cwd: s.cwd, createdAt: new Date(s.created).toISOString(), updatedAt: new Date(s.updated).toISOString(), ...(s.name ? { name: s.name } : {}), source: s.cwd,
  ...(liveOf(s.id).turn ? { activity: "working" } : {}), firstMessage: s.messages.find((m) => m.role === "user")?.content[0].text ?? "", messageCount: s.messages.length,
  tools: s.policy.tools.join(", ") || "no tools", kind: s.policy.kind, path: `/home/ada/.pi/agent/sessions/x/${s.id}.jsonl`, ...(s.problem ? { problem: s.problem } : {}),
});
const toolsOf = (s) => ({
  sessionId: s.id, kind: s.policy.kind, source: source(s), tools: s.policy.tools, preset: "default",
  available: available.map(([name, description]) => {
    const allowed = s.policy.tools.includes(name);
    return { name, description, allowed, why: allowed ? "" : s.policy.kind === "chat-only" ? "the session is Chat Only" : `the tool "${name}" is not among the session's tools (${s.policy.tools.join(", ")})` };
  }),
});

function headOf(s) {
  if (s.policy.kind === "chat-only") return agentsMd;
  return `You are a coding agent that works in ${s.cwd}.\n\nTools: ${s.policy.tools.join(", ")}.\n\n${agentsMd}`;
}

function explanation(s) {
  const head = headOf(s);
  const { kind, by, tools } = s.policy;
  const order = [["snapshot", "no subagent"], ["selection", "nothing was chosen"], ["request", "none"], ["transcript", "it declares nothing"], ["settings", "no defaultTools"], ["default", "read, bash, edit, write"]];
  const at = order.findIndex(([b]) => b === by);
  const said = { selection: `line 4: ${tools.join(", ") || "Chat Only"}`, snapshot: `a subagent: ${tools.join(", ")}`, settings: "defaultTools: read, bash, edit, write (settings.json)", default: "read, bash, edit, write", transcript: "entry 5f00 declares read, bash" }[by];
  const receipt = { version: 1, policy: { kind, source: source(s) }, system: { sha256: sha(head), bytes: Buffer.byteLength(head) }, sources: [], tools: tools.map((name) => ({ name, sha256: sha(name) })), model: s.model ? `${s.model.provider}/${s.model.id}` : "" };
  return {
    read: { path: item(s).path, id: s.id, version: 3, cwd: s.cwd, entries: s.messages.length + 4, leaf: "x", branch: s.messages.length, context: s.messages.length, leaves: s.differs ? 2 : 1, diagnostics: s.differs ? [{ kind: "torn", line: 812, text: "an unfinished line was closed and is not read" }] : [] },
    decide: { kind, source: source(s), tools, loads: loads(kind), prompt: kind === "chat-only" ? "exactly the context files" : "composed from what is in effect", trail: [...order.slice(0, at).map(([b, t]) => ({ by: b, decided: false, text: t })), { by, decided: true, text: said }], ...(kind === "refused" ? { error: s.problem } : {}) },
    load: {
      folder: s.cwd, head: { sha256: sha(head), bytes: Buffer.byteLength(head), text: head },
      sources: [{ path: "/home/ada/.pi/agent/AGENTS.md", sha256: sha("a") }, { path: s.cwd + "/AGENTS.md", sha256: sha("b") }],
      left: [{ path: s.cwd + "/docs/CLAUDE.md", reason: "a link that leads outside the project" }], tools: receipt.tools, missing: [], trust: "not trusted: nobody has decided yet",
    },
    ask: { model: receipt.model, system: true, messages: s.messages.length, tools },
    record: {
      receipts: Array.from({ length: s.receipts }, (_, i) => ({ entry: `r${i}`, line: 5 + i * 9, receipt, differences: s.differs && i === 1 ? ["the receipt says pinned by selection, the file says open by settings"] : [], notes: by === "settings" ? ["the tools followed the settings of that day, which are not in the file"] : [] })),
      next: s.receipts ? "nothing new: the last receipt holds for the next request" : "a first receipt is written", edited: [],
    },
    live: { state: liveOf(s.id).turn ? "running" : "ready" },
  };
}

function setPolicy(s, next) {
  if (liveOf(s.id).turn) throw new Refusal(409, "RUNNING", "the session is running");
  if (s.policy.kind === "child") throw new Refusal(409, "SUBAGENT", "a subagent's tools are fixed by its profile");
  const before = JSON.stringify(s.policy);
  const wasChat = s.policy.kind === "chat-only";
  s.policy = next === "clear" ? { kind: "open", tools: presets.default, by: "settings" } : { kind: next.length ? "pinned" : "chat-only", tools: next, by: "selection" };
  const changed = before !== JSON.stringify(s.policy);
  const recreated = changed && (next === "clear" || wasChat !== (s.policy.kind === "chat-only"));
  if (changed) control(s, { control: "policy", kind: s.policy.kind, tools: s.policy.tools, source: source(s), recreated });
  return { sessionId: s.id, recreated, changed };
}

/** A page of what was said, as GET …/transcript has it. */
function transcript(list, query) {
  const limit = Number(query.get("limit") ?? 400);
  const at = (name) => list.findIndex((m) => m.entryId === query.get(name));
  let lo = Math.max(0, list.length - limit), hi = list.length;
  const moved = (query.has("before") && at("before") < 0) || (query.has("after") && at("after") < 0);
  if (!moved && query.has("before")) [lo, hi] = [Math.max(0, at("before") - limit), at("before")];
  if (!moved && query.has("after")) [lo, hi] = [at("after") + 1, Math.min(list.length, at("after") + 1 + limit)];
  while (!query.has("after") && lo > 0 && list[lo]?.role === "toolResult") lo--;
  return { messages: list.slice(lo, hi), from: lo, total: list.length, leafId: list.at(-1)?.entryId ?? "", ...(moved ? { moved } : {}) };
}

async function api(req, res, path, query) {
  const body = await new Promise((ok) => {
    let t = "";
    req.on("data", (d) => (t += d)).on("end", () => ok(t ? JSON.parse(t) : {}));
  });
  const m = req.method;
  if (path === "models") return { models };
  if (path === "bootstrap") return { version: "mock", agentDir: "/home/ada/.pi/agent", sessionsDir: "/home/ada/.pi/agent/sessions", offlineOnly: has("empty"), defaultCwd: "/home/ada/src/till", demoAvailable: all.length === 0 };
  if (path === "demo") {
    all = sample().slice(0, 3);
    return [201, { sessions: all.map((s) => s.id), cwd: all[0].cwd }];
  }
  if (path === "sessions/rename") {
    find(body.sessionId).name = body.name.trim();
    return { sessionId: body.sessionId, name: body.name.trim() };
  }
  if (path === "sessions" && m === "GET") {
    const q = (query.get("q") ?? "").toLowerCase();
    const from = Number(query.get("cursor") ?? 0), limit = Number(query.get("limit") ?? 50);
    const hits = all.filter((s) => !q || `${s.name} ${item(s).firstMessage} ${s.id}`.toLowerCase().includes(q)).sort((a, b) => b.updated - a.updated);
    return { sessions: hits.slice(from, from + limit).map(item), ...(hits.length > from + limit ? { nextCursor: String(from + limit) } : {}) };
  }
  if (path === "sessions" && m === "POST") {
    if (!body.cwd?.startsWith("/")) throw new Refusal(400, "VALIDATION_FAILED", `${body.cwd}: not an absolute path`);
    const s = { id: crypto.randomUUID(), name: "", cwd: body.cwd, messages: [], policy: body.tools ? { kind: body.tools.length ? "pinned" : "chat-only", tools: body.tools, by: "selection" } : { kind: "open", tools: presets.default, by: "settings" }, created: Date.now(), updated: Date.now(), model: { provider: "example", id: "sonata-large" }, receipts: 0 };
    all.push(s);
    return [201, { sessionId: s.id }];
  }
  const [, id, what = ""] = /^sessions\/([^/]+)(?:\/(.*))?$/.exec(path) ?? [];
  if (!id) throw new Refusal(404, "NOT_FOUND", "no such path");
  const s = find(decodeURIComponent(id));
  if (s.problem && what === "transcript") throw new Refusal(422, "NOT_A_SESSION", s.problem);
  switch (`${m} ${what}`) {
    case "GET stream":
      return stream(req, res, s);
    case "GET transcript":
      return transcript(s.messages, query);
    case "POST messages":
      if (liveOf(s.id).turn) throw new Refusal(409, "RUNNING", "the session is running");
      if (!body.message.trim()) throw new Refusal(400, "EMPTY_PROMPT", "the prompt is empty");
      if (/refuse/.test(body.message)) throw new Refusal(409, "NO_MODEL", "no model is configured: set one in settings.json or choose one");
      void run(s, body.message);
      return { ok: true };
    case "POST abort":
      liveOf(s.id).aborted = true;
      return { ok: true };
    case "GET state":
      return { state: { sessionId: s.id, sessionFile: item(s).path, isStreaming: !!liveOf(s.id).turn, model: s.model, thinkingLevel: "off", messageCount: s.messages.length, pendingMessageCount: 0, sessionName: s.name } };
    case "GET models":
      return { models };
    case "POST models":
      s.model = { provider: body.provider, id: body.modelId };
      return { ok: true };
    case "GET tools":
      return toolsOf(s);
    case "PUT tools":
      return setPolicy(s, body.preset === "configured" ? "clear" : (body.tools ?? presets[body.preset]));
    case "DELETE tools":
      return setPolicy(s, "clear");
    case "GET policy":
      return explanation(s);
  }
  throw new Refusal(404, "NOT_FOUND", "no such path");
}

function find(id) {
  const s = all.find((s) => s.id === id);
  if (!s) throw new Refusal(404, "SESSION_NOT_FOUND", "no session has this id");
  return s;
}

function stream(req, res, s) {
  const l = liveOf(s.id);
  if (Date.now() < (l.closedUntil ?? 0)) return void res.destroy();
  res.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  const send = (payload) => write(res, l.seq, { kind: "control", payload, protocolVersion: "0.1.0" });
  send({ control: "session-status", state: "ready" });
  send(snapshot(s));
  for (const [seq, frame] of l.turn ?? []) write(res, seq, frame);
  l.subs.add(res);
  const beat = setInterval(() => res.write(": keep-alive\n\n"), 15000);
  res.on("close", () => {
    clearInterval(beat);
    l.subs.delete(res);
  });
}

// ---- the page, under the policy of the real server

const types = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml" };
async function file(res, path) {
  const name = normalize(path === "/" ? "/index.html" : path);
  let data;
  try {
    data = await readFile(join(pageDir, name));
  } catch {
    res.writeHead(404).end("not found");
    return;
  }
  const map = /<script type="importmap">([\s\S]*?)<\/script>/.exec(await readFile(join(pageDir, "index.html"), "utf8"))[1];
  const hash = createHash("sha256").update(map).digest("base64");
  res.writeHead(200, {
    "content-type": types[extname(name)] ?? "text/plain", "x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
    "content-security-policy": `default-src 'none'; script-src 'self' 'sha256-${hash}'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  });
  res.end(data);
}

createServer(async (req, res) => {
  const url = new URL(req.url, "http://localhost");
  if (!url.pathname.startsWith("/api/")) return file(res, decodeURIComponent(url.pathname));
  const send = (status, o) => {
    res.writeHead(status, { "content-type": "application/json", "x-pi-protocol-version": "0.1.0" });
    res.end(JSON.stringify({ ...o, protocolVersion: "0.1.0" }));
  };
  try {
    const out = await api(req, res, url.pathname.slice(5), url.searchParams);
    if (Array.isArray(out)) send(out[0], out[1]);
    else if (out) send(200, out);
  } catch (e) {
    const { status = 500, code = "INTERNAL", message } = e;
    if (!res.headersSent) send(status, { error: { code, message }, code, message });
  }
}).listen(Number(arg("port", "7788")), "127.0.0.1", function () {
  console.log(`http://127.0.0.1:${this.address().port}/`);
});
