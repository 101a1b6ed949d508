// The piweb binary, used as a person uses it: by its command line.
import { runProgram } from "./process.mjs";
import { environment, sessionFiles } from "./sandbox.mjs";

const DEADLINE = 60_000;

/** The key piweb asks the provider with. */
export const PIWEB = "piweb";

export class Piweb {
  constructor(binary) {
    this.binary = binary;
  }

  /** Continues the file with one prompt; returns what was printed. */
  async prompt(sandbox, file, text, ...flags) {
    return this.#run(sandbox, "run", "--session", file, ...flags, text);
  }

  /** Is interrupted in a prompt, as by Ctrl+C, once a promise is kept. */
  async interrupted(sandbox, file, text, interrupt) {
    const args = ["run", "--session", file, text];
    await runProgram(this.binary, args, { cwd: sandbox.work, env: environment(sandbox, PIWEB), deadline: DEADLINE, interrupt });
  }

  /** Creates a session with one prompt; returns the path of its file. */
  async create(sandbox, text, ...flags) {
    const before = new Set(sessionFiles(sandbox));
    await this.#run(sandbox, "run", "--new", "--cwd", sandbox.work, ...flags, text);
    const created = sessionFiles(sandbox).filter((file) => !before.has(file));
    if (created.length !== 1) throw new Error(`piweb run --new made ${created.length} session files below ${sandbox.sessions}`);
    return created[0];
  }

  /** Chooses the session's tools: ["--set", "read,ls"], ["--preset", NAME], ["--chat-only"] or ["--clear"]. */
  async tools(sandbox, file, ...choice) {
    await this.#run(sandbox, "tools", file, ...choice);
  }

  /** What piweb says the file holds. */
  async show(sandbox, file) {
    return this.manage(sandbox, "show", file);
  }

  /** Runs a command on a session, such as ["fork", FILE, "--at", ID]; returns its JSON. */
  async manage(sandbox, command, file, ...args) {
    const stdout = await this.#run(sandbox, "sessions", command, file, ...args, "--json");
    try {
      return JSON.parse(stdout);
    } catch {
      throw new Error(`piweb sessions ${command} --json printed no JSON:\n${stdout.slice(0, 500)}`);
    }
  }

  /** What a normal session of the folder would load. */
  async resources(sandbox, dir) {
    return JSON.parse(await this.#run(sandbox, "resources", dir, "--json"));
  }

  /** The five steps of a session. */
  async explain(sandbox, file) {
    return JSON.parse(await this.#run(sandbox, "explain", file, "--json"));
  }

  /** Switches subagents on. */
  async enableAgents(sandbox) {
    await this.#run(sandbox, "agents", "enable");
  }

  /** Has a subagent of a profile do a task for the session of the file; returns {sessionId, path, status}. */
  async delegate(sandbox, file, profile, task) {
    return JSON.parse(await this.#run(sandbox, "run", "--session", file, "--agent", profile, "--json", task));
  }

  /** All sessions of the home. */
  async list(sandbox) {
    const list = JSON.parse(await this.#run(sandbox, "sessions", "list", "--json"));
    return list.sessions ?? list;
  }

  async #run(sandbox, ...args) {
    const { stdout } = await runProgram(this.binary, args, { cwd: sandbox.work, env: environment(sandbox, PIWEB), deadline: DEADLINE });
    return stdout;
  }
}
