// A session that piweb began: pi finds it, sees what piweb sees, leaves it as it is when it
// only looks, and goes on in it.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { claim, onlyAppended, untouched } from "../expect.mjs";
import { PI } from "../pi.mjs";
import { PIWEB } from "../piweb.mjs";
import { answerTo, use } from "../provider.mjs";
import { asked, goesOn } from "../requests.mjs";
import { agree, oneBranch, says } from "../views.mjs";

export default function ({ pi, piweb, provider, makeHome }) {
  const home = makeHome();
  writeFileSync(join(home.work, "notes.txt"), "a line in a note\n");
  const call = use("read", { path: "notes.txt" });
  const held = [
    ["user", "begin here"],
    ["assistant", answerTo("begin here")],
    ["user", call],
    ["assistant", ""],
    ["toolResult", "a line in a note\n"],
    ["assistant", answerTo(call)],
  ];
  let file, lastOfPiweb;

  return [
    ["piweb creates a session and goes on in it with a tool turn", async () => {
      file = await piweb.create(home, "begin here");
      [lastOfPiweb] = (await asked(provider, PIWEB, async () => {
        const printed = await piweb.prompt(home, file, call);
        claim(printed.includes(answerTo(call)), "piweb did not print the answer", [printed]);
      })).slice(-1);
    }],
    ["pi sees the session that piweb shows", async () => {
      const view = await agree({ pi, piweb }, home, file);
      oneBranch(view);
      says(view, held);
    }],
    ["pi's session manager opens the file and changes no byte", async () => {
      const before = readFileSync(file);
      await pi.open(home, file);
      untouched(before, readFileSync(file));
    }],
    ["pi started without a prompt appends nothing", async () => {
      const before = readFileSync(file);
      await pi.resume(home, file);
      untouched(before, readFileSync(file));
    }],
    ["pi --continue in the same folder finds the session", async () => {
      const found = await pi.run(home, ["--continue"]);
      claim(found === file, "pi continues another file", [`- ${file}`, `+ ${found}`]);
    }],
    ["pi goes on and shows the model what piweb showed it", async () => {
      const before = readFileSync(file);
      const [request] = await asked(provider, PI, () => pi.resume(home, file, "and now pi"));
      held.push(["user", "and now pi"], ["assistant", answerTo("and now pi")]);
      onlyAppended(before, readFileSync(file));
      goesOn(lastOfPiweb, request, "pi's request (+) does not begin with piweb's conversation (-)");
    }],
    ["both see one branch with all messages", async () => {
      const view = await agree({ pi, piweb }, home, file);
      oneBranch(view);
      says(view, held);
    }],
  ];
}
