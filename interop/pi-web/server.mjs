// The real pi-web: its server, used as its page uses it.
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { environment } from "../sandbox.mjs";

const DEADLINE = 60_000;

/** The key pi-web asks the provider with. */
export const PIWEBJS = "pi-web";

/** Starts pi-web on a home; the caller ends it with stop(). */
export async function startPiWeb(packageDir, sandbox) {
  const port = await freePort();
  const child = spawn(process.execPath, [join(packageDir, "bin", "pi-web.js"), "--no-open", "-H", "127.0.0.1", "-p", String(port)], {
    cwd: sandbox.work,
    env: { ...environment(sandbox, PIWEBJS), PI_WEB_SKIP_VERSION_CHECK: "1", NEXT_TELEMETRY_DISABLED: "1" },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true, // the program has a child of its own; both are ended as one group
  });
  const server = new PiWeb(child, `http://127.0.0.1:${port}`, sandbox);
  await server.ready();
  return server;
}

class PiWeb {
  #output = "";

  constructor(child, origin, sandbox) {
    this.child = child;
    this.origin = origin;
    this.sandbox = sandbox;
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (this.#output = (this.#output + chunk).slice(-4000)));
  }

  async ready() {
    const end = Date.now() + DEADLINE;
    for (;;) {
      if (this.child.exitCode !== null) throw new Error(`pi-web ended while it started:\n${this.#output}`);
      try {
        if ((await fetch(`${this.origin}/api/sessions?summary=1`)).ok) return;
      } catch {
        // not listening yet
      }
      if (Date.now() > end) throw new Error(`pi-web does not answer within ${DEADLINE / 1000} s:\n${this.#output}`);
      await sleep(100);
    }
  }

  /** What pi-web shows of a session; force reads the file anew. */
  detail(id) {
    return this.#call("GET", `/api/sessions/${encodeURIComponent(id)}?force=1`);
  }

  sessions() {
    return this.#call("GET", "/api/sessions?force=1");
  }

  /** Sends a command to a session; it is started from its file if it is not live. */
  async command(id, body) {
    return this.#call("POST", `/api/agent/${encodeURIComponent(id)}`, body);
  }

  /** Creates a session with one prompt, and waits until it has been answered. Returns its id. */
  async create(text, more = {}) {
    const { sessionId } = await this.#call("POST", "/api/agent/new", { cwd: this.sandbox.work, type: "prompt", message: text, ...more });
    await this.settled(sessionId);
    return sessionId;
  }

  async prompt(id, text) {
    await this.command(id, { type: "prompt", message: text });
    await this.settled(id);
  }

  async settled(id) {
    const end = Date.now() + DEADLINE;
    for (;;) {
      const { running, state } = await this.#call("GET", `/api/agent/${encodeURIComponent(id)}`);
      if (!running || !(state.isPromptRunning || state.isStreaming)) return;
      if (Date.now() > end) throw new Error(`pi-web's session ${id} does not come to rest within ${DEADLINE / 1000} s`);
      await sleep(50);
    }
  }

  /** Starts the server anew, so that nothing is known but what the files say. */
  async restart(packageDir) {
    await this.stop();
    return startPiWeb(packageDir, this.sandbox);
  }

  async stop() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = new Promise((resolve) => this.child.once("exit", resolve));
    process.kill(-this.child.pid, "SIGTERM");
    const late = setTimeout(() => process.kill(-this.child.pid, "SIGKILL"), 10_000);
    await gone;
    clearTimeout(late);
  }

  async #call(method, path, body) {
    const response = await fetch(this.origin + path, {
      method,
      headers: { origin: this.origin, ...(body ? { "content-type": "application/json" } : {}) },
      body: body && JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`pi-web answers ${method} ${path} with ${response.status}: ${text.slice(0, 500)}`);
    return JSON.parse(text);
  }
}

/** A port that is free now: pi-web cannot say which one it got when asked for any. */
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
