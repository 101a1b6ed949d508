// Files of every shape pi writes or reads: piweb goes on in them, and pi then sees its own
// conversation of before, unchanged, with piweb's turn after it.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { claim, sameLines, startsWith } from "../expect.mjs";
import { PI } from "../pi.mjs";
import { PIWEB } from "../piweb.mjs";
import { answerTo } from "../provider.mjs";
import { asked, goesOn } from "../requests.mjs";
import { agree, oneBranch, spokenLines, words } from "../views.mjs";

const FIXTURES = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "fixtures", "pi");

/** Fixtures that both programs continue as one branch with the ids they have. */
const CONTINUED = [
  "linear", "tools-changed", "branched", "branch-summary", "second-root",
  "compacted", "compacted-twice", "compacted-nested-kept", "compacted-retain-none", "compacted-bad-kept",
  "context-edit", "custom", "images", "leaf-is-label",
  "orphan-parent", "lost-middle-parent", "malformed-middle", "duplicate-ids-no-cycle",
  "two-headers", "blank-then-header", "header-only", "crlf", "no-final-newline", "truncated-tail", "u2028-in-text",
];

/** Fixtures of older versions: their entries get ids only when the first writer migrates the file. */
const MIGRATED = ["v2", "v1"];

/** Shapes in which pi itself goes on after piweb, not only looks. */
const RESUMED = new Set(["branched", "branch-summary", "compacted", "context-edit", "v1"]);

export default function ({ pi, piweb, provider, makeHome }) {
  const home = makeHome({ compaction: { keepRecentTokens: 10 } });

  return [
    ["a session that pi compacted goes on in piweb and in pi", async () => {
      const running = pi.start(home, []);
      let file;
      try {
        for (const text of ["a first thing", "a second thing", "a third thing"]) await running.prompt(text);
        await running.ask({ type: "compact" });
        file = (await running.ask({ type: "get_state" })).sessionFile;
      } finally {
        await running.stop();
      }
      const before = await pi.look(home, file);
      claim(before.context.some((m) => m.role === "compactionSummary"), "pi did not compact the session");
      await continued(file, before, { sameIds: true });
      await resumed(file);
      oneBranch(await agree({ pi, piweb }, home, file));
    }],
    ...CONTINUED.map((name) => fixture(name, { sameIds: true })),
    ...MIGRATED.map((name) => fixture(name, { sameIds: false })),
  ];

  function fixture(name, { sameIds }) {
    const also = RESUMED.has(name) ? ", then in pi" : "";
    return [`fixture ${name} goes on in piweb${also}`, async () => {
      const file = adopt(name);
      await continued(file, await pi.look(home, file), { sameIds });
      if (RESUMED.has(name)) await resumed(file);
    }];
  }

  /** piweb adds one turn; pi sees what it saw before, and that turn. */
  async function continued(file, before, { sameIds }) {
    await piweb.prompt(home, file, "piweb goes on");
    const after = await agree({ pi, piweb }, home, file);
    if (sameIds) startsWith(before.branch, after.branch, "the branch (+) does not begin with the one pi saw before (-)");
    sameLines(
      [...spokenLines(before), words("user", "piweb goes on"), words("assistant", answerTo("piweb goes on"))],
      spokenLines(after),
      "pi sees another conversation (+) than its own of before and piweb's turn (-)",
    );
  }

  /** pi goes on by itself and shows the model what piweb shows it. */
  async function resumed(file) {
    const [theirs] = await asked(provider, PI, () => pi.resume(home, file, "pi goes on"));
    await agree({ pi, piweb }, home, file);
    const [ours] = await asked(provider, PIWEB, () => piweb.prompt(home, file, "piweb a second time"));
    goesOn(theirs, ours, "piweb's request (+) does not begin with pi's conversation (-)");
    await agree({ pi, piweb }, home, file);
  }

  /** A copy of the fixture that lives in this home: only the folder in its header is another. */
  function adopt(name) {
    const source = join(FIXTURES, `${name}.jsonl`);
    claim(existsSync(source), `fixtures/pi/${name}.jsonl is missing`);
    const text = readFileSync(source, "utf8").replace(/("type":"session".*?"cwd":)"[^"]*"/, (_, head) => head + JSON.stringify(home.work));
    const copy = join(home.home, `${name}.jsonl`);
    writeFileSync(copy, text);
    return copy;
  }
}
