// What can be done with a message of the transcript, and writing one anew.

import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { forkAt, openTree, resend } from "./branches.js";
import { CopyButton } from "./code.js";
import { html } from "./html.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";
import { hashOf } from "./place.js";

/** @import {OpenSession} from "./session.js" */
/** @import {AssistantRow, UserRow} from "./types.js" */

/** The session whose transcript is shown. @type {import("preact").Context<OpenSession | null>} */
export const Shown = createContext(/** @type {OpenSession | null} */ (null));

/** Texts that are being written anew, by row: a row may leave the page in between. @type {Map<string, string>} */
const drafts = new Map();

/** @param {{label: string, icon: string, onClick: () => void}} props */
const Action = ({ label, icon, onClick }) => html`<button type="button" class="icon-button quiet-button action" aria-label=${label} title=${label} onClick=${onClick}><${Icon} name=${icon} /></button>`;

/** @param {{row: UserRow, onEdit: () => void}} props */
export function SaidActions({ row, onEdit }) {
  const session = useContext(Shown);
  if (!session || row.pending) return null;
  return html`<span class="actions">
    <${Action} label=${t("action.edit")} icon="pencil" onClick=${onEdit} />
    <${Action} label=${t("action.tree")} icon="branch" onClick=${() => openTree(row.key)} />
  </span>`;
}

/** @param {{row: AssistantRow}} props */
export function AnswerActions({ row }) {
  const session = useContext(Shown);
  if (!session || row.live) return null;
  const text = row.parts.map((p) => (p.type === "text" ? p.text : "")).filter(Boolean).join("\n\n");
  const fork = async () => {
    const id = await forkAt(session, row.key, false);
    if (id) location.hash = hashOf(id);
  };
  return html`<span class="actions">
    ${text && html`<${CopyButton} text=${text} quiet=${true} />`}
    <${Action} label=${t("tree.fork")} icon="fork" onClick=${() => void fork()} />
    <${Action} label=${t("action.tree")} icon="branch" onClick=${() => openTree(row.key)} />
  </span>`;
}

/** A message that is written anew, in its place. @param {{row: UserRow, onDone: () => void}} props */
export function EditSaid({ row, onDone }) {
  const session = useContext(Shown);
  const [text, setText] = useState(drafts.get(row.key) ?? row.text);
  const [sending, setSending] = useState(false);
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useEffect(() => {
    const el = area.current;
    if (!el) return;
    el.focus();
    el.setSelectionRange(el.value.length, el.value.length);
  }, []);
  /** @param {string} next */
  const write = (next) => {
    setText(next);
    drafts.set(row.key, next);
  };
  const stop = () => {
    drafts.delete(row.key);
    onDone();
  };
  const send = async () => {
    if (!session || sending || !(text.trim() || row.files?.length)) return;
    setSending(true);
    const ok = await resend(session, row, text);
    setSending(false);
    if (ok) drafts.delete(row.key);
    if (ok || session.state.offered) onDone();
  };
  /** @param {KeyboardEvent} e */
  const onKey = (e) => {
    if (e.isComposing || e.keyCode === 229) return;
    if (e.key === "Enter" && !e.shiftKey && !e.altKey) {
      e.preventDefault();
      void send();
    } else if (e.key === "Escape") {
      e.preventDefault();
      stop();
    }
  };
  return html`<form class="edit-said" onSubmit=${(/** @type {Event} */ e) => (e.preventDefault(), void send())}>
    <textarea ref=${area} dir="auto" rows=${Math.max(2, Math.min(14, text.split("\n").length + Math.floor(text.length / 90)))} aria-label=${t("action.edit")} value=${text} readOnly=${sending}
      onInput=${(/** @type {any} */ e) => write(e.target.value)} onKeyDown=${onKey} />
    <p class="faint">${t("action.editHint")}</p>
    <div class="buttons"><button type="submit" class="primary small" disabled=${sending}>${t("composer.send")}</button><button type="button" class="small" onClick=${stop}>${t("say.cancel")}</button></div>
  </form>`;
}
