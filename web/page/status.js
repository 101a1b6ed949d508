// Where a subagent is in its life, in words.

/** @type {Record<string, string>} */
const words = { queued: "waits for its turn", running: "works", completed: "done", failed: "failed", aborted: "stopped", interrupted: "interrupted" };

/** @param {string} status */
export const statusWords = (status) => words[status] ?? status;
