// The profiles of subagents: which there are, on or off, and the switch for all.

import { useEffect, useState } from "preact/hooks";
import { call, explain } from "./api.js";
import { Dialog } from "./dialog.js";
import { html } from "./html.js";
import { named, t } from "./i18n.js";

/** @typedef {{text: string, detail: string}} Problem */

/** @param {{problem: Problem | null}} props */
const Trouble = ({ problem }) => problem && html`<div class="strip bad" role="alert"><span><strong>${problem.text}</strong>${problem.detail && html` <span class="detail" dir="auto">${problem.detail}</span>`}</span></div>`;

/** Switches subagents on, in one click. @param {{onDone: () => void}} props */
export function SwitchOn({ onDone }) {
  const [problem, setProblem] = useState(/** @type {Problem | null} */ (null));
  const on = () => call("subagents/settings", { method: "PUT", body: { enabled: true } }).then(onDone, (e) => setProblem(explain(e)));
  return html`<p class="faint">${t("agents.off")}</p>
    <div class="buttons"><button type="button" class="small" onClick=${on}>${t("agents.switchOn")}</button></div><${Trouble} problem=${problem} />`;
}

/** The same for the first page, where nothing is said once they are on. */
export function OfferSubagents() {
  const [on, setOn] = useState(/** @type {boolean | null} */ (null));
  const [done, setDone] = useState(false);
  useEffect(() => {
    call("subagents/settings").then((a) => setOn(!!a.enabled), () => {});
  }, []);
  if (done) return html`<p class="faint" role="status">${t("agents.on")}</p>`;
  return on === false ? html`<div class="offer"><${SwitchOn} onDone=${() => setDone(true)} /></div>` : null;
}

/** What a profile may do, in a line. @param {any} p */
const profileLine = (p) =>
  [
    p.chatOnly ? t("agents.chatOnly") : t("agents.tools", { tools: [...p.tools, ...p.extensionTools.map((/** @type {string} */ x) => "ext:" + x)].join(", ") }),
    p.model && t("agents.model", { model: p.model }), p.maxTurns && t("agents.turns", { n: p.maxTurns }),
  ].filter(Boolean).join(t("say.semicolon"));

/** @param {{cwd: string, onClose: () => void}} props */
export function Agents({ cwd, onClose }) {
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {Problem | null} */ (null));
  const [draft, setDraft] = useState(/** @type {any} */ (null));
  const read = () => call(`subagents/profiles?cwd=${encodeURIComponent(cwd)}`).then(setAnswer, (e) => setProblem(explain(e)));
  useEffect(() => void read(), [cwd]);
  /** @param {Promise<any>} doing */
  const after = (doing) => doing.then(() => (setProblem(null), read()), (e) => setProblem(explain(e)));
  /** @param {any} p @param {boolean} enabled */
  const toggle = (p, enabled) => after(call("subagents/profiles", { method: "PATCH", body: { cwd, scope: p.source, name: p.name, enabled } }));
  /** @param {any} p */
  const remove = (p) => confirm(t("agents.deleteAsk", { name: p.name })) && after(call("subagents/profiles", { method: "DELETE", body: { cwd, scope: p.source, name: p.name } }));
  const own = (/** @type {any} */ p) => p.source === "global" || p.source === "project";
  return html`<${Dialog} title=${draft ? (draft.fresh ? t("agents.new") : t("agents.one", { name: draft.name })) : t("agents.title")} wide=${true} onClose=${onClose}>
    ${draft ? html`<${Edit} draft=${draft} problem=${problem} onCancel=${() => (setProblem(null), setDraft(null))}
        onSave=${(/** @type {string} */ scope, /** @type {any} */ profile) => after(call("subagents/profiles", { method: "PUT", body: { cwd, scope, profile } }).then(() => setDraft(null)))} />`
      : html`<div class="agents">
      ${answer && html`<label class="choice"><input type="checkbox" name="subagents-on" checked=${answer.enabled} onChange=${(/** @type {any} */ e) => after(call("subagents/settings", { method: "PUT", body: { enabled: e.target.checked } }))} /><span>${t("agents.may")}</span></label>
        <ul class="agent-list">${answer.profiles.map((/** @type {any} */ p) => html`<li key=${p.source + p.name} class=${p.overridden ? "hidden-agent" : ""}>
          <label class="choice"><input type="checkbox" checked=${p.enabled} disabled=${p.source === "workspace"} onChange=${(/** @type {any} */ e) => toggle(p, e.target.checked)} />
            <span><strong dir="auto">${p.displayName}</strong> <span class="faint">${named("agentSource", p.source)}${p.overridden ? `${t("say.comma")}${t("agents.overridden")}` : ""}</span></span></label>
          <p dir="auto">${p.description}</p>
          <p class="faint">${profileLine(p)}</p>
          ${p.warnings.map((/** @type {string} */ w) => html`<p class="warn" dir="auto">${w}</p>`)}
          <div class="buttons">${p.source !== "workspace" && html`<button type="button" class="small" aria-label=${t(own(p) ? "agents.editName" : "agents.copyName", { name: p.displayName })} onClick=${() => setDraft({ ...p })}>${t(own(p) ? "agents.edit" : "agents.copy")}</button>`}
            ${own(p) && html`<button type="button" class="small" aria-label=${t("agents.deleteName", { name: p.displayName })} onClick=${() => remove(p)}>${t("agents.delete")}</button>`}</div></li>`)}</ul>
        ${answer.leftOut.map((/** @type {any} */ l) => html`<p class="warn" dir="auto">${l.path}: ${l.reason}</p>`)}
        <div class="buttons"><button type="button" onClick=${() => setDraft({ fresh: true, name: "", description: "", tools: ["read", "grep", "find", "ls"], systemPrompt: "", source: "global", enabled: true })}>${t("agents.new")}</button></div>`}
      <${Trouble} problem=${problem} /></div>`}
  <//>`;
}

const tools = ["read", "grep", "find", "ls", "bash", "edit", "write"];

/** @param {{draft: any, problem: Problem | null, onCancel: () => void, onSave: (scope: string, profile: any) => void}} props */
function Edit({ draft, problem, onCancel, onSave }) {
  const [d, setD] = useState(draft);
  const [scope, setScope] = useState(draft.source === "project" ? "project" : "global");
  /** @param {string} key */
  const text = (key) => (/** @type {any} */ e) => setD({ ...d, [key]: e.target.value });
  /** @param {string} key */
  const flag = (key) => (/** @type {any} */ e) => setD({ ...d, [key]: e.target.checked });
  /** @param {Event} e */
  const save = (e) => {
    e.preventDefault();
    const { fresh, source, file, overridden, chatOnly, extensionTools, warnings, ...profile } = d;
    onSave(scope, { ...profile, maxTurns: Number(d.maxTurns) || 0 });
  };
  return html`<form class="new-form" onSubmit=${save}>
    ${draft.fresh && html`<label class="field"><span>${t("agents.name")}</span><input type="text" name="name" required pattern="[A-Za-z0-9][A-Za-z0-9._\\-]*" value=${d.name} onInput=${text("name")} autofocus /></label>`}
    <label class="field"><span>${t("agents.for")}</span><input type="text" name="description" dir="auto" value=${d.description} onInput=${text("description")} /></label>
    <fieldset><legend>${t("agents.toolsField")}</legend>${tools.map((name) => html`<label class="choice inline" key=${name}><input type="checkbox" checked=${d.tools.includes(name)}
      onChange=${(/** @type {any} */ e) => setD({ ...d, tools: tools.filter((x) => (x === name ? e.target.checked : d.tools.includes(x))) })} /><span>${name}</span></label>`)}</fieldset>
    <label class="field"><span>${t("agents.prompt")}</span><textarea name="prompt" rows="8" dir="auto" value=${d.systemPrompt} onInput=${text("systemPrompt")} /></label>
    <fieldset><legend>${t("agents.more")}</legend>
      <label class="choice"><input type="checkbox" checked=${!!d.inheritContext} onChange=${flag("inheritContext")} /><span>${t("agents.inherit")}</span></label>
      <label class="choice"><input type="checkbox" checked=${!!d.runInBackground} onChange=${flag("runInBackground")} /><span>${t("agents.background")}</span></label>
      <label class="choice"><input type="checkbox" checked=${!!d.allowInputFiles} onChange=${flag("allowInputFiles")} /><span>${t("agents.files")}</span></label>
      <label class="choice"><input type="checkbox" checked=${d.promptMode === "replace"} onChange=${(/** @type {any} */ e) => setD({ ...d, promptMode: e.target.checked ? "replace" : "append" })} /><span>${t("agents.alone")}</span></label></fieldset>
    <label class="field"><span>${t("agents.most")}</span><input type="number" name="turns" min="0" step="1" value=${d.maxTurns || ""} onInput=${text("maxTurns")} /></label>
    <label class="field"><span>${t("agents.keptIn")}</span><select name="scope" value=${scope} onChange=${(/** @type {any} */ e) => setScope(e.target.value)}><option value="global" selected=${scope === "global"}>${t("agents.keptGlobal")}</option><option value="project" selected=${scope === "project"}>${t("agents.keptProject")}</option></select></label>
    <${Trouble} problem=${problem} />
    <div class="buttons"><button type="submit" class="primary">${t("agents.save")}</button><button type="button" onClick=${onCancel}>${t("agents.back")}</button></div>
  </form>`;
}
