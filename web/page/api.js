// Calls to the server, and its errors in words that say what to do.

import { named, t } from "./i18n.js";

const base = "/api/";

/** ApiError is an answer that is no success, or no answer at all. */
export class ApiError extends Error {
  /**
   * @param {number} status 0 where nobody answered
   * @param {string} code
   * @param {string} message what the server said
   */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * @param {string} path below /api
 * @param {{method?: string, body?: unknown, signal?: AbortSignal}} [o]
 * @returns {Promise<any>}
 */
export async function call(path, o = {}) {
  /** @type {Record<string, string>} */
  const headers = { accept: "application/json" };
  /** @type {RequestInit} */
  const init = { method: o.method ?? "GET", headers, signal: o.signal ?? null, credentials: "same-origin" };
  if (o.body !== undefined) {
    headers["content-type"] = "application/json";
    init.body = JSON.stringify(o.body);
  }
  let response;
  try {
    response = await fetch(base + path, init);
  } catch (e) {
    if (/** @type {any} */ (e)?.name === "AbortError") throw e;
    throw new ApiError(0, "UNREACHABLE", "");
  }
  return answer(response);
}

/** @param {Response} response */
export async function answer(response) {
  const text = await response.text();
  /** @type {any} */
  let body = {};
  try {
    body = text === "" ? {} : JSON.parse(text);
  } catch {
    if (response.ok) throw new ApiError(response.status, "BAD_ANSWER", "");
  }
  if (response.ok) return body;
  const code = body.code ?? body.error?.code ?? "";
  const message = body.message ?? body.error?.message ?? "";
  throw new ApiError(response.status, String(code), String(message));
}

/** @param {string} id @param {string} rest */
export const sessionPath = (id, rest = "") => `sessions/${encodeURIComponent(id)}${rest}`;

/** @param {string} id */
export const streamURL = (id) => base + sessionPath(id, "/stream?piweb=1");

/**
 * An error as a sentence that says what to do, and the server's reason where that
 * adds something.
 * @param {unknown} e
 * @returns {{text: string, detail: string}}
 */
export function explain(e) {
  if (!(e instanceof ApiError)) return { text: t("error.page"), detail: String(e) };
  // What the page says better than the server, because it knows its own keys and panels.
  const known = named("error", e.code);
  if (known !== e.code) return { text: known, detail: "" };
  // What to do about errors whose reason only the server knows.
  const todo = named("advice", e.code);
  if (todo !== e.code) return { text: todo, detail: e.message };
  if (e.message) return { text: e.message, detail: "" };
  return { text: t("error.refused", { status: String(e.status) }), detail: e.code };
}
