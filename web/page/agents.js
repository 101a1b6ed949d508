// The profiles of subagents: which there are, on or off, and the switch for all.

import { useEffect, useState } from "preact/hooks";
import { call, explain } from "./api.js";
import { Dialog } from "./dialog.js";
import { html } from "./html.js";

/** @typedef {{text: string, detail: string}} Problem */

/** @param {{problem: Problem | null}} props */
const Trouble = ({ problem }) => problem && html`<div class="strip bad" role="alert"><span><strong>${problem.text}</strong>${problem.detail && html` <span class="detail" dir="auto">${problem.detail}</span>`}</span></div>`;

/** Switches subagents on, in one click. @param {{onDone: () => void}} props */
export function SwitchOn({ onDone }) {
  const [problem, setProblem] = useState(/** @type {Problem | null} */ (null));
  const on = () => call("subagents/settings", { method: "PUT", body: { enabled: true } }).then(onDone, (e) => setProblem(explain(e)));
  return html`<p class="faint">Subagents are off. A session can then start others for tasks of their own, within limits of number, time and money.</p>
    <div class="buttons"><button type="button" class="small" onClick=${on}>Switch subagents on</button></div><${Trouble} problem=${problem} />`;
}

/** The same for the first page, where nothing is said once they are on. */
export function OfferSubagents() {
  const [on, setOn] = useState(/** @type {boolean | null} */ (null));
  const [done, setDone] = useState(false);
  useEffect(() => {
    call("subagents/settings").then((a) => setOn(!!a.enabled), () => {});
  }, []);
  if (done) return html`<p class="faint" role="status">Subagents are on, for sessions from now on.</p>`;
  return on === false ? html`<div class="offer"><${SwitchOn} onDone=${() => setDone(true)} /></div>` : null;
}

/** @type {Record<string, string>} */
const sources = { builtin: "Built-in", global: "Yours", workspace: "This folder’s .agents", project: "This project’s" };

/** @param {{cwd: string, onClose: () => void}} props */
export function Agents({ cwd, onClose }) {
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {Problem | null} */ (null));
  const [draft, setDraft] = useState(/** @type {any} */ (null));
  const read = () => call(`subagents/profiles?cwd=${encodeURIComponent(cwd)}`).then(setAnswer, (e) => setProblem(explain(e)));
  useEffect(() => void read(), [cwd]);
  /** @param {Promise<any>} doing */
  const after = (doing) => doing.then(() => (setProblem(null), setDraft(null), read()), (e) => setProblem(explain(e)));
  /** @param {any} p @param {boolean} enabled */
  const toggle = (p, enabled) => after(call("subagents/profiles", { method: "PATCH", body: { cwd, scope: p.source, name: p.name, enabled } }));
  /** @param {any} p */
  const remove = (p) => confirm(`Delete the profile ${p.name}? Its file is removed.`) && after(call("subagents/profiles", { method: "DELETE", body: { cwd, scope: p.source, name: p.name } }));
  const own = (/** @type {any} */ p) => p.source === "global" || p.source === "project";
  return html`<${Dialog} title=${draft ? (draft.fresh ? "New profile" : `Profile ${draft.name}`) : "Profiles of subagents"} wide=${true} onClose=${onClose}>
    ${draft ? html`<${Edit} draft=${draft} problem=${problem} onCancel=${() => (setProblem(null), setDraft(null))}
        onSave=${(/** @type {string} */ scope, /** @type {any} */ profile) => after(call("subagents/profiles", { method: "PUT", body: { cwd, scope, profile } }))} />`
      : html`<div class="agents">
      ${answer && html`<label class="choice"><input type="checkbox" name="subagents-on" checked=${answer.enabled} onChange=${(/** @type {any} */ e) => after(call("subagents/settings", { method: "PUT", body: { enabled: e.target.checked } }))} /><span>Sessions may start subagents</span></label>
        <ul class="agent-list">${answer.profiles.map((/** @type {any} */ p) => html`<li key=${p.source + p.name} class=${p.overridden ? "hidden-agent" : ""}>
          <label class="choice"><input type="checkbox" checked=${p.enabled} disabled=${p.source === "workspace"} onChange=${(/** @type {any} */ e) => toggle(p, e.target.checked)} />
            <span><strong dir="auto">${p.displayName}</strong> <span class="faint">${sources[p.source] ?? p.source}${p.overridden ? ", hidden by another of this name" : ""}</span></span></label>
          <p dir="auto">${p.description}</p>
          <p class="faint">${p.chatOnly ? "Chat Only: no tools" : `Tools: ${[...p.tools, ...p.extensionTools.map((/** @type {string} */ t) => "ext:" + t)].join(", ")}`}${p.model ? `; model ${p.model}` : ""}${p.maxTurns ? `; at most ${p.maxTurns} turns` : ""}</p>
          ${p.warnings.map((/** @type {string} */ w) => html`<p class="warn" dir="auto">${w}</p>`)}
          <div class="buttons">${p.source !== "workspace" && html`<button type="button" class="small" aria-label=${`${own(p) ? "Edit" : "Copy and edit"} ${p.displayName}`} onClick=${() => setDraft({ ...p })}>${own(p) ? "Edit" : "Copy and edit"}</button>`}
            ${own(p) && html`<button type="button" class="small" aria-label=${`Delete ${p.displayName}`} onClick=${() => remove(p)}>Delete</button>`}</div></li>`)}</ul>
        ${answer.leftOut.map((/** @type {any} */ l) => html`<p class="warn" dir="auto">${l.path}: ${l.reason}</p>`)}
        <div class="buttons"><button type="button" onClick=${() => setDraft({ fresh: true, name: "", description: "", tools: ["read", "grep", "find", "ls"], systemPrompt: "", source: "global", enabled: true })}>New profile</button></div>`}
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
    ${draft.fresh && html`<label class="field"><span>Name</span><input type="text" name="name" required pattern="[A-Za-z0-9][A-Za-z0-9._\\-]*" value=${d.name} onInput=${text("name")} autofocus /></label>`}
    <label class="field"><span>What it is for</span><input type="text" name="description" dir="auto" value=${d.description} onInput=${text("description")} /></label>
    <fieldset><legend>Tools</legend>${tools.map((t) => html`<label class="choice inline" key=${t}><input type="checkbox" checked=${d.tools.includes(t)}
      onChange=${(/** @type {any} */ e) => setD({ ...d, tools: tools.filter((x) => (x === t ? e.target.checked : d.tools.includes(x))) })} /><span>${t}</span></label>`)}</fieldset>
    <label class="field"><span>Prompt</span><textarea name="prompt" rows="8" dir="auto" value=${d.systemPrompt} onInput=${text("systemPrompt")} /></label>
    <fieldset><legend>More</legend>
      <label class="choice"><input type="checkbox" checked=${!!d.inheritContext} onChange=${flag("inheritContext")} /><span>It gets the conversation of its parent</span></label>
      <label class="choice"><input type="checkbox" checked=${!!d.runInBackground} onChange=${flag("runInBackground")} /><span>Its parent does not wait for it</span></label>
      <label class="choice"><input type="checkbox" checked=${!!d.allowInputFiles} onChange=${flag("allowInputFiles")} /><span>A model may give it files</span></label>
      <label class="choice"><input type="checkbox" checked=${d.promptMode === "replace"} onChange=${(/** @type {any} */ e) => setD({ ...d, promptMode: e.target.checked ? "replace" : "append" })} /><span>Its prompt stands alone</span></label></fieldset>
    <label class="field"><span>At most so many turns (empty for no limit)</span><input type="number" name="turns" min="0" step="1" value=${d.maxTurns || ""} onInput=${text("maxTurns")} /></label>
    <label class="field"><span>Kept in</span><select name="scope" value=${scope} onChange=${(/** @type {any} */ e) => setScope(e.target.value)}><option value="global" selected=${scope === "global"}>Your own profiles</option><option value="project" selected=${scope === "project"}>This project (.pi/agents)</option></select></label>
    <${Trouble} problem=${problem} />
    <div class="buttons"><button type="submit" class="primary">Save</button><button type="button" onClick=${onCancel}>Back</button></div>
  </form>`;
}
