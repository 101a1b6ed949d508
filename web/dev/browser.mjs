// What the scripts that drive a browser share: the mock, the browser, the list of
// problems. BROWSER names the browser, CACHE the folder with playwright-core.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const require = createRequire(join(process.env.CACHE ?? process.cwd(), "package.json"));

/** Starts a mock on a free port. */
export function mock(...args) {
  const child = spawn(process.execPath, [fileURLToPath(new URL("mock.mjs", import.meta.url)), "--port", "0", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((ok) => child.stdout.once("data", (d) => ok({ url: String(d).trim(), stop: () => child.kill() })));
}

export const launch = () =>
  require("playwright-core").chromium.launch({
    executablePath: process.env.BROWSER ?? "/usr/bin/chromium",
    headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });

const problems = [];

/** @param {string} where @param {string} text */
export function problem(where, text) {
  problems.push(`${where}: ${text}`);
  console.log(`  PROBLEM ${text}`);
}

/** Prints the verdict and ends the process. */
export function verdict() {
  console.log(problems.length ? `\n${problems.length} problems` : "\nno problems");
  process.exit(problems.length ? 1 : 0);
}

/** The address of a session of the mock. */
export const hash = (n) => `#/s/0199aa00-0000-7000-8000-${String(n).padStart(12, "0")}`;
