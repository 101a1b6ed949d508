// The settings page: how this page looks, and the general settings of the user's
// files, which pi shares. A change is written at once and keeps everything else.

import { useEffect, useState } from "preact/hooks";
import { call, explain } from "./api.js";
import { Dialog } from "./dialog.js";
import { html } from "./html.js";
import { named, number, t } from "./i18n.js";
import { LanguageChoice } from "./language.js";
import { ThemeChoice } from "./theme.js";

/** @import {Model} from "./types.js" */

/**
 * @typedef {object} Setting
 * @property {string} key
 * @property {string} file
 * @property {"flag" | "number" | "choice" | "model" | "tools"} kind
 * @property {any} value
 * @property {any} default
 * @property {any} own what the user's file says, null for nothing
 * @property {"default" | "user" | "project"} by
 * @property {string[]} [choices]
 * @property {number} [min]
 * @property {number} [max]
 *
 * @typedef {{agentDir: string, cwd: string, settings: Setting[], problems: string[]}} Answer
 */

/** What stands together. */
const groups = /** @type {const} */ ([
  ["models", ["defaultModel", "defaultThinkingLevel"]],
  ["tools", ["defaultTools", "attachments.tools", "memory.tools"]],
  ["long", ["compaction.enabled", "compaction.reserveTokens", "compaction.keepRecentTokens"]],
  ["queue", ["steeringMode", "followUpMode", "retry.enabled", "retry.maxRetries"]],
  ["files", ["mentions.ignored", "mentions.documents", "mentions.maxBytes", "images.autoResize", "images.blockImages", "blobs.externalize"]],
  ["trust", ["defaultProjectTrust"]],
]);

/** @param {{cwd: string, onClose: () => void}} props */
export function Settings({ cwd, onClose }) {
  const [answer, setAnswer] = useState(/** @type {Answer | null} */ (null));
  const [models, setModels] = useState(/** @type {Model[]} */ ([]));
  const [problem, setProblem] = useState("");
  const [said, setSaid] = useState("");
  const [, again] = useState({});
  const at = `settings${cwd ? `?cwd=${encodeURIComponent(cwd)}` : ""}`;
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    call(at, { signal }).then(setAnswer, (e) => !signal.aborted && setProblem(explain(e).text));
    call(`models${cwd ? `?cwd=${encodeURIComponent(cwd)}` : ""}`, { signal }).then((a) => setModels(Array.isArray(a.models) ? a.models : []), () => {});
    return () => stop.abort();
  }, [at]);

  /** @param {Setting} s @param {any} value null takes it back */
  const change = async (s, value) => {
    setSaid("");
    try {
      setAnswer(await call(at, { method: "PUT", body: { changes: { [s.key]: value } } }));
      setProblem("");
      setSaid(t("settings.saved", { name: named("setting", s.key) }));
    } catch (e) {
      setProblem(explain(e).text);
      again({}); // what was not taken is shown as it is
    }
  };

  const byKey = new Map(answer?.settings.map((s) => [s.key, s]));
  return html`<${Dialog} title=${t("settings.title")} onClose=${onClose} wide=${true}>
    <div class="settings">
      <section><h3>${t("settings.page")}</h3>
        <${ThemeChoice} onChange=${() => again({})} />
        <${LanguageChoice} id="settings-language" />
      </section>
      ${problem && html`<p class="bad-text" role="alert">${problem}</p>`}
      ${answer?.problems.map((p) => html`<p class="warn" key=${p} dir="auto">${p}</p>`)}
      ${!answer && !problem && html`<p class="quiet">${t("say.loading")}</p>`}
      ${answer && groups.map(([group, keys]) => html`<section key=${group}><h3>${named("settingsGroup", group)}</h3>
        ${keys.map((k) => byKey.get(k)).map((s) => s && html`<${Row} key=${s.key} s=${s} models=${models} onChange=${(/** @type {any} */ v) => void change(s, v)} />`)}
      </section>`)}
      ${answer && html`<p class="faint wrap-anywhere">${t("settings.files", { dir: answer.agentDir })}</p>`}
      <p class="visually-hidden" role="status">${said}</p>
    </div>
  <//>`;
}

/** @param {{s: Setting, models: Model[], onChange: (v: any) => void}} props */
function Row({ s, models, onChange }) {
  const id = `setting-${s.key}`;
  const name = named("setting", s.key);
  const note = s.by === "project" ? t("settings.project", { value: words(s, s.value) }) : "";
  return html`<div class="setting">
    ${s.kind === "tools" ? html`<span id=${id}>${name}</span>` : html`<label for=${id}>${name}</label>`}
    <span class="setting-value"><${Control} s=${s} id=${id} models=${models} onChange=${onChange} />
      ${s.own !== null && html`<button type="button" class="link" aria-label=${t("settings.resetName", { name, value: words(s, s.default) })} onClick=${() => onChange(null)}>${t("settings.reset", { value: words(s, s.default) })}</button>`}</span>
    ${note && html`<span class="setting-note warn">${note}</span>`}
  </div>`;
}

/** A value in words. @param {Setting} s @param {any} v */
function words(s, v) {
  if (s.kind === "flag") return t(v ? "settings.on" : "settings.off");
  if (s.kind === "number") return number(v);
  if (s.kind === "tools") return Array.isArray(v) && v.length ? v.join(" ") : t("settings.none");
  if (s.kind === "choice") return named("settingValue", String(v));
  return String(v || t("settings.none"));
}

/**
 * What is shown is what the user's file says; where it says nothing, what holds.
 * @param {{s: Setting, id: string, models: Model[], onChange: (v: any) => void}} props
 */
function Control({ s, id, models, onChange }) {
  const value = s.own ?? s.value;
  switch (s.kind) {
    case "flag":
      return html`<span class="setting-switch"><input type="checkbox" role="switch" id=${id} checked=${!!value} onChange=${(/** @type {any} */ e) => onChange(e.target.checked)} /><span class="switch" aria-hidden="true" /></span>`;
    case "number":
      return html`<input type="number" id=${id} min=${s.min ?? 0} max=${s.max} step="1" value=${value} onChange=${(/** @type {any} */ e) => onChange(e.target.value === "" ? null : Number(e.target.value))} />`;
    case "choice":
      return html`<select id=${id} value=${value} onChange=${(/** @type {any} */ e) => onChange(e.target.value)}>
        ${s.choices?.map((c) => html`<option key=${c} value=${c} selected=${c === value}>${named("settingValue", c)}</option>`)}</select>`;
    case "model": {
      const known = models.some((m) => `${m.provider}/${m.id}` === value);
      return html`<select id=${id} value=${value} onChange=${(/** @type {any} */ e) => onChange(e.target.value || null)}>
        <option value="" selected=${!value}>${t("settings.anyModel")}</option>
        ${value && !known && html`<option value=${value} selected>${value}</option>`}
        ${models.map((m) => html`<option key=${`${m.provider}/${m.id}`} value=${`${m.provider}/${m.id}`} selected=${`${m.provider}/${m.id}` === value}>${m.name || m.id} · ${m.provider}</option>`)}</select>`;
    }
    default: {
      /** @type {string[]} */
      const on = Array.isArray(s.own) && s.by === "user" && s.own.every((n) => !/^[+-]/.test(n)) ? s.own : s.value;
      /** @param {string} name @param {boolean} checked */
      const set = (name, checked) => onChange((s.choices ?? []).filter((c) => (c === name ? checked : on.includes(c))));
      return html`<span class="setting-tools" role="group" aria-labelledby=${id}>${s.choices?.map((c) => html`<label key=${c}><input type="checkbox" checked=${on.includes(c)} onChange=${(/** @type {any} */ e) => set(c, e.target.checked)} /><code>${c}</code></label>`)}</span>`;
    }
  }
}
