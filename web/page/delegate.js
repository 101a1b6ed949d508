// Delegating by hand: a profile, a task, and files that go along whole.

import { useEffect, useRef, useState } from "preact/hooks";
import { call, explain, sessionPath } from "./api.js";
import { Dialog } from "./dialog.js";
import { oneLine } from "./format.js";
import { html } from "./html.js";
import { t } from "./i18n.js";

/** @import {OpenSession} from "./session.js" */

const mostFiles = 8;

/**
 * @param {{session: OpenSession, cwd: string, onClose: () => void, onStarted: () => void}} props
 */
export function Delegate({ session, cwd, onClose, onStarted }) {
  const [profiles, setProfiles] = useState(/** @type {any[]} */ ([]));
  const [profile, setProfile] = useState("general-purpose");
  const [task, setTask] = useState("");
  const [files, setFiles] = useState(/** @type {string[]} */ ([]));
  const [inherit, setInherit] = useState(/** @type {boolean | null} */ (null));
  const [problem, setProblem] = useState(/** @type {{text: string, detail: string} | null} */ (null));
  const [starting, setStarting] = useState(false);
  const folder = cwd || session.state.policy?.read?.cwd || "";
  useEffect(() => {
    call(`subagents/profiles?cwd=${encodeURIComponent(folder)}`).then((a) => {
      const list = (a.profiles ?? []).filter((/** @type {any} */ p) => p.enabled && !p.overridden);
      setProfiles(list);
      if (list.length && !list.some((/** @type {any} */ p) => p.name === profile)) setProfile(list[0].name);
    }, (e) => setProblem(explain(e)));
  }, [folder]);
  const chosen = profiles.find((p) => p.name === profile);

  /** @param {Event} e */
  const start = async (e) => {
    e.preventDefault();
    if (starting) return;
    if (!task.trim()) {
      setProblem({ text: t("delegate.sayWhat"), detail: "" });
      return;
    }
    setStarting(true);
    try {
      await call(sessionPath(session.id, "/subagents"), { method: "POST", body: { profile, task, description: oneLine(task, 60), inputFiles: files, ...(inherit === null ? {} : { inheritContext: inherit }) } });
      onStarted();
    } catch (e) {
      setProblem(explain(e));
      setStarting(false);
    }
  };

  return html`<${Dialog} title=${t("delegate.title")} onClose=${onClose}>
    <form class="new-form" onSubmit=${start}>
      <label class="field"><span>${t("delegate.profile")}</span>
        <select name="profile" value=${profile} onChange=${(/** @type {any} */ e) => setProfile(e.target.value)}>
          ${profiles.map((p) => html`<option key=${p.name} value=${p.name} selected=${p.name === profile}>${p.displayName}</option>`)}</select>
        ${chosen && html`<span class="faint about" dir="auto">${chosen.description} ${chosen.chatOnly ? t("delegate.chatOnly") : t("delegate.tools", { tools: [...chosen.tools, ...chosen.extensionTools].join(", ") || t("delegate.noTools") })}</span>`}</label>
      <label class="field"><span>${t("delegate.task")}</span>
        <textarea name="task" rows="5" dir="auto" value=${task} autofocus onInput=${(/** @type {any} */ e) => { setTask(e.target.value); setProblem(null); }} /></label>
      <${FilePicker} session=${session} files=${files} onChange=${setFiles} />
      <label class="choice"><input type="checkbox" name="inherit" checked=${inherit ?? !!chosen?.inheritContext} onChange=${(/** @type {any} */ e) => setInherit(e.target.checked)} />
        <span>${t("delegate.inherit")}</span></label>
      ${problem && html`<div class="strip bad" role="alert"><span><strong>${problem.text}</strong>${problem.detail && html` <span class="detail" dir="auto">${problem.detail}</span>`}</span></div>`}
      <p class="faint">${t("delegate.note")}</p>
      <div class="buttons"><button type="submit" class="primary" disabled=${starting}>${t(starting ? "new.starting" : "delegate.go")}</button>
        <button type="button" onClick=${onClose}>${t("say.cancel")}</button></div>
    </form>
  <//>`;
}

/**
 * Files of the session's folder, found as @ finds them.
 * @param {{session: OpenSession, files: string[], onChange: (files: string[]) => void}} props
 */
function FilePicker({ session, files, onChange }) {
  const [q, setQ] = useState("");
  const [found, setFound] = useState(/** @type {string[]} */ ([]));
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => {
    if (!q) {
      setFound([]);
      return;
    }
    const asking = new AbortController();
    /** @type {number | undefined} */
    let timer;
    const ask = async () => {
      try {
        const a = await call(sessionPath(session.id, `/completion?trigger=%40&q=${encodeURIComponent(q.replace(/^@/, ""))}`), { signal: asking.signal });
        setFound((a.items ?? []).filter((/** @type {any} */ i) => i.kind === "file" && !i.folder).map((/** @type {any} */ i) => i.id).slice(0, 8));
        if (a.partial) timer = window.setTimeout(() => void ask(), 250);
      } catch {
        // Nothing is offered then; nothing else is lost.
      }
    };
    timer = window.setTimeout(() => void ask(), 60);
    return () => {
      clearTimeout(timer);
      asking.abort();
    };
  }, [q]);
  const offered = found.filter((f) => !files.includes(f));
  const full = files.length >= mostFiles;
  /** @param {string} f */
  const add = (f) => {
    onChange([...files, f]);
    setQ("");
    input.current?.focus();
  };
  return html`<div class="field file-picker"><label class="field"><span>${t("delegate.files")}</span>
      <input type="text" name="files" ref=${input} placeholder=${full ? t("delegate.filesMost", { n: mostFiles }) : t("delegate.filesType")} autocomplete="off" spellcheck=${false} value=${q} disabled=${full}
        onInput=${(/** @type {any} */ e) => setQ(e.target.value)}
        onKeyDown=${(/** @type {KeyboardEvent} */ e) => { if (e.key === "Enter" && !e.isComposing && q) { e.preventDefault(); if (offered[0]) add(offered[0]); } }} /></label>
    ${offered.length > 0 && html`<ul class="found-files" aria-label=${t("delegate.found")}>${offered.map((f) => html`<li key=${f}><button type="button" class="link" onClick=${() => add(f)}><bdi>${f}</bdi></button></li>`)}</ul>`}
    ${files.length > 0 && html`<ul class="given-files" aria-label=${t("delegate.given")}>${files.map((f) => html`<li key=${f}><bdi>${f}</bdi><button type="button" class="link" aria-label=${t("delegate.leaveOutName", { name: f })} onClick=${() => onChange(files.filter((x) => x !== f))}>${t("delegate.leaveOut")}</button></li>`)}</ul>`}
  </div>`;
}
