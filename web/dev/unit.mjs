// Tests of what needs no browser: frames, turns, rows, words.
//
//   node --test web/dev/unit.mjs

import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, explain } from "../page/api.js";
import { dollars, duration, fileSize, tokens } from "../page/format.js";
import { changeOf, linesOfChange } from "../page/change.js";
import { toRows } from "../page/history.js";
import { chooseLanguage, named, pickLanguage, t, tx } from "../page/i18n.js";
import { withMoments, words } from "../page/moments.js";
import { capsOf, keymap, lineOf } from "../page/keymap.js";
import { Outbox, unsure } from "../page/outbox.js";
import { crossing, presetOf } from "../page/policywords.js";
import { update } from "../page/saying.js";
import { Parser } from "../page/sse.js";
import { linesOf } from "../page/tree.js";
import { apply, newTurn, withoutTurn } from "../page/turn.js";
import { Heights, mostRows, range } from "../page/window.js";
import { hashOf, placeOfHash } from "../page/place.js";

test("frames are the same wherever the text is cut", () => {
  const text = 'event: a\nid: 7\ndata: {"x":1}\n\n: keep-alive\n\nid: 8\r\ndata: one\r\ndata:two\r\n\r\ndata\n\n';
  const whole = parse([text]);
  assert.deepEqual(whole, [
    { event: "a", id: "7", data: '{"x":1}' },
    { event: "message", id: "8", data: "one\ntwo" },
    { event: "message", id: "8", data: "" },
  ]);
  for (let i = 0; i <= text.length; i++) {
    for (let j = i; j <= text.length; j++) assert.deepEqual(parse([text.slice(0, i), text.slice(i, j), text.slice(j)]), whole, `cut at ${i} and ${j}`);
  }
});

function parse(pieces) {
  const out = [];
  const p = new Parser((f) => out.push(f));
  for (const piece of pieces) p.push(piece);
  return out;
}

const fold = (chunks, turn = newTurn(1000, null)) => chunks.reduce((t, c, i) => apply(t, c, 1000 + i), turn);

test("a turn is folded into one row per step", () => {
  const t = fold([
    { type: "start-step" },
    { type: "reasoning-start", id: "p1" }, { type: "reasoning-delta", id: "p1", delta: "hm" }, { type: "reasoning-end", id: "p1" },
    { type: "text-start", id: "p2" }, { type: "text-delta", id: "p2", delta: "I " }, { type: "text-delta", id: "p2", delta: "look" }, { type: "text-end", id: "p2" },
    { type: "tool-input-available", toolCallId: "c", toolName: "read", input: { path: "x" } },
    { type: "tool-output-available", toolCallId: "c", preliminary: true, output: { content: [{ type: "text", text: "half" }] } },
    { type: "tool-output-available", toolCallId: "c", isError: false, output: { content: [{ type: "text", text: "whole" }] } },
    { type: "finish-step" }, { type: "start-step" },
    { type: "text-delta", id: "p3", delta: "done" },
  ]);
  assert.equal(t.rows.length, 2);
  const [thinking, said, tool] = t.rows[0].parts;
  assert.deepEqual([thinking.text, thinking.open, said.text], ["hm", false, "I look"]);
  assert.deepEqual([tool.state, tool.output, tool.preliminary, tool.durationMs], ["done", "whole", false, 2]);
  assert.equal(t.rows[1].parts[0].text, "done");
});

test("a growing row leaves the others the same objects", () => {
  const a = fold([{ type: "start-step" }, { type: "text-delta", id: "p1", delta: "a" }, { type: "start-step" }, { type: "text-delta", id: "p2", delta: "b" }]);
  const b = apply(a, { type: "text-delta", id: "p2", delta: "c" }, 0);
  assert.equal(a.rows[0], b.rows[0]);
  assert.notEqual(a.rows[1], b.rows[1]);
});

test("unknown chunks and late results change nothing", () => {
  const t = fold([{ type: "start-step" }, { type: "text-delta", id: "p1", delta: "a" }]);
  for (const c of [{ type: "data-new" }, { type: "tool-output-error", toolCallId: "nowhere", errorText: "x" }, {}]) assert.equal(apply(t, c, 0), t);
});

const msg = (role, entryId, timestamp) => ({ role, entryId, timestamp, content: [] });
const ids = (messages) => messages.map((m) => m.entryId).join("");

test("the running turn is not shown twice", () => {
  const t0 = 1_000_000;
  const file = [msg("user", "a", t0 - 9e5), msg("assistant", "b", t0 - 8e5), msg("user", "c", t0 - 30), msg("assistant", "d", t0 + 5), msg("toolResult", "e", t0 + 9)];
  const cases = {
    "we saw it begin": [newTurn(t0, new Set(["a", "b"])), "abc"],
    "we saw it begin, and the file is stale": [newTurn(t0, new Set(["a"])), "abc"],
    "it had begun before we came": [newTurn(t0, null), "abc"],
    "nothing tells when it began": [newTurn(0, null), "abc"],
    "we came into the middle and have no start": [newTurn(Infinity, null), "abcde"],
    "no turn": [null, "abcde"],
  };
  for (const [name, [turn, want]] of Object.entries(cases)) assert.equal(ids(withoutTurn(file, turn)), want, name);
});

test("an earlier answer stays while the new prompt is not in the file yet", () => {
  const t0 = 1_000_000;
  const file = [msg("user", "a", t0 - 9e5), msg("assistant", "b", t0 - 8e5)];
  assert.equal(ids(withoutTurn(file, newTurn(t0, null))), "ab");
  assert.equal(ids(withoutTurn(file, newTurn(t0, new Set(["a", "b"])))), "ab");
});

test("results join their calls, and what is strange is shown as a note", () => {
  const rows = toRows([
    { role: "user", content: "plain", entryId: "1" },
    { role: "assistant", entryId: "2", content: [{ type: "toolCall", id: "x", name: "bash", arguments: { command: "ls" } }, { type: "toolCall", id: "y", name: "bash", arguments: {} }], stopReason: "aborted" },
    { role: "toolResult", entryId: "3", toolCallId: "x", isError: true, content: [{ type: "text", text: "no" }] },
    { role: "toolResult", entryId: "4", toolCallId: "gone", content: [] },
    { role: "hologram", entryId: "5" },
    { role: "compactionSummary", entryId: "6", summary: "s" },
    null,
    { role: "user", entryId: "7", content: [{ type: "image", mimeType: "image/svg+xml", data: "PHN2Zz4=" }, { type: "image", mimeType: "image/png", data: "AAAA" }] },
  ]);
  assert.deepEqual(rows.map((r) => r.kind), ["user", "assistant", "note", "note", "note", "user"]);
  assert.deepEqual(rows[1].parts.map((p) => [p.state, p.error]), [["error", "no"], ["lost", undefined]]);
  assert.equal(rows[1].aborted, true);
  assert.deepEqual(rows[5].images.map((p) => p.src), ["", "data:image/png;base64,AAAA"]);
});

test("crossing the Chat Only boundary is asked, other changes are not", () => {
  const chat = { kind: "chat-only", tools: [], source: { by: "selection" }, available: [] };
  const pinned = { ...chat, kind: "pinned", tools: ["read"] };
  assert.equal(crossing(pinned, ["bash"], null), null);
  assert.equal(crossing(pinned, "settings", null), null);
  assert.equal(crossing(chat, [], null), null);
  assert.match(crossing(pinned, [], null).title, /Go/);
  assert.match(crossing(chat, "settings", null).title, /Leave/);
  assert.match(crossing(pinned, [], { decide: { loads: { skills: true, mcp: true, systemPrompt: true, contextFiles: true } } }).text, /unloads SYSTEM\.md, skills and MCP servers\./);
});

test("the preset in force", () => {
  const t = (kind, tools, by = "selection") => presetOf({ kind, tools, source: { by }, available: [], preset: "default" });
  assert.equal(t("chat-only", []), "none");
  assert.equal(t("pinned", ["ls", "find", "grep", "read"]), "read-only");
  assert.equal(t("pinned", ["read", "powershell", "edit", "write"]), "default");
  assert.equal(t("pinned", ["read"]), "");
  assert.equal(t("open", ["read", "bash", "edit", "write"], "settings"), "configured");
  assert.equal(t("open", ["read"], "transcript"), "");
  assert.equal(t("child", ["read"], "snapshot"), "");
});

test("errors say what to do, and keep the server's reason where it is needed", () => {
  assert.deepEqual(explain(new ApiError(409, "RUNNING", "the session is running")).detail, "");
  assert.match(explain(new ApiError(409, "FOLDER_GONE", "/a is gone")).detail, /gone/);
  assert.equal(explain(new ApiError(409, "NO_MODEL", "No key for x.")).text, "No key for x.");
  assert.match(explain(new ApiError(0, "UNREACHABLE", "")).text, /running/);
});

test("the moments of a policy stand where they stand in the file", () => {
  const messages = [
    { role: "user", entryId: "u1", content: "one" },
    { role: "assistant", entryId: "a1", content: [{ type: "toolCall", id: "c", name: "read", arguments: {} }] },
    { role: "toolResult", entryId: "r1", toolCallId: "c", content: [] },
    { role: "user", entryId: "u2", content: "two" },
  ];
  const m = (entry, after, what, more = {}) => ({ entry, after, what, line: 1, counts: true, kind: "pinned", tools: ["read", "ls"], text: "", ...more });
  const history = [
    m("s0", undefined, "selection"), m("p1", "u1", "receipt", { bytes: 10, holds: true }), m("s1", "r1", "selection", { kind: "chat-only", tools: [] }),
    m("p2", "r1", "receipt", { bytes: 0, tools: [], holds: false }), m("s2", "elsewhere", "selection"), m("s3", "u2", "selection", { kind: "open", tools: null }),
  ];
  const rows = withMoments(toRows(messages), messages, history);
  assert.deepEqual(rows.map((r) => (r.kind === "moment" ? r.moments.map((x) => x.entry).join("+") : r.key)), ["s0", "u1", "p1", "a1", "s1+p2", "u2", "s3"]);
  assert.deepEqual(history.map(words), [
    "Tools from here on: read and ls", "Sent with read and ls, a prompt of 10 bytes", "Chat Only from here on", "Sent with no tools, no system message",
    "Tools from here on: read and ls", "From here on the settings decide about tools",
  ]);
  assert.equal(withMoments(rows, messages, []), rows);
});

test("heights: a place is found by its row and a row by its place, whatever changes", () => {
  const rows = Array.from({ length: 1000 }, (_, i) => ({ kind: "note", key: `k${i}`, title: "", text: "" }));
  const h = new Heights();
  h.lay(rows);
  const sizes = rows.map((r) => h.guess(r));
  const starts = () => sizes.reduce((all, s) => [...all, all.at(-1) + s], [0]);
  const agrees = () => {
    const want = starts();
    assert.equal(h.total, want.at(-1));
    for (let i = 0; i < h.rows.length; i += 37) {
      assert.equal(h.start(i), want[i]);
      assert.equal(h.at(want[i]), i);
      assert.equal(h.at(want[i + 1] - 0.5), i);
    }
  };
  agrees();
  for (const [i, px] of [[500, 10], [3, 900], [999, 1], [500, 77]]) {
    h.set(i, px);
    sizes[i] = px;
    h.lay(h.rows);
    agrees();
  }
  const more = [{ kind: "note", key: "first", title: "", text: "" }, ...rows.slice(0, 400), { ...rows[400] }, ...rows.slice(401, 700)];
  h.lay(more); // rows came before, one is another object, some are gone
  sizes.splice(700);
  sizes.unshift(h.guess(more[0]));
  agrees();
  assert.equal(h.at(-5), 0);
  assert.equal(h.at(1e9), more.length - 1);
});

test("the window holds what is seen, no more rows than may be, and as much around as asked", () => {
  const rows = Array.from({ length: 5000 }, (_, i) => ({ kind: "moment", key: `k${i}`, moments: [] }));
  const h = new Heights();
  h.lay(rows);
  for (const top of [-100, 0, 1, 777, 5000 * 34 - 900, 5000 * 34]) {
    for (const beyond of [0, 100, 1400]) {
      const r = range(h, top, top + 900, beyond);
      assert.ok(r.to - r.from <= mostRows && r.to > r.from);
      assert.ok(h.start(r.from) <= Math.max(0, top) && (h.start(r.to) >= top + 900 || r.to === rows.length), `${top} ${beyond}`);
    }
  }
  assert.deepEqual(range(h, 1e6, 1e6 + 900, 0).to, 5000);
  h.lay([]);
  assert.deepEqual(range(h, 0, 900, 0), { from: 0, to: 0 });
});

test("an address names a session and a place in it", () => {
  for (const [id, entry] of [["a", ""], ["a/b c", "x/y"], ["漢字~1", "00000001"]]) assert.deepEqual(placeOfHash(hashOf(id, entry)), { id, entry });
  for (const bad of ["", "#", "#/s/", "#/s/%", "#/t/x", "#/s/a/%E0"]) assert.equal(placeOfHash(bad).id, "");
});

test("a message whose answer got lost is known again, also after a reload", () => {
  const kept = new Map();
  const store = { getItem: (k) => kept.get(k) ?? null, setItem: (k, v) => kept.set(k, v), removeItem: (k) => kept.delete(k) };
  const box = new Outbox("s", store);
  const id = box.take("hello", []);
  assert.match(id, /^[0-9a-f]{16}$/);
  assert.equal(box.take("hello", []), id);
  assert.equal(new Outbox("s", store).take("hello", []), id);
  assert.notEqual(new Outbox("s", store).take("hello", [{ id: "att_1" }]), id);
  const next = box.take("hello", []);
  assert.equal(box.arrived([{ entryId: "other" }]), null);
  assert.equal(box.arrived([{ entryId: "other" }, { entryId: next }]), "hello");
  assert.equal(box.arrived([{ entryId: next }]), null);
  assert.notEqual(box.take("hello", []), next);
  const lost = (status, code) => unsure(new ApiError(status, code, ""));
  assert.deepEqual([lost(0, "UNREACHABLE"), lost(200, "BAD_ANSWER"), lost(504, "TIMEOUT"), lost(409, "RUNNING"), lost(503, "SHUTTING_DOWN"), unsure(new Error("x"))], [true, true, true, false, false, false]);
});

test("the language of the page is one that there is", () => {
  assert.equal(pickLanguage(["de-DE", "zh-TW", "en"]), "zh-Hans");
  assert.equal(pickLanguage(["de", "en-GB", "zh"]), "en");
  assert.equal(pickLanguage(["de"]), "en");
  assert.equal(pickLanguage([]), "en");
});

test("texts are told what they name, in both languages", () => {
  const both = (f) => ["en", "zh-Hans"].map((l) => (chooseLanguage(l), f()));
  assert.deepEqual(both(() => t("say.bytes", { n: 1 })), ["1 byte", "1 字节"]);
  assert.deepEqual(both(() => t("say.bytes", { n: 12345 })), ["12,345 bytes", "12,345 字节"]);
  assert.deepEqual(both(() => tx("start.hint", { new: 1, search: ["x"], keys: null })[3]), [["x"], ["x"]]);
  assert.deepEqual(both(() => named("status", "running")), ["works", "工作中"]);
  assert.deepEqual(both(() => named("status", "toString")), ["toString", "toString"]);
  assert.deepEqual(both(() => duration(83_000)), ["1 min 23 s", "1 分 23 秒"]);
  assert.deepEqual(both(() => duration(1234)), ["1.2 s", "1.2 秒"]);
  assert.deepEqual(both(() => tokens(1_250_000)).map((s) => s.length > 3), [true, true]);
  assert.deepEqual(both(() => fileSize(1536 * 1024)), ["1.5 MB", "1.5 MB"]);
  assert.deepEqual(both(() => dollars(0.5)), ["$0.50", "$0.50"]);
  chooseLanguage("");
});

test("keys: one line each, none that a browser or a screen reader needs", () => {
  const seen = new Set();
  for (const { where, id, keys, what } of keymap) {
    for (const key of keys) {
      assert.ok(!seen.has(`${where} ${key}`), `${where} has ${key} twice`);
      seen.add(`${where} ${key}`);
      assert.match(key, /^(Alt\+(Arrow(Up|Down)|\/|Enter)|Shift\+Enter|Enter|Escape|Tab|Home|End|Page(Up|Down)|Arrow(Up|Down|Right)|[a-z/?,])$/, `${id}: ${key}`);
      assert.ok(capsOf(key).join("").length > 0);
    }
    if (where !== "completion") assert.notEqual(what, "", `${id} is not in the help`);
  }
});

test("keys: what is typed, composed or held down with another key is no command", () => {
  class Element {
    constructor(tag, value = "") {
      Object.assign(this, { tag, value });
    }
    matches(list) {
      return list.split(", ").includes(this.tag);
    }
  }
  class TextArea extends Element {}
  Object.assign(globalThis, { HTMLElement: Element, HTMLTextAreaElement: TextArea });
  const body = new Element("body");
  const line = (key, o = {}) => lineOf({ key, target: body, ...o }, o.where ?? "page");
  assert.deepEqual(["/", "n", "?", "Escape", "x", "N"].map((k) => line(k)), ["search", "new", "help", "escape", "", ""]);
  assert.deepEqual([line("?", { shiftKey: true }), line("n", { ctrlKey: true }), line("p", { metaKey: true }), line("n", { altKey: true })], ["help", "", "", ""]);
  for (const tag of ["input", "select", "textarea"]) assert.equal(line("n", { target: new Element(tag) }), "", tag);
  assert.equal(line("÷", { altKey: true, code: "Slash", target: new TextArea("textarea", "text") }), "search");
  assert.equal(line("ArrowDown", { altKey: true, target: new TextArea("textarea", "") }), "after");
  assert.equal(line("ArrowDown", { altKey: true, target: new TextArea("textarea", "text") }), "");
  assert.equal(line("ArrowDown", { altKey: true, target: new Element("select") }), "");
  const composer = { where: "composer", target: new TextArea("textarea", "ni") };
  assert.deepEqual([line("Enter", composer), line("Enter", { ...composer, isComposing: true }), line("Enter", { ...composer, keyCode: 229 }), line("Enter", { ...composer, shiftKey: true })], ["send", "", "", "newLine"]);
});

test("a change is read from a patch, and from the numbered lines of pi", () => {
  const patch = "--- a\n+++ a\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n@@ -9 +9,2 @@\n nine\n+ten\n\\ No newline at end of file\n";
  assert.deepEqual(linesOfChange(patch).map((l) => `${l.kind}${l.n} ${l.text}`), [" 1 one", "-2 two", "+2 TWO", " 3 three", "@0 …", " 9 nine", "+10 ten"]);
  assert.deepEqual(linesOfChange(" 1 one\n-2 two\n+ 2 TWO\n   ...\n 12 x").map((l) => `${l.kind}${l.n} ${l.text}`), [" 1 one", "-2 two", "+2 TWO", "@0 ...", " 12 x"]);
  assert.equal(changeOf({ patch, diff: "x" }), patch);
  for (const none of [undefined, null, {}, { diff: 1 }, { patch: {} }]) assert.equal(changeOf(none), "");
});

test("the tree: chains stay at one depth, branches are set in, what is hidden is skipped", () => {
  const n = (id, parentId, role, more = {}) => ({ id, parentId, type: "message", role, line: 1, text: id, ...more });
  const nodes = [
    n("s", "", "system"), n("q1", "s", "user"), n("a1", "q1", "assistant"), n("q2", "a1", "user"), n("a2", "q2", "assistant"),
    n("q3", "a1", "user"), n("a3", "q3", "assistant"), { id: "m", parentId: "a3", type: "custom", line: 9 }, n("q4", "a2", "user"),
    n("q5", "a2", "user", { label: "here I was" }), n("lost", "nowhere", "user"), n("c1", "c2", "user"), n("c2", "c1", "user"),
  ];
  const show = (what, leaf = "m", q = "") => linesOf(nodes, leaf, what, q).map((l) => `${"  ".repeat(l.depth)}${l.node.id}${l.branches ? `/${l.branches}` : ""}${l.here ? "*" : ""}`);
  assert.deepEqual(show("questions"), ["q1/2", "  q2/2", "    q4", "    q5", "  q3", "  a3*", "lost"]);
  assert.deepEqual(show("messages"), ["q1", "a1/2", "  q2", "  a2/2", "    q4", "    q5", "  q3", "  a3*", "lost"]);
  assert.deepEqual(show("labels"), ["q5"]);
  assert.deepEqual(show("questions", "q2", "q").filter((l) => l.includes("*")), ["  q2/2*"]);
  assert.equal(show("all").length, 11); // what stands in a circle has no way to it
  assert.deepEqual(show("questions", "m", "nothing like it"), []);
  assert.deepEqual(linesOf([], "", "all"), []);
});

test("what was said is brought up to date by what is new; a place elsewhere keeps the common beginning", async () => {
  /** @type {string[]} */
  let branch = [];
  const asked = [];
  globalThis.fetch = async (url) => {
    const q = new URL(url, "http://x").searchParams;
    asked.push([...q.keys()].join());
    const limit = Math.min(3, Number(q.get("limit") ?? 3));
    const at = branch.indexOf(q.get("after"));
    const moved = q.has("after") && at < 0;
    const from = q.has("after") && !moved ? at + 1 : Math.max(0, branch.length - limit);
    const list = branch.slice(from, from + limit).map((entryId) => ({ entryId }));
    return new Response(JSON.stringify({ messages: list, from, total: branch.length, leafId: branch.at(-1), moved, labels: { x: "y" } }));
  };
  const ids = (got) => got.messages.map((m) => m.entryId).join("");
  branch = [..."abcdefgh"];
  let got = await update("s", [], 0);
  assert.deepEqual([ids(got), got.missing, got.labels.x], ["fgh", 5, "y"]);
  const same = got.messages;
  assert.equal((await update("s", same, 5)).messages, same); // nothing new: the same list
  branch = [..."abcdefghijklm"];
  got = await update("s", same, 5);
  assert.equal(ids(got), "fghijklm"); // more than a page of news
  assert.equal(got.messages[0], same[0]);
  branch = [..."abcdefghiXY"];
  got = await update("s", got.messages, 5);
  assert.deepEqual([ids(got), got.missing, got.messages[0] === same[0]], ["fghiXY", 5, true]);
  branch = [..."abcdefghi"];
  got = await update("s", got.messages, 5);
  assert.deepEqual([ids(got), got.missing], ["fghi", 5]); // back, nothing of it is new
  branch = [..."PQRST"];
  got = await update("s", got.messages, 5);
  assert.deepEqual([ids(got), got.missing], ["RST", 2]);
});
