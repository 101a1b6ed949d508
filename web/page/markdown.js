// Markdown of models, shown safely. Three fences, each enough by itself: raw HTML
// in the text is shown as text, what marked makes goes through DOMPurify with a
// short list of what may stay, and the page's CSP runs nothing but its own files.

import DOMPurify from "dompurify";
import { Marked } from "marked";
import { CodeBlock } from "./code.js";
import { html, memo } from "./html.js";
import { t, watchLanguage } from "./i18n.js";

/** @param {string} s */
const escape = (s) => s.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

const marked = new Marked({
  gfm: true,
  renderer: {
    html({ text }) {
      return escape(text);
    },
    // A picture from elsewhere would tell its server that this was read.
    image({ href, text }) {
      if (/^data:image\/(png|jpeg|gif|webp);base64,/i.test(href)) return `<img src="${escape(href)}" alt="${escape(text)}">`;
      return `<a href="${escape(href)}">${escape(t("markdown.picture", { name: text || t("picture.none") }))}</a>`;
    },
  },
});

const purifier = DOMPurify(window);
const rules = {
  ALLOWED_TAGS: ["p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "em", "strong", "del", "code", "pre", "blockquote",
    "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "a", "img", "input"],
  ALLOWED_ATTR: ["href", "title", "src", "alt", "align", "start", "type", "checked", "disabled"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|data:image\/)/i,
  ADD_URI_SAFE_ATTR: ["align", "start", "type", "checked", "disabled"],
};
const blockTags = new Set(["P", "H1", "H2", "H3", "H4", "H5", "H6", "LI", "BLOCKQUOTE", "TD", "TH"]);
/** Marks and columns stand on the side where the text begins. */
const lists = new Set(["UL", "OL", "TABLE"]);
const toLeft = /^\P{L}*[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;
purifier.addHook("afterSanitizeAttributes", (node) => {
  if (!(node instanceof Element)) return;
  if (node.tagName === "A") {
    if (/^(https?|mailto):/i.test(node.getAttribute("href") ?? "")) {
      node.setAttribute("target", "_blank");
      node.setAttribute("rel", "noopener noreferrer");
    } else {
      node.removeAttribute("href"); // a path in a project leads nowhere from here
    }
  } else if (node.tagName === "INPUT") {
    if (node.getAttribute("type") !== "checkbox") node.remove();
    else {
      node.setAttribute("disabled", "");
      node.setAttribute("aria-label", node.hasAttribute("checked") ? t("markdown.done") : t("markdown.toDo"));
    }
  } else if (node.tagName === "PRE") {
    node.setAttribute("tabindex", "0");
  } else if (lists.has(node.tagName)) {
    // "auto" does not look into parts that have a direction of their own.
    node.setAttribute("dir", toLeft.test(node.textContent ?? "") ? "rtl" : "ltr");
  } else if (blockTags.has(node.tagName)) {
    node.setAttribute("dir", "auto");
  }
});

/** @param {string} dirty */
const clean = (dirty) => purifier.sanitize(dirty, rules);

/**
 * Blocks that were rendered, by their source. While an answer grows, all blocks
 * but the last are found here.
 * @type {Map<string, string>}
 */
const done = new Map();
watchLanguage(() => done.clear());

/** @param {any} token a block of marked */
function block(token) {
  let out = done.get(token.raw);
  if (out === undefined) {
    out = clean(/** @type {string} */ (marked.parser([token])));
    if (done.size > 4000) done.clear();
    done.set(token.raw, out);
  }
  return out;
}

const Block = memo((/** @type {{inner: string, table: boolean}} */ { inner, table }) =>
  html`<div class=${table ? "md-table" : "md"} tabindex=${table ? 0 : undefined} role=${table ? "group" : undefined}
    aria-label=${table ? t("markdown.table") : undefined} dangerouslySetInnerHTML=${{ __html: inner }} />`);

/** Texts that were read, the long ones: rows come and go while somebody scrolls. @type {Map<string, any[]>} */
const read = new Map();

/** @param {string} text */
function lexed(text) {
  if (text.length < 2000) return marked.lexer(text);
  let tokens = read.get(text);
  if (!tokens) {
    tokens = marked.lexer(text);
    if (read.size > 200) read.clear();
    read.set(text, tokens);
  }
  return tokens;
}

/** Markdown shows a text; it is drawn anew only when the text changes. */
export const Markdown = memo((/** @type {{text: string}} */ { text }) => {
  /** @type {any[]} */
  let tokens;
  try {
    tokens = lexed(text);
  } catch {
    return html`<p class="md plain" dir="auto">${text}</p>`;
  }
  return html`<div class="markdown">
    ${tokens.map((b, i) => {
      if (b.type === "space" || b.type === "def") return null;
      if (b.type === "code") return html`<${CodeBlock} key=${i} text=${b.text} lang=${b.lang ?? ""} />`;
      return html`<${Block} key=${i} inner=${block(b)} table=${b.type === "table"} />`;
    })}
  </div>`;
});
