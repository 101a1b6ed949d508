// What a person has opened, by name. It outlives what shows it: a row that leaves
// the window of the transcript, or is replaced by that of the file when a turn
// ends, is open again when it comes back.

import { useLayoutEffect, useState } from "preact/hooks";

/** @type {Map<string, boolean>} */
const kept = new Map();
/** @type {Map<string, Set<() => void>>} */
const watchers = new Map();
const most = 5000;

/** @param {string} name @param {boolean} value */
export function keep(name, value) {
  kept.delete(name);
  kept.set(name, value);
  if (kept.size > most) kept.delete(/** @type {string} */ (kept.keys().next().value));
  for (const tell of [...(watchers.get(name) ?? [])]) tell();
}

/**
 * A flag that is kept under a name.
 * @param {string} name
 * @returns {[boolean, (value: boolean) => void]}
 */
export function useKept(name) {
  const [, again] = useState({});
  // At once, and not when the row was painted: a click may come before that.
  useLayoutEffect(() => {
    const tell = () => again({});
    const set = watchers.get(name) ?? new Set();
    watchers.set(name, set.add(tell));
    return () => {
      set.delete(tell);
      if (!set.size) watchers.delete(name);
    };
  }, [name]);
  return [kept.get(name) ?? false, (value) => keep(name, value)];
}
