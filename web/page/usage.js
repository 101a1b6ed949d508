// What the session has used, and room for more.

import { useEffect, useState } from "preact/hooks";
import { call, sessionPath } from "./api.js";
import { dollars, duration, tokens } from "./format.js";
import { html, useStore } from "./html.js";
import { number, t } from "./i18n.js";

/** @import {Children} from "./children.js" */
/** @import {OpenSession} from "./session.js" */
/** @import {AssistantRow, Row} from "./types.js" */

/** @typedef {{input: number, output: number, cached: number, dollars: number, steps: number}} Spending */

/** @param {number} usd */
const price = (usd) => (usd === 0 ? "" : usd < 0.01 ? t("usage.priceSmall", { price: dollars(0.01) }) : dollars(usd));

/**
 * What an answer used, with all its steps.
 * @param {{spent: Spending | null}} props
 */
export function Spent({ spent }) {
  if (!spent || !(spent.input + spent.output)) return null;
  const cost = price(spent.dollars);
  return html`<span class="spent" title=${t("usage.steps", { n: spent.steps, cached: tokens(spent.cached) })}>${[t("usage.in", { n: tokens(spent.input) }), t("usage.out", { n: tokens(spent.output) }), cost].filter(Boolean).join(t("say.comma"))}</span>`;
}

/** @type {WeakMap<AssistantRow, Spending>} */
const spendings = new WeakMap();

/**
 * What the answer used that ends with a row.
 * @param {readonly Row[]} rows @param {number} i
 */
export function spentUntil(rows, i) {
  const end = rows[i];
  if (end?.kind !== "assistant") return null;
  let sum = spendings.get(end);
  if (sum) return sum;
  sum = { input: 0, output: 0, cached: 0, dollars: 0, steps: 0 };
  for (let n = i; n >= 0; n--) {
    const r = rows[n];
    if (!r || r.kind === "user") break;
    if (r.kind !== "assistant" || !r.usage) continue;
    const u = r.usage;
    sum.input += (u.input ?? 0) + (u.cacheRead ?? 0) + (u.cacheWrite ?? 0);
    sum.output += u.output ?? 0;
    sum.cached += u.cacheRead ?? 0;
    sum.dollars += u.cost?.total ?? 0;
    sum.steps++;
  }
  if (!end.live) spendings.set(end, sum);
  return sum;
}

/** @param {{session: OpenSession, kids: Children}} props */
export function UsagePart({ session, kids }) {
  const { busy, messages } = useStore(session);
  const { spent } = useStore(kids);
  const [usage, setUsage] = useState(/** @type {any} */ (null));
  const last = messages[messages.length - 1]?.entryId;
  useEffect(() => {
    if (busy) return;
    let gone = false;
    call(sessionPath(session.id, "/usage?entries=false")).then((u) => !gone && setUsage(u), () => {});
    return () => { gone = true; };
  }, [session.id, busy, last, spent["tokens"]]); // those of subagents, which go on meanwhile
  if (!usage?.counts?.assistantMessages) return null;
  const sum = usage.total;
  const facts = [t("usage.in", { n: tokens(sum.input + sum.cacheRead + sum.cacheWrite) }), t("usage.out", { n: tokens(sum.output) }), price(sum.cost.total), usage.durationMs ? duration(usage.durationMs) : ""].filter(Boolean);
  return html`<section class="usage"><h3>${t("usage.title")}</h3>
    <p>${facts.join(t("say.comma"))}</p>
    ${usage.tree?.subagents.length > 0 && html`<p>${t("usage.withSubagents", { tokens: tokens(usage.tree.total.totalTokens), price: price(usage.tree.total.cost.total) || dollars(0) })}</p>`}
    ${usage.models.length > 1 && html`<ul class="usage-models">${usage.models.map((/** @type {any} */ m) => html`<li key=${m.model}>${[t("usage.model", { model: m.model, n: m.answers, tokens: tokens(m.usage.totalTokens) }), price(m.usage.cost.total ?? 0)].filter(Boolean).join(t("say.comma"))}</li>`)}</ul>`}
    ${usage.contextUsage && html`<p class="faint">${t("usage.context", { percent: number(usage.contextUsage.percent / 100, { style: "percent" }), tokens: tokens(usage.contextUsage.contextWindow) })}</p>`}
    <button type="button" class="small" disabled=${busy} title=${t("usage.compactTitle")} onClick=${() => session.compact()}>${t("usage.compact")}</button>
  </section>`;
}
