// Line icons on a grid of 16. They repeat what words beside them say, so they are
// hidden from screen readers.

import { html } from "./html.js";

/** @type {Record<string, string>} */
const paths = {
  plus: "M8 3v10M3 8h10",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.8 10.8 14 14",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
  panel: "M2.5 3h11v10h-11zM10 3v10",
  close: "M4 4l8 8M12 4l-8 8",
  send: "M8 13V3.5M4 7.5 8 3.5l4 4",
  stop: "M4.5 4.5h7v7h-7z",
  chevron: "M6 4l4 4-4 4",
  down: "M8 3v9.5M4 8.5l4 4 4-4",
  check: "M3.5 8.5l3 3 6-7",
  cross: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  dash: "M4 8h8",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  keys: "M1.5 4.5h13v7h-13zM4 7h.01M6.5 7h.01M9 7h.01M11.5 7h.01M5 9.5h6",
  pencil: "M3 13l.7-3L11 2.7l2.3 2.3L6 12.3zM9.5 4.2l2.3 2.3",
  clip: "M11 5.5l-4.6 4.6a1.4 1.4 0 0 0 2 2l5-5a2.8 2.8 0 0 0-4-4l-5 5a4.2 4.2 0 0 0 6 6l4-4",
  file: "M4 2.5h5l3 3v8H4zM9 2.5v3h3",
  memory: "M4 2.5h8v11l-4-3-4 3z",
  branch: "M5 3.5v9M5 9c4 0 6-1 6-4.5M5 3.5a1 1 0 1 0 0-.01M5 12.6a1 1 0 1 0 0-.01M11 4.4a1 1 0 1 0 0-.01",
  fork: "M8 13V8.5M8 8.5 4 5V3M8 8.5 12 5V3M2.5 4.5 4 3l1.5 1.5M10.5 4.5 12 3l1.5 1.5",
  gear: "M8 5.7a2.3 2.3 0 1 0 0 4.6 2.3 2.3 0 0 0 0-4.6ZM8 1.8v1.7M8 12.5v1.7M1.8 8h1.7M12.5 8h1.7M3.6 3.6l1.2 1.2M11.2 11.2l1.2 1.2M12.4 3.6l-1.2 1.2M4.8 11.2l-1.2 1.2",
  dots: "M8 3.5v.01M8 8v.01M8 12.5v.01",
};

/** @param {{name: string}} props */
export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d=${paths[name]} /></svg>`;
}
