// Where people write. The text is theirs: it is kept per session until the
// server has taken it, through errors, reloads and other sessions in between.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { AttachButton, attachmentsOf, Chips, filesOf } from "./attachments.js";
import { Completion } from "./complete.js";
import { FolderGone } from "./gone.js";
import { html, useStore } from "./html.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";
import { composing, lineOf } from "./keymap.js";
import { TrustQuestion } from "./loaded.js";
import { hashOf } from "./place.js";
import { optionID, Popover } from "./popover.js";
import { Questions, WaitingMessages } from "./waiting.js";

/** @import {Item} from "./complete.js" */
/** @import {OpenSession} from "./session.js" */

/** @param {string} id */
const draftKey = (id) => `piweb.draft.${id}`;

/** @param {string} id */
export function readDraft(id) {
  try {
    return sessionStorage.getItem(draftKey(id)) ?? "";
  } catch {
    return "";
  }
}

/** @param {string} id @param {string} text */
export function keepDraft(id, text) {
  try {
    if (text) sessionStorage.setItem(draftKey(id), text);
    else sessionStorage.removeItem(draftKey(id));
  } catch {
    // A browser without storage keeps the text as long as the page.
  }
}

/** @param {{session: OpenSession}} props */
export function Composer({ session }) {
  const state = useStore(session);
  const [text, setText] = useState(() => readDraft(session.id));
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const completion = useMemo(() => new Completion(session.id), [session.id]);
  const { token, chosen, items } = useStore(completion);
  const attached = attachmentsOf(session.id);
  const { items: files } = useStore(attached);
  const [over, setOver] = useState(false);
  // What is still on its way, or failed, is not left behind without a word.
  const held = attached.busy ? t("composer.uploading") : files.some((i) => i.state === "error") ? t("composer.uploadFailed") : "";
  const sendable = !held && (text.trim() !== "" || files.length > 0);
  useEffect(() => {
    void completion.open();
    return () => completion.stop();
  }, [completion]);

  useLayoutEffect(() => {
    const el = area.current;
    if (!el) return;
    el.rows = 1; // measured from one line, so that it also shrinks
    const line = parseFloat(getComputedStyle(el).lineHeight) || 22;
    el.rows = Math.max(1, Math.min(12, Math.round((el.scrollHeight - 20) / line)));
  }, [text]);

  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches && (document.activeElement === document.body || document.activeElement?.closest(".list"))) area.current?.focus();
  }, [state.phase]);

  // What is to be written anew comes in front of what is there.
  useEffect(() => {
    if (!state.offered) return;
    const { text: back } = state.offered;
    session.offer("");
    write(text.trim() && text !== back ? `${back}\n\n${text}` : back);
    area.current?.focus();
  }, [state.offered]);

  const refused = state.policy?.decide?.error;
  const reason =
    state.phase === "loading" ? t("composer.loading")
    : state.phase === "failed" ? t("composer.unreadable")
    : refused ? t("composer.refused")
    : "";

  /** @param {string} next */
  const write = (next) => {
    setText(next);
    keepDraft(session.id, next);
  };

  // No answer had come, and it is in the file all the same.
  useEffect(() => {
    if (state.delivered === null) return;
    if (state.delivered === text) {
      write("");
      attached.drop(attached.ready);
    }
    session.set({ delivered: null });
  }, [state.delivered]);

  /** @param {boolean} [atTheEnd] of a running turn */
  const send = async (atTheEnd) => {
    if (!sendable || state.doing || reason) return;
    const going = attached.ready;
    const files = going.map((i) => ({ id: i.id, name: i.file.name, mimeType: i.file.type, size: i.file.size, url: "" }));
    const taken = state.busy ? session.queue(text, atTheEnd ? "follow_up" : "steer", files) : session.send(text, files);
    if (await taken) {
      write("");
      attached.drop(going);
    }
    area.current?.focus();
  };

  /** @param {DragEvent} e */
  const dragOver = (e) => {
    if (reason || ![...(e.dataTransfer?.types ?? [])].includes("Files")) return;
    e.preventDefault();
    setOver(true);
  };
  /** @param {DragEvent} e */
  const drop = (e) => {
    setOver(false);
    if (reason || ![...(e.dataTransfer?.types ?? [])].includes("Files")) return;
    e.preventDefault();
    attached.add(filesOf(e.dataTransfer));
  };
  /** @param {ClipboardEvent} e */
  const paste = (e) => {
    const pasted = filesOf(e.clipboardData);
    if (!pasted.length) return;
    e.preventDefault();
    attached.add(pasted);
  };

  /** What is being typed is looked at again. @param {Event} e */
  const look = (e) => {
    const el = area.current;
    if (!el || /** @type {InputEvent} */ (e).isComposing) return;
    if (el.selectionStart === el.selectionEnd) completion.update(el.value, el.selectionStart);
    else completion.close();
  };

  /** @param {Item} item @param {boolean} inside a folder stays open */
  const pick = (item, inside) => {
    const el = area.current;
    const at = completion.state.token;
    if (!el || !at) return;
    let put = completion.textFor(item, inside);
    if (!(inside && item.folder)) {
      completion.close();
      if (!/^\s/.test(el.value.slice(at.end))) put += " ";
    }
    el.focus();
    el.setSelectionRange(at.start, at.end);
    // The browser's own command can be undone; it tells of the input itself.
    if (!document.execCommand("insertText", false, put)) {
      el.setRangeText(put, at.start, at.end, "end");
      el.dispatchEvent(new InputEvent("input", { bubbles: true }));
    }
  };

  /** Whether a key was for the list. @param {KeyboardEvent} e */
  const listKey = (e) => {
    const line = lineOf(e, "completion");
    if (line === "dismiss" && completion.state.token && completion.state.asked) {
      completion.dismiss();
      return true;
    }
    const el = area.current;
    if (line === "take" && el && token?.trigger === "@" && completion.waiting) {
      // Typed faster than the answer: it is taken when it comes, or there is none.
      void completion.settled().then((item) => (item ? pick(item, false) : send()));
      return true;
    }
    if (!completion.takesKeys) return false;
    const item = items[chosen];
    switch (line) {
      case "nextItem": completion.move(1); return true;
      case "previousItem": completion.move(-1); return true;
      case "nextPage": completion.move(8); return true;
      case "previousPage": completion.move(-8); return true;
      case "take":
        if (!item || !el || !token) return false;
        // Nothing is left to choose where all of it is typed.
        if (el.value.slice(token.start, token.end) === item.insertText) return false;
        pick(item, false);
        return true;
      case "enter":
        // The arrow is for the caret where it can still move.
        if (!item || !el || (e.key === "ArrowRight" && (!item.folder || el.selectionStart !== el.value.length))) return false;
        pick(item, !!item.folder);
        return true;
    }
    return false;
  };

  /** @param {KeyboardEvent} e */
  const onKey = (e) => {
    // The Enter that picks a word in an input method is not ours.
    if (composing(e)) return;
    if (listKey(e)) {
      e.preventDefault();
      return;
    }
    const line = lineOf(e, "composer");
    if (line === "send" || (line === "sendLast" && state.busy)) {
      e.preventDefault();
      void send(line === "sendLast");
    }
  };

  const listed = !!token && items.length > 0;
  const offline = state.model?.provider === "offline";
  return html`<div class="composer">
    <div class="column">
      ${state.notices.map((n) => html`<div class="strip" key=${n}><span dir="auto">${n}</span>
        <button type="button" class="icon-button" aria-label=${t("say.dismiss")} onClick=${() => session.dismiss(n)}><${Icon} name="close" /></button></div>`)}
      ${state.sendProblem && html`<div class="strip bad" role="alert">
        <span><strong>${state.sendProblem.text}</strong>${state.sendProblem.detail && html` <span class="detail" dir="auto">${state.sendProblem.detail}</span>`}</span>
        <button type="button" class="icon-button" aria-label=${t("say.dismiss")} onClick=${() => session.set({ sendProblem: null })}><${Icon} name="close" /></button>
      </div>`}
      <${Away} session=${session} />
      ${state.unheard.length > 0 && html`<div class="strip queued" role="alert">
        <span class="grow"><strong>${t("send.unheard", { n: state.unheard.length })}</strong><ul>${state.unheard.map((u, i) => html`<li key=${i}><span class="queued-text" dir="auto">${u}</span></li>`)}</ul></span>
        <button type="button" onClick=${() => { write([...state.unheard, text].filter((s) => s.trim()).join("\n\n")); session.set({ unheard: [] }); area.current?.focus(); }}>${t("send.unheardBack")}</button>
        <button type="button" class="icon-button" aria-label=${t("say.dismiss")} onClick=${() => session.set({ unheard: [] })}><${Icon} name="close" /></button></div>`}
      <${FolderGone} session=${session} onMade=${(/** @type {string} */ id) => (keepDraft(id, text), (location.hash = hashOf(id)))} />
      <${TrustQuestion} session=${session} />
      <${Questions} session=${session} />
      <${WaitingMessages} session=${session} onTakeBack=${(/** @type {string} */ back) => (write(text.trim() ? `${back}\n\n${text}` : back), area.current?.focus())} />
      <div class="compose-frame"><${Popover} completion=${completion} onPick=${pick} />
      <${Chips} of=${attached} />
      <form class=${`compose-box${reason ? " off" : ""}${over ? " over" : ""}`} onDragOver=${dragOver} onDragLeave=${() => setOver(false)} onDrop=${drop} onPaste=${paste} onSubmit=${(/** @type {Event} */ e) => (e.preventDefault(), void send())}>
        <${AttachButton} to=${attached} disabled=${!!reason} />
        <textarea ref=${area} id="composer" rows="1" dir="auto" aria-label=${t("composer.message")} placeholder=${reason || t("composer.message")}
          aria-autocomplete="list" aria-haspopup="listbox" aria-controls=${listed ? "completions" : undefined}
          aria-activedescendant=${listed ? optionID(chosen) : undefined} autocomplete="off"
          value=${text} disabled=${!!reason} readOnly=${state.doing === "sending"} onInput=${(/** @type {any} */ e) => (write(e.target.value), look(e))} onCompositionEnd=${look}
          onSelect=${look} onKeyDown=${onKey} onBlur=${() => completion.close()} />
        ${state.busy
          ? html`${sendable && html`<button type="submit" class="round" disabled=${!!state.doing} aria-label=${t("composer.sendRunning")} title=${t("composer.sendRunningTitle")}><${Icon} name="send" /></button>`}
            <button type="button" class="round stop" disabled=${state.doing === "stopping"} onClick=${() => session.abort()} aria-label=${t("composer.stop")} title=${t("composer.stopTitle")}><${Icon} name="stop" /></button>`
          : html`<button type="submit" class="round" disabled=${!sendable || !!reason || state.doing === "sending"} aria-label=${t("composer.send")} title=${held || t("composer.sendTitle")}><${Icon} name="send" /></button>`}
      </form></div>
      <div class="under">
        <span class=${state.doing ? "" : "key-hint"}>${state.doing === "sending" ? t("composer.sending") : state.doing === "stopping" ? t("composer.stopping") : held ? held : state.busy ? t(text.trim() ? "composer.hintBusyText" : "composer.hintBusy") : reason ? "" : t("composer.hint")}</span>
        <${ConnectionNote} session=${session} />
        ${offline ? html`<span class="offline">${t("composer.offline")}</span>` : html`<${OtherModel} session=${session} />`}
      </div>
    </div>
  </div>`;
}

/** Where the session's model cannot be used, who answers. @param {{session: OpenSession}} props */
function OtherModel({ session }) {
  const { sessionModel = "", model = "" } = session.state.policy?.ask ?? {};
  if (!sessionModel || !model || sessionModel === model) return null;
  const name = (/** @type {string} */ ref) => ref.slice(ref.indexOf("/") + 1);
  return html`<span class="offline">${model.startsWith("offline/") ? t("composer.offlineInstead", { model: name(sessionModel) }) : t("composer.modelInstead", { model: name(sessionModel), other: name(model) })}</span>`;
}

/** @param {{session: OpenSession}} props */
function ConnectionNote({ session }) {
  const { connection, phase } = session.state;
  // The first connection takes a moment on every page; only a lost one is news.
  if (phase !== "ready" || !(connection === "waiting" || (connection === "connecting" && (session.connection?.failures ?? 0) > 0))) return null;
  return html`<span class="lost"><span class="spinner" />${t("composer.lost")}</span>`;
}

/** Where the line stays away, in words that calm. @param {{session: OpenSession}} props */
function Away({ session }) {
  const { connection, phase } = session.state;
  const failures = session.connection?.failures ?? 0;
  if (phase !== "ready" || failures < 3 || connection === "open" || connection === "closed" || connection === "paused") return null;
  return html`<div class="strip away" role="status"><span class="grow"><strong>${t("away.title")}</strong> <span class="detail">${t("away.text")}</span></span>
    <button type="button" onClick=${() => session.connection?.hurry()}>${t("away.now")}</button></div>`;
}
