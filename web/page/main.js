// The page: which session is open, what is visible, and the keyboard.

import { render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call } from "./api.js";
import { openTree, showTree } from "./branches.js";
import { Children } from "./children.js";
import { Composer } from "./composer.js";
import { Header } from "./header.js";
import { html, useStore } from "./html.js";
import { language, t, watchLanguage } from "./i18n.js";
import { Shortcuts } from "./keyhelp.js";
import { lineOf } from "./keymap.js";
import { byFolder, SessionList, titleOf, withChildren } from "./list.js";
import { Memories } from "./memory.js";
import { NewSession } from "./newsession.js";
import { PolicyPanel } from "./policy.js";
import { OpenSession } from "./session.js";
import { Settings } from "./settings.js";
import { hashOf, placeOfHash } from "./place.js";
import { Sidebar } from "./sidebar.js";
import { WaitingResults } from "./subagents.js";
import { Start } from "./start.js";
import { Transcript } from "./transcript.js";
import { Tree } from "./treeview.js";
import { followKeyboard } from "./viewport.js";
import { showOutput, WholeOutput } from "./wholeoutput.js";

/** @import {Bootstrap} from "./types.js" */

const list = new SessionList();
void list.refresh();

/** The address names the session, and a place in it, so that reload, back and bookmarks work. */
const fromHash = () => placeOfHash(location.hash);

const wide = matchMedia("(min-width: 68rem)");
/** Where the list of sessions is a menu over the page; the same as in app.css. */
const narrow = matchMedia("(max-width: 46rem)");
const policyKey = "piweb.policy";

function wantsPolicy() {
  try {
    return localStorage.getItem(policyKey) !== "off";
  } catch {
    return true;
  }
}

/**
 * Moves the focus. What is not visible yet takes none: on a narrow screen a menu
 * has to come first, which may take a frame or more.
 * @param {() => HTMLElement | null} find
 * @param {() => boolean} [done] it is somewhere good already
 */
function focusSoon(find, done = () => false) {
  let frames = 30;
  const take = () => {
    if (done()) return;
    const el = find();
    el?.focus();
    if (el && document.activeElement === el) {
      if (el instanceof HTMLInputElement) el.select();
    } else if (--frames > 0) requestAnimationFrame(take);
  };
  requestAnimationFrame(take);
}

/** What is open over the page, for when it is drawn anew in another language. */
const before = { dialog: /** @type {{name: "keys" | "memory" | "new" | "output" | "settings" | "tree", entry?: string, cwd?: string, url?: string} | null} */ (null), menu: false };

function App() {
  const [place, setPlace] = useState(fromHash);
  const { id } = place;
  const [boot, setBoot] = useState(/** @type {Bootstrap} */ ({}));
  const [dialog, setDialog] = useState(before.dialog);
  useEffect(() => void (before.dialog = dialog), [dialog]);
  const [menu, setMenu] = useState(before.menu);
  useEffect(() => void (before.menu = menu), [menu]);
  const [policyOpen, setPolicyOpen] = useState(() => wide.matches && wantsPolicy());
  const [isWide, setWide] = useState(wide.matches);
  const { sessions } = useStore(list);
  const session = useMemo(() => (id ? new OpenSession(id, () => list.touch()) : null), [id]);
  const kids = useMemo(() => (id ? new Children(id, () => list.touch()) : null), [id]);
  useEffect(() => () => session?.close(), [session]);
  useEffect(() => {
    if (place.entry) session?.goTo(place.entry);
  }, [session, place]);
  useEffect(() => () => kids?.close(), [kids]);

  // The menu takes the keyboard with it, and gives it back.
  const side = useRef(/** @type {HTMLElement | null} */ (null));
  const over = menu && narrow.matches;
  useEffect(() => {
    if (!over) return;
    focusSoon(() => side.current, () => !!side.current?.contains(document.activeElement));
    return () => {
      if (side.current?.contains(document.activeElement)) focusSoon(() => document.querySelector(".menu"));
    };
  }, [over]);

  useEffect(() => {
    call("bootstrap").then(setBoot, () => {});
    const onHash = () => {
      setPlace(fromHash());
      setMenu(false);
    };
    const onWide = () => {
      setWide(wide.matches);
      setPolicyOpen(wide.matches && wantsPolicy());
    };
    addEventListener("hashchange", onHash);
    wide.addEventListener("change", onWide);
    return () => {
      removeEventListener("hashchange", onHash);
      wide.removeEventListener("change", onWide);
    };
  }, []);

  useEffect(() => {
    const show = (/** @type {Event} */ e) => setDialog({ name: "output", url: /** @type {CustomEvent<string>} */ (e).detail });
    const tree = (/** @type {Event} */ e) => setDialog({ name: "tree", entry: /** @type {CustomEvent<string>} */ (e).detail });
    addEventListener(showOutput, show);
    addEventListener(showTree, tree);
    return () => {
      removeEventListener(showOutput, show);
      removeEventListener(showTree, tree);
    };
  }, []);

  // So does the policy where it lies over the conversation.
  const sheet = useRef(/** @type {HTMLElement | null} */ (null));
  const sheetOver = !!session && policyOpen && !isWide;
  useEffect(() => {
    if (!sheetOver) return;
    focusSoon(() => sheet.current, () => !!sheet.current?.contains(document.activeElement));
    return () => {
      if (document.activeElement === document.body || sheet.current?.contains(document.activeElement)) focusSoon(() => document.querySelector(".kind-button"));
    };
  }, [sheetOver]);

  const item = sessions.find((s) => s.sessionId === id);
  useEffect(() => {
    document.title = item ? `${titleOf(item).slice(0, 60)} – piweb` : "piweb";
  }, [item?.name, item?.firstMessage, id]);

  const togglePolicy = () => {
    setPolicyOpen((open) => {
      try {
        if (wide.matches) localStorage.setItem(policyKey, open ? "off" : "on");
      } catch {
        // It is then remembered for this page only.
      }
      return !open;
    });
  };
  /** @param {string} [cwd] */
  const startNew = (cwd) => {
    setMenu(false);
    setDialog({ name: "new", cwd: cwd ?? item?.cwd });
  };
  /** @param {string} next @param {string} [at] an entry or a call in it */
  const open = (next, at) => {
    // The same place once more: the address does not change, and nobody would be told.
    if (location.hash === hashOf(next, at)) setPlace(fromHash());
    else location.hash = hashOf(next, at);
  };

  const keys = useRef(/** @type {(e: KeyboardEvent) => void} */ (() => {}));
  keys.current = (e) => {
    if (e.defaultPrevented || document.querySelector("dialog[open]")) return;
    const line = lineOf(e, "page");
    if (!line) return;
    if (line !== "escape") e.preventDefault();
    switch (line) {
      case "search":
        showSearch();
        break;
      case "new":
        startNew();
        break;
      case "write":
        document.getElementById("composer")?.focus();
        break;
      case "settings":
        setDialog({ name: "settings" });
        break;
      case "tree":
        if (session) openTree();
        break;
      case "policy":
        togglePolicy();
        break;
      case "help":
        setDialog({ name: "keys" });
        break;
      case "before":
      case "after": {
        const ids = byFolder(list.state.sessions).flatMap((g) => withChildren(g.items).map(({ s }) => s.sessionId));
        const next = ids[ids.indexOf(id) + (line === "after" ? 1 : -1)];
        if (next) open(next);
        break;
      }
      case "escape":
        escape(/** @type {HTMLElement} */ (e.target));
    }
  };
  /** Closes what is open, the nearest first; where nothing is, stops the answer. @param {HTMLElement} target */
  const escape = (target) => {
    if (target.id === "search") {
      if (list.state.q) list.search("");
      else document.getElementById("composer")?.focus();
      setMenu(false);
    } else if (menu) setMenu(false);
    else if (policyOpen && !isWide) setPolicyOpen(false);
    else if (session?.state.busy) void session.abort();
  };
  const showSearch = () => {
    setMenu(true);
    focusSoon(() => document.getElementById("search"));
  };
  useEffect(() => {
    const onKey = (/** @type {KeyboardEvent} */ e) => keys.current(e);
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);

  const folders = byFolder(sessions).map((g) => g.cwd).filter(Boolean);
  const policyShown = !!session && policyOpen;
  return html`<div class=${`app${menu ? " menu-open" : ""}${policyShown ? " policy-open" : ""}`}>
    <aside class="side" aria-label=${t("page.sessions")} tabindex=${-1} ref=${side}><${Sidebar} list=${list} current=${id} onNew=${startNew} onKeys=${() => setDialog({ name: "keys" })} onMemory=${() => setDialog({ name: "memory" })} onSettings=${() => setDialog({ name: "settings" })} onPick=${() => setMenu(false)} /></aside>
    ${menu && html`<div class="shade side-shade" onClick=${() => setMenu(false)} />`}
    <main class="main" data-session=${id} inert=${over || sheetOver}>
      ${session ? html`<${SessionPage} key=${id} session=${session} kids=${kids} item=${item} policyOpen=${policyOpen} onPolicy=${togglePolicy} onMenu=${() => setMenu(true)} />`
        : html`<${Start} boot=${boot} list=${list} onNew=${() => startNew()} onMenu=${() => setMenu(true)} onOpen=${open} />`}
    </main>
    ${policyShown && !isWide && html`<div class="shade" onClick=${() => setPolicyOpen(false)} />`}
    ${policyShown && html`<aside class="policy" aria-label=${t("page.policy")} tabindex=${-1} ref=${sheet}><${PolicyPanel} key=${id} session=${session} kids=${kids} item=${item} onClose=${togglePolicy} /></aside>`}
    ${dialog?.name === "keys" && html`<${Shortcuts} onClose=${() => setDialog(null)} />`}
    ${dialog?.name === "memory" && html`<${Memories} onClose=${() => setDialog(null)} onOpen=${(/** @type {string} */ to, /** @type {string} */ at) => { setDialog(null); open(to, at); }} />`}
    ${dialog?.name === "output" && id && html`<${WholeOutput} key=${id + dialog.url} id=${id} url=${dialog.url} onClose=${() => setDialog(null)} />`}
    ${dialog?.name === "settings" && html`<${Settings} cwd=${item?.cwd ?? ""} onClose=${() => setDialog(null)} />`}
    ${dialog?.name === "tree" && session && html`<${Tree} key=${id} session=${session} entry=${dialog.entry ?? ""} onClose=${() => setDialog(null)} onOpen=${(/** @type {string} */ to, /** @type {string} */ at) => { setDialog(null); open(to, at); }} />`}
    ${dialog?.name === "new" && html`<${NewSession} cwd=${dialog.cwd ?? boot.defaultCwd ?? ""} folders=${folders} onClose=${() => setDialog(null)}
      onMade=${(/** @type {string} */ made) => { setDialog(null); list.touch(); open(made); }} />`}
  </div>`;
}

/**
 * @param {{session: OpenSession, kids: Children, item: any, policyOpen: boolean, onPolicy: () => void, onMenu: () => void}} props
 */
function SessionPage({ session, kids, item, policyOpen, onPolicy, onMenu }) {
  const { phase, problem, said } = useStore(session);
  return html`
    <${Header} session=${session} item=${item} policyOpen=${policyOpen} onPolicy=${onPolicy} onMenu=${onMenu} />
    ${phase === "failed" ? html`<div class="welcome hint"><p><strong>${problem?.text}</strong></p>${problem?.detail && html`<p class="faint" dir="auto">${problem.detail}</p>`}
        <div class="buttons"><button type="button" onClick=${() => { session.set({ phase: "loading" }); void session.open(); }}>${t("say.tryAgain")}</button></div></div>`
      : phase === "loading" ? html`<div class="transcript-frame"><p class="quiet">${t("say.loading")}</p></div>`
      : html`<${Transcript} session=${session} />`}
    <${WaitingResults} kids=${kids} />
    <${Composer} session=${session} />
    <div class="visually-hidden" role="status" aria-live="polite">${said}</div>`;
}

/** In another language everything is drawn anew; what is open stays open. */
function Page() {
  const [lang, setLang] = useState(language);
  useEffect(() => watchLanguage(() => setLang(language())), []);
  return html`<${App} key=${lang} />`;
}

followKeyboard();
render(html`<${Page} />`, /** @type {HTMLElement} */ (document.getElementById("app")));
