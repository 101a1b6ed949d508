// Calls to the server, and its errors in words that say what to do.

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
 * What the page says better than the server, because it knows its own keys and
 * panels.
 * @type {Record<string, string>}
 */
const words = {
  UNREACHABLE: "piweb does not answer. Is it still running in its terminal?",
  BAD_ANSWER: "The answer could not be read. Reload the page.",
  UNAUTHORIZED: "This browser is not signed in. Open the link that piweb printed in its terminal.",
  FORBIDDEN_ORIGIN: "This address is not allowed to change anything. Open the link that piweb printed in its terminal.",
  RUNNING: "The session is still answering. Wait for the end of the turn, or stop it with Esc.",
  SUBAGENT: "This is a subagent. Its tools were fixed when it was started.",
  IN_USE: "Another program is using this session. Try again when its turn has ended, or close it there.",
  EMPTY_PROMPT: "The message is empty.",
  SESSION_NOT_FOUND: "This session does not exist any more.",
  SESSION_STOPPED: "The session was just stopped. Send again.",
  PAYLOAD_TOO_LARGE: "This is too large to send at once. Shorten it, or put it in a file.",
  SHUTTING_DOWN: "piweb is shutting down. Start it again, then send again.",
};

/**
 * What to do about errors whose reason only the server knows.
 * @type {Record<string, string>}
 */
const advice = {
  TOOLS_OVERRULED: "This session has its own choice of tools. Change it in the policy panel first.",
  FOLDER_GONE: "The session's folder is gone. Create it again, or start a new session in another folder.",
  NOT_A_SESSION: "This file cannot be read as a session.",
  UNKNOWN_TOOL: "This tool does not exist here.",
  AMBIGUOUS_ID: "Several files have this session's id. Pick one from the list.",
};

/**
 * An error as a sentence that says what to do, and the server's reason where that
 * adds something.
 * @param {unknown} e
 * @returns {{text: string, detail: string}}
 */
export function explain(e) {
  if (!(e instanceof ApiError)) return { text: "Something in this page went wrong. Reload it.", detail: String(e) };
  const known = words[e.code];
  if (known) return { text: known, detail: "" };
  const todo = advice[e.code];
  if (todo) return { text: todo, detail: e.message };
  if (e.message) return { text: e.message, detail: "" };
  return { text: `The server refused this (${e.status}).`, detail: e.code };
}
