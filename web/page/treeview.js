// The tree of a session: every branch, what is named, and where the conversation
// stands. From any entry one can go on, or make a session of what leads to it.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { explain } from "./api.js";
import { forkAt, goOnFrom, readTree, setLabel } from "./branches.js";
import { Dialog } from "./dialog.js";
import { oneLine } from "./format.js";
import { html, useStore } from "./html.js";
import { named, t } from "./i18n.js";
import { Icon } from "./icons.js";
import { deepest, isSaid, linesOf } from "./tree.js";
import { Time } from "./time.js";

/** @import {OpenSession} from "./session.js" */
/** @import {Line, Show, TreeNode} from "./tree.js" */

/** Every line is so high, in pixels: few of thousands are in the page. */
const height = 32;
const spare = 12;

/** @type {Show[]} */
const shows = ["questions", "messages", "labels", "all"];
/** The last choice holds for the next tree. @type {Show} */
let lastShow = "questions";

/** What an entry is, in a word. @param {TreeNode} n */
const kindOf = (n) => (n.type === "message" ? named("treeRole", n.role ?? "") : named("treeType", n.type));

/**
 * @param {{session: OpenSession, entry: string, onClose: () => void, onOpen: (id: string, entry?: string) => void}} props
 */
export function Tree({ session, entry, onClose, onOpen }) {
  const { busy, messages } = useStore(session);
  const [tree, setTree] = useState(/** @type {{nodes: TreeNode[], leaf: string} | null} */ (null));
  const [problem, setProblem] = useState("");
  const [show, setShow] = useState(lastShow);
  const [q, setQ] = useState("");
  const [chosen, setChosen] = useState(entry);
  const last = messages[messages.length - 1]?.entryId;
  useEffect(() => {
    const stop = new AbortController();
    readTree(session.id, stop.signal).then((got) => {
      setTree(got);
      setProblem("");
    }, (e) => !stop.signal.aborted && setProblem(explain(e).text));
    return () => stop.abort();
  }, [session.id, busy, last]);

  const lines = useMemo(() => (tree ? linesOf(tree.nodes, tree.leaf, show, q) : []), [tree, show, q]);
  const here = lines.findIndex((l) => l.here);
  const at = lines.findIndex((l) => l.node.id === chosen);
  const node = tree?.nodes.find((n) => n.id === chosen);
  useEffect(() => {
    if (!chosen && here >= 0) setChosen(/** @type {Line} */ (lines[here]).node.id);
  }, [lines]);
  // What was asked for may be of a kind that is not shown.
  useEffect(() => {
    if (tree && entry && at < 0 && node && show !== "all") setShow(isSaid(node) ? "messages" : "all");
  }, [tree]);

  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [top, setTop] = useState(0);
  const view = box.current?.clientHeight ?? 400;
  /** @param {number} i */
  const reveal = (i) => {
    const el = box.current;
    if (!el || i < 0) return;
    if (i * height < el.scrollTop) el.scrollTop = i * height;
    else if ((i + 1) * height > el.scrollTop + el.clientHeight) el.scrollTop = (i + 1) * height - el.clientHeight;
  };
  useEffect(() => {
    const el = box.current;
    if (el && at >= 0) el.scrollTop = Math.max(0, at * height - el.clientHeight / 2);
  }, [tree !== null, show, at >= 0]);

  /** @param {KeyboardEvent} e */
  const onKey = (e) => {
    const page = Math.max(1, Math.floor(view / height) - 1);
    const moves = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -lines.length, End: lines.length });
    const by = moves[e.key];
    if (e.key === "Enter" && node?.onBranch && isSaid(node)) {
      e.preventDefault();
      onOpen(session.id, node.id);
      return;
    }
    if (by === undefined || !lines.length) return;
    e.preventDefault();
    const next = Math.max(0, Math.min(lines.length - 1, (at < 0 ? here : at) + by));
    setChosen(/** @type {Line} */ (lines[next]).node.id);
    reveal(next);
  };

  const from = Math.max(0, Math.floor(top / height) - spare);
  const to = Math.min(lines.length, Math.ceil((top + view) / height) + spare);
  return html`<${Dialog} title=${t("tree.title")} onClose=${onClose} wide=${true}>
    <div class="tree">
      <div class="whole-bar">
        <label><span class="visually-hidden">${t("tree.show")}</span><select value=${show} onChange=${(/** @type {any} */ e) => { lastShow = e.target.value; setShow(lastShow); }}>
          ${shows.map((s) => html`<option value=${s} selected=${s === show}>${named("treeShow", s)}</option>`)}</select></label>
        <input type="search" aria-label=${t("tree.search")} placeholder=${t("tree.search")} value=${q} onInput=${(/** @type {any} */ e) => setQ(e.target.value)} />
        <span class="whole-found" role="status">${tree ? t("tree.count", { n: lines.length }) : ""}</span>
      </div>
      ${problem && html`<p class="bad-text" role="alert">${problem}</p>`}
      ${!tree && !problem && html`<p class="quiet">${t("say.loading")}</p>`}
      ${tree && html`<div class="tree-lines" role="tree" tabindex="0" aria-label=${t("tree.title")} aria-activedescendant=${at >= from && at < to ? `tree-${at}` : undefined}
          ref=${box} onKeyDown=${onKey} onScroll=${(/** @type {any} */ e) => setTop(e.target.scrollTop)}>
        <div role="presentation" ref=${(/** @type {HTMLElement | null} */ el) => el && (el.style.height = `${from * height}px`)} />
        ${lines.slice(from, to).map((l, i) => html`<${LineView} key=${l.node.id} line=${l} i=${from + i} chosen=${from + i === at} onChoose=${() => setChosen(l.node.id)} />`)}
        <div role="presentation" ref=${(/** @type {HTMLElement | null} */ el) => el && (el.style.height = `${(lines.length - to) * height}px`)} />
        ${lines.length === 0 && html`<p class="quiet" role="presentation">${t(q ? "list.nothing" : "tree.empty")}</p>`}
      </div>`}
      ${node && html`<${NodeView} key=${node.id} session=${session} node=${node} leaf=${tree?.leaf ?? ""} busy=${busy} onClose=${onClose} onOpen=${onOpen}
        onLabel=${(/** @type {string} */ label) => tree && setTree({ ...tree, nodes: tree.nodes.map((n) => (n.id === node.id ? { ...n, label } : n)) })} />`}
    </div>
  <//>`;
}

/** @param {{line: Line, i: number, chosen: boolean, onChoose: () => void}} props */
function LineView({ line, i, chosen, onChoose }) {
  const { node, depth, branches, here, last } = line;
  return html`<div role="treeitem" id=${`tree-${i}`} class=${`tree-line depth-${Math.min(depth, deepest)}${node.onBranch ? " on" : ""}${here ? " here" : ""}`} aria-level=${depth + 1} aria-selected=${chosen ? "true" : "false"} data-id=${node.id} onClick=${onChoose}>
    <span class=${`tree-kind ${node.role ?? node.type}`}>${kindOf(node)}</span>
    <span class="tree-text" dir="auto">${oneLine(node.text ?? "", 200)}</span>
    ${node.label && html`<span class="tree-label" dir="auto">${node.label}</span>`}
    ${branches > 0 && html`<span class="tree-note">${t("tree.branches", { n: branches })}</span>`}
    ${here ? html`<span class="tree-note tree-here">${t("tree.here")}</span>` : last && !node.onBranch ? html`<span class="tree-note">${t("tree.end")}</span>` : null}
    <${Time} at=${node.timestamp} short=${true} />
  </div>`;
}

/**
 * What can be done with an entry.
 * @param {{session: OpenSession, node: TreeNode, leaf: string, busy: boolean, onClose: () => void, onOpen: (id: string, entry?: string) => void, onLabel: (label: string) => void}} props
 */
function NodeView({ session, node, leaf, busy, onClose, onOpen, onLabel }) {
  const [summarize, setSummarize] = useState(false);
  const [label, setLabelText] = useState(node.label ?? "");
  const [doing, setDoing] = useState("");
  const [problem, setProblem] = useState("");
  const written = node.type === "message" && node.role === "user";
  const off = busy || doing !== "";
  const go = async () => {
    setDoing("go");
    const ok = await goOnFrom(session, node.id, summarize);
    setDoing("");
    if (ok) {
      onClose();
      document.getElementById("composer")?.focus();
    } else setProblem(session.state.sendProblem?.text ?? "");
  };
  const fork = async () => {
    setDoing("fork");
    const id = await forkAt(session, node.id, written);
    setDoing("");
    if (id) onOpen(id);
    else setProblem(session.state.sendProblem?.text ?? "");
  };
  /** @param {Event} e */
  const save = async (e) => {
    e.preventDefault();
    try {
      await setLabel(session, node.id, label);
      onLabel(label.trim());
      setProblem("");
    } catch (x) {
      setProblem(explain(x).text);
    }
  };
  return html`<section class="tree-node" aria-label=${t("tree.entry")}>
    <p class="tree-said" dir="auto"><strong>${kindOf(node)}</strong> ${oneLine(node.text ?? "", 400)} <span class="faint">${t("policy.line", { line: node.line })}</span></p>
    ${problem && html`<p class="bad-text" role="alert">${problem}</p>`}
    <div class="buttons">
      ${node.onBranch && isSaid(node) && html`<button type="button" onClick=${() => onOpen(session.id, node.id)}>${t("tree.showIt")}</button>`}
      ${node.id !== leaf && html`<button type="button" class="primary" disabled=${off} onClick=${() => void go()}>${doing === "go" ? html`<span class="spinner" /> ` : null}${t(written ? "tree.anew" : "tree.goOn")}</button>`}
      <button type="button" disabled=${off} onClick=${() => void fork()}>${t(written ? "tree.forkBefore" : "tree.fork")}</button>
      ${node.id !== leaf && html`<label class="choice inline"><input type="checkbox" checked=${summarize} disabled=${off} onChange=${(/** @type {any} */ e) => setSummarize(e.target.checked)} /><span>${t("tree.summarize")}</span></label>`}
    </div>
    <form class="tree-name" onSubmit=${(/** @type {Event} */ e) => void save(e)}>
      <input type="text" dir="auto" maxlength="200" aria-label=${t("tree.label")} placeholder=${t("tree.label")} value=${label} onInput=${(/** @type {any} */ e) => setLabelText(e.target.value)} />
      <button type="submit" class="small" disabled=${label.trim() === (node.label ?? "")}>${t(label.trim() || !node.label ? "tree.setLabel" : "tree.clearLabel")}</button>
    </form>
    ${busy && html`<p class="faint">${t("tree.busy")}</p>`}
  </section>`;
}
