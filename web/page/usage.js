// What the session has used, and room for more.

import { useEffect, useState } from "preact/hooks";
import { call, sessionPath } from "./api.js";
import { count, duration } from "./format.js";
import { html, useStore } from "./html.js";

/** @import {OpenSession} from "./session.js" */

/** @param {number} n */
const short = (n) => (n < 10_000 ? n.toLocaleString("en") : n < 1_000_000 ? `${Math.round(n / 1000)} k` : `${(n / 1_000_000).toFixed(1)} M`);

/** @param {number} usd */
const price = (usd) => (usd === 0 ? "" : usd < 0.01 ? "less than $0.01" : `$${usd.toFixed(2)}`);

/** @param {{session: OpenSession}} props */
export function UsagePart({ session }) {
  const { busy, messages } = useStore(session);
  const [usage, setUsage] = useState(/** @type {any} */ (null));
  const last = messages[messages.length - 1]?.entryId;
  useEffect(() => {
    if (busy) return;
    let gone = false;
    call(sessionPath(session.id, "/usage")).then((u) => !gone && setUsage(u), () => {});
    return () => { gone = true; };
  }, [session.id, busy, last]);
  if (!usage?.counts?.assistantMessages) return null;
  const t = usage.total;
  const facts = [`${short(t.input + t.cacheRead + t.cacheWrite)} tokens in`, `${short(t.output)} out`, price(t.cost.total), usage.durationMs ? duration(usage.durationMs) : ""].filter(Boolean);
  return html`<section class="usage"><h3>Usage</h3>
    <p>${facts.join(", ")}</p>
    ${usage.models.length > 1 && html`<ul class="usage-models">${usage.models.map((/** @type {any} */ m) => html`<li key=${m.model}>${m.model}: ${count(m.answers, "answer")}, ${short(m.usage.totalTokens)} tokens${m.usage.cost.total ? `, ${price(m.usage.cost.total)}` : ""}</li>`)}</ul>`}
    ${usage.contextUsage && html`<p class="faint">About ${Math.round(usage.contextUsage.percent)} % of the model’s ${short(usage.contextUsage.contextWindow)} tokens are in use.</p>`}
    <button type="button" class="small" disabled=${busy} title="The model is then shown a summary of what came before, and the recent messages" onClick=${() => session.compact()}>Sum up earlier messages</button>
  </section>`;
}
