// Starting a session: where, with which tools, with which model.

import { useEffect, useState } from "preact/hooks";
import { call, explain } from "./api.js";
import { Dialog } from "./dialog.js";
import { html } from "./html.js";
import { t } from "./i18n.js";
import { presets } from "./policywords.js";
import { startedWith } from "./session.js";

/** @import {Model} from "./types.js" */

/**
 * @param {{cwd: string, folders: string[], onClose: () => void, onMade: (id: string) => void}} props
 */
export function NewSession({ cwd, folders, onClose, onMade }) {
  const [typed, setFolder] = useState(/** @type {string | null} */ (null));
  const folder = typed ?? cwd; // the default may come later than the dialog
  const [preset, setPreset] = useState("configured");
  const [model, setModel] = useState("");
  const [models, setModels] = useState(/** @type {Model[]} */ ([]));
  const [problem, setProblem] = useState(/** @type {{text: string, detail: string} | null} */ (null));
  const [making, setMaking] = useState(false);
  useEffect(() => {
    call(`models?cwd=${encodeURIComponent(cwd)}`).then((a) => setModels(a.models ?? []), () => {});
  }, [cwd]);

  /** @param {Event} e */
  const make = async (e) => {
    e.preventDefault();
    if (making) return;
    const where = folder.trim();
    if (!where) {
      setProblem({ text: t("new.nameFolder"), detail: "" });
      return;
    }
    setMaking(true);
    const tools = presets.find((p) => p.id === preset)?.tools;
    try {
      const { sessionId } = await call("sessions", {
        method: "POST",
        body: { source: where, cwd: where, ...(model ? { model } : {}), ...(tools ? { tools: [...tools] } : {}) },
      });
      const chosen = models.find((m) => `${m.provider}/${m.id}` === model);
      if (chosen) startedWith.set(sessionId, { provider: chosen.provider, id: chosen.id });
      onMade(sessionId);
    } catch (e) {
      setProblem(explain(e));
      setMaking(false);
    }
  };

  const choices = [{ id: /** @type {const} */ ("configured") }, ...presets];
  return html`<${Dialog} title=${t("new.title")} onClose=${onClose}>
    <form class="new-form" onSubmit=${make}>
      <label class="field"><span>${t("new.folder")}</span>
        <input type="text" name="folder" list="folders" value=${folder} spellcheck=${false} autocomplete="off" autofocus onInput=${(/** @type {any} */ e) => setFolder(e.target.value)} /></label>
      <datalist id="folders">${folders.map((f) => html`<option value=${f} />`)}</datalist>
      <fieldset><legend>${t("new.tools")}</legend>${choices.map((p) => html`<label class="choice" key=${p.id}>
        <input type="radio" name="preset" value=${p.id} checked=${preset === p.id} onChange=${() => setPreset(p.id)} />
        <span>${t(`preset.${p.id}`)}</span><span class="faint">${t(`presetHint.${p.id}`)}</span></label>`)}</fieldset>
      ${models.length > 0 && html`<label class="field"><span>${t("new.model")}</span>
        <select value=${model} onChange=${(/** @type {any} */ e) => setModel(e.target.value)}>
          <option value="">${t("new.modelUsual")}</option>
          ${models.map((m) => html`<option value=${`${m.provider}/${m.id}`}>${m.name || m.id} (${m.provider})</option>`)}
        </select></label>`}
      ${problem && html`<div class="strip bad" role="alert"><span><strong>${problem.text}</strong>${problem.detail && html` <span class="detail" dir="auto">${problem.detail}</span>`}</span></div>`}
      <div class="buttons"><button type="submit" class="primary" disabled=${making}>${t(making ? "new.starting" : "new.start")}</button>
        <button type="button" onClick=${onClose}>${t("say.cancel")}</button></div>
    </form>
  <//>`;
}
