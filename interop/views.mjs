// The two views of one session file, pi's and piweb's, and what must be equal in them.
import { claim, Mismatch, sameLines } from "./expect.mjs";

/**
 * Both programs see the same session in the file. Returns pi's view. pi looks at a
 * copy, so the file is as it was afterwards.
 */
export async function agree({ pi, piweb }, sandbox, file) {
  const theirs = await pi.look(sandbox, file);
  const ours = await piweb.show(sandbox, file);
  sameLines(facts(theirs), facts(ours), "piweb (+) and pi (-) differ about the session");
  sameLines(theirs.branch, ours.branch, "piweb (+) and pi (-) differ about the ids of the branch");
  sameLines(theirsToCompare(theirs, ours), ours.context.filter(spoken).map(line), "piweb (+) and pi (-) differ about the messages");

  // pi keeps the declarations of prompt and tools among the messages. piweb may leave them out
  // of its list; what it shows of them must be there.
  const declared = ours.context.filter((m) => !spoken(m)).map((m) => m.id);
  if (declared.length > 0) sameLines(theirs.context.filter((m) => !spoken(m)).map((m) => m.id), declared, "piweb (+) and pi (-) differ about the system messages");
  return theirs;
}

/** Every entry of the file lies on the one branch pi is on. */
export function oneBranch(view) {
  claim(view.roots === 1, `pi sees ${view.roots} roots instead of one`);
  claim(view.branch.length === view.entries, `pi sees ${view.entries} entries, but only ${view.branch.length} are on the branch`);
}

/** The conversation in a view is exactly this, as [role, text] pairs. */
export function says(view, wanted) {
  sameLines(wanted.map(([role, text]) => words(role, text)), spokenLines(view), "pi reports another conversation (+) than the one that was held (-)");
}

/** The conversation of a view as lines without ids. */
export function spokenLines(view) {
  return view.context.filter(spoken).map((m) => words(m.role, m.text));
}

export function words(role, text) {
  return `${role} ${JSON.stringify(text)}`;
}

const spoken = (message) => message.role !== "system";
const line = (message) => `${message.id} ${words(message.role, message.text)}`;

/**
 * pi's messages in the spelling piweb chose. The text of a message is its text blocks joined;
 * marks for thinking, calls and pictures, as in the fixtures, are accepted too. Nothing else is.
 */
function theirsToCompare(theirs, ours) {
  const shown = new Set(ours.context.map(line));
  return theirs.context.filter(spoken).map(({ marked, ...message }) => {
    const other = line({ ...message, text: marked });
    return shown.has(other) ? other : line(message);
  });
}

function facts(view) {
  if (!Array.isArray(view.branch) || !Array.isArray(view.context)) {
    throw new Mismatch("piweb sessions show --json lacks branch or context", [JSON.stringify(view).slice(0, 300)]);
  }
  return [
    `id ${view.id}`,
    `cwd ${view.cwd}`,
    `name ${view.name || "(none)"}`,
    `leaf ${view.leaf}`,
    `entries ${view.entries}`,
    `model ${modelName(view.model)}`,
    `thinking level ${view.thinkingLevel}`,
  ];
}

function modelName(model) {
  if (!model) return "(none)";
  return typeof model === "string" ? model : `${model.provider}/${model.modelId ?? model.id}`;
}
