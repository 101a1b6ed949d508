// A change to a file, read from what a tool's result tells of it.

/** @typedef {{kind: "+" | "-" | " " | "@", n: number, text: string}} DiffLine the number is that of the new text, of the old one for what went */

/**
 * The change that a result tells of: a patch, or lines with numbers as pi writes them.
 * @param {any} details
 */
export function changeOf(details) {
  if (typeof details?.patch === "string" && details.patch.includes("@@")) return details.patch;
  return typeof details?.diff === "string" ? details.diff : "";
}

/** @param {string} change @returns {DiffLine[]} */
export function linesOfChange(change) {
  /** @type {DiffLine[]} */
  const out = [];
  const all = change.replace(/\n$/, "").split("\n");
  if (!change.includes("@@ ")) {
    for (const l of all) {
      const m = /^([ +-])\s*(\d+) ?(.*)$/.exec(l);
      if (m) out.push({ kind: /** @type {DiffLine["kind"]} */ (m[1]), n: Number(m[2]), text: m[3] ?? "" });
      else if (l.trim()) out.push({ kind: "@", n: 0, text: l.trim() });
    }
    return out;
  }
  let was = 0;
  let is = 0;
  let inside = false;
  for (const l of all) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(l);
    if (hunk) {
      inside = true;
      [was, is] = [Number(hunk[1]), Number(hunk[2])];
      if (out.length) out.push({ kind: "@", n: 0, text: "…" });
    } else if (!inside || l.startsWith("\\")) continue;
    else if (l.startsWith("+")) out.push({ kind: "+", n: is++, text: l.slice(1) });
    else if (l.startsWith("-")) out.push({ kind: "-", n: was++, text: l.slice(1) });
    else {
      out.push({ kind: " ", n: is, text: l.slice(1) });
      was++;
      is++;
    }
  }
  return out;
}
