// Code blocks: colours by highlight.js, whose languages are fetched from the
// server when the first block in one of them appears; and a button to copy.

import hljs from "highlight.js";
import { useEffect, useRef, useState } from "preact/hooks";
import { html, memo } from "./html.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";

/** What people write after the fence, and the file that knows it. */
const languages = new Map(
  ("bash c cpp csharp css diff dockerfile go ini java javascript json kotlin lua makefile markdown php powershell python " +
    "ruby rust sql swift typescript xml yaml").split(" ").map((l) => [l, l]),
);
for (const [to, names] of Object.entries({
  bash: "sh shell zsh console shellscript", cpp: "c++ cc hpp", csharp: "cs", ini: "toml conf", javascript: "js jsx mjs cjs node",
  json: "jsonc json5 jsonl", kotlin: "kt", makefile: "make", markdown: "md", powershell: "ps1 pwsh", python: "py", ruby: "rb",
  rust: "rs", typescript: "ts tsx", xml: "html svg vue", yaml: "yml", go: "golang", diff: "patch", dockerfile: "docker",
})) {
  for (const name of names.split(" ")) languages.set(name, to);
}

/** @type {Map<string, Promise<boolean>>} */
const loading = new Map();

/** @param {string} lang */
function load(lang) {
  let p = loading.get(lang);
  if (!p) {
    p = import(`./vendor/highlight/${lang}.js`).then(
      (m) => {
        hljs.registerLanguage(lang, m.default);
        return true;
      },
      () => false,
    );
    loading.set(lang, p);
  }
  return p;
}

/** Beyond this, colours cost more than they give. */
const limit = 30_000;

/** @type {Map<string, string>} */
const coloured = new Map();

/** @param {() => void} work */
const whenIdle = (work) => {
  if ("requestIdleCallback" in window) {
    const handle = requestIdleCallback(work, { timeout: 1500 });
    return () => cancelIdleCallback(handle);
  }
  const timer = setTimeout(work, 30);
  return () => clearTimeout(timer);
};

/**
 * Code in colours. highlight.js escapes its input and adds only spans.
 * @param {{text: string, lang: string, label?: string}} props
 */
export function Code({ text, lang, label = t("code.code") }) {
  const name = languages.get(lang.trim().split(/[\s,{:]/)[0]?.toLowerCase() ?? "") ?? "";
  const key = `${name}\n${text}`;
  const [inner, setInner] = useState(coloured.get(key) ?? "");
  const [shown, setShown] = useState(key);
  useEffect(() => {
    if (!name || text.length > limit) return;
    let gone = false;
    const cancel = whenIdle(() => {
      void load(name).then((ok) => {
        if (gone || !ok) return;
        let out = coloured.get(key);
        if (out === undefined) {
          out = hljs.highlight(text, { language: name, ignoreIllegals: true }).value;
          if (coloured.size > 500) coloured.clear();
          coloured.set(key, out);
        }
        setInner(out);
        setShown(key);
      });
    });
    return () => {
      gone = true;
      cancel();
    };
  }, [key]);
  // While the code still grows, its old colours would hide the new text.
  const ready = inner !== "" && shown === key;
  return ready
    ? html`<pre key="c" tabindex="0" aria-label=${label}><code dangerouslySetInnerHTML=${{ __html: inner }} /></pre>`
    : html`<pre key="p" tabindex="0" aria-label=${label}><code>${text}</code></pre>`;
}

/** @param {{text: string, label?: string, quiet?: boolean}} props */
export function CopyButton({ text, label = t("code.copy"), quiet = false }) {
  const [said, setSaid] = useState(/** @type {"" | "code.copied" | "code.notAllowed"} */ (""));
  const timer = useRef(0);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid("code.copied");
    } catch {
      setSaid("code.notAllowed");
    }
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setSaid(""), 1500);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  return html`<button type="button" class=${quiet ? "copy quiet-button" : "copy"} onClick=${copy} aria-label=${said ? t(said) : label} title=${label}>
    <${Icon} name=${said === "code.copied" ? "check" : "copy"} />${!quiet && html`<span>${said ? t(said) : label}</span>`}
  </button>`;
}

export const CodeBlock = memo((/** @type {{text: string, lang: string}} */ { text, lang }) => {
  return html`<figure class=${lang ? "code" : "code no-lang"}>
    <figcaption><span>${lang.split(/\s/)[0]}</span><${CopyButton} text=${text} /></figcaption>
    <${Code} text=${text} lang=${lang} label=${lang ? t("code.codeIn", { lang }) : t("code.code")} />
  </figure>`;
});
