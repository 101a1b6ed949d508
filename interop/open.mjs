// Opens a session file with the real pi's SessionManager and prints what it sees as JSON.
//
//   node open.mjs PI-PACKAGE FILE
//
// It opens the file itself: whatever pi does to a file when it opens it happens to
// this one. Callers that must not risk that hand over a copy. It is a program of its own so
// that a file that makes pi spin or grow (a cycle of parents) costs one child with
// a deadline, not the whole check.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [piPackage, file] = process.argv.slice(2);
if (!file) {
  console.error("usage: node open.mjs PI-PACKAGE FILE");
  process.exit(2);
}

// One module instead of the package's front door: it loads in a tenth of the time, and the version is pinned.
const manager = pathToFileURL(join(resolve(piPackage), "dist/core/session-manager.js"));
const { SessionManager } = await import(manager.href);

const before = readFileSync(file);
const session = SessionManager.open(resolve(file));
const projection = session.buildSessionProjection();
const report = {
  id: session.getSessionId(),
  cwd: session.getCwd(),
  name: session.getSessionName() ?? null,
  leaf: session.getLeafId() ?? null,
  entries: session.getEntries().length,
  branch: session.getBranch().map((entry) => entry.id),
  context: projection.entries.flatMap(({ sourceEntry, messages }) =>
    messages.map((message) => ({ id: sourceEntry.id, role: message.role, text: plainText(message), marked: markedText(message) })),
  ),
  model: projection.model ? `${projection.model.provider}/${projection.model.modelId}` : null,
  thinkingLevel: projection.thinkingLevel,
  roots: session.getTree().length,
  unchanged: readFileSync(file).equals(before),
};
console.log(JSON.stringify(report, null, 2));

/** The words of a message: its text blocks joined, or a summary, or a shell command with its output. */
function plainText(message) {
  if (message.role === "bashExecution") return `$ ${message.command}\n${message.output}`;
  if (message.role === "branchSummary" || message.role === "compactionSummary") return message.summary;
  return blocks(message).map((block) => block.text ?? "").join("");
}

/** The same with a mark for each block that is not text. */
function markedText(message) {
  if (!Array.isArray(message.content)) return plainText(message);
  return blocks(message).map(mark).join("");
}

function mark(block) {
  switch (block.type) {
    case "text": return block.text;
    case "thinking": return `<thinking>${block.thinking}</thinking>`;
    case "toolCall": return `<toolCall ${block.id} ${block.name} ${JSON.stringify(block.arguments)}>`;
    case "image": return `<image ${block.mimeType} ${block.data.length}>`;
    default: return `<${block.type}>`;
  }
}

function blocks(message) {
  const { content } = message;
  return typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
}
