// A session whose folder is not there: what was said goes on in another one.

import { useState } from "preact/hooks";
import { call, explain, sessionPath } from "./api.js";
import { Dialog } from "./dialog.js";
import { html } from "./html.js";
import { t } from "./i18n.js";

/** @import {OpenSession} from "./session.js" */
/** @import {Explanation} from "./types.js" */

/** Whether the working folder is not there. @param {Explanation | null} policy */
export const folderGone = (policy) => !!policy?.load?.error && !policy.load.folder && !!policy.read?.cwd;

/** @param {{session: OpenSession, onMade: (id: string) => void}} props */
export function FolderGone({ session, onMade }) {
  const [asking, setAsking] = useState(false);
  const { policy } = session.state;
  if (!folderGone(policy)) return null;
  return html`<div class="strip folder-gone" role="status"><span class="grow"><strong>${t("gone.title")}</strong> <span class="detail"><bdi>${policy?.read?.cwd}</bdi></span>
      <span class="detail block">${t("gone.text")}</span></span>
    <button type="button" onClick=${() => setAsking(true)}>${t("gone.go")}</button>
    ${asking && html`<${Elsewhere} session=${session} onClose=${() => setAsking(false)} onMade=${onMade} />`}</div>`;
}

/** @param {{session: OpenSession, onClose: () => void, onMade: (id: string) => void}} props */
function Elsewhere({ session, onClose, onMade }) {
  const [folder, setFolder] = useState("");
  const [making, setMaking] = useState(false);
  const [problem, setProblem] = useState(/** @type {{text: string, detail: string} | null} */ (null));
  /** @param {Event} e */
  const make = async (e) => {
    e.preventDefault();
    if (making) return;
    if (!folder.trim()) {
      setProblem({ text: t("new.nameFolder"), detail: "" });
      return;
    }
    setMaking(true);
    try {
      const made = await call(sessionPath(session.id, "/forks"), { method: "POST", body: { cwd: folder.trim() } });
      session.onChange();
      onMade(String(made.sessionId));
    } catch (e) {
      setProblem(explain(e));
      setMaking(false);
    }
  };
  return html`<${Dialog} title=${t("gone.dialog")} onClose=${onClose}>
    <form class="new-form" onSubmit=${make}>
      <p class="faint">${t("gone.what")}</p>
      <label class="field"><span>${t("new.folder")}</span>
        <input type="text" name="folder" value=${folder} spellcheck=${false} autocomplete="off" autofocus onInput=${(/** @type {any} */ e) => setFolder(e.target.value)} /></label>
      ${problem && html`<div class="strip bad" role="alert"><span><strong>${problem.text}</strong>${problem.detail && html` <span class="detail" dir="auto">${problem.detail}</span>`}</span></div>`}
      <div class="buttons"><button type="submit" class="primary" disabled=${making}>${t(making ? "new.starting" : "gone.start")}</button>
        <button type="button" onClick=${onClose}>${t("say.cancel")}</button></div>
    </form>
  <//>`;
}
