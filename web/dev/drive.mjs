// What people do with the page, done by a program: sending, stopping, losing the
// connection, two windows, keys, drafts, long sessions.
//
//   web/check.sh --drive

import { hash, launch, mock, problem, verdict } from "./browser.mjs";

const only = process.argv[2];
const server = await mock();
const browser = await launch();

/** @param {string} name @param {(context: any) => Promise<void>} act */
async function scene(name, act) {
  if (only && !name.includes(only)) return;
  console.log(name);
  const context = await browser.newContext({ viewport: { width: 1300, height: 800 } });
  context.setDefaultTimeout(12_000);
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.url });
  try {
    await act(context);
  } catch (e) {
    problem(name, e.message.split("\n").slice(0, 3).join(" "));
  }
  await context.close();
}
async function open(context, n) {
  const page = await context.newPage();
  page.on("pageerror", (e) => problem("page", e.message));
  await page.goto(server.url + (n === undefined ? "" : hash(n)));
  await page.waitForSelector(n === undefined ? ".item" : "#composer:not(:disabled)");
  return page;
}
const must = (ok, text) => {
  if (!ok) throw new Error(text);
};
const send = async (page, text) => {
  await page.locator("#composer").fill(text);
  await page.locator("#composer").press("Enter");
};
const idle = (page) => page.waitForSelector(".round[aria-label='Send']");
const distance = (page) => page.evaluate(() => {
  const t = document.querySelector(".transcript");
  return t.scrollHeight - t.scrollTop - t.clientHeight;
});

await scene("a turn: sent once, streamed, and once in the end", async (c) => {
  const p = await open(c, 10);
  await send(p, "hello number one");
  await p.waitForSelector(".bubble:has-text('hello number one')");
  await p.waitForSelector(".round[aria-label='Stop']");
  must((await p.locator("#composer").inputValue()) === "", "the composer is not empty after sending");
  await p.waitForSelector(".markdown:has-text('You said')");
  must((await p.locator(".bubble:has-text('hello number one')").count()) === 1, "the prompt is shown twice while it runs");
  await idle(p);
  await p.waitForTimeout(500);
  must((await p.locator(".bubble:has-text('hello number one')").count()) === 1, "the prompt is shown twice");
  must((await p.locator(".markdown:has-text('You said')").count()) === 1, "the answer is not shown once");
  must((await p.locator(".markdown:has-text('Answer')").count()) >= 1, "the earlier answer is gone");
  must((await distance(p)) < 5, "the end is not in view");
});

await scene("reload in the middle of a turn", async (c) => {
  const p = await open(c, 11);
  await send(p, "use a tool, long");
  await p.waitForSelector(".tool.done");
  await p.reload();
  await p.waitForSelector(".tool.running, .tool.done");
  await p.waitForTimeout(400);
  const shown = async () => p.locator(".tool-what").allTextContents();
  must(new Set(await shown()).size === (await shown()).length, `tools are shown twice: ${await shown()}`);
  await p.keyboard.press("Escape");
  await idle(p);
  await p.waitForTimeout(500);
  must(new Set(await shown()).size === (await shown()).length, `tools are shown twice in the end: ${await shown()}`);
  must((await p.locator(".bubble:has-text('use a tool')").count()) === 1, "the prompt is not shown once");
});

await scene("two windows see the same turn", async (c) => {
  const a = await open(c, 12);
  const b = await open(c, 12);
  await b.waitForTimeout(400);
  await send(a, "seen by both");
  await b.waitForSelector(".bubble:has-text('seen by both')");
  await b.waitForSelector(".markdown:has-text('You said')");
  must((await b.locator(".markdown:has-text('Answer')").count()) >= 1, "the earlier answer is gone in the other window");
  await idle(b);
  await b.waitForTimeout(500);
  must((await b.locator(".markdown:has-text('You said')").count()) === 1, "the answer is not shown once in the other window");
});

await scene("a lost connection comes back with everything", async (c) => {
  const p = await open(c, 13);
  await send(p, "drop it");
  await p.waitForSelector(".lost");
  await p.waitForSelector(".markdown:has-text('You said')");
  await idle(p);
  await p.waitForTimeout(700);
  must((await p.locator(".lost").count()) === 0, "it still says that the connection is lost");
  must((await p.locator(".bubble:has-text('drop it')").count()) === 1, "the prompt is not shown once");
});

await scene("a reader who scrolled up is left alone", async (c) => {
  const p = await open(c, 2);
  await p.waitForTimeout(500);
  must((await distance(p)) < 5, "a session does not open at its end");
  await send(p, "a long answer please");
  await p.waitForSelector(".markdown:has-text('You said')");
  await p.evaluate(() => (document.querySelector(".transcript").scrollTop -= 900));
  await p.waitForSelector(".pill");
  const top = () => p.evaluate(() => document.querySelector(".transcript").scrollTop);
  const before = await top();
  await p.waitForTimeout(1500);
  must(Math.abs((await top()) - before) < 2, `the transcript moved by ${(await top()) - before} px`);
  await p.locator(".pill").click();
  await p.waitForTimeout(400);
  must((await distance(p)) < 40, "the pill does not lead to the end");
  await p.keyboard.press("Escape");
  await p.locator("#composer").press("Escape");
  await p.waitForSelector(".ended");
});

await scene("a thousand messages: rows, earlier, typing", async (c) => {
  const p = await c.newPage();
  const started = Date.now();
  await p.goto(server.url + hash(2));
  await p.waitForSelector(".rowbox");
  const opened = Date.now() - started;
  const rows = () => p.locator(".rowbox").count();
  await p.evaluate(() => (document.querySelector(".transcript").scrollTop = 0));
  await p.waitForSelector(".note:has-text('summarised')");
  must((await rows()) <= 200, `${await rows()} rows`);
  await p.locator(".pill").click();
  await p.waitForTimeout(300);
  const longest = await p.evaluate(async () => {
    const el = document.getElementById("composer");
    el.focus();
    let worst = 0;
    for (let i = 0; i < 40; i++) {
      const t = performance.now();
      el.value += "x";
      el.dispatchEvent(new InputEvent("input", { bubbles: true }));
      await new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
      worst = Math.max(worst, performance.now() - t);
    }
    el.value = "";
    el.dispatchEvent(new InputEvent("input", { bubbles: true }));
    return worst;
  });
  console.log(`  opened in ${opened} ms, slowest key ${longest.toFixed(0)} ms`);
  must(longest < 120, `a key took ${longest} ms`);
});

await scene("keys", async (c) => {
  const p = await open(c);
  await p.keyboard.press("/");
  must(await p.evaluate(() => document.activeElement.id === "search"), "/ does not lead to the search");
  await p.keyboard.press("ArrowDown");
  await p.keyboard.press("ArrowDown");
  const second = await p.evaluate(() => document.activeElement.getAttribute("href"));
  await p.keyboard.press("Enter");
  await p.waitForSelector("#composer:not(:disabled)");
  must((await p.evaluate(() => location.hash)) === second, "Enter does not open the session");
  await p.waitForFunction(() => document.activeElement.id === "composer");
  await p.keyboard.press("Alt+ArrowDown");
  await p.waitForFunction((h) => location.hash !== h, second);
  await p.locator(".transcript").focus();
  await p.keyboard.press("?");
  await p.waitForSelector("dialog[open]");
  await p.keyboard.press("Escape");
  await p.waitForSelector("dialog", { state: "detached" });
  await p.keyboard.press("n");
  await p.waitForSelector("dialog[open] input[name=folder]");
  await p.keyboard.press("Escape");
  await p.waitForSelector("dialog", { state: "detached" });
  await p.locator(".transcript").focus();
  await p.keyboard.press("p");
  await p.waitForSelector(".policy", { state: "detached" });
  await p.keyboard.press("p");
  await p.waitForSelector(".policy");
});

await scene("drafts are kept per session, through a reload and an error", async (c) => {
  const p = await open(c, 14);
  await p.locator("#composer").fill("half a thought");
  await p.evaluate((h) => (location.hash = h), hash(15));
  await p.waitForFunction(() => document.getElementById("composer")?.value === "");
  await p.evaluate((h) => (location.hash = h), hash(14));
  await p.waitForFunction(() => document.getElementById("composer")?.value === "half a thought");
  await p.reload();
  await p.waitForFunction(() => document.getElementById("composer")?.value === "half a thought");
  await send(p, "please refuse\nthis one");
  await p.waitForSelector(".composer .strip.bad");
  must((await p.locator("#composer").inputValue()) === "please refuse\nthis one", "the text is lost");
});

await scene("an input method's Enter does not send", async (c) => {
  const p = await open(c, 16);
  await p.locator("#composer").fill("にほん");
  await p.evaluate(() => document.getElementById("composer").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true, cancelable: true })));
  await p.locator("#composer").press("Shift+Enter");
  must((await p.locator("#composer").inputValue()) === "にほん\n", "Shift+Enter is no new line, or Enter sent the text");
  must((await p.locator(".bubble:has-text('にほん')").count()) === 0, "it was sent");
});

await scene("the policy: crossing is asked, toggles pin, another window follows", async (c) => {
  const a = await open(c, 17);
  const b = await open(c, 17);
  await b.waitForSelector(".tool-list");
  const preset = (p, name) => p.getByRole("button", { name, exact: true });
  await preset(a, "Read only").click();
  if (await a.locator(".confirm").count()) await a.locator(".confirm .primary").click();
  await a.waitForSelector(".kind-pinned");
  await b.waitForSelector(".kind-pinned");
  await preset(a, "Chat Only").click();
  await a.waitForSelector(".confirm:has-text('unloads')");
  await a.getByRole("button", { name: "Keep as it is" }).click();
  must((await a.locator(".kind-pinned").count()) === 1, "it changed without being asked");
  await preset(a, "Chat Only").click();
  await a.locator(".confirm .primary").click();
  await a.waitForSelector(".kind-chat-only");
  await b.waitForSelector(".kind-chat-only");
  await b.locator(".tool-list label", { hasText: "grep" }).click();
  await b.locator(".confirm .primary").click();
  await b.waitForSelector(".kind-pinned");
  must((await b.locator(".tool-list li:not(.out)").count()) === 1, "a toggle did not pin exactly one tool");
  await preset(b, "Follow settings").click();
  await b.waitForSelector(".kind-open");
});

await scene("stopping, with Esc from the composer", async (c) => {
  const p = await open(c, 18);
  await send(p, "a long one");
  await p.waitForSelector(".markdown:has-text('You said')");
  await p.locator("#composer").press("Escape");
  await p.waitForSelector(".ended");
  await idle(p);
});

await scene("a new session, named, and its first turn", async (c) => {
  const p = await open(c);
  await p.keyboard.press("n");
  await p.locator("input[name=folder]").fill("relative");
  await p.locator("dialog .primary").click();
  await p.waitForSelector("dialog .strip.bad");
  await p.locator("input[name=folder]").fill("/home/ada/src/new");
  await p.locator("dialog label:has-text('Chat Only')").click();
  await p.locator("dialog .primary").click();
  await p.waitForSelector(".kind-chat-only");
  await send(p, "first words");
  await p.waitForSelector(".markdown:has-text('You said')");
  await idle(p);
  await p.locator(".top-title").hover();
  await p.locator(".rename").click();
  await p.keyboard.type("A name");
  await p.keyboard.press("Enter");
  await p.waitForSelector(".item:has-text('A name')");
});

await scene("code can be copied", async (c) => {
  const p = await open(c, 0);
  await p.locator(".code .copy").first().click();
  must((await p.evaluate(() => navigator.clipboard.readText())).startsWith("func (j *journal)"), "the clipboard has something else");
});

await browser.close();
server.stop();
verdict();
