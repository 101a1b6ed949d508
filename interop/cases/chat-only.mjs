// Chat Only in piweb is a session without tools in pi.
import { readFileSync } from "node:fs";
import { untouched } from "../expect.mjs";
import { PI } from "../pi.mjs";
import { PIWEB } from "../piweb.mjs";
import { answerTo } from "../provider.mjs";
import { asked, offers } from "../requests.mjs";
import { agree, oneBranch, says } from "../views.mjs";

export default function ({ pi, piweb, provider, makeHome }) {
  const home = makeHome();
  const only = (...texts) => texts.flatMap((text) => [["user", text], ["assistant", answerTo(text)]]);
  let file;

  const piOffersNone = async (path) => offers(await asked(provider, PI, () => pi.resume(home, path, "has pi tools?")), [], "pi");
  const piwebOffersNone = async (work) => offers(await asked(provider, PIWEB, work), [], "piweb");
  const appendsNothing = async (path) => {
    const before = readFileSync(path);
    await pi.resume(home, path);
    untouched(before, readFileSync(path));
  };

  return [
    ["a session created with --chat-only has no tools in piweb and none in pi", async () => {
      await piwebOffersNone(async () => (file = await piweb.create(home, "only talk", "--chat-only")));
      await appendsNothing(file);
      await piOffersNone(file);
    }],
    ["piweb goes on in it without tools, and both see one branch", async () => {
      await piwebOffersNone(() => piweb.prompt(home, file, "has piweb tools?"));
      const view = await agree({ pi, piweb }, home, file);
      oneBranch(view);
      says(view, only("only talk", "has pi tools?", "has piweb tools?"));
    }],
    ["a session of pi with tools loses them by --chat-only, in piweb and in pi", async () => {
      file = await pi.run(home, [], "pi begins with tools");
      await piweb.tools(home, file, "--chat-only");
      await piwebOffersNone(() => piweb.prompt(home, file, "has piweb tools?"));
      await appendsNothing(file);
      await piOffersNone(file);
    }],
    ["both see one branch with all messages", async () => {
      const view = await agree({ pi, piweb }, home, file);
      oneBranch(view);
      says(view, only("pi begins with tools", "has piweb tools?", "has pi tools?"));
    }],
    ["after --clear pi has its default tools again", async () => {
      await piweb.tools(home, file, "--clear");
      await piweb.prompt(home, file, "tools are back");
      offers(await asked(provider, PI, () => pi.resume(home, file, "has pi tools?")), ["read", "bash", "edit", "write"], "pi");
    }],
  ];
}
