package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// latinJS finds texts that a person sees or hears and that have no word of Chinese:
// elements whose text is somebody's own (names, files, code, what people and models
// say) are marked as such in the page and are left out.
const latinJS = `(() => {
	const theirs = "[dir=auto], code, bdi, pre, kbd, mark, option, time, input, textarea, .markdown, .hash, .brand, .tool-name, .model, .badge, script, style, title, noscript, [lang]:not(html)";
	const found = new Set();
	const note = (text, el) => {
		const t = text.replace(/\s+/g, " ").trim();
		if (/[A-Za-z]{3,}/.test(t) && !/\p{Script=Han}/u.test(t) && !el.closest(theirs)) found.add(t);
	};
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n = walk.nextNode(); n; n = walk.nextNode()) if (n.parentElement.checkVisibility()) note(n.data, n.parentElement);
	for (const el of document.querySelectorAll("[aria-label], [placeholder], [alt]")) {
		for (const a of ["aria-label", "placeholder", "alt"]) if (el.hasAttribute(a) && el.checkVisibility()) note(el.getAttribute(a), el.closest(theirs) === el ? el.parentElement : el);
	}
	return [...found];
})()`

// names are the same in every language; so are lists of tools.
var names = []string{"piweb", "sha256", "SYSTEM.md", "APPEND_SYSTEM.md"}

// chinese fails for words of the page that are not Chinese.
func (b *tab) chinese(where string) {
	b.t.Helper()
	for _, text := range get[[]string](b, latinJS) {
		if !slices.Contains(names, text) && !strings.Contains(text, "、") {
			b.t.Errorf("in Chinese %s says %q", where, text)
		}
	}
}

// TestChinese goes through the page in Chinese, as a Chinese browser asks for it.
func TestChinese(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[
		{"match":"look","thinking":"hm","text":"I look.","toolCalls":[{"name":"read","arguments":{"path":"greet.go"}}]},
		{"match":"look","text":"It greets."},
		{"text":"Good day.","repeat":true}]}`)
	if err := w.rt.SubagentSettings().SetBuiltIn(true); err != nil {
		t.Fatal(err)
	}
	id := w.create("read", "bash")
	b := w.profile.tab(t, w.origin)
	agent := get[string](b, "navigator.userAgent")
	if _, err := chromedp.Call(b.ctx, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: agent, AcceptLanguage: "zh-CN,zh"}); err != nil {
		t.Fatal(err)
	}
	b.do("open the link", chromedp.Navigate(w.origin+"/?token="+token))
	b.see(".welcome", "会话")
	if lang := get[string](b, "document.documentElement.lang"); lang != "zh-Hans" {
		t.Errorf("the page says that it is in %q", lang)
	}
	b.chinese("the start")
	b.visit(id)
	b.send("look at it")
	b.see(".row.assistant .markdown", "It greets.")
	b.see(`.round[aria-label="发送"]`, "")
	b.see(".policy .glance.holds", "一致")
	b.click(".tool-head", "greet.go")
	b.chinese("a session")
	b.axe("a session in Chinese")
	for _, d := range []struct{ name, css, key string }{{"a new session", "dialog input[name=folder]", "n"}, {"the keys", "dialog .keys", "?"}, {"the tree", "dialog .tree-line", "t"}, {"the settings", "dialog .setting-tools", ","}} {
		b.unfocus()
		b.press(d.key)
		b.see(d.css, "")
		b.chinese(d.name)
		b.axe(d.name + " in Chinese")
		b.press(kb.Escape)
		b.gone("dialog", "")
	}
	for _, d := range []string{"委派任务", "类型"} {
		b.click(".subagents button", d)
		b.see("dialog", "")
		b.until("there are profiles", "document.querySelectorAll('dialog option, dialog .agent-list li').length >= 3")
		b.chinese(d)
		b.press(kb.Escape)
		b.gone("dialog", "")
	}

	// A choice of the person counts more than the browser, and is kept.
	b.unfocus()
	b.press(",")
	b.see("dialog", "设置")
	get[bool](b, `((s) => (s.value = "en", s.dispatchEvent(new Event("change", {bubbles: true})), true))(document.getElementById("settings-language"))`)
	b.see("dialog h2", "Settings") // the dialog stays, and the focus in it
	b.until("the choice has the focus", "document.activeElement.id === 'settings-language'")
	b.press(kb.Escape)
	b.see(".kind-button", "Pinned")
	b.do("reload", chromedp.Reload())
	b.see(".kind-button", "Pinned")
	if lang := get[string](b, "document.documentElement.lang"); lang != "en" {
		t.Errorf("the page says that it is in %q", lang)
	}
}

// TestKeysAndEars: the keyboard map, the input method that has Enter for itself, and
// what a screen reader is told of a turn.
func TestKeysAndEars(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[
		{"match":"secret","toolCalls":[{"name":"read","arguments":{"path":"secret.txt"}}]},
		{"match":"secret","text":"It says hello."},
		{"text":"Good day.","repeat":true}]}`)
	w.put("greeter/secret.txt", "hello\n")
	b := w.open(w.create("read"))

	// The help says what the table has; single characters can be switched off there.
	b.unfocus()
	b.press("?")
	b.see("dialog .keys", "Search sessions")
	b.axe("keyboard map")
	if n := b.count("dialog .keys dd", ""); n < 22 {
		t.Errorf("the help has %d lines", n)
	}
	b.click("input[name=single-keys]", "")
	b.press(kb.Escape)
	b.gone("dialog", "")
	b.unfocus()
	b.press("n")
	b.press("/", chromedp.ModifierAlt)
	b.until("the search has the focus", "document.activeElement.id === 'search'")
	if b.count("dialog", "") != 0 {
		t.Error("a single character was a key although it is switched off")
	}
	get[bool](b, "(localStorage.removeItem('piweb.keys'), true)")
	b.unfocus()
	b.press("n")
	b.see("dialog input[name=folder]", "")
	b.press(kb.Escape)
	b.gone("dialog", "")

	// Enter picks a word while an input method composes, and sends afterwards.
	b.write("ni hao")
	for _, how := range []string{"{isComposing: true}", "{keyCode: 229}"} {
		taken := get[bool](b, fmt.Sprintf(`!document.getElementById("composer").dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true, cancelable: true, ...%s}))`, how))
		if taken {
			t.Errorf("the page takes an Enter with %s", how)
		}
	}
	if n := w.provider.Count(); n != 0 {
		t.Errorf("an input method's Enter sent the message (%d requests)", n)
	}

	// Of a turn one hears that it begins, which tool runs, what is asked, and the end.
	get[bool](b, `(window.heard = [], new MutationObserver((all) => {
		for (const m of all) {
			const el = (m.target.nodeType === 3 ? m.target.parentElement : m.target).closest("[role=status], [role=alert], [role=alertdialog], [aria-live]");
			if (el?.textContent.trim()) heard.push(el.textContent.trim());
		}
	}).observe(document.body, {subtree: true, childList: true, characterData: true}), true)`)
	b.press(kb.Enter)
	b.answered()
	b.see(".row.assistant", "Good day.")
	b.idle()
	b.send("tell a secret")
	b.see(".question", "Run read?")
	b.axe("a question")
	b.tabTo(".question .primary", chromedp.ModifierShift)
	b.press(kb.Enter)
	b.see(".row.assistant", "It says hello.")
	b.idle()
	for _, said := range []string{"The answer begins.", "The tool read runs.", "Asked: Run read?", "The answer is complete."} {
		b.until("it is said: "+said, "heard.some((h) => h.includes("+quote(said)+"))")
	}
}
