// What the loop leaves behind on a bad day, and what it sums up: pi opens the session,
// sees the conversation that piweb sees, and goes on with it.
import { PI } from "../pi.mjs";
import { PIWEB } from "../piweb.mjs";
import { asked, offers } from "../requests.mjs";
import { agree, oneBranch } from "../views.mjs";
import { conversation } from "../provider.mjs";
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";

const WORDS = { "openai-completions": "", "openai-responses": "Responses", "anthropic-messages": "Anthropic", "google-generative-ai": "Gemini" };

export default function ({ pi, piweb, provider, makeHome }) {
  const settings = { compaction: { keepRecentTokens: 10 }, retry: { baseDelayMs: 1 } };
  const home = makeHome(settings);

  /** Both go on from the same file, and what they send of it is the same. */
  const bothGoOn = async (home, file) => {
    oneBranch(await agree({ pi, piweb }, home, file));
    const ours = await asked(provider, PIWEB, () => piweb.prompt(home, file, "piweb goes on"));
    const theirs = await asked(provider, PI, () => pi.resume(home, file, "pi goes on"));
    const before = (bodies, last) => {
      const lines = conversation(bodies.at(-1));
      return lines.slice(0, lines.findLastIndex((l) => l.includes(last)));
    };
    const we = before(ours, "piweb goes on");
    assert.deepEqual(before(theirs, "pi goes on").slice(0, we.length), we);
    oneBranch(await agree({ pi, piweb }, home, file));
  };

  /** What servers do, on a wire; asks is how often piweb asks, where the server refuses. */
  const misbehaved = (api) => {
    const home = makeHome(settings, api);
    const step = (kind, fails, asks) => [`after a server${WORDS[api] && ` of ${WORDS[api]}`} that did this: ${kind}`, async () => {
      const file = await piweb.create(home, "begin", "--tools", "read,ls");
      const before = provider.from(PIWEB).length;
      const run = piweb.prompt(home, file, `misbehave ${kind}`);
      await (fails ? assert.rejects(run) : run);
      if (asks) assert.equal(provider.from(PIWEB, before).length, asks);
      if (kind === "old-id") await piweb.prompt(home, file, `misbehave ${kind}`);
      await bothGoOn(home, file);
    }];
    return [
      step("cut", true),
      step("json", true),
      step("arguments", false),
      step("duplicate", false),
      step("old-id", false),
      step("silent", false),
      step("huge", false),
      step("busy", true, 4),
      step("busy-hint", false, 2),
      step("broken", false, 3),
      [`after a server${WORDS[api] && ` of ${WORDS[api]}`} that stood still in its answer, and a person who gave up`, async () => {
        const file = await piweb.create(home, "begin", "--tools", "read,ls");
        await assert.rejects(piweb.interrupted(home, file, "misbehave stall", provider.stalled()));
        await bothGoOn(home, file);
      }],
    ];
  };

  return [
    ...Object.keys(WORDS).flatMap(misbehaved),
    ["a session that piweb has summed up goes on in pi with the same summary and the same tools", async () => {
      const file = await piweb.create(home, "begin with a first thing", "--tools", "read,ls");
      await piweb.prompt(home, file, "and a second thing that is long enough to be all that is kept");
      const done = await piweb.manage(home, "compact", file);
      assert.ok(done.summary && done.firstKeptEntryId);
      const bodies = await asked(provider, PI, () => pi.resume(home, file, "what was it about?"));
      offers(bodies, ["read", "ls"], "pi");
      assert.ok(conversation(bodies.at(-1)).some((l) => l.includes("<summary>")), "pi sends no summary");
      await bothGoOn(home, file);
    }],
    ["a second summary by pi and a third by piweb go on in both", async () => {
      const file = await piweb.create(home, "one thing after the other", "--tools", "read,ls");
      await piweb.prompt(home, file, "the second thing, of which a little is kept");
      await piweb.manage(home, "compact", file);
      await pi.resume(home, file, "the third thing, which pi is told and which is long enough");
      const running = pi.start(home, ["--session", file]);
      try {
        await running.ask({ type: "compact" });
      } finally {
        await running.stop();
      }
      await piweb.prompt(home, file, "the fourth thing, which is told to piweb again");
      await piweb.manage(home, "compact", file);
      await bothGoOn(home, file);
      assert.equal(readFileSync(file, "utf8").match(/"type":"compaction"/g).length, 3);
    }],
  ];
}
