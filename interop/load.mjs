// Asks the real pi's resource loader what it finds in a folder, and prints it as JSON.
//
//   node load.mjs PI-PACKAGE CWD AGENT-DIR [untrusted]
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [piPackage, cwd, agentDir, untrusted] = process.argv.slice(2);
const from = (path) => import(pathToFileURL(join(resolve(piPackage), path)).href);
const { DefaultResourceLoader } = await from("dist/core/resource-loader.js");
const { SettingsManager } = await from("dist/core/settings-manager.js");

const settingsManager = SettingsManager.create(cwd, agentDir);
settingsManager.setProjectTrusted?.(untrusted !== "untrusted");
const loader = new DefaultResourceLoader({ cwd, agentDir, settingsManager, noExtensions: true, noThemes: true });
await loader.reload();
console.log(JSON.stringify({
  skills: loader.getSkills().skills.map((s) => ({ name: s.name, description: s.description, path: s.filePath, hidden: s.disableModelInvocation })),
  templates: loader.getPrompts().prompts.map((p) => ({ name: p.name, description: p.description, hint: p.argumentHint ?? "", path: p.filePath })),
  context: loader.getAgentsFiles().agentsFiles.map((f) => f.path),
}));
