// A change to a file as lines that came and went, with their numbers.

import { useState } from "preact/hooks";
import { linesOfChange } from "./change.js";
import { CopyButton } from "./code.js";
import { html } from "./html.js";
import { t } from "./i18n.js";

/** More lines are shown when asked for. */
const short = 40;
/** More than this is never put into the page. */
const longest = 4000;

/** @param {{change: string}} props */
export function Diff({ change }) {
  const [all, setAll] = useState(false);
  const lines = linesOfChange(change);
  const came = lines.filter((l) => l.kind === "+").length;
  const went = lines.filter((l) => l.kind === "-").length;
  const long = lines.length > short + 8;
  const shown = lines.slice(0, long && !all ? short : longest);
  const width = String(Math.max(0, ...shown.map((l) => l.n))).length;
  return html`<div class="output">
    <div class="output-head"><span>${t("tool.change")} <span class="diff-count"><ins>+${came}</ins> <del>−${went}</del></span></span><${CopyButton} text=${change} /></div>
    <pre class="diff" tabindex="0" aria-label=${t("tool.changeOf", { came, went })}>${shown.map((l, i) => html`<span key=${i} class=${`diff-line ${l.kind === "+" ? "add" : l.kind === "-" ? "del" : l.kind === "@" ? "gap" : ""}`}><span class="diff-n" aria-hidden="true">${l.kind === "@" ? "" : String(l.n).padStart(width)}</span><span class="diff-mark">${l.kind === "@" ? " " : l.kind}</span>${l.text}${"\n"}</span>`)}</pre>
    ${long && html`<button type="button" class="link" onClick=${() => setAll(!all)}>${all ? t("say.showLess") : t("tool.showAllLines", { n: lines.length })}</button>`}
  </div>`;
}
