// What the session has used, and room for more.

import { useEffect, useState } from "preact/hooks";
import { call, sessionPath } from "./api.js";
import { dollars, duration, tokens } from "./format.js";
import { html, useStore } from "./html.js";
import { number, t } from "./i18n.js";

/** @import {OpenSession} from "./session.js" */

/** @param {number} usd */
const price = (usd) => (usd === 0 ? "" : usd < 0.01 ? t("usage.priceSmall", { price: dollars(0.01) }) : dollars(usd));

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
  const sum = usage.total;
  const facts = [t("usage.in", { n: tokens(sum.input + sum.cacheRead + sum.cacheWrite) }), t("usage.out", { n: tokens(sum.output) }), price(sum.cost.total), usage.durationMs ? duration(usage.durationMs) : ""].filter(Boolean);
  return html`<section class="usage"><h3>${t("usage.title")}</h3>
    <p>${facts.join(t("say.comma"))}</p>
    ${usage.models.length > 1 && html`<ul class="usage-models">${usage.models.map((/** @type {any} */ m) => html`<li key=${m.model}>${[t("usage.model", { model: m.model, n: m.answers, tokens: tokens(m.usage.totalTokens) }), price(m.usage.cost.total ?? 0)].filter(Boolean).join(t("say.comma"))}</li>`)}</ul>`}
    ${usage.contextUsage && html`<p class="faint">${t("usage.context", { percent: number(usage.contextUsage.percent / 100, { style: "percent" }), tokens: tokens(usage.contextUsage.contextWindow) })}</p>`}
    <button type="button" class="small" disabled=${busy} title=${t("usage.compactTitle")} onClick=${() => session.compact()}>${t("usage.compact")}</button>
  </section>`;
}
