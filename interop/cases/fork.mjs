// Forks and clones that piweb makes: pi opens them, sees the branch that piweb shows and that
// the source has, changes no byte by opening them, and goes on in them.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { claim, sameLines, untouched } from "../expect.mjs";
import { PI } from "../pi.mjs";
import { asked, offers } from "../requests.mjs";
import { agree, spokenLines } from "../views.mjs";

const FIXTURES = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "fixtures", "pi");

/** Shapes whose fork has every entry of the source's branch, labels apart. */
const SHAPES = [
  "linear", "tools-changed", "branched", "branch-summary", "second-root",
  "compacted", "compacted-twice", "compacted-nested-kept", "compacted-retain-none", "compacted-bad-kept",
  "context-edit", "custom", "images", "leaf-is-label", "orphan-parent", "lost-middle-parent", "malformed-middle",
  "duplicate-ids-no-cycle", "self-parent", "two-headers", "crlf", "no-final-newline", "truncated-tail", "u2028-in-text", "v2", "v1", "v4-future",
];

/** Shapes on which pi itself never comes back; it can open their forks. */
const PI_HANGS = new Set(["self-parent"]);

export default function ({ pi, piweb, provider, makeHome }) {
  const home = makeHome();

  return [
    ...SHAPES.map((name) => [`a clone and a fork of fixture ${name} open in pi with its branch`, async () => {
      const source = adopt(name);
      const before = readFileSync(source);
      const wanted = PI_HANGS.has(name) ? undefined : await pi.look(home, source);
      for (const way of ["clone", "fork"]) {
        if (way === "fork" && PI_HANGS.has(name)) continue; // all entries, the one that hangs pi too
        const made = await piweb.manage(home, way, source);
        const view = await agree({ pi, piweb }, home, made.path);
        if (wanted) sameLines(spokenLines(wanted), spokenLines(view), `pi sees another conversation in the ${way} (+) than in its source (-)`);
        if (wanted && name !== "v1") sameLines(withoutLabels(wanted, source), withoutLabels(view, made.path), `the branch of the ${way} (+) has other ids than the source's (-)`);
        const bytes = readFileSync(made.path);
        await pi.open(home, made.path);
        if (way === "clone") untouched(bytes, readFileSync(made.path));
      }
      untouched(before, readFileSync(source));
    }]),
    ["pi goes on in a fork before a message, without the tools that were taken away later", async () => {
      const source = await piweb.create(home, "the first thing", "--tools", "read,bash");
      await piweb.prompt(home, source, "the second thing");
      await piweb.tools(home, source, "--chat-only");
      const view = await piweb.show(home, source);
      const second = view.context.find((m) => m.text === "the second thing");
      const made = await piweb.manage(home, "fork", source, "--at", second.id, "--before");
      claim(made.text === "the second thing", `the fork returns ${JSON.stringify(made.text)}`);
      await agree({ pi, piweb }, home, made.path);
      await piweb.prompt(home, made.path, "another second thing");
      offers(await asked(provider, PI, () => pi.resume(home, made.path, "has pi tools?")), [], "pi");
      await agree({ pi, piweb }, home, made.path);
    }],
    ["a session that piweb moved is found by pi in its new folder", async () => {
      const source = await piweb.create(home, "it moves");
      const target = makeHome();
      const made = await piweb.manage(home, "move", source, target.work);
      claim(!existsSync(source), "the old file is still there");
      const view = await agree({ pi, piweb }, home, made.path);
      claim(view.cwd === target.work, `pi sees the folder ${view.cwd}`);
    }],
  ];

  function adopt(name) {
    const text = readFileSync(join(FIXTURES, `${name}.jsonl`), "utf8").replace(/("type":"session".*?"cwd":)"[^"]*"/, (_, head) => head + JSON.stringify(home.work));
    const copy = join(home.home, `${name}.jsonl`);
    writeFileSync(copy, text);
    return copy;
  }
}

/** The ids of a branch whose entries are no labels. */
function withoutLabels(view, file) {
  const labels = new Set();
  for (const line of readFileSync(file, "utf8").split("\n")) {
    try {
      const entry = JSON.parse(line);
      if (entry?.type === "label") labels.add(entry.id);
    } catch {
      // a damaged line is no label
    }
  }
  return view.branch.filter((id) => !labels.has(id));
}
