// A moment of the policy as a row of the transcript.

import { useState } from "preact/hooks";
import { call, sessionPath } from "./api.js";
import { CopyButton } from "./code.js";
import { Dialog } from "./dialog.js";
import { bytes } from "./format.js";
import { html } from "./html.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";
import { useKept } from "./kept.js";
import { words } from "./moments.js";
import { kindWords } from "./policywords.js";

/** @import {Moment, MomentRow} from "./types.js" */

/** @param {{row: MomentRow, session: string}} props */
export function MomentView({ row, session }) {
  const [open, setOpen] = useKept(`moment ${row.key}`);
  const [head, setHead] = useState(/** @type {{text: string, sha256: string, bytes: number} | {problem: string} | null} */ (null));
  const wrong = row.moments.some((m) => m.what === "receipt" && !m.holds);
  const title = row.moments.map(words).join(" · ");
  /** @param {Moment} m */
  const show = async (m) => {
    try {
      setHead(await call(sessionPath(session, `/heads/${m.head}`)));
    } catch (e) {
      setHead({ problem: e instanceof Error ? e.message : String(e) });
    }
  };
  return html`<article class=${`row moment${wrong ? " differs" : ""}`} aria-label=${t("moment.name")}>
    <button type="button" class="fold" aria-expanded=${open} onClick=${() => setOpen(!open)}>
      <span class="turnable"><${Icon} name="chevron" /></span><span dir="auto">${title}</span>${wrong && html`<strong class="warn"> ${t("moment.differs")}</strong>`}
    </button>
    ${open && html`<ol class="moments">${row.moments.map((m) => html`<li key=${m.entry}>
      <strong>${kindWords(m.kind).label}</strong> <span class="faint">${t("policy.line", { line: String(m.line) })}${m.model && html`, ${m.model}`}</span>
      <span class="moment-text" dir="auto">${m.text}</span>
      ${m.what === "receipt" && html`<span class=${m.holds ? "faint" : "warn"}><${Icon} name=${m.holds ? "check" : "cross"} />${t(m.holds ? "moment.holds" : "moment.holdsNot")}</span>`}
      ${m.what === "receipt" && !!m.bytes && html` <button type="button" class="small" onClick=${() => void show(m)}>${t("moment.show")}</button>`}
    </li>`)}</ol>`}
    ${head && html`<${Dialog} title=${t("moment.asSent")} wide=${true} onClose=${() => setHead(null)}>
      ${"problem" in head ? html`<p class="warn" dir="auto">${head.problem}</p>` : html`
        <p class="faint dialog-line">${bytes(head.bytes)} · sha256 <code>${head.sha256}</code><${CopyButton} text=${head.text} /></p>
        <pre class="exact" tabindex="0" dir="auto" aria-label=${t("moment.asSent")}>${head.text}</pre>`}
    <//>`}
  </article>`;
}
