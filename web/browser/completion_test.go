package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// oddName has all that breaks a mention elsewhere.
const oddName = `Meine "Akten"/it's a 文件, 🙂 é#1.txt`

// TestCompletion types names and chooses from the list.
func TestCompletion(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[{"text":"ok","repeat":true}]}`)
	w.put("greeter/src/session_manager.go", "package src\n\nfunc Manage() {}\n")
	w.put("greeter/src/session/store.go", "package session\n")
	w.put("greeter/docs/session.md", "# Sessions\n")
	w.put("greeter/"+oddName, "x")
	w.put("greeter/.gitignore", "*.log\n")
	w.put("greeter/session.log", "x")
	w.put(".pi/agent/prompts/greet.md", "Greet $1, not @file:greet.go")
	id := w.create("read")
	b := w.open(id)
	said := func() string { // the text of the last message in the file
		lines := messages(t, w.live(id).Log().Path())
		for i := len(lines) - 1; i >= 0; i-- {
			if lines[i].role == "user" {
				return lines[i].text
			}
		}
		return ""
	}
	sent := func(want string) {
		t.Helper()
		b.answered()
		b.idle()
		if got := said(); got != want {
			t.Errorf("the message is %q, want %q", got, want)
		}
	}
	chosen := func() string {
		t.Helper()
		return get[string](b, `document.querySelector('.completion[aria-selected="true"]')?.dataset.id ?? ""`)
	}
	settled := func() { // nothing more comes for what is typed
		t.Helper()
		b.until("the list is final", `document.querySelector('.completion-list')?.getAttribute('aria-busy') === 'false'`)
	}
	arrow := func(to string, is func(id string) bool) { // down, until it is chosen
		t.Helper()
		for range 40 {
			if is(chosen()) {
				return
			}
			b.press(kb.ArrowDown)
		}
		t.Fatalf("%s is not reached", to)
	}
	holds := func(text string) {
		t.Helper()
		b.until("the composer holds "+text, "document.getElementById('composer').value === "+quote(text))
	}

	// Typing narrows, keys choose, the text keeps the focus.
	b.write("look at @ses")
	b.see(".completion", "session.md")
	b.until("the list is tied to the text", `document.getElementById(document.activeElement.getAttribute("aria-activedescendant"))?.getAttribute("aria-selected") === "true"`)
	if b.count(".completion", "session.log") > 0 {
		t.Error("an ignored file is offered")
	}
	b.axe("completions")
	b.do("narrow", keys("man"))
	settled()
	b.until("one is left", "all('.completion').length === 1")
	if got := chosen(); got != "src/session_manager.go" {
		t.Errorf("%q is chosen", got)
	}
	if got := get[string](b, `[...document.querySelectorAll(".completion mark")].map((m) => m.textContent).join("|")`); got != "ses|man" && got != "session_man" {
		t.Errorf("%q is marked", got)
	}
	b.see(".completion-preview", "func Manage")
	b.press(kb.Enter)
	holds("look at @file:src/session_manager.go ")
	b.gone(".completion", "")
	b.press(kb.Enter)
	sent("look at @src/session_manager.go ")

	// Refining shows what was not there before; arrows go around; Escape closes.
	b.write("@s")
	b.see(".completion", "session.md")
	settled()
	first := chosen()
	b.press(kb.ArrowDown)
	b.until("another is chosen", `document.querySelector('.completion[aria-selected="true"]').dataset.id !== `+quote(first))
	b.press(kb.ArrowUp)
	b.until("the first is chosen", `document.querySelector('.completion[aria-selected="true"]').dataset.id === `+quote(first))
	b.press(kb.Escape)
	b.gone(".completion", "")
	b.do("type on", keys("rc"))
	b.press(kb.Backspace)
	if b.count(".completion", "") > 0 {
		t.Error("the list came back after Escape")
	}
	for range 3 {
		b.press(kb.Backspace)
	}
	holds("")

	// Into a folder and on, then the file in it.
	b.write("@src")
	b.see(".completion", "src/")
	settled()
	arrow("src/", func(id string) bool { return id == "src/" || id == "src" })
	b.press(kb.Tab)
	holds("@src/")
	b.see(".completion", "session_manager.go")
	b.do("into the next", keys("session/"))
	b.until("what is in it is first", `document.querySelector('.completion[aria-selected="true"]')?.dataset.id === "src/session/store.go"`)
	b.press(kb.Tab)
	holds("@file:src/session/store.go ")
	b.press(kb.Enter)
	sent("@src/session/store.go ")

	// A name that breaks mentions elsewhere makes the whole way.
	b.write("read @akten")
	b.see(".completion", "文件")
	settled()
	arrow("the file", func(id string) bool { return strings.HasSuffix(id, ".txt") })
	b.press(kb.Enter)
	holds(`read @file:"` + strings.ReplaceAll(oddName, `"`, `\"`) + `" `)
	b.press("z", chromedp.ModifierCtrl)
	holds("read @akten")
	b.press("Z", chromedp.ModifierCtrl, chromedp.ModifierShift)
	holds(`read @file:"` + strings.ReplaceAll(oddName, `"`, `\"`) + `" `)
	b.press(kb.Enter)
	sent(`read @"` + strings.ReplaceAll(oddName, `"`, `\"`) + `" `)

	// Ignored files are there for who asks; Enter faster than the answer waits.
	b.do("ask and choose at once", keys("@!session.log"), keys(kb.Enter))
	holds("@file:session.log ")
	b.press(kb.Enter)
	sent("@session.log ")

	// Commands at the start of a line; what they put in is never looked at.
	b.write("/gre")
	b.see(".completion", "/greet")
	b.press(kb.Tab)
	holds("/greet ")
	b.do("an argument", keys("@greet.go"))
	b.see(".completion", "greet.go")
	b.press(kb.Escape)
	b.press(kb.Enter)
	sent("Greet @greet.go, not @file:greet.go")

	// On a phone: with a finger.
	b.size(390, 800)
	b.write("@store")
	b.see(".completion", "store.go")
	if wide := get[bool](b, "document.documentElement.scrollWidth > innerWidth"); wide {
		t.Error("the list is wider than the window")
	}
	settled()
	b.click(".completion", "store.go")
	holds("@file:src/session/store.go ")
	b.press(kb.Enter)
	sent("@src/session/store.go ")

	// A file that was just made is found.
	w.put("greeter/brand_new_file.go", "package main\n")
	b.write("@brandnew")
	for again := 0; ; again++ {
		// The next keystroke takes the question before it back, so there is time
		// between them.
		for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if b.count(".completion", "brand_new_file.go") > 0 {
				return
			}
		}
		if again == 20 {
			t.Fatal("the new file is not offered")
		}
		b.press(kb.Backspace)
		b.do("again", keys("w"))
	}
}
