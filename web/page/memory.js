// Memories: what was kept beyond sessions. Search them, go to where one was said,
// forget one.

import { useEffect, useRef, useState } from "preact/hooks";
import { call, explain } from "./api.js";
import { Dialog } from "./dialog.js";
import { dateTime } from "./format.js";
import { html } from "./html.js";
import { number, t, tx } from "./i18n.js";
import { Icon } from "./icons.js";

/**
 * @typedef {{id: string, session_id: string | null, text: string, snippet?: {text: string, hit?: boolean}[], timestamp: string, origin?: string, attachments: {name: string, type: string, internal_uri: string}[]}} Memory
 */

/** How many are shown. */
const most = 50;

/** Sessions of the command line and of programs are none that the page could open. */
/** @param {string | null} id */
const opens = (id) => !!id && /^[0-9a-f]{8}-/i.test(id);

/** @param {{onClose: () => void, onOpen: (id: string, call: string) => void}} props */
export function Memories({ onClose, onOpen }) {
  const [list, setList] = useState(/** @type {Memory[] | null} */ (null));
  const [problem, setProblem] = useState("");
  const [asked, setAsked] = useState("");
  const [note, setNote] = useState("");
  const [sure, setSure] = useState("");
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));

  useEffect(() => {
    const stop = new AbortController();
    const answer = asked
      ? call("memories/search", { method: "POST", body: { query: asked, top_k: most }, signal: stop.signal })
      : call(`memories?limit=${most}`, { signal: stop.signal });
    answer.then(
      (/** @type {{results?: Memory[], memories?: Memory[], degraded?: boolean}} */ found) => {
        setList(found.results ?? found.memories ?? []);
        setNote(found.degraded ? t("memory.copy") : "");
        setProblem("");
      },
      (e) => e?.name !== "AbortError" && setProblem(explain(e).text),
    );
    return () => stop.abort();
  }, [asked]);

  /** @param {Event} e */
  const onSearch = (e) => {
    e.preventDefault();
    setAsked(input.current?.value.trim() ?? "");
  };
  /** @param {Memory} m */
  const forget = async (m) => {
    if (sure !== m.id) {
      setSure(m.id);
      return;
    }
    try {
      const done = await call(`memories/${encodeURIComponent(m.id)}`, { method: "DELETE" });
      setNote(done.kept_by_service ? t("memory.kept") : "");
      setList((l) => l?.filter((x) => x.id !== m.id) ?? null);
      setProblem("");
    } catch (e) {
      setProblem(explain(e).text);
    }
  };
  /** @param {Memory} m */
  const open = async (m) => {
    let origin = m.origin ?? "";
    try {
      if (m.origin === undefined) origin = String((await call(`memories/${encodeURIComponent(m.id)}`)).origin ?? "");
    } catch {
      // The session opens; only the place in it is not known.
    }
    onOpen(m.session_id ?? "", origin);
  };

  return html`<${Dialog} title=${t("memory.title")} onClose=${onClose} wide=${true}>
    <div class="memories">
      <form class="whole-bar" role="search" onSubmit=${onSearch}>
        <input type="search" ref=${input} placeholder=${t("memory.search")} aria-label=${t("memory.search")} maxLength="500" />
        <button type="submit">${t("memory.searchButton")}</button>
        ${list && html`<span class="whole-found" role="status">${list.length === 0 ? t("say.nothingFound") : list.length === most ? t("memory.orMore", { n: most }) : number(list.length)}</span>`}
      </form>
      ${problem && html`<p class="bad-text" role="alert">${problem}</p>`}
      ${note && html`<p class="faint" role="status">${note}</p>`}
      ${!list && !problem && html`<p class="quiet">${t("say.loading")}</p>`}
      ${list?.length === 0 && !asked && html`<p class="faint">${tx("memory.none", { command: html`<code>piweb memory add</code>` })}</p>`}
      <ul class="memory-list" tabindex="0" aria-label=${t("memory.list")}>
        ${list?.map((m) => html`<li class="memory" key=${m.id}>
          <p class="memory-text" dir="auto">${m.snippet ? m.snippet.map((p) => (p.hit ? html`<mark>${p.text}</mark>` : p.text)) : m.text}</p>
          ${m.attachments.map((f) => html`<p class="memory-file faint" key=${f.internal_uri}><${Icon} name="clip" /><bdi>${f.name}</bdi></p>`)}
          <p class="memory-line"><time class="faint" datetime=${m.timestamp}>${dateTime(new Date(m.timestamp))}</time>
            ${opens(m.session_id) && html`<button type="button" class="small" onClick=${() => void open(m)}>${t("memory.open")}</button>`}
            <button type="button" class="small" onClick=${() => void forget(m)}>${t(sure === m.id ? "memory.sure" : "memory.forget")}</button></p>
        </li>`)}
      </ul>
    </div>
  <//>`;
}
