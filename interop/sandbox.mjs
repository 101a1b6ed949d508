// A throw-away home for one case: an agent directory, a working folder and an
// environment that both programs share. Nothing of the caller's own home is read.
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { WIRES } from "./wires.mjs";

/** The provider and model of every case. The fixtures name the same pair, so it can be restored from them. */
export const PROVIDER = "fake";
export const MODEL = "fake-1";

/**
 * Makes a home below root whose models.json points at the loopback provider on port.
 * settings are merged over the defaults of the check; api names the wire.
 */
export function makeSandbox(root, port, settings = {}, api = "openai-completions") {
  // The real path: the working folder is compared as text between the two programs.
  const home = realpathSync(mkdtempSync(join(root, "home-")));
  const agentDir = join(home, ".pi", "agent");
  const work = join(home, "work");
  const tmp = join(home, "tmp");
  for (const dir of [agentDir, work, tmp]) mkdirSync(dir, { recursive: true });

  const model = { id: MODEL, input: ["text", "image"], contextWindow: 200_000, maxTokens: 4096 };
  writeJSON(join(agentDir, "models.json"), {
    providers: {
      [PROVIDER]: {
        baseUrl: WIRES[api].base(port),
        api,
        // Each program gets a key of its own, so that the provider can tell who is asking.
        apiKey: "$INTEROP_KEY",
        models: [model],
      },
    },
  });
  writeJSON(join(agentDir, "settings.json"), {
    defaultProvider: PROVIDER,
    defaultModel: MODEL,
    cacheWarming: "off",
    enableInstallTelemetry: false,
    ...settings,
  });

  return { home, agentDir, work, tmp, sessions: join(agentDir, "sessions") };
}

/** The whole environment of a child; key says who it is. */
export function environment(sandbox, key) {
  return {
    PATH: process.env.PATH,
    LANG: "C.UTF-8",
    HOME: sandbox.home,
    TMPDIR: sandbox.tmp,
    PI_CODING_AGENT_DIR: sandbox.agentDir,
    PI_OFFLINE: "1",
    PI_TELEMETRY: "0",
    INTEROP_KEY: key,
  };
}

/** Every session file below the agent directory's sessions folder. */
export function sessionFiles(sandbox) {
  try {
    return readdirSync(sandbox.sessions, { recursive: true })
      .filter((name) => name.endsWith(".jsonl"))
      .map((name) => join(sandbox.sessions, name));
  } catch (error) {
    if (error.code === "ENOENT") return [];
    throw error;
  }
}

function writeJSON(path, value) {
  writeFileSync(path, JSON.stringify(value, null, 2) + "\n");
}
