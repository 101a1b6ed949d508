// Sessions of each kind, made by piweb's own library, and files of old versions and with damage in which
// it went on: pi sees what piweb sees in them, changes no byte by opening them, and goes on in them.
// The reverse: sessions of each kind that pi's own session manager made. And pi, which knows no lock, writes into a session of
// piweb while that is at rest and while it runs.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { claim, onlyAppended, untouched } from "../expect.mjs";
import { agree, oneBranch } from "../views.mjs";

export default function ({ pi, piweb, makeHome }) {
  const home = makeHome();
  const made = process.env.INTEROP_MADE;
  claim(made, "INTEROP_MADE names no program");
  const make = join(dirname(fileURLToPath(import.meta.url)), "..", "make.mjs");
  const theirs = execFileSync(process.execPath, [make, pi.packageDir, join(home.sessions, "--theirs--"), home.work], { encoding: "utf8" }).trim().split("\n");
  const files = execFileSync(made, [join(home.sessions, "--made--"), home.work], { encoding: "utf8" }).trim().split("\n");

  return [
    ...files.map((file) => [`${basename(file, ".jsonl").replace(/.*_made-/, "")}, made by piweb, is the same session in pi, which goes on in it`, async () => {
      await agree({ pi, piweb }, home, file);
      const bytes = readFileSync(file);
      await pi.open(home, file);
      untouched(bytes, readFileSync(file));
      await pi.resume(home, file, "pi goes on");
      await agree({ pi, piweb }, home, file);
    }]),
    ...theirs.map((file) => [`${basename(file, ".jsonl")}, made by pi, is the same session in piweb, which goes on in it`, async () => {
      const before = readFileSync(file);
      await agree({ pi, piweb }, home, file);
      untouched(before, readFileSync(file));
      await piweb.prompt(home, file, "piweb goes on");
      onlyAppended(before, readFileSync(file));
      await agree({ pi, piweb }, home, file);
    }]),
    ["pi writes between two turns of piweb: one branch", async () => {
      const file = await piweb.create(home, "piweb begins");
      await pi.resume(home, file, "pi in between");
      await piweb.prompt(home, file, "piweb again");
      oneBranch(await agree({ pi, piweb }, home, file));
    }],
    ["pi writes while a turn of piweb runs: nothing is lost, and both see the same leaf", async () => {
      const file = await piweb.create(home, "piweb begins", "--tools", "bash");
      const turn = piweb.prompt(home, file, 'use bash {"command":"sleep 4"}');
      while (!readFileSync(file, "utf8").includes("sleep 4")) await new Promise((resolve) => setTimeout(resolve, 20));
      await pi.resume(home, file, "pi meanwhile");
      await turn;
      const view = await agree({ pi, piweb }, home, file);
      const text = readFileSync(file, "utf8");
      for (const wanted of ["pi meanwhile", "sleep 4", "piweb begins"]) claim(text.includes(wanted), `${wanted} is lost`);
      claim(text.split("\n").every((line) => line === "" || JSON.parse(line)), "a line is damaged");
      await piweb.prompt(home, file, "and on");
      const after = await agree({ pi, piweb }, home, file);
      claim(after.branch.length > view.branch.length, "the conversation does not go on");
    }],
  ];
}
