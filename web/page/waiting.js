// What waits: messages for their place in the running turn, and calls for a yes.

import { html, useStore } from "./html.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";

/** @import {OpenSession} from "./session.js" */

/**
 * @typedef {{steering: string[], followUp: string[]}} Waiting
 * @typedef {{id: string, title: string, text: string}} Question
 */

/** @type {Waiting} */
export const noWaiting = { steering: [], followUp: [] };

/** @param {any} p @returns {Waiting} */
export function waitingOf(p) {
  /** @param {any} list */
  const texts = (list) => (Array.isArray(list) ? list.map(String) : []);
  return { steering: texts(p?.steering), followUp: texts(p?.followUp) };
}

/** @param {any} r the request of a control frame @returns {Question | null} */
export function questionOf(r) {
  if (!r?.id || r.method !== "confirm") return null;
  return { id: String(r.id), title: String(r.title ?? t("waiting.goOn")), text: String(r.message ?? "") };
}

/** @param {{session: OpenSession}} props */
export function Questions({ session }) {
  const { questions } = useStore(session);
  return questions.map((q) => html`<div class="strip question" role="alertdialog" aria-label=${q.title} key=${q.id}>
    <span class="grow"><strong dir="auto">${q.title}</strong><span class="question-text" dir="auto">${q.text}</span></span>
    <button type="button" class="primary" onClick=${() => session.answer(q.id, true)}>${t("waiting.allow")}</button>
    <button type="button" onClick=${() => session.answer(q.id, false)}>${t("waiting.doNot")}</button>
  </div>`);
}

/** @param {{session: OpenSession, onTakeBack: (text: string) => void}} props */
export function WaitingMessages({ session, onTakeBack }) {
  const { waiting, busy } = useStore(session);
  const lines = [
    ...waiting.steering.map((text, index) => ({ text, index, line: /** @type {const} */ ("steering"), when: t(busy ? "waiting.next" : "waiting.nextMessage") })),
    ...waiting.followUp.map((text, index) => ({ text, index, line: /** @type {const} */ ("followUp"), when: t(busy ? "waiting.end" : "waiting.endMessage") })),
  ];
  if (!lines.length) return null;
  const takeBack = async () => {
    const text = await session.takeBack();
    if (text) onTakeBack(text);
  };
  /** @param {typeof lines[number]} l @param {boolean} edit */
  const one = async (l, edit) => {
    if ((await session.takeBackOne(l.line, l.index, l.text)) && edit) onTakeBack(l.text);
  };
  return html`<div class="strip queued">
    <div class="grow" role="status"><ul>${lines.map((l) => html`<li key=${l.line + l.index}><span class="queued-text" dir="auto" title=${l.text}>${l.text}</span> <span class="faint">${l.when}</span>
      <span class="actions"><button type="button" class="icon-button action" aria-label=${t("waiting.edit")} title=${t("waiting.edit")} onClick=${() => void one(l, true)}><${Icon} name="pencil" /></button>
      <button type="button" class="icon-button action" aria-label=${t("waiting.remove")} title=${t("waiting.remove")} onClick=${() => void one(l, false)}><${Icon} name="close" /></button></span></li>`)}</ul></div>
    ${lines.length > 1 && html`<button type="button" onClick=${takeBack} title=${t("waiting.takeBackTitle")}>${t("waiting.takeBack")}</button>`}
  </div>`;
}
