// The tree of a session as lines of a list: a chain stays at one depth, and where
// it divides its branches are set in. Pure.

/**
 * @typedef {object} TreeNode An entry of the file.
 * @property {string} id
 * @property {string} [parentId]
 * @property {string} type
 * @property {string} [role]
 * @property {string} [customType]
 * @property {string} [timestamp]
 * @property {number} line
 * @property {string} [text]
 * @property {string} [label]
 * @property {boolean} [onBranch] it is on the branch that the session is on
 *
 * @typedef {"questions" | "messages" | "labels" | "all"} Show
 *
 * @typedef {object} Line
 * @property {TreeNode} node
 * @property {number} depth
 * @property {number} branches how many ways go on from it, if more than one
 * @property {boolean} here the session goes on from it, or from something that is not shown below it
 * @property {boolean} last nothing that is shown follows it
 */

/** Deeper ones are not set in further. */
export const deepest = 8;

/** What people read of a conversation. @param {TreeNode} n */
export const isSaid = (n) => (n.type === "message" && n.role !== "system") || ["custom_message", "compaction", "branch_summary"].includes(n.type);

/** @param {TreeNode} n @param {Show} show */
function wanted(n, show) {
  if (show === "all" || n.label) return true;
  if (show === "labels") return false;
  if (n.type === "compaction" || n.type === "branch_summary") return true;
  if (n.type !== "message") return false;
  return n.role === "user" || (show === "messages" && (n.role === "assistant" || n.role === "toolResult" || n.role === "bashExecution"));
}

/**
 * @param {TreeNode[]} nodes in the order of the file
 * @param {string} leaf
 * @param {Show} show
 * @param {string} [q] only what holds all of these words
 * @returns {Line[]}
 */
export function linesOf(nodes, leaf, show, q = "") {
  /** @type {Map<string, TreeNode>} */
  const byId = new Map();
  for (const n of nodes) byId.set(n.id, n);
  /** What something that is said follows: a branch ends where nothing does. @type {Set<string>} */
  const goesOn = new Set();
  for (let i = nodes.length - 1; i >= 0; i--) {
    const n = /** @type {TreeNode} */ (nodes[i]); // what follows stands further down in the file
    if (isSaid(n) || goesOn.has(n.id)) goesOn.add(n.parentId ?? "");
  }
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  /** @param {TreeNode} n */
  const fits = (n) => words.every((w) => `${n.text ?? ""} ${n.label ?? ""} ${n.id}`.toLowerCase().includes(w));
  // Where a branch ends there is something to go to, whatever it is.
  /** @param {TreeNode} n */
  const shown = (n) => byId.get(n.id) === n && fits(n) && (wanted(n, show) || (show !== "labels" && !goesOn.has(n.id) && isSaid(n)));
  /** The nearest entry above that is shown. @type {Map<string, string>} */
  const above = new Map();
  /** @param {string} id @returns {string} */
  const find = (id) => {
    const way = [];
    let at = id;
    const seen = new Set();
    while (at !== "") {
      const known = above.get(at);
      if (known !== undefined) {
        at = known;
        break;
      }
      const n = byId.get(at);
      if (!n || seen.has(at)) {
        at = "";
        break;
      }
      if (shown(n)) break;
      seen.add(at);
      way.push(at);
      at = n.parentId ?? "";
    }
    for (const w of way) above.set(w, at);
    return at;
  };
  /** @type {Map<string, TreeNode[]>} */
  const children = new Map();
  for (const n of nodes) {
    if (!shown(n)) continue;
    const p = find(n.parentId ?? "");
    const list = children.get(p);
    if (list) list.push(n);
    else children.set(p, [n]);
  }
  const here = find(leaf);
  /** @type {Line[]} */
  const lines = [];
  const done = new Set();
  const stack = (children.get("") ?? []).map((node) => ({ node, depth: 0 })).reverse();
  for (;;) {
    const at = stack.pop();
    if (!at) break;
    if (done.has(at.node.id)) continue;
    done.add(at.node.id);
    const next = children.get(at.node.id) ?? [];
    lines.push({ node: at.node, depth: at.depth, branches: next.length > 1 ? next.length : 0, here: at.node.id === here, last: next.length === 0 });
    const depth = at.depth + (next.length > 1 ? 1 : 0);
    for (let i = next.length - 1; i >= 0; i--) stack.push({ node: /** @type {TreeNode} */ (next[i]), depth });
  }
  return lines;
}
