// The real pi: its session manager looking at a file, and the program itself driven
// over its RPC mode.
import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { runProgram } from "./process.mjs";
import { environment } from "./sandbox.mjs";

const OPEN = join(dirname(fileURLToPath(import.meta.url)), "open.mjs");
const LOAD = join(dirname(fileURLToPath(import.meta.url)), "load.mjs");
const DEADLINE = 60_000;

/** The key pi asks the provider with. */
export const PI = "pi";

export class Pi {
  constructor(packageDir) {
    this.packageDir = packageDir;
    this.cli = join(packageDir, "dist", "bundle", "cli.js");
  }

  /** What pi's session manager sees in the file. The file itself is opened. */
  async open(sandbox, file) {
    // A heap limit, because a cycle of parents makes the manager collect for ever.
    const args = ["--max-old-space-size=1024", OPEN, this.packageDir, file];
    const { stdout } = await runProgram(process.execPath, args, { cwd: sandbox.work, env: environment(sandbox, PI), deadline: DEADLINE });
    return JSON.parse(stdout);
  }

  /** What pi's resource loader finds in a folder. */
  async load(sandbox, dir, untrusted) {
    const args = [LOAD, this.packageDir, dir, sandbox.agentDir, ...(untrusted ? ["untrusted"] : [])];
    const { stdout } = await runProgram(process.execPath, args, { cwd: sandbox.work, env: environment(sandbox, PI), deadline: DEADLINE });
    return JSON.parse(stdout);
  }

  /** The same of a copy: the file stays untouched even where pi would migrate or mend it. */
  async look(sandbox, file) {
    const dir = mkdtempSync(join(sandbox.tmp, "look-"));
    const copy = join(dir, basename(file));
    copyFileSync(file, copy);
    try {
      return await this.open(sandbox, copy);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  }

  /** Starts pi in RPC mode. No flags but the given ones: a plain resume is ["--session", FILE]. */
  start(sandbox, args) {
    return new Running(this.cli, sandbox, args);
  }

  /** Resumes the file plainly, prompts once per text and stops. Returns the session's path. */
  async resume(sandbox, file, ...prompts) {
    return this.run(sandbox, ["--session", file], ...prompts);
  }

  /** Starts pi with args, prompts once per text and stops. Returns the session's path. */
  async run(sandbox, args, ...prompts) {
    const running = this.start(sandbox, args);
    try {
      for (const prompt of prompts) await running.prompt(prompt);
      return (await running.ask({ type: "get_state" })).sessionFile;
    } finally {
      await running.stop();
    }
  }
}

const alive = new Set();
process.on("exit", () => alive.forEach((child) => child.kill("SIGKILL")));

/** One pi process in RPC mode. */
class Running {
  #child;
  #stderr = "";
  #serial = 0;
  #waiting = new Set();
  #ended;

  constructor(cli, sandbox, args) {
    const child = spawn(process.execPath, [cli, "--mode", "rpc", ...args], { cwd: sandbox.work, env: environment(sandbox, PI) });
    this.#child = child;
    alive.add(child);
    child.stderr.setEncoding("utf8").on("data", (text) => (this.#stderr += text));
    child.stdin.on("error", () => {}); // a dead pi is reported by its exit
    createInterface({ input: child.stdout }).on("line", (line) => this.#receive(JSON.parse(line)));
    this.#ended = new Promise((resolve) => {
      child.on("close", (code, signal) => {
        alive.delete(child);
        for (const waiter of this.#waiting) waiter.fail(`pi ended (${signal ?? code})`);
        resolve();
      });
    });
  }

  /** Sends a command and returns the data of its answer. */
  async ask(command) {
    const id = `c${++this.#serial}`;
    const answer = this.#await(`the answer to ${command.type}`, (r) => r.type === "response" && r.id === id);
    this.#child.stdin.write(JSON.stringify({ id, ...command }) + "\n");
    const { success, error, data } = await answer;
    if (!success) throw new Error(`pi refused ${command.type}: ${error}`);
    return data;
  }

  /** Sends a prompt and waits until the whole run is over. */
  async prompt(message) {
    const settled = this.#await("the end of the run", (r) => r.type === "agent_settled");
    settled.catch(() => {}); // if the command itself is refused, that error is the one to tell
    await this.ask({ type: "prompt", message });
    await settled;
  }

  /** Closes pi's input, which ends it in good order. */
  async stop() {
    this.#child.stdin.end();
    const killer = setTimeout(() => this.#child.kill("SIGKILL"), DEADLINE);
    await this.#ended;
    clearTimeout(killer);
  }

  #receive(record) {
    for (const waiter of this.#waiting) if (waiter.wants(record)) waiter.done(record);
  }

  #await(what, wants) {
    return new Promise((resolve, reject) => {
      const finish = (settle, value) => {
        clearTimeout(timer);
        this.#waiting.delete(waiter);
        settle(value);
      };
      const waiter = {
        wants,
        done: (record) => finish(resolve, record),
        fail: (why) => finish(reject, new Error(`${why} while waiting for ${what}\n${this.#stderr}`.trim())),
      };
      const timer = setTimeout(() => waiter.fail("time ran out"), DEADLINE);
      this.#waiting.add(waiter);
    });
  }
}
