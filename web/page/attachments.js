// Files that go with a message: chosen, dropped or pasted, uploaded at once, and
// shown as chips before and after they are sent.

import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { call, explain, sessionPath } from "./api.js";
import { fileSize } from "./format.js";
import { html, Store, useStore } from "./html.js";
import { named, number, t } from "./i18n.js";
import { Icon } from "./icons.js";
import { uploadAttachment } from "./upload.js";

/** @import {AttachedFile} from "./types.js" */

/** The session whose transcript is shown. @type {import("preact").Context<string>} */
export const SessionID = createContext("");

/** So many files are uploaded at the same time; the others wait. */
const atOnce = 3;
/** A message takes no more. */
const most = 100;

/** Types that a browser draws from their bytes alone. */
const drawn = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml)$/;

/**
 * @typedef {object} Item
 * @property {number} key
 * @property {File} file
 * @property {"waiting" | "uploading" | "ready" | "error"} state
 * @property {number} part how much has gone, from 0 to 1
 * @property {string} error what to do about it
 * @property {string} preview an address of the picture in this page, or ""
 * @property {string} id of the attachment, when it is ready
 * @property {AbortController} stop
 */

/**
 * The files of the message that is being written in one session. They outlive the
 * composer, so that going to another session and back loses nothing.
 * @extends {Store<{items: Item[], full: boolean}>}
 */
export class Attachments extends Store {
  /** @param {string} session */
  constructor(session) {
    super({ items: [], full: false });
    this.session = session;
    this.keys = 0;
  }

  /** @param {Iterable<File>} files */
  add(files) {
    const items = [...this.state.items];
    let full = false;
    for (const file of files) {
      if (items.length >= most) {
        full = true;
        break;
      }
      items.push({
        key: ++this.keys, file, state: "waiting", part: 0, error: "", id: "", stop: new AbortController(),
        preview: drawn.test(file.type) ? URL.createObjectURL(file) : "",
      });
    }
    this.set({ items, full });
    this.next();
  }

  /** Starts what may start. */
  next() {
    let free = atOnce - this.state.items.filter((i) => i.state === "uploading").length;
    for (const item of this.state.items) {
      if (free-- <= 0) break;
      if (item.state === "waiting") void this.upload(item);
      else free++;
    }
  }

  /** @param {Item} item */
  async upload(item) {
    this.change(item.key, { state: "uploading", part: 0, error: "" });
    try {
      const { attachment } = await uploadAttachment(item.file, {
        session: this.session, signal: item.stop.signal, onProgress: (part) => this.change(item.key, { part }),
      });
      this.change(item.key, { state: "ready", part: 1, id: attachment.id });
    } catch (e) {
      if (/** @type {any} */ (e)?.name !== "AbortError") this.change(item.key, { state: "error", error: why(e) });
    }
    this.next();
  }

  /** @param {number} key @param {Partial<Item>} patch */
  change(key, patch) {
    if (!this.state.items.some((i) => i.key === key)) return;
    this.set({ items: this.state.items.map((i) => (i.key === key ? { ...i, ...patch } : i)) });
  }

  /** @param {Item} item */
  retry(item) {
    this.change(item.key, { state: "waiting", error: "", stop: new AbortController() });
    this.next();
  }

  /** Takes a file back, also from the server. @param {Item} item */
  remove(item) {
    item.stop.abort();
    this.drop([item]);
    if (item.id) void call(sessionPath(this.session, `/attachments/${item.id}`), { method: "DELETE" }).catch(() => {});
    this.next();
  }

  /** @param {Item[]} gone */
  drop(gone) {
    for (const item of gone) if (item.preview) URL.revokeObjectURL(item.preview);
    this.set({ items: this.state.items.filter((i) => !gone.some((g) => g.key === i.key)), full: false });
  }

  get ready() {
    return this.state.items.filter((i) => i.state === "ready");
  }

  get busy() {
    return this.state.items.some((i) => i.state === "waiting" || i.state === "uploading");
  }
}

/** @param {any} e */
function why(e) {
  if (e?.code === "UNREACHABLE") return t("attach.unreachable");
  if (e?.code === "NO_FILE") return e.message || t("attach.empty");
  const known = named("error", String(e?.code ?? ""));
  return known !== e?.code && known ? known : e?.message || t("attach.failed");
}

/** @type {Map<string, Attachments>} */
const written = new Map();

/** The files of a session's message. @param {string} session */
export function attachmentsOf(session) {
  let a = written.get(session);
  if (!a) written.set(session, (a = new Attachments(session)));
  return a;
}

/**
 * The files of a drop or a paste; folders are none. A file that is pasted as text
 * as well, as from an office program, is text.
 * @param {DataTransfer | null} data
 */
export function filesOf(data) {
  if (!data || [...data.types].includes("text/plain")) return [];
  return [...data.items].filter((i) => i.kind === "file" && !i.webkitGetAsEntry?.()?.isDirectory).map((i) => i.getAsFile()).filter((f) => f !== null);
}

/** The button that opens the list of files. @param {{to: Attachments, disabled: boolean}} props */
export function AttachButton({ to, disabled }) {
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  return html`<button type="button" class="round plain" disabled=${disabled} aria-label=${t("attach.button")} title=${t("attach.buttonTitle")} onClick=${() => input.current?.click()}><${Icon} name="clip" /></button>
    <input ref=${input} type="file" multiple hidden tabindex="-1" aria-hidden="true" onChange=${(/** @type {any} */ e) => (to.add(e.target.files), (e.target.value = ""))} />`;
}

/** What will go with the message. @param {{of: Attachments}} props */
export function Chips({ of }) {
  const { items, full } = useStore(of);
  if (!items.length) return null;
  return html`<ul class="chips" aria-label=${t("attach.list")}>
    ${items.map((i) => html`<li key=${i.key} class=${`chip ${i.state}`}>
      ${i.preview ? html`<img src=${i.preview} alt="" />` : html`<${Icon} name="file" />`}
      <span class="chip-text"><span class="chip-name" dir="auto" title=${i.file.name}>${i.file.name}</span>
        <span class="chip-note" role=${i.state === "error" ? "alert" : undefined}>${i.state === "error" ? i.error : i.state === "ready" ? fileSize(i.file.size) : i.state === "waiting" ? t("attach.waiting") : number(i.part, { style: "percent" })}</span></span>
      ${i.state === "uploading" && html`<progress max="1" value=${i.part} aria-label=${t("attach.progress", { name: i.file.name })} />`}
      ${i.state === "error" && html`<button type="button" class="link" onClick=${() => of.retry(i)}>${t("say.tryAgain")}</button>`}
      <button type="button" class="icon-button" aria-label=${t("attach.remove", { name: i.file.name })} onClick=${() => of.remove(i)}><${Icon} name="close" /></button>
    </li>`)}
    ${full && html`<li class="faint" role="alert">${t("attach.most", { n: most })}</li>`}
  </ul>`;
}

/**
 * Asks for a fresh address: the one in the transcript may have ended.
 * @param {string} session @param {string} id
 * @returns {Promise<AttachedFile>}
 */
async function fresh(session, id) {
  const { attachment, displayUrl } = await call(sessionPath(session, `/attachments/${encodeURIComponent(id)}`));
  return { id, name: String(attachment.name), mimeType: String(attachment.mimeType), size: Number(attachment.size), url: String(displayUrl) };
}

/** A file of a message that was sent, or that a tool made. @param {{file: AttachedFile}} props */
export function FileChip({ file }) {
  const session = useContext(SessionID);
  const [known, setKnown] = useState(file);
  const [problem, setProblem] = useState("");
  const asked = useRef(false);
  const ask = async () => {
    asked.current = true;
    try {
      const f = await fresh(session, file.id);
      setKnown(f);
      setProblem("");
      return f;
    } catch (e) {
      setProblem(/** @type {any} */ (e)?.status === 404 ? t("attach.gone") : explain(e).text);
      return null;
    }
  };
  useEffect(() => {
    asked.current = false;
    setKnown(file);
    if (!file.name && session) void ask(); // a tool's output is told by its id alone
  }, [file.id, file.url]);
  /** @param {Event} e */
  const open = async (e) => {
    e.preventDefault();
    // Opened at the click, or the browser takes it for a pop-up.
    const page = window.open("", "_blank");
    const f = await ask();
    if (!f) page?.close();
    else if (page) {
      page.opener = null;
      page.location.replace(f.url);
    }
  };
  const kind = known.mimeType.split(";")[0] ?? "";
  const name = known.name || t("attach.file");
  if (!problem && known.url && drawn.test(kind)) {
    return html`<a class="shown" href=${known.url} target="_blank" rel="noopener" title=${name} onClick=${open}>
      <img class="picture" src=${known.url} alt=${name} loading="lazy" onError=${() => (asked.current ? setProblem(t("attach.gone")) : void ask())} /></a>`;
  }
  return html`<span class="chip sent">
    <${Icon} name="file" />
    <span class="chip-text"><span class="chip-name" dir="auto">${problem || !known.url ? name : html`<a href=${known.url} target="_blank" rel="noopener" onClick=${open}>${name}</a>`}</span>
      <span class="chip-note">${problem || (known.size ? fileSize(known.size) : known.url ? kind : t("attach.gone"))}</span></span>
  </span>`;
}
