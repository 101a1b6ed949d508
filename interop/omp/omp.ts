// Drives the session code of oh-my-pi under bun: what it reads of a session file, and a
// session that it writes. Run by run.sh.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [packageDir, command, ...args] = process.argv.slice(2);
const load = (name: string) => import(pathToFileURL(join(packageDir, "src", "session", name)).href);
const { SessionManager } = await load("session-manager.ts");

/** Every picture of every entry, by the SHA-256 of its base64. */
function pictures(value: any, out: string[] = []): string[] {
  if (Array.isArray(value)) for (const v of value) pictures(v, out);
  else if (value && typeof value === "object") {
    if (value.type === "image" && typeof value.data === "string") out.push(createHash("sha256").update(value.data).digest("hex"));
    else for (const v of Object.values(value)) pictures(v, out);
  }
  return out;
}

if (command === "read") {
  const manager = await SessionManager.open(args[0]);
  console.log(JSON.stringify(pictures(manager.getEntries())));
} else if (command === "write") {
  const manager = SessionManager.create(args[0], args[1]);
  const data = Buffer.from(Array.from({ length: 3000 }, (_, i) => (i * 7) & 255)).toString("base64");
  manager.appendMessage({ role: "user", content: [{ type: "text", text: "see" }, { type: "image", data, mimeType: "image/png" }], timestamp: 1 });
  manager.appendMessage({ role: "assistant", content: [{ type: "text", text: "seen" }], api: "x", provider: "x", model: "m", stopReason: "stop", timestamp: 2,
    usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } } });
  await manager.flush();
  console.log(manager.getSessionFile());
}
process.exit(0);
