// A tool's call: one line that says what was done, and more when opened.

import { useEffect, useState } from "preact/hooks";
import { FileChip } from "./attachments.js";
import { Code, CopyButton } from "./code.js";
import { Diff } from "./diff.js";
import { duration, oneLine } from "./format.js";
import { html, memo } from "./html.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";
import { useKept } from "./kept.js";
import { WholeOutputLink } from "./wholeoutput.js";

/** @import {ToolPart} from "./types.js" */

/** @param {any} v */
const str = (v) => (typeof v === "string" ? v : "");

/**
 * The one argument that says most.
 * @param {ToolPart} p
 */
export function summary(p) {
  const a = p.input && typeof p.input === "object" ? p.input : {};
  const path = str(a.path) || str(a.file_path);
  switch (p.name) {
    case "grep":
    case "find":
      return [str(a.pattern), path && t("tool.inPath", { path })].filter(Boolean).join(" ");
    case "read":
      return path + (sizeOf(p.output) ?? (a.offset ? ` ${t("tool.fromLine", { line: String(a.offset) })}` : ""));
  }
  const best = str(a.command) || path || str(a.description) || str(a.query) || str(a.url);
  if (best) return oneLine(best, 160);
  const first = Object.values(a).find((v) => typeof v === "string" && v);
  return first ? oneLine(String(first), 160) : Object.keys(a).length ? oneLine(JSON.stringify(a), 160) : "";
}

/** A result of reading a picture, as its text has it. @param {string | undefined} output */
function pictureResult(output) {
  if (!output?.startsWith('{"content":') || !output.includes('"media_type":"image"')) return undefined;
  try {
    const o = JSON.parse(output);
    return o.media_type === "image" ? o : undefined;
  } catch {
    return undefined;
  }
}

/** What the line of a card says of a picture. @param {string | undefined} output */
function sizeOf(output) {
  const o = pictureResult(output);
  return o && ` ${o.width && o.height ? t("tool.imageSize", { w: String(o.width), h: String(o.height) }) : t("tool.image")}`;
}

/** The words of a result. @param {string} output */
const wordsOf = (output) => String(pictureResult(output)?.content ?? output);

/** The arguments as people would write them. @param {{part: ToolPart}} props */
function Input({ part }) {
  const a = part.input && typeof part.input === "object" ? part.input : {};
  if (typeof a.command === "string") return html`<${Code} text=${a.command} lang="bash" label=${t("tool.command")} />`;
  if (part.change) return html`<${Diff} change=${part.change} />`;
  if (part.name === "edit") {
    const edits = Array.isArray(a.edits) ? a.edits : [a];
    const text = edits.map((/** @type {any} */ e) => [...lines("-", str(e?.oldText)), ...lines("+", str(e?.newText))].join("\n")).join("\n\n");
    if (text) return html`<${Code} text=${text} lang="diff" label=${t("tool.change")} />`;
  }
  if (part.name === "write" && typeof a.content === "string") return html`<${Output} text=${a.content} label=${t("tool.written")} lang=${extension(str(a.path))} />`;
  if (["read", "ls"].includes(part.name) && Object.keys(a).length <= 1) return null;
  if (!Object.keys(a).length) return null;
  return html`<${Code} text=${JSON.stringify(a, null, 2)} lang="json" label=${t("tool.arguments")} />`;
}

/** @param {string} mark @param {string} text */
const lines = (mark, text) => (text === "" ? [] : text.replace(/\n$/, "").split("\n").map((l) => mark + " " + l));

/** @param {string} path */
const extension = (path) => /\.([A-Za-z0-9]+)$/.exec(path)?.[1] ?? "";

const shortLines = 18;
/** More than this is never put into the page; the copy has it all. */
const longest = 200_000;

/** @param {{text: string, label: string, lang?: string, error?: boolean}} props */
export function Output({ text, label, lang = "", error = false }) {
  const [all, setAll] = useState(false);
  const total = text.split("\n").length;
  const long = total > shortLines + 6;
  const cut = long && !all ? text.split("\n").slice(0, shortLines).join("\n") : text.slice(0, longest);
  return html`<div class=${error ? "output bad" : "output"}>
    <div class="output-head"><span>${label}</span>${text && html`<${CopyButton} text=${text} />`}</div>
    ${text ? html`<${Code} text=${cut} lang=${lang} label=${label} />` : html`<p class="faint">${t("tool.nothing")}</p>`}
    ${long && html`<button type="button" class="link" onClick=${() => setAll(!all)}>${all ? t("say.showLess") : t("tool.showAllLines", { n: total })}</button>`}
    ${all && text.length > longest && html`<p class="faint">${t("tool.restHidden")}</p>`}
  </div>`;
}

/** Seconds that pass, so that waiting has a measure. @param {{since: number}} props */
function Ticking({ since }) {
  const [, again] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => again((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  const ms = Date.now() - since;
  return html`<span class="took">${ms < 1000 ? "" : duration(Math.floor(ms / 1000) * 1000)}</span>`;
}

export const ToolCard = memo((/** @type {{part: ToolPart}} */ { part }) => {
  const [open, setOpen] = useKept(`tool ${part.id}`);
  const toggle = () => setOpen(!open);
  const tail = part.state === "running" && part.output ? part.output.replace(/\n+$/, "").split("\n").slice(-6).join("\n") : "";
  return html`<div class=${`tool ${part.state}`} data-call=${part.id}>
    <button type="button" class="tool-head" aria-expanded=${open} onClick=${toggle}>
      <span class="tool-state" title=${t(`toolState.${part.state}`)}>
        ${part.state === "running" ? html`<span class="spinner" />` : html`<${Icon} name=${part.state === "done" ? "check" : part.state === "error" ? "cross" : "dash"} />`}
      </span>
      <span class="tool-name">${part.name}</span>
      <span class="tool-what" dir="auto">${summary(part)}</span>
      ${part.state === "running" && part.startedAt ? html`<${Ticking} since=${part.startedAt} />` : html`<span class="took">${duration(part.durationMs)}</span>`}
      <span class="visually-hidden">, ${t(`toolState.${part.state}`)}</span>
      <span class="turnable"><${Icon} name="chevron" /></span>
    </button>
    ${!open && tail && html`<pre class="tail" aria-label=${t("tool.outputSoFar")}>${tail}</pre>`}
    ${!open && part.state === "error" && html`<p class="tool-error" dir="auto">${oneLine(part.error ?? "", 240)}</p>`}
    ${!open && part.state === "lost" && html`<p class="tool-error faint">${t("tool.lost")}</p>`}
    ${open && html`<div class="tool-body">
      <${Input} part=${part} />
      ${part.state === "error"
        ? html`<${Output} text=${part.error ?? ""} label=${t("tool.error")} error=${true} />`
        : part.state === "lost"
          ? html`<p class="faint">${t("tool.lostLong")}</p>`
          : html`<${Output} text=${wordsOf(part.output)} lang=${part.name === "read" && !pictureResult(part.output) ? extension(str(part.input?.path)) : ""} label=${t(part.state === "running" ? "tool.outputSoFar" : "tool.result")} />`}
      <${WholeOutputLink} text=${(part.state === "error" ? part.error : part.output) ?? ""} />
    </div>`}
    ${part.images.map((p) => html`<${PictureView} picture=${p} />`)}
    ${part.files?.map((f) => html`<${FileChip} key=${f.id} file=${f} />`)}
  </div>`;
});

/** @param {{picture: import("./types.js").Picture}} props */
export function PictureView({ picture }) {
  const img = html`<img class="picture" src=${picture.src} alt=${picture.label} loading="lazy" />`;
  return picture.src
    ? picture.whole
      ? html`<a class="picture-link" href=${picture.whole} target="_blank" rel="noopener" title=${t("picture.open")}>${img}</a>`
      : img
    : html`<p class="faint">${t("picture.cannot", { what: picture.label })}</p>`;
}
