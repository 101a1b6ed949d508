// Addresses of the page: a session, and a place in it.

/**
 * @param {string} id
 * @param {string} [entry] an entry, or a call
 */
export const hashOf = (id, entry) => `#/s/${encodeURIComponent(id)}${entry ? `/${encodeURIComponent(entry)}` : ""}`;

/** @param {string} hash @returns {{id: string, entry: string}} */
export function placeOfHash(hash) {
  const m = /^#\/s\/([^/]+)(?:\/(.+))?$/.exec(hash);
  try {
    return { id: decodeURIComponent(m?.[1] ?? ""), entry: decodeURIComponent(m?.[2] ?? "") };
  } catch {
    return { id: "", entry: "" };
  }
}
