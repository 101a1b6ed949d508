// Runs the cases of a check: one line per step, the reason of a failure below it, and
// a counted summary at the end.
import { Mismatch } from "./expect.mjs";

/** Runs the chosen cases, all where none is chosen, and sets the exit code. */
export async function runCases(cases, kit, chosen) {
  const count = { passed: 0, failed: 0 };
  for (const [name, make] of Object.entries(cases)) {
    if (chosen.length === 0 || chosen.includes(name)) await runCase(name, make(kit), count);
  }
  console.log(`interop: ${count.passed} passed, ${count.failed} failed, 0 skipped`);
  process.exitCode = count.failed > 0 ? 1 : 0;
}

/** Runs the steps of a case in order. A step that fails does not stop the ones after it. */
async function runCase(name, steps, count) {
  for (const [title, run] of steps) {
    const start = performance.now();
    let failure;
    try {
      await run();
    } catch (error) {
      failure = error;
    }
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    console.log(`${failure ? "FAIL" : "ok  "} ${name}: ${title} (${seconds} s)`);
    failure ? count.failed++ : count.passed++;
    if (failure) explain(failure);
  }
}

function explain(failure) {
  const lines = failure instanceof Mismatch ? [failure.message, ...failure.detail] : (failure.stack ?? String(failure)).split("\n");
  for (const line of lines) console.log(`     ${line.length > 240 ? `${line.slice(0, 240)}…` : line}`);
}
