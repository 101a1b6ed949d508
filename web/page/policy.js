// The policy beside the transcript: what this session may do, why, and what was
// really sent.

import { useState } from "preact/hooks";
import { CopyButton } from "./code.js";
import { folderGone } from "./gone.js";
import { Dialog } from "./dialog.js";
import { bytes, splitPath } from "./format.js";
import { html, useStore } from "./html.js";
import { list, t, tx } from "./i18n.js";
import { Icon } from "./icons.js";
import { LoadedPart } from "./loaded.js";
import { crossing, kindWords, loads, presetOf, presets, ruleWords, toolWords } from "./policywords.js";
import { inOurWords } from "./serverwords.js";
import { SubagentsPart } from "./subagents.js";
import { UsagePart } from "./usage.js";

/** @import {OpenSession} from "./session.js" */
/** @import {Children} from "./children.js" */
/** @import {Check, Explanation, SessionItem, ToolInfo, ToolsAnswer} from "./types.js" */

/** @param {{session: OpenSession, kids: Children | null, item: SessionItem | undefined, onClose: () => void}} props */
export function PolicyPanel({ session, kids, item, onClose }) {
  const { tools, policy, policyProblem, phase } = useStore(session);
  return html`<div class="policy-inner">
    <header class="policy-head"><h2>${t("policy.title")}</h2>
      <button type="button" class="icon-button" aria-label=${t("policy.hide")} title=${t("policy.hideTitle")} onClick=${onClose}><${Icon} name="close" /></button></header>
    ${policyProblem && html`<div class="strip bad" role="alert"><span><strong>${policyProblem.text}</strong>${policyProblem.detail && html` <span class="detail">${policyProblem.detail}</span>`}</span></div>`}
    ${tools
      ? html`<${KindPart} tools=${tools} policy=${policy} /><${ToolsPart} session=${session} tools=${tools} />`
      : !policyProblem && html`<p class="faint">${t(phase === "failed" ? "policy.unknown" : "say.reading")}</p>`}
    ${phase === "ready" && kids && html`<${SubagentsPart} session=${session} kids=${kids} item=${item} />`}
    ${policy && html`<${PromptPart} x=${policy} /><${LoadsPart} x=${policy} />${phase === "ready" && html`<${LoadedPart} session=${session} />`}<${ReceiptsPart} x=${policy} /><${FilePart} x=${policy} />`}
    ${phase === "ready" && html`<${UsagePart} session=${session} kids=${kids} />`}
  </div>`;
}

/** @param {{tools: ToolsAnswer, policy: Explanation | null}} props */
function KindPart({ tools, policy }) {
  const [open, setOpen] = useState(false);
  const words = kindWords(tools.kind, tools.source?.by);
  const trail = policy?.decide.trail ?? [];
  const decided = trail.find((s) => s.decided);
  const wrong = (policy?.record?.receipts ?? []).some(differs);
  return html`<section class=${`kind kind-${tools.kind}`}>
    <h3 class="kind-name">${words.label}</h3>
    <p>${words.text}</p>
    ${policy?.decide.error && html`<div class="strip bad"><span dir="auto">${policy.decide.error}</span></div>`}
    <p class="faint">${decidedBy(tools)}</p>
    ${policy && policy.record?.receipts?.length > 0 && html`<p class=${`glance ${wrong ? "differs" : "holds"}`}><${Icon} name=${wrong ? "cross" : "check"} />${t(wrong ? "policy.sentDiffers" : "policy.sentHolds")}</p>`}
    ${trail.length > 0 && html`<button type="button" class="fold" aria-expanded=${open} onClick=${() => setOpen(!open)}>
      <span class="turnable"><${Icon} name="chevron" /></span>${t("policy.how")}</button>`}
    ${open && html`<ol class="trail">${trail.map((s) => html`<li class=${s === decided ? "decided" : ""}>
      <strong>${ruleWords(s.by)}</strong><span class="faint" dir="auto">${inOurWords(s.text)}</span></li>`)}</ol>`}
  </section>`;
}

/** @param {ToolsAnswer} tools */
function decidedBy({ source }) {
  const words = ruleWords(source?.by ?? "");
  const rule = words.charAt(0).toLowerCase() + words.slice(1);
  return source?.entry ? tx("policy.decidedByEntry", { rule, entry: html`<code>${source.entry}</code>` }) : t("policy.decidedBy", { rule });
}

/** @param {{session: OpenSession, tools: ToolsAnswer}} props */
function ToolsPart({ session, tools }) {
  const { busy, changing, policy } = session.state;
  const [asked, setAsked] = useState(/** @type {{title: string, text: string, action: string, go: () => void} | null} */ (null));
  const child = tools.kind === "child" || tools.kind === "refused";
  const off = busy || changing || child;
  const current = presetOf(tools);
  const same = sameReason(tools);

  /** @param {string[] | "settings"} next @param {() => unknown} go */
  const ask = (next, go) => {
    const question = crossing(tools, next, policy);
    if (!question) {
      setAsked(null);
      void go();
      return;
    }
    setAsked({ ...question, go: () => (setAsked(null), void go()) });
  };
  /** @param {string} name */
  const toggle = (name) => {
    const next = tools.tools.includes(name) ? tools.tools.filter((t) => t !== name) : order([...tools.tools, name], tools);
    ask(next, () => session.setTools(next));
  };
  return html`<section aria-busy=${changing}>
    <h3>${t("policy.tools")}</h3>
    ${busy && !child && html`<p class="faint">${t("policy.toolsBusy")}</p>`}
    <div class="presets" role="group" aria-label=${t("policy.presets")}>
      ${presets.map((p) => html`<button type="button" key=${p.id} aria-pressed=${current === p.id} disabled=${off} title=${t(`presetHint.${p.id}`)}
        onClick=${() => current !== p.id && ask([...p.tools], () => session.setPreset(p.id))}>${t(`preset.${p.id}`)}</button>`)}
      <button type="button" aria-pressed=${current === "configured"} disabled=${off} title=${t("policy.followTitle")}
        onClick=${() => current !== "configured" && ask("settings", () => session.followSettings())}>${t("preset.configured")}</button>
    </div>
    ${same && html`<p class="faint" dir="auto">${same}</p>`}
    ${asked && html`<div class="confirm" role="alertdialog" aria-labelledby="ask-title" aria-describedby="ask-text">
      <strong id="ask-title">${asked.title}</strong><p id="ask-text">${asked.text}</p>
      <div class="buttons"><button type="button" class="primary" onClick=${asked.go} ref=${(/** @type {HTMLElement | null} */ el) => el?.focus()}>${asked.action}</button>
        <button type="button" onClick=${() => setAsked(null)}>${t("policy.keep")}</button></div>
    </div>`}
    <ul class="tool-list">
      ${tools.available.map((t) => html`<li key=${t.name} class=${isOn(t, tools) ? "" : "out"}>
        <label title=${t.description}><input type="checkbox" role="switch" checked=${isOn(t, tools)} disabled=${off}
          onClick=${(/** @type {Event} */ e) => (e.preventDefault(), toggle(t.name))} /><span class="switch" aria-hidden="true" />
          <span class="tool-text"><code>${t.name}</code><span class="faint" dir="auto">${t.allowed || (same && !isOn(t, tools)) ? does(t) : reason(t) || does(t)}</span></span></label></li>`)}
    </ul>
  </section>`;
}

/** A tool may be chosen and still not be there. @param {ToolInfo} t @param {ToolsAnswer} all */
const isOn = (t, all) => t.allowed || all.tools.includes(t.name);

/** What a tool does; of a description that is written for models, the first sentence. @param {ToolInfo} t */
const does = (t) => toolWords(t.name) ?? /^[\s\S]*?[.!?](?=\s|$)/.exec(t.description ?? "")?.[0].replace(/\.$/, "") ?? t.description;

/** Why a tool is out, without what its line says already. @param {ToolInfo} t */
const reason = (t) => (t.why ?? "").replace(`the tool "${t.name}" `, "").replace(/ \([^()]*\)$/, "");

/** The one reason of all tools that are out, said once. @param {ToolsAnswer} all */
function sameReason(all) {
  const out = all.available.filter((t) => !isOn(t, all));
  const why = reason(out[0] ?? { name: "", allowed: true });
  if (out.length < 2 || !why || out.some((t) => reason(t) !== why)) return "";
  return why.startsWith("is not among") ? t("policy.offUntold") : t("policy.offWhy", { why: inOurWords(why) });
}

/** The order of declaration, not of clicks. @param {string[]} names @param {ToolsAnswer} t */
function order(names, t) {
  const at = (/** @type {string} */ n) => t.available.findIndex((a) => a.name === n);
  return names.sort((a, b) => at(a) - at(b));
}

/** @param {{x: Explanation}} props */
function PromptPart({ x }) {
  const [open, setOpen] = useState(false);
  const { head, sources, left, error, warning, folder } = x.load;
  return html`<section>
    <h3>${t("policy.prompt")}</h3>
    ${error ? (error === x.record?.next ? html`<p class="faint">${t("policy.promptLater")}</p>` : html`<div class="strip bad"><span dir="auto">${folderGone(x) ? t("gone.title") : error}</span></div>`) : html`
      <p>${head.bytes === 0 ? t("policy.promptNone") : html`${bytes(head.bytes)}, <span class="hash" title=${head.sha256}>sha256 ${head.sha256.slice(0, 12)}…</span>`}</p>
      <p class="faint">${sentence(inOurWords(x.decide.prompt))}${t("say.stop")}</p>
      ${head.bytes > 0 && html`<button type="button" class="small" onClick=${() => setOpen(true)}>${t("policy.promptShow")}</button>`}`}
    ${warning && html`<p class="warn" dir="auto">${warning}</p>`}
    ${sources?.length > 0 && html`<${Files} title=${t("policy.madeFrom")} files=${sources.map((s) => ({ path: s.path, note: s.sha256.slice(0, 8) }))} />`}
    ${left?.length > 0 && html`<${Files} title=${t("policy.leftOut")} files=${left.map((l) => ({ path: l.path, reason: l.reason }))} />`}
    ${x.record?.edited?.length > 0 && html`<${Files} title=${t("policy.edited")} files=${x.record.edited.map((p) => ({ path: p }))} />`}
    ${open && html`<${Dialog} title=${t("policy.promptExact")} wide=${true} onClose=${() => setOpen(false)}>
      <p class="faint dialog-line">${bytes(head.bytes)} · sha256 <code>${head.sha256}</code><${CopyButton} text=${head.text} /></p>
      <pre class="exact" tabindex="0" dir="auto" aria-label=${t("policy.promptExact")}>${head.text}</pre>
      <p class="faint dialog-line">${t("policy.folderIs", { folder })}</p>
    <//>`}
  </section>`;
}

/** @param {string} s */
const sentence = (s) => (s ? s.charAt(0).toUpperCase() + s.slice(1) : "");

/** @param {{title: string, files: {path: string, note?: string, reason?: string}[]}} props */
function Files({ title, files }) {
  return html`<h4>${title}</h4><ul class="files">${files.map((f) => {
    const { base, parent } = splitPath(f.path);
    return html`<li title=${f.path}><span class="file"><bdi>${base}</bdi><span class="faint path"><bdi>${parent}</bdi></span></span>${f.note && html`<span class="faint note">${f.note}</span>`}${f.reason && html`<span class="reason" dir="auto">${f.reason}</span>`}</li>`;
  })}</ul>`;
}

/** @param {{x: Explanation}} props */
function LoadsPart({ x }) {
  const { missing, trust } = x.load;
  return html`<section>
    <h3>${t("policy.loads")}</h3>
    <ul class="loads">${loads.map((k) => {
      const on = !!x.decide.loads?.[k];
      return html`<li class=${on ? "on" : "off"}><${Icon} name=${on ? "check" : "dash"} /><span>${t(`load.${k}`)}</span><span class="visually-hidden">${t(on ? "policy.mayLoad" : "policy.isOff")}</span></li>`;
    })}</ul>
    ${x.load.confined && html`<p>${t("policy.confined", { folder: x.load.folder })}</p>`}
    ${missing?.length > 0 && html`<p class="warn">${t("policy.missing", { tools: list(missing) })}</p>`}
    ${trust && html`<p class="faint">${t("policy.trust", { trust })}</p>`}
  </section>`;
}

const fewReceipts = 4;

/** @param {{x: Explanation}} props */
function ReceiptsPart({ x }) {
  const [all, setAll] = useState(false);
  const checks = [...(x.record?.receipts ?? [])].reverse();
  const wrong = checks.filter(differs).length;
  const shown = all ? checks.slice(0, 200) : checks.slice(0, fewReceipts);
  return html`<section>
    <h3>${t("policy.receipts")}</h3>
    <p class=${wrong ? "warn" : ""}>${checks.length === 0 ? t("policy.receiptsNone") : wrong === 0 ? t("policy.receiptsHold", { n: checks.length }) : t("policy.receiptsDiffer", { wrong, n: checks.length })}</p>
    <ul class="receipts">${shown.map((c) => html`<li key=${c.entry} class=${differs(c) ? "differs" : "holds"}>
      <span class="verdict"><${Icon} name=${differs(c) ? "cross" : "check"} />${t(differs(c) ? "policy.differs" : "policy.holds")}</span>
      <span class="faint">${receiptLine(c)}</span>
      ${(c.differences ?? []).map((d) => html`<span class="difference" dir="auto">${d}</span>`)}
      ${(c.notes ?? []).map((d) => html`<span class="faint" dir="auto">${d}</span>`)}
    </li>`)}</ul>
    ${checks.length > fewReceipts && html`<button type="button" class="link" onClick=${() => setAll(!all)}>${all ? t("policy.fewer") : t("policy.all", { n: checks.length })}</button>`}
    ${x.record?.next && x.record.next !== x.load.error && html`<p class="faint">${t("policy.nextMessage", { what: x.record.next })}</p>`}
  </section>`;
}

/** @param {Check} c */
const receiptLine = (c) =>
  [
    t("policy.line", { line: String(c.line) }), kindWords(c.receipt?.policy?.kind, c.receipt?.policy?.source?.by).label,
    t("say.tools", { n: c.receipt?.tools?.length ?? 0 }), bytes(c.receipt?.system?.bytes ?? 0), c.receipt?.model,
  ].join(t("say.comma"));

/** @param {Check} c */
const differs = (c) => (c.differences ?? []).length > 0;

/** @param {{x: Explanation}} props */
function FilePart({ x }) {
  const { path, entries, leaves, diagnostics } = x.read ?? {};
  if (!path) return null;
  return html`<section>
    <h3>${t("policy.file")}</h3>
    <p class="faint wrap-anywhere"><bdi>${path}</bdi></p>
    <p class="faint">${t("policy.inRequest", { entries: t("policy.entries", { n: entries ?? 0 }), n: x.ask?.messages ?? 0 })}${leaves > 1 && html` ${t("policy.branches", { n: leaves })}`}</p>
    ${(diagnostics ?? []).map((/** @type {any} */ d) => html`<p class="warn" dir="auto">${d.line ? t("policy.lineSays", { line: String(d.line), text: d.text }) : d.text}</p>`)}
    ${x.ask?.error && x.ask.error !== x.record?.next && html`<p class="warn" dir="auto">${x.ask.error}</p>`}
    ${x.ask?.notice && html`<p class="faint" dir="auto">${x.ask.notice}</p>`}
  </section>`;
}
