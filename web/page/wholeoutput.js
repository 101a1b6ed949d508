// The whole of an output that a tool card shows a part of: by pages, with a search.
// Only the lines of one page are ever in the document, however long the output is.

import { useEffect, useRef, useState } from "preact/hooks";
import { call, explain, sessionPath } from "./api.js";
import { Dialog } from "./dialog.js";
import { fileSize } from "./format.js";
import { html } from "./html.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";

/**
 * @typedef {{n: number, text: string, cut?: boolean}} Line
 * @typedef {{lines: Line[], totalLines: number, size: number, name: string}} Page
 * @typedef {{hits: Line[], more: boolean, text: string, at: number}} Found
 */

/** Lines of a page. */
const pageLines = 500;

/** The event by which a card asks for the output to be shown. */
export const showOutput = "piweb:show-output";

/**
 * The URL of the whole output, or of a subagent's whole answer, that a note at the end of a result names, or "". The
 * note is text, so it may be anybody's: it can only lead to what this session has.
 * @param {string} text
 */
export function wholeOf(text) {
  const notes = [...text.slice(-1500).matchAll(/\[[^\]\n]*\b(artifact:\/\/\d+|agent:\/\/[\w-]+(?:\.[\w-]+)*)[^\]\n]*\]/g)];
  return notes.at(-1)?.[1] ?? "";
}

/** @param {{text: string}} props */
export function WholeOutputLink({ text }) {
  const url = wholeOf(text);
  if (!url) return null;
  const show = () => dispatchEvent(new CustomEvent(showOutput, { detail: url }));
  return html`<p class="whole-link"><button type="button" class="link" onClick=${show}>${t("output.link")}</button></p>`;
}

/** The first line of the page that has a line. @param {number} n */
const pageOf = (n) => Math.floor((Math.max(1, n) - 1) / pageLines) * pageLines + 1;

/**
 * @param {{id: string, url: string, onClose: () => void}} props
 */
export function WholeOutput({ id, url, onClose }) {
  const [first, setFirst] = useState(1);
  const [page, setPage] = useState(/** @type {Page | null} */ (null));
  const [problem, setProblem] = useState("");
  const [found, setFound] = useState(/** @type {Found | null} */ (null));
  const [searching, setSearching] = useState(false);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const asked = useRef(0);
  /** @param {string} rest @param {Record<string, string>} [q] */
  const path = (rest, q = {}) => sessionPath(id, `/artifacts/${rest}?${new URLSearchParams({ url, ...q })}`);

  useEffect(() => {
    const stop = new AbortController();
    call(path("page", { offset: String(first), limit: String(pageLines) }), { signal: stop.signal }).then(
      (/** @type {Page} */ p) => {
        setPage(p);
        setProblem("");
      },
      (e) => e?.name !== "AbortError" && setProblem(explain(e).text),
    );
    return () => stop.abort();
  }, [id, url, first]);

  const hit = found?.hits[found.at];
  useEffect(() => {
    const el = hit && box.current?.querySelector(`[data-line="${hit.n}"]`);
    if (el) el.scrollIntoView({ block: "center" });
    else box.current?.scrollTo({ top: 0 });
  }, [page, hit]);

  /** @param {Found} f @param {number} at */
  const goTo = (f, at) => {
    setFound({ ...f, at });
    const line = f.hits[at];
    if (line) setFirst(pageOf(line.n));
  };
  /** @param {string} text @param {number} [offset] where to go on */
  const search = async (text, offset = 1) => {
    if (!text) {
      setFound(null);
      return;
    }
    const turn = ++asked.current;
    setSearching(true);
    try {
      const f = await call(path("search", { text, offset: String(offset) }));
      if (turn !== asked.current) return;
      const before = offset > 1 && found ? found.hits : [];
      goTo({ hits: [...before, ...f.hits], more: f.more, text, at: 0 }, before.length);
      setProblem("");
    } catch (e) {
      if (turn === asked.current) setProblem(explain(e).text);
    } finally {
      if (turn === asked.current) setSearching(false);
    }
  };
  const onSearch = (/** @type {Event} */ e) => {
    e.preventDefault();
    const text = input.current?.value ?? "";
    if (found && found.text === text && found.hits.length) step(1);
    else void search(text);
  };
  /** @param {number} by */
  const step = (by) => {
    if (!found) return;
    const next = found.at + by;
    if (next >= 0 && next < found.hits.length) goTo(found, next);
    else if (next >= found.hits.length && found.more) void search(found.text, (found.hits.at(-1)?.n ?? 0) + 1);
  };

  const total = page?.totalLines ?? 0;
  const last = Math.min(first + pageLines - 1, total);
  return html`<${Dialog} title=${t("output.title")} onClose=${onClose} wide=${true}>
    <div class="whole">
      <form class="whole-bar" role="search" onSubmit=${onSearch}>
        <input type="search" ref=${input} placeholder=${t("output.search")} aria-label=${t("output.search")} maxLength="500" />
        <button type="submit" disabled=${searching}>${t(searching ? "say.searching" : "output.searchButton")}</button>
        ${found && html`<span class="whole-found" role="status">${found.hits.length === 0 ? t("say.nothingFound") : t(found.more ? "output.foundMore" : "output.found", { line: hit?.n ?? 0, n: found.at + 1, all: found.hits.length })}</span>
          <button type="button" class="icon-button turned-up" aria-label=${t("output.previousMatch")} disabled=${found.at <= 0} onClick=${() => step(-1)}><${Icon} name="chevron" /></button>
          <button type="button" class="icon-button turned-down" aria-label=${t("output.nextMatch")} disabled=${found.at + 1 >= found.hits.length && !found.more} onClick=${() => step(1)}><${Icon} name="chevron" /></button>`}
        <a class="whole-save" href=${"/api/" + path("raw")} download>${page ? t("output.saveSize", { size: fileSize(page.size) }) : t("output.save")}</a>
      </form>
      ${problem && html`<p class="bad-text" role="alert">${problem}</p>`}
      <div class="whole-lines" ref=${box} tabindex="0" role="region" aria-label=${t("output.lines")}>
        ${!page && !problem ? html`<p class="quiet">${t("say.loading")}</p>` : page && total === 0 ? html`<p class="faint">${t("output.empty")}</p>`
          : page?.lines.map((l) => html`<div class=${l.n === hit?.n ? "whole-line hit" : "whole-line"} data-line=${l.n} key=${l.n}><span class="whole-n">${l.n}</span><span class="whole-text">${l.text}${l.cut && html`<em class="faint"> ${t("output.longer")}</em>`}</span></div>`)}
      </div>
      ${total > pageLines && html`<nav class="whole-pages" aria-label=${t("output.pages")}>
        <button type="button" disabled=${first === 1} onClick=${() => setFirst(1)}>${t("output.first")}</button>
        <button type="button" disabled=${first === 1} onClick=${() => setFirst(Math.max(1, first - pageLines))}>${t("output.previous")}</button>
        <span role="status">${t("output.range", { from: first, to: last, all: total })}</span>
        <button type="button" disabled=${last >= total} onClick=${() => setFirst(first + pageLines)}>${t("output.next")}</button>
        <button type="button" disabled=${last >= total} onClick=${() => setFirst(pageOf(total))}>${t("output.last")}</button>
      </nav>`}
    </div>
  <//>`;
}
