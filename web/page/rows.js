// One row of the transcript: what a person said, what a model answered, or a note.

import { FileChip, SessionID } from "./attachments.js";
import { duration } from "./format.js";
import { html, memo } from "./html.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";
import { useKept } from "./kept.js";
import { Markdown } from "./markdown.js";
import { MomentView } from "./momentrow.js";
import { AnswerActions, EditSaid, SaidActions } from "./rowactions.js";
import { Time } from "./time.js";
import { PictureView, ToolCard } from "./toolcard.js";
import { Spent } from "./usage.js";

/** @import {Spending} from "./usage.js" */
/** @import {AssistantRow, NoteRow, Part, Row, UserRow} from "./types.js" */

export const RowView = memo((/** @type {{row: Row, last: boolean, model: string, session: string, label: string, spent: Spending | null}} */ { row, last, model, session, label, spent }) => {
  return html`<${SessionID.Provider} value=${session}><${RowBody} row=${row} last=${last} model=${model} session=${session} spent=${spent} />${label && html`<p class="row-label"><${Icon} name="memory" /><span dir="auto">${label}</span></p>`}</${SessionID.Provider}>`;
});

/** @param {{row: Row, last: boolean, model: string, session: string, spent: Spending | null}} props */
function RowBody({ row, last, model, session, spent }) {
  if (row.kind === "user") return html`<${UserView} row=${row} />`;
  if (row.kind === "note") return html`<${NoteView} row=${row} />`;
  if (row.kind === "moment") return html`<${MomentView} row=${row} session=${session} />`;
  return html`<${AssistantView} row=${row} last=${last} model=${model} spent=${spent} />`;
}

/** A long message of a person is usually pasted: its beginning is enough. */
const longLines = 24;
const longText = 3000;

/** @param {{row: UserRow}} props */
function UserView({ row }) {
  const [all, setAll] = useKept(`said ${row.key}`);
  const long = row.text.length > longText || row.text.split("\n").length > longLines;
  const text = long && !all ? row.text.slice(0, longText).split("\n").slice(0, longLines).join("\n") + " …" : row.text;
  const [editing, setEditing] = useKept(`edit ${row.key}`);
  if (editing) return html`<article class="row user editing" aria-label=${t("row.you")}><${EditSaid} row=${row} onDone=${() => setEditing(false)} /></article>`;
  return html`<article class=${row.pending ? "row user pending" : "row user"} aria-label=${t("row.you")}>
    <div class="bubble">
      ${row.files?.map((f) => html`<${FileChip} key=${f.id} file=${f} />`)}
      ${row.images.map((p) => html`<${PictureView} picture=${p} />`)}
      ${(text || !row.files?.length) && html`<div class="said" dir="auto">${text}</div>`}
      ${long && html`<button type="button" class="link" onClick=${() => setAll(!all)}>${t(all ? "say.showLess" : "say.showAll")}</button>`}
    </div>
    ${row.edited && html`<div class="ended">${t(row.edited === "removed" ? "row.removed" : "row.replaced")}</div>`}
    <div class="when"><${SaidActions} row=${row} onEdit=${() => setEditing(true)} />${row.pending ? t("row.sent") : html`<${Time} at=${row.time} />`}</div>
  </article>`;
}

/**
 * The footer names a model only where it is not the session's: the page has that
 * at the top.
 * @param {{row: AssistantRow, last: boolean, model: string, spent: Spending | null}} props
 */
function AssistantView({ row, last, model, spent }) {
  const only = row.parts.length > 0 && row.parts.every((p) => p.type === "tool");
  return html`<article class=${`row assistant${only ? " tools-only" : ""}`} aria-label=${t("row.answer")}>
    ${row.parts.map((p) => html`<${PartView} key=${p.id} part=${p} live=${!!row.live} />`)}
    ${row.error && html`<div class="trouble" role="note"><strong>${t("row.answerFailed")}</strong> <span dir="auto">${row.error}</span></div>`}
    ${row.aborted && html`<div class="ended">${t("row.stopped")}</div>`}
    ${row.cut && html`<div class="ended">${t("row.cut")}</div>`}
    ${row.edited && html`<div class="ended">${t(row.edited === "removed" ? "row.removed" : "row.replaced")}</div>`}
    ${last && !row.live && row.model && html`<footer class="when">
      ${row.model !== model && html`<span>${row.model}</span>`}${row.durationMs ? html`<span>${duration(row.durationMs)}</span>` : null}<${Spent} spent=${spent} /><${Time} at=${row.time} /><${AnswerActions} row=${row} />
    </footer>`}
  </article>`;
}

/** @param {{part: Part, live: boolean}} props */
function PartView({ part }) {
  if (part.type === "tool") return html`<${ToolCard} part=${part} />`;
  if (part.type === "thinking") return html`<${Thinking} part=${part} />`;
  return html`<${Text} part=${part} />`;
}

/** Of a very long text the beginning is shown: to draw all of it would be felt. */
const longAnswer = 40_000;

/** @param {{part: import("./types.js").TextPart}} props */
function Text({ part }) {
  const [all, setAll] = useKept(`text ${part.id}`);
  const { text } = part;
  if (text.length <= longAnswer + 2000 || all) return html`<${Markdown} text=${text} />`;
  const end = text.lastIndexOf("\n\n", longAnswer);
  return html`<${Markdown} text=${text.slice(0, end > longAnswer / 2 ? end : longAnswer)} />
    <button type="button" class="link" onClick=${() => setAll(true)}>${t("row.showWhole", { n: text.length })}</button>`;
}

/** @param {{part: import("./types.js").ThinkingPart}} props */
function Thinking({ part }) {
  const [open, setOpen] = useKept(`thinking ${part.id}`);
  if (part.redacted && !part.text) return html`<p class="faint">${t("row.redacted")}</p>`;
  return html`<div class="thinking">
    <button type="button" class="fold" aria-expanded=${open} onClick=${() => setOpen(!open)}>
      <span class="turnable"><${Icon} name="chevron" /></span>${t(part.open ? "row.thinkingNow" : "row.thinking")}
    </button>
    ${open && html`<div class="folded"><${Markdown} text=${part.text} /></div>`}
  </div>`;
}

/** @param {{row: NoteRow}} props */
function NoteView({ row }) {
  const [open, setOpen] = useKept(`note ${row.key}`);
  return html`<article class="row note" aria-label=${t("row.note")}>
    <button type="button" class="fold" aria-expanded=${open} onClick=${() => setOpen(!open)}>
      <span class="turnable"><${Icon} name="chevron" /></span><span dir="auto">${row.title}</span>
    </button>
    ${open && html`<div class="folded">${row.plain ? html`<pre tabindex="0">${row.text.slice(0, 50_000)}</pre>` : html`<${Markdown} text=${row.text} />`}</div>`}
  </article>`;
}
