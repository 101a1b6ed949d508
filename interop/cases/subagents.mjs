// A subagent of piweb is a session of pi like any other: pi sees its conversation,
// changes no byte by opening it, and goes on in it.
import { readFileSync } from "node:fs";
import { claim, untouched } from "../expect.mjs";
import { PI } from "../pi.mjs";
import { asked } from "../requests.mjs";
import { agree } from "../views.mjs";

export default function ({ pi, piweb, provider, makeHome }) {
  const home = makeHome();
  let parent, child;

  return [
    ["pi sees the conversation of a subagent, and changes no byte by opening it", async () => {
      await piweb.enableAgents(home);
      parent = await piweb.create(home, "a parent");
      child = await piweb.delegate(home, parent, "explore", "a task for the child");
      claim(child.status === "completed", `the subagent is ${child.status}`);
      await agree({ pi, piweb }, home, child.path);
      const before = readFileSync(child.path);
      await pi.open(home, child.path);
      untouched(before, readFileSync(child.path));
    }],
    ["pi goes on in it, and piweb after pi", async () => {
      await asked(provider, PI, () => pi.resume(home, child.path, "pi goes on"));
      await piweb.prompt(home, child.path, "piweb goes on");
      await agree({ pi, piweb }, home, child.path);
    }],
    ["pi opens the parent after it", async () => {
      await piweb.prompt(home, parent, "what came of it?");
      await agree({ pi, piweb }, home, parent);
    }],
  ];
}
