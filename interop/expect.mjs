// What a step may claim. A claim that does not hold throws a Mismatch, whose detail
// is printed below the step's line; the steps after it still run.

export class Mismatch extends Error {
  constructor(message, detail = []) {
    super(message);
    this.detail = detail;
  }
}

export function claim(holds, message, detail) {
  if (!holds) throw new Mismatch(message, detail);
}

/** Two lists of lines are the same. `-` is wanted and missing, `+` is there and not wanted. */
export function sameLines(wanted, got, message) {
  if (wanted.length === got.length && wanted.every((line, i) => line === got[i])) return;
  throw new Mismatch(message, difference(wanted, got));
}

/** The second list begins with the first. */
export function startsWith(wanted, got, message) {
  sameLines(wanted, got.slice(0, wanted.length), message);
}

/** The file still begins with the bytes it had: nothing written before was touched. */
export function onlyAppended(before, after) {
  if (after.subarray(0, before.length).equals(before)) return;
  throw new Mismatch("lines written earlier were changed", difference(lines(before), lines(after)));
}

/** The file has exactly the bytes it had. */
export function untouched(before, after) {
  if (after.equals(before)) return;
  throw new Mismatch("the file was changed", difference(lines(before), lines(after)));
}

function lines(bytes) {
  return bytes.toString("utf8").split("\n");
}

/** A line diff by longest common subsequence; equal stretches are shortened. */
function difference(wanted, got) {
  const rows = wanted.length, columns = got.length;
  const common = Array.from({ length: rows + 1 }, () => new Uint32Array(columns + 1));
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      common[i][j] = wanted[i] === got[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const out = [];
  let equal = [];
  const flush = () => {
    out.push(...(equal.length > 4 ? [equal[0], `  … ${equal.length - 2} equal lines`, equal.at(-1)] : equal));
    equal = [];
  };
  for (let i = 0, j = 0; i < rows || j < columns; ) {
    if (i < rows && j < columns && wanted[i] === got[j]) {
      equal.push(`  ${wanted[i]}`);
      i++;
      j++;
      continue;
    }
    flush();
    if (i < rows && (j >= columns || common[i + 1][j] >= common[i][j + 1])) out.push(`- ${wanted[i++]}`);
    else out.push(`+ ${got[j++]}`);
  }
  flush();
  return out;
}
