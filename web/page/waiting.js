// What waits: messages for their place in the running turn, and calls for a yes.

import { html, useStore } from "./html.js";
import { t } from "./i18n.js";

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
    ...waiting.steering.map((text) => ({ text, when: t(busy ? "waiting.next" : "waiting.nextMessage") })),
    ...waiting.followUp.map((text) => ({ text, when: t(busy ? "waiting.end" : "waiting.endMessage") })),
  ];
  if (!lines.length) return null;
  const takeBack = async () => {
    const text = await session.takeBack();
    if (text) onTakeBack(text);
  };
  return html`<div class="strip queued" role="status">
    <ul class="grow">${lines.map((l, i) => html`<li key=${i}><span class="queued-text" dir="auto">${l.text}</span> <span class="faint">${l.when}</span></li>`)}</ul>
    <button type="button" onClick=${takeBack} title=${t("waiting.takeBackTitle")}>${t("waiting.takeBack")}</button>
  </div>`;
}
