// A session that pi began goes to piweb, back to pi and to piweb again. At the end it is
// one branch with every message of both.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onlyAppended } from "../expect.mjs";
import { PI } from "../pi.mjs";
import { PIWEB } from "../piweb.mjs";
import { answerTo, use } from "../provider.mjs";
import { asked, goesOn } from "../requests.mjs";
import { agree, oneBranch, says } from "../views.mjs";

export default function ({ pi, piweb, provider, makeHome }) {
  const home = makeHome();
  writeFileSync(join(home.work, "pi.txt"), "for pi\n");
  writeFileSync(join(home.work, "piweb.txt"), "for piweb\n");
  const held = [];
  let file, last;

  const talk = (text) => held.push(["user", text], ["assistant", answerTo(text)]);
  const toolTurn = (text, result) => held.push(["user", text], ["assistant", ""], ["toolResult", result], ["assistant", answerTo(text)]);

  /** One program works on the file; the other's last request must be the beginning of its first. */
  const handOver = async (client, work) => {
    const before = readFileSync(file);
    const requests = await asked(provider, client, work);
    onlyAppended(before, readFileSync(file));
    goesOn(last, requests[0], `${client}'s request (+) does not begin with the other's conversation (-)`);
    last = requests.at(-1);
  };

  return [
    ["pi begins, calls a tool and names the session", async () => {
      const call = use("read", { path: "pi.txt" });
      const running = pi.start(home, []);
      const requests = await asked(provider, PI, async () => {
        try {
          await running.prompt("pi begins");
          await running.prompt(call);
          await running.ask({ type: "set_session_name", name: "from hand to hand" });
          file = (await running.ask({ type: "get_state" })).sessionFile;
        } finally {
          await running.stop();
        }
      });
      last = requests.at(-1);
      talk("pi begins");
      toolTurn(call, "for pi\n");
    }],
    ["piweb sees the session that pi wrote", async () => {
      says(await agree({ pi, piweb }, home, file), held);
    }],
    ["piweb goes on, with a tool turn", async () => {
      const call = use("read", { path: "piweb.txt" });
      await handOver(PIWEB, async () => {
        await piweb.prompt(home, file, "piweb goes on");
        await piweb.prompt(home, file, call);
      });
      talk("piweb goes on");
      toolTurn(call, "for piweb\n");
    }],
    ["pi sees all messages of both on one branch", async () => {
      const view = await agree({ pi, piweb }, home, file);
      oneBranch(view);
      says(view, held);
    }],
    ["pi goes on, with a shell command", async () => {
      const call = use("bash", { command: "printf done" });
      await handOver(PI, () => pi.resume(home, file, "pi again", call));
      talk("pi again");
      toolTurn(call, "done");
    }],
    ["piweb goes on a second time", async () => {
      await handOver(PIWEB, () => piweb.prompt(home, file, "piweb again"));
      talk("piweb again");
    }],
    ["at the end both see one branch with all messages", async () => {
      const view = await agree({ pi, piweb }, home, file);
      oneBranch(view);
      says(view, held);
    }],
  ];
}
