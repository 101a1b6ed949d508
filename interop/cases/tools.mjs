// The tools a session has chosen in piweb are the tools pi offers the model when it
// resumes that session without any flag. They are read from the request pi sends.
import { readFileSync } from "node:fs";
import { untouched } from "../expect.mjs";
import { PI } from "../pi.mjs";
import { PIWEB } from "../piweb.mjs";
import { asked, offers } from "../requests.mjs";
import { agree, oneBranch } from "../views.mjs";

const DEFAULT = ["read", "bash", "edit", "write"];

export default function ({ pi, piweb, provider, makeHome }) {
  // Little is kept when pi compacts, so that a short session can be compacted at all.
  const home = makeHome({ compaction: { keepRecentTokens: 10 } });
  let file;

  const piOffers = async (path, tools) => offers(await asked(provider, PI, () => pi.resume(home, path, "which tools has pi?")), tools, "pi");
  const piwebOffers = async (path, tools) => offers(await asked(provider, PIWEB, () => piweb.prompt(home, path, "which tools has piweb?")), tools, "piweb");
  const begun = async (...flags) => pi.run(home, flags, "pi begins", "and says a second thing");

  /** A step: the choice is made in piweb, used there once, and then pi resumes. */
  const chosen = (title, choice, tools) => [title, async () => {
    await piweb.tools(home, file, ...choice);
    await piwebOffers(file, tools);
    await piOffers(file, tools);
  }];

  return [
    ["a session of pi keeps pi's tools in piweb and in pi again", async () => {
      file = await begun();
      await piwebOffers(file, DEFAULT);
      await piOffers(file, DEFAULT);
    }],
    ["a session that pi began with --tools read keeps that tool in piweb and in pi again", async () => {
      const narrow = await begun("--tools", "read");
      await piwebOffers(narrow, ["read"]);
      await piOffers(narrow, ["read"]);
    }],
    chosen("after --set read,ls pi offers read and ls", ["--set", "read,ls"], ["read", "ls"]),
    ["pi started without a prompt appends nothing to the pinned session", async () => {
      const before = readFileSync(file);
      await pi.resume(home, file);
      untouched(before, readFileSync(file));
    }],
    ["the pin holds in piweb after pi went on", async () => piwebOffers(file, ["read", "ls"])],
    chosen("after --preset read-only pi offers read, grep, find and ls", ["--preset", "read-only"], ["read", "grep", "find", "ls"]),
    chosen("after --clear pi offers its default tools", ["--clear"], DEFAULT),
    ["both see one branch", async () => oneBranch(await agree({ pi, piweb }, home, file))],
    ["a session created with --tools read,ls has them in pi", async () => {
      const created = await piweb.create(home, "begin with two tools", "--tools", "read,ls");
      await piOffers(created, ["read", "ls"]);
    }],
    ["a pin set after pi compacted the session holds in pi", async () => {
      // pi replays the declarations of the whole branch, also from before the compaction, whose
      // messages are no longer in the context: tools declared there must be taken back as well.
      const compacted = await begun();
      await compact(compacted);
      await piweb.tools(home, compacted, "--set", "read,ls");
      await piwebOffers(compacted, ["read", "ls"]);
      await piOffers(compacted, ["read", "ls"]);
    }],
    ["a pin set before pi compacted the session holds in both", async () => {
      const pinned = await begun();
      await piweb.tools(home, pinned, "--set", "read,ls");
      await piwebOffers(pinned, ["read", "ls"]);
      await compact(pinned);
      await piwebOffers(pinned, ["read", "ls"]);
      await piOffers(pinned, ["read", "ls"]);
      oneBranch(await agree({ pi, piweb }, home, pinned));
    }],
  ];

  async function compact(path) {
    const running = pi.start(home, ["--session", path]);
    try {
      await running.ask({ type: "compact" });
    } finally {
      await running.stop();
    }
  }
}
