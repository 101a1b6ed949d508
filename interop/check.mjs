// The interop check: sessions go back and forth between piweb and the real pi.
//
//   node check.mjs --pi PI-PACKAGE --piweb BINARY --tmp DIR [CASE…]
//
// run.sh prepares what this needs.
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { Pi } from "./pi.mjs";
import { Piweb } from "./piweb.mjs";
import { startProvider } from "./provider.mjs";
import { runCases } from "./runner.mjs";
import { makeSandbox } from "./sandbox.mjs";
import chatOnly from "./cases/chat-only.mjs";
import fork from "./cases/fork.mjs";
import loop from "./cases/loop.mjs";
import made from "./cases/made.mjs";
import fresh from "./cases/new.mjs";
import pictures from "./cases/pictures.mjs";
import relay from "./cases/relay.mjs";
import resources from "./cases/resources.mjs";
import shapes from "./cases/shapes.mjs";
import subagents from "./cases/subagents.mjs";
import tools from "./cases/tools.mjs";

const CASES = { new: fresh, pictures, relay, tools, "chat-only": chatOnly, resources, shapes, fork, loop, subagents, made };

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
  makeHome: (settings, api) => makeSandbox(values.tmp, provider.port, settings, api),
};
await runCases(CASES, kit, positionals);
provider.close();
