// The interop check: sessions go back and forth between piweb and the real pi.
//
//   node check.mjs --pi PI-PACKAGE --piweb BINARY --tmp DIR [CASE…]
//
// run.sh prepares what this needs. One line is printed per step, the reason of a
// failure below it, and a counted summary at the end.
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { Mismatch } from "./expect.mjs";
import { Pi } from "./pi.mjs";
import { Piweb } from "./piweb.mjs";
import { startProvider } from "./provider.mjs";
import { makeSandbox } from "./sandbox.mjs";
import chatOnly from "./cases/chat-only.mjs";
import fork from "./cases/fork.mjs";
import fresh from "./cases/new.mjs";
import relay from "./cases/relay.mjs";
import shapes from "./cases/shapes.mjs";
import tools from "./cases/tools.mjs";

const CASES = { new: fresh, relay, tools, "chat-only": chatOnly, shapes, fork };

const { values, positionals } = parseArgs({
  options: { pi: { type: "string" }, piweb: { type: "string" }, tmp: { type: "string" } },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !(name in CASES));
if (!values.pi || !values.piweb || !values.tmp || unknown.length > 0) {
  console.error(`usage: node check.mjs --pi PI-PACKAGE --piweb BINARY --tmp DIR [${Object.keys(CASES).join("|")}]…`);
  process.exit(2);
}

const provider = await startProvider();
const kit = {
  pi: new Pi(resolve(values.pi)),
  piweb: new Piweb(resolve(values.piweb)),
  provider,
  makeHome: (settings) => makeSandbox(values.tmp, provider.port, settings),
};
const count = { passed: 0, failed: 0 };
for (const [name, make] of Object.entries(CASES)) {
  if (positionals.length === 0 || positionals.includes(name)) await runCase(name, make(kit));
}
provider.close();
console.log(`interop: ${count.passed} passed, ${count.failed} failed, 0 skipped`);
process.exitCode = count.failed > 0 ? 1 : 0;

/** Runs the steps of a case in order. A step that fails does not stop the ones after it. */
async function runCase(name, steps) {
  for (const [title, run] of steps) {
    const start = performance.now();
    let failure;
    try {
      await run();
    } catch (error) {
      failure = error;
    }
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    console.log(`${failure ? "FAIL" : "ok  "} ${name}: ${title} (${seconds} s)`);
    failure ? count.failed++ : count.passed++;
    if (failure) explain(failure);
  }
}

function explain(failure) {
  const lines = failure instanceof Mismatch ? [failure.message, ...failure.detail] : (failure.stack ?? String(failure)).split("\n");
  for (const line of lines) console.log(`     ${line.length > 240 ? `${line.slice(0, 240)}…` : line}`);
}
