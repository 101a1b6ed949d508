// What the real pi needs for the same work: node pi.mjs PI-PACKAGE open FILE | list DIR
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [piPackage, what, path] = process.argv.slice(2);
const manager = pathToFileURL(join(resolve(piPackage), "dist/core/session-manager.js"));
const { SessionManager } = await import(manager.href);

const cpu = process.cpuUsage();
const start = performance.now();
const n = what === "open" ? SessionManager.open(path).getEntries().length : (await SessionManager.list("/w", path)).length;
const used = process.cpuUsage(cpu);
console.log(JSON.stringify({ n, ms: performance.now() - start, cpuMs: (used.user + used.system) / 1000, rssMB: process.memoryUsage().rss / (1 << 20) }));
