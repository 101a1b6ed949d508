// The interop check with pi-web: each program reads the tool selections of the other.
//
//   node check.mjs --pi-web PI-WEB-PACKAGE --piweb BINARY --tmp DIR
//
// run.sh --pi-web prepares what this needs.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { claim, sameLines, untouched } from "../expect.mjs";
import { PIWEB, Piweb } from "../piweb.mjs";
import { startProvider } from "../provider.mjs";
import { asked, offers } from "../requests.mjs";
import { runCases } from "../runner.mjs";
import { makeSandbox } from "../sandbox.mjs";
import { PIWEBJS, startPiWeb } from "./server.mjs";

const { values, positionals } = parseArgs({
  options: { "pi-web": { type: "string" }, piweb: { type: "string" }, tmp: { type: "string" } },
  allowPositionals: true,
});
const CASES = { "pins of piweb": pinsOfPiweb, "pins of pi-web": pinsOfPiWeb, "subagents of piweb": childrenOfPiweb, "subagents of pi-web": childrenOfPiWeb };
if (!values["pi-web"] || !values.piweb || !values.tmp || positionals.some((name) => !(name in CASES))) {
  console.error(`usage: node check.mjs --pi-web PI-WEB-PACKAGE --piweb BINARY --tmp DIR ["${Object.keys(CASES).join('"|"')}"]…`);
  process.exit(2);
}

const FOUR = ["read", "bash", "edit", "write"];
const packageDir = resolve(values["pi-web"]);
const provider = await startProvider();
const home = makeSandbox(values.tmp, provider.port);
const piweb = new Piweb(resolve(values.piweb));
let piWeb = await startPiWeb(packageDir, home);
try {
  await runCases(CASES, {}, positionals);
} finally {
  await piWeb.stop();
  provider.close();
}

/** Everything that piweb can record is shown by pi-web, and is what pi-web's engine offers. */
function pinsOfPiweb() {
  const kinds = [
    ["a pinned set", ["--tools", "read,ls"], ["read", "ls"], ["read", "ls"]],
    ["Chat Only", ["--chat-only"], [], []],
    ["nothing chosen", [], undefined, FOUR],
  ];
  const steps = kinds.flatMap(([name, flags, shown, offered]) => {
    let file, id;
    return [
      [`${name}: pi-web shows it and changes no byte by looking`, async () => {
        file = await piweb.create(home, `piweb begins with ${name}`, ...flags);
        id = (await piweb.show(home, file)).id;
        const before = readFileSync(file);
        shows(await piWeb.detail(id), shown);
        untouched(before, readFileSync(file));
      }],
      [`${name}: pi-web goes on in the session with exactly these tools`, async () => {
        offers(await asked(provider, PIWEBJS, () => piWeb.prompt(id, "has pi-web tools?")), offered, "pi-web");
      }],
      [`${name}: piweb goes on after it with exactly these tools`, async () => {
        offers(await asked(provider, PIWEB, () => piweb.prompt(home, file, "has piweb tools?")), offered, "piweb");
      }],
    ];
  });
  let file, id;
  return [...steps,
    ["a choice that piweb takes back is taken back in pi-web", async () => {
      file = await piweb.create(home, "pinned, then not", "--tools", "read");
      id = (await piweb.show(home, file)).id;
      await piweb.tools(home, file, "--clear");
      shows(await piWeb.detail(id), undefined);
      await piweb.prompt(home, file, "tools are back");
      offers(await asked(provider, PIWEBJS, () => piWeb.prompt(id, "has pi-web tools?")), FOUR, "pi-web");
    }],
    ["pi-web started anew, which knows nothing but files, shows the same", async () => {
      const chat = (await piweb.show(home, await piweb.create(home, "chat", "--chat-only"))).id;
      piWeb = await piWeb.restart(packageDir);
      shows(await piWeb.detail(id), undefined);
      shows(await piWeb.detail(chat), []);
    }],
  ];
}

/** Everything that pi-web records holds in piweb. */
function pinsOfPiWeb() {
  let id, file;
  const policy = async () => (await piweb.explain(home, file)).decide;
  return [
    ["a set that pi-web records at the start is pinned in piweb", async () => {
      id = await piWeb.create("pi-web begins", { toolNames: ["read", "grep"] });
      file = (await piWeb.detail(id)).filePath;
      holds(await policy(), "pinned", ["read", "grep"]);
      offers(await asked(provider, PIWEB, () => piweb.prompt(home, file, "has piweb tools?")), ["read", "grep"], "piweb");
    }],
    ["pi-web's change to Chat Only is Chat Only in piweb", async () => {
      await change([]);
      holds(await policy(), "chat-only", []);
      offers(await asked(provider, PIWEB, () => piweb.prompt(home, file, "only talk")), [], "piweb");
    }],
    ["pi-web's change to other tools is pinned in piweb", async () => {
      await change(["bash", "read", "edit"]);
      holds(await policy(), "pinned", ["bash", "read", "edit"]);
      offers(await asked(provider, PIWEB, () => piweb.prompt(home, file, "other tools")), ["bash", "read", "edit"], "piweb");
    }],
    ["a choice that pi-web takes back is taken back in piweb", async () => {
      await change(undefined);
      const p = await policy();
      claim(p.kind === "open", `piweb says ${p.kind} by ${p.source.by}`);
    }],
    ["both list the session once", async () => {
      const { sessions } = await piWeb.sessions();
      claim(sessions.filter((s) => s.id === id).length === 1, "pi-web does not list the session once");
      const listed = await piweb.list(home);
      claim(listed.filter((s) => s.id === id).length === 1, "piweb does not list the session once");
    }],
  ];
  async function change(toolNames) {
    // A live session of pi-web does not see what another program appended: it is opened anew.
    piWeb = await piWeb.restart(packageDir);
    await piWeb.command(id, { type: "set_tools", ...(toolNames ? { toolNames } : {}) });
  }
}

/** A child of piweb is a child of its parent in pi-web, and has its snapshot's tools there. */
function childrenOfPiweb() {
  const reading = ["read", "grep", "find", "ls"];
  let parent, child;
  return [
    ["pi-web lists it below its parent, done, and changes no byte by looking", async () => {
      await piweb.enableAgents(home);
      const file = await piweb.create(home, "piweb delegates");
      parent = (await piweb.show(home, file)).id;
      child = await piweb.delegate(home, file, "explore", "a task by piweb");
      const before = readFileSync(child.path);
      piWeb = await piWeb.restart(packageDir);
      const item = (await piWeb.sessions()).sessions.find((s) => s.id === child.sessionId);
      const r = item?.relation ?? {};
      claim(r.kind === "subagent" && r.parentSessionId === parent && r.profile === "explore" && r.status === "completed", `pi-web says ${JSON.stringify(r)}`);
      shows(await piWeb.detail(child.sessionId), reading);
      untouched(before, readFileSync(child.path));
    }],
    ["pi-web goes on in it with exactly these tools, and so does piweb after it", async () => {
      offers(await asked(provider, PIWEBJS, () => piWeb.prompt(child.sessionId, "has pi-web tools?")), reading, "pi-web");
      offers(await asked(provider, PIWEB, () => piweb.prompt(home, child.path, "has piweb tools?")), reading, "piweb");
    }],
  ];
}

/** A child that a model of pi-web started opens in piweb with its snapshot in force. */
function childrenOfPiWeb() {
  const reading = ["read", "bash", "grep", "find", "ls"];
  let id, item, file;
  return [
    ["its snapshot is the policy in piweb, and what piweb offers", async () => {
      await piweb.enableAgents(home);
      piWeb = await piWeb.restart(packageDir);
      id = await piWeb.create(`use Agent {"prompt":"a task by pi-web","description":"A look","subagent_type":"explore"}`);
      item = (await piWeb.sessions()).sessions.find((s) => s.relation?.kind === "subagent" && s.relation.parentSessionId === id);
      claim(item, "pi-web started no subagent");
      const detail = await piWeb.detail(item.id);
      file = detail.filePath;
      const decided = (await piweb.explain(home, file)).decide;
      holds(decided, "child", detail.toolNames);
      claim(decided.tools.every((t) => reading.includes(t)), `the profile explore has ${decided.tools}`);
      offers(await asked(provider, PIWEB, () => piweb.prompt(home, file, "has piweb tools?")), detail.toolNames, "piweb");
    }],
    ["its tools cannot be changed in piweb", async () => {
      let refused = false;
      await piweb.tools(home, file, "--set", "bash").catch(() => { refused = true; });
      claim(refused, "piweb changed them");
    }],
  ];
}

function shows(detail, tools) {
  claim(("toolNames" in detail) === (tools !== undefined), `pi-web shows ${JSON.stringify(detail.toolNames)}, not ${JSON.stringify(tools)}`);
  if (tools) sameLines(tools, detail.toolNames, "pi-web shows other tools");
}

function holds(decided, kind, tools) {
  claim(decided.kind === kind, `piweb says ${decided.kind}, not ${kind}`);
  sameLines(tools, decided.tools, "piweb has other tools");
}
