// A moment as an element: short to read, whole where one asks.

import { rowTime, shortTime, wholeTime } from "./format.js";
import { html } from "./html.js";

/**
 * @param {{at: number | string | undefined, short?: boolean}} props
 */
export function Time({ at, short }) {
  const t = new Date(at ?? NaN);
  if (Number.isNaN(t.getTime())) return null;
  return html`<time dateTime=${t.toISOString()} title=${wholeTime(t)}>${short ? shortTime(t) : rowTime(t)}</time>`;
}
