// Drives a browser over the page and the mock: screenshots to look at, and what
// must hold on every one of them (no console errors, no serious findings of axe,
// at most 200 rows).
//
//   web/check.sh --shots DIR [PART OF A NAME]

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { hash as id, launch, mock, problem as note, require, verdict } from "./browser.mjs";

const out = process.argv[2] ?? "shots";
const only = process.argv[3];
mkdirSync(out, { recursive: true });
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const full = await mock();
const empty = await mock("--empty");
const browser = await launch();

/**
 * @param {string} name
 * @param {{width?: number, height?: number, dark?: boolean, base?: string, hash?: string, expectErrors?: boolean, touch?: boolean}} o
 * @param {(page: any) => Promise<void>} [act]
 */
async function shot(name, o, act) {
  if (only && !name.includes(only)) return;
  console.log(name);
  const context = await browser.newContext({ viewport: { width: o.width ?? 1440, height: o.height ?? 900 }, colorScheme: o.dark ? "dark" : "light", hasTouch: !!o.touch, bypassCSP: false });
  const page = await context.newPage();
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && !o.expectErrors && note(name, `console: ${m.text()}`));
  page.on("pageerror", (e) => note(name, `exception: ${e.message}`));
  page.on("request", (r) => !r.url().startsWith(o.base ?? full.url) && !r.url().startsWith("data:") && note(name, `request to ${r.url()}`));
  await page.goto((o.base ?? full.url) + (o.hash ?? ""));
  await page.waitForSelector(".item, .welcome", { state: "attached" });
  await page.waitForTimeout(900);
  if (act) await act(page);
  await page.waitForTimeout(250);
  await page.screenshot({ path: join(out, `${name}.png`) });
  const rows = await page.locator(".rowbox").count();
  if (rows > 200) note(name, `${rows} rows in the page`);
  const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (sideways > 0) note(name, `${sideways} px wider than the window`);
  const findings = await page.evaluate(async (source) => {
    // The page's own policy forbids eval and inline scripts; the devtools protocol does not.
    (0, eval)(source);
    const r = await window.axe.run(document, { resultTypes: ["violations"] });
    return r.violations.map((v) => `${v.impact} ${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " — " + (n.any[0]?.message ?? n.all[0]?.message ?? "")).join(" | ")}`);
  }, axe).catch((e) => [`serious axe did not run: ${e.message}`]);
  for (const f of findings) if (/^(serious|critical)/.test(f)) note(name, `axe ${f}`);
    else console.log(`  axe ${f}`);
  await context.close();
}

const composer = (page) => page.locator("#composer");

await shot("wide-light", { hash: id(0) });
await shot("wide-dark", { hash: id(0), dark: true });
await shot("top-of-transcript", { hash: id(0) }, async (p) => {
  await p.evaluate(() => (document.querySelector(".transcript").scrollTop = 0));
  await p.locator(".tool-head").nth(2).click();
  await p.locator(".tool-head").nth(3).click();
  await p.locator(".thinking .fold").first().click();
});
await shot("narrow", { hash: id(0), width: 360, height: 740, touch: true });
await shot("narrow-menu", { hash: id(0), width: 360, height: 740, touch: true, dark: true }, (p) => p.locator(".top .menu").click());
await shot("narrow-policy", { hash: id(0), width: 360, height: 740, touch: true }, (p) => p.locator(".kind-button").click());
await shot("middle", { hash: id(1), width: 900, height: 700 });
await shot("policy-trail", { hash: id(2), height: 1500 }, (p) => p.locator(".kind .fold").click());
await shot("policy-crossing", { hash: id(0) }, (p) => p.getByRole("button", { name: "Chat Only", exact: true }).click());
await shot("policy-prompt", { hash: id(0) }, (p) => p.getByRole("button", { name: "Show exact prompt" }).click());
await shot("policy-child", { hash: id(3), dark: true });
await shot("running-tool", { hash: id(0) }, async (p) => {
  await composer(p).fill("run a slow tool");
  await composer(p).press("Enter");
  await p.waitForSelector(".tool.running .tool-head:has-text('go test')", { timeout: 15000 });
  await p.waitForTimeout(2500);
});
await shot("reload-mid-turn", { hash: id(0) }, async (p) => {
  await p.waitForSelector(".tool.running");
  const twice = await p.evaluate(() => [...document.querySelectorAll(".tool.running, .tool.lost")].length);
  if (twice !== 1) note("reload-mid-turn", `${twice} running or lost tools, not 1`);
  await p.keyboard.press("Escape");
  await p.waitForSelector(".ended", { timeout: 15000 });
});
await shot("refused", { hash: id(1), expectErrors: true }, async (p) => {
  await composer(p).fill("please refuse this");
  await composer(p).press("Enter");
  await p.waitForSelector(".composer .strip.bad");
  if ((await composer(p).inputValue()) !== "please refuse this") note("refused", "the text is lost");
});
await shot("failed-turn", { hash: id(1) }, async (p) => {
  await composer(p).fill("error please, with notice");
  await composer(p).press("Enter");
  await p.waitForSelector(".trouble", { timeout: 10000 });
  await p.waitForTimeout(800);
});
await shot("dropped", { hash: id(4), expectErrors: true }, async (p) => {
  await composer(p).fill("drop the connection");
  await composer(p).press("Enter");
  await p.waitForSelector(".lost", { timeout: 15000 });
});
await shot("thousand", { hash: id(2) }, async (p) => {
  for (let i = 0; i < 5; i++) {
    await p.evaluate(() => (document.querySelector(".transcript").scrollTop = 0));
    await p.locator(".more", { hasText: "earlier" }).click();
    await p.waitForTimeout(120);
  }
  await p.waitForTimeout(400);
});
await shot("hostile", { hash: id(7) }, async (p) => {
  const bad = await p.evaluate(() => document.querySelectorAll(".transcript script, .transcript style, .transcript [onerror], .transcript [onclick], .transcript img, .transcript [href^='javascript']").length);
  if (bad) note("hostile", `${bad} elements that should not be there`);
});
await shot("arabic", { hash: id(4), width: 1100 });
await shot("new-session", { hash: id(0) }, (p) => p.locator(".new").click());
await shot("shortcuts", { hash: id(0), dark: true }, async (p) => {
  await p.locator(".transcript").focus();
  await p.keyboard.press("?");
});
await shot("search", { hash: id(0) }, async (p) => {
  await p.keyboard.press("Control+k");
  await p.keyboard.type("note 1");
  await p.waitForTimeout(500);
  await p.keyboard.press("ArrowDown");
  await p.keyboard.press("ArrowDown");
});
await shot("nothing-open", {});
await shot("unreadable", { hash: "#/s/broken", expectErrors: true });
await shot("empty-machine", { base: empty.url });
await shot("empty-machine-narrow", { base: empty.url, width: 360, height: 740, dark: true });

await browser.close();
full.stop();
empty.stop();
verdict();
