// Uploads one file to a session. It needs nothing of the page, so that other pages
// can take it as it is:
//
//   const { attachment, displayUrl } = await uploadAttachment(file, { session });
//
// The answer names the file by an id, which goes into a message's attachmentIds.
// The address works for a while; ask GET …/attachments/<id> for a fresh one.

/** UploadError is an upload that was refused, or did not arrive. */
export class UploadError extends Error {
  /**
   * @param {number} status 0 where nobody answered
   * @param {string} code
   * @param {string} message for a person
   */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * @param {Blob & {name?: string}} file
 * @param {{session: string, base?: string, token?: string, onProgress?: (part: number) => void, signal?: AbortSignal}} o
 *   base is where the API begins, "/api" where it is not given; token is only for
 *   pages that have no cookie; onProgress gets a number from 0 to 1
 * @returns {Promise<{attachment: {id: string, name: string, mimeType: string, size: number}, displayUrl: string}>}
 */
export function uploadAttachment(file, { session, base = "/api", token, onProgress, signal }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(); // fetch does not tell how far it is
    request.open("POST", `${base}/sessions/${encodeURIComponent(session)}/attachments`);
    if (token) request.setRequestHeader("Authorization", `Bearer ${token}`);
    request.upload.onprogress = (e) => e.lengthComputable && onProgress?.(e.loaded / e.total);
    request.onload = () => {
      /** @type {any} */
      let body = null;
      try {
        body = JSON.parse(request.responseText);
      } catch {
        // said below
      }
      if (request.status === 200 && body?.attachment?.id) resolve(body);
      else reject(new UploadError(request.status, String(body?.code ?? ""), String(body?.message ?? "The server's answer could not be read.")));
    };
    request.onerror = () => reject(new UploadError(0, "UNREACHABLE", "The upload broke off: the server closed the connection, or does not answer."));
    request.onabort = () => reject(new DOMException("The upload was taken back.", "AbortError"));
    signal?.addEventListener("abort", () => request.abort(), { once: true });
    if (signal?.aborted) return request.onabort(/** @type {any} */ (null));
    const form = new FormData();
    form.append("file", file, file.name || "upload");
    request.send(form);
  });
}
