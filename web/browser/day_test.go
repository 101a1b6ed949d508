package browser

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/piweb-go/piweb/agent/model/modeltest"
)

// The day's conversation. What a subagent is asked, and what is asked after a fork,
// come out of order: each step goes to the message that it matches.
var dayScript = `{"steps":[
	{"match":"what does the program do","text":"I look.","toolCalls":[{"name":"read","arguments":{"path":"greet.go"}}]},
	{"match":"what does the program do","text":"It greets whom you name."},
	{"match":"explain @greet.go","text":"It has one function, **main**."},
	{"match":"what do the notes say","text":"They ask for milk."},
	{"match":"only talk","text":"Then we talk."},
	{"match":"count the lines","text":"There are sixteen."},
	{"match":"Report of a subagent","text":"The subagent counted sixteen."},
	{"match":"tell me all of it","text":` + quote(numbered(40)) + `,"stall":true},
	{"match":"and then","text":"Then all was well.","repeat":true},
	{"match":"from the other tab","text":"Seen in both."},
	{"text":"Good day.","repeat":true}]}`

// TestDay is a day with piweb: the program itself, killed in the middle of a turn
// and started again; one page that goes on, and a second one beside it.
func TestDay(t *testing.T) {
	browser := startBrowser(t)
	home := shownHome(t)
	w := newHome(t, home, dayScript)
	p := startProgram(t, buildProgram(t), home)
	w.origin = p.origin()
	w.profile = newProfile(t, browser)
	b := w.profile.tab(t, w.origin)
	b.do("open the link", chromedp.Navigate(p.link))
	b.see(".welcome", "Welcome")

	// Open and ask; a tool runs.
	b.press("n")
	b.see("dialog input[name=folder]", "")
	b.click("dialog input[name=folder]", "")
	get[bool](b, "(document.querySelector('input[name=folder]').select(), true)")
	b.do("name the folder", keys(w.project))
	b.press(kb.Enter)
	b.see(".kind-button", "By settings")
	id := strings.TrimPrefix(get[string](b, "location.hash"), "#/s/")
	b.send("what does the program do?")
	b.see(".tool.done .tool-what", "greet.go")
	b.see(".row.assistant .markdown", "It greets whom you name.")
	b.idle()
	b.axe("a first answer")

	w.dayFork(b, id)

	// A file is named.
	b.write("explain @gree")
	b.see(".completion .what", "greet.go")
	b.press(kb.Enter)
	b.until("the file is named", "document.querySelector('#composer').value.startsWith('explain @file:greet.go')")
	b.press(kb.Enter)
	b.see(".row.assistant .markdown", "It has one function")
	b.idle()

	// A file goes along.
	b.hand("drop", "notes.txt", "text/plain", []byte("milk"))
	b.see(".chip.ready", "notes.txt")
	b.send("what do the notes say?")
	b.see(".row.user .chip", "notes.txt")
	b.see(".row.assistant .markdown", "They ask for milk.")
	b.idle()

	// Chat Only for a question, and back.
	b.click(".presets button", "Chat Only")
	b.click(".confirm .primary", "Go Chat Only")
	b.see(".kind-button", "Chat Only")
	b.send("now we only talk")
	b.see(".row.assistant .markdown", "Then we talk.")
	b.idle()
	if modeltest.HasTools(w.last().Body) {
		t.Error("Chat Only sent tools")
	}
	b.click(".presets button", "Default")
	b.click(".confirm .primary", "Allow tools")
	b.see(".policy .kind-pinned", "")

	// A task is delegated; its result comes in.
	b.click(".subagents button", "Switch subagents on")
	b.click(".subagents button", "Delegate a task")
	b.until("there are profiles", "document.querySelectorAll('dialog option').length >= 3")
	b.fill("dialog textarea[name=task]", "count the lines")
	b.click("dialog button[type=submit]", "Delegate")
	b.see(".subagents .badge", "done")
	b.see(".row.assistant .markdown", "The subagent counted sixteen.")
	b.idle()

	// What was said is found.
	b.focus("#search")
	b.do("search", keys("milk"))
	b.see(".hits .hit mark", "milk")
	b.press(kb.Escape)
	b.gone(".hits", "")

	w.dayOfTheCrash(b, p)

	// A second tab, the other way round.
	c := w.profile.tab(t, w.origin)
	c.do("open the session by its address", chromedp.Navigate(w.origin+"/#/s/"+id))
	c.see("#composer:not(:disabled)", "")
	c.send("from the other tab")
	for name, tab := range map[string]*tab{"first": b, "second": c} {
		tab.see(".row.user .said", "from the other tab")
		tab.see(".row.assistant .markdown", "Seen in both.")
		tab.idle()
		if n := tab.count(".row.user .said", "from the other tab"); n != 1 {
			t.Errorf("the %s tab has it %d times", name, n)
		}
	}

	// The whole day stands in the file, once, and both pages show it.
	want := saidIn(messages(t, w.fileOf(id)))
	for name, tab := range map[string]*tab{"first": b, "second": c} {
		if got := spoken(tab.said()); !slices.Equal(got, spoken(want)) {
			t.Errorf("the %s tab says\n%q\nthe file\n%q", name, got, want)
		}
	}
	for _, once := range []string{"user what does the program do?", "user tell me all of it", "user and then?", "user from the other tab"} {
		if n := len(slices.DeleteFunc(slices.Clone(want), func(s string) bool { return s != once })); n != 1 {
			t.Errorf("the file has %q %d times", once, n)
		}
	}
	w.dayInChinese(b)
}

// dayFork goes on from the first answer in a session of its own, and comes back.
func (w *world) dayFork(b *tab, id string) {
	w.t.Helper()
	get[bool](b, `(all(".row.assistant", "It greets whom you name")[0].querySelector(".action").focus(), true)`)
	b.click(`.row.assistant:focus-within button[aria-label="New session from here"]`, "")
	b.until("another session is open", "location.hash.length > 4 && location.hash !== "+quote("#/s/"+id))
	b.see(".row.assistant .markdown", "It greets whom you name.")
	b.send("only in the fork")
	b.see(".row.assistant .markdown", "Good day.")
	b.idle()
	b.visit(id)
	b.see(".row.assistant .markdown", "It greets whom you name.")
	b.gone(".row.user .said", "only in the fork")
}

// dayOfTheCrash kills the program while it answers, with a message that waits, has the
// person write on, and starts it again.
func (w *world) dayOfTheCrash(b *tab, p *program) {
	t := w.t
	t.Helper()
	b.send("tell me all of it")
	b.growing(numbered(40), 20)
	b.write("after that, stop")
	b.press(kb.Enter, chromedp.ModifierAlt)
	b.see(".queued-text", "after that, stop")
	at, err := url.Parse(w.origin)
	if err != nil {
		t.Fatal(err)
	}
	port, _ := strconv.Atoi(at.Port())
	b.during("ERR_|Failed to fetch|net::", func() {
		p.kill()
		b.see(".away", "piweb does not answer")
		b.see(".row.user .said", "tell me all of it") // what is shown stays
		b.axe("piweb is away")
		b.write("and then?")
		b.press(kb.Enter)
		b.until("the page says that it does not know", "all('.strip.bad', 'not known whether').length === 1")
		if kept := get[string](b, "document.querySelector('#composer').value"); kept != "and then?" {
			t.Errorf("the composer holds %q", kept)
		}
		p.start(port)
		b.gone(".away", "")
	})
	if p.origin() != w.origin {
		t.Fatalf("it came back at %s, not at %s", p.origin(), w.origin)
	}
	b.see(".round[aria-label='Send']", "")
	b.until("nothing of the turn is left over", "!document.querySelector('.waiting, .pending, .tool.running') && !document.querySelector('[data-key^=live]')")
	b.see(".row.user .said", "tell me all of it")
	b.see(".status-line", "No answer was recorded")
	b.see(".strip", "was still waiting when piweb went away")
	b.see(".queued-text", "after that, stop")
	b.see(".strip.bad", "has not arrived")
	b.axe("piweb is back")
	b.light()
	b.bottom()
	b.picture("day-back.png")
	b.click(".strip .icon-button[aria-label='Dismiss']", "")
	b.press(kb.Tab) // the click took the focus from the composer
	b.click("#composer:not(:disabled)", "")
	b.press(kb.Enter)
	b.see(".row.assistant .markdown", "Then all was well.")
	b.idle()
	b.gone(".strip.bad", "")
	for _, text := range []string{"tell me all of it", "and then?"} {
		if n := b.count(".row.user .said", text); n != 1 {
			t.Errorf("%q is shown %d times", text, n)
		}
	}
}

// dayInChinese changes the language, and looks at a phone in the evening.
func (w *world) dayInChinese(b *tab) {
	t := w.t
	t.Helper()
	get[bool](b, `((s) => (s.value = "zh-Hans", s.dispatchEvent(new Event("change", {bubbles: true})), true))(document.getElementById("language"))`)
	b.until("the page is Chinese", "document.documentElement.lang === 'zh-Hans'")
	b.see(".kind-button", "固定工具")
	b.see(".policy h3", "工具")
	b.axe("Chinese")
	b.do("reload", chromedp.Reload())
	b.see(".kind-button", "固定工具")
	b.bottom()
	b.picture("page-chinese.png")
	b.dark()
	b.size(360, 740, chromedp.EmulateScale(2))
	b.gone(".policy", "")
	b.axe("Chinese, narrow, dark")
	if wide := get[int](b, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
		t.Errorf("the narrow page is %d pixels too wide", wide)
	}
	b.bottom()
	b.picture("page-phone.png")
}

// fileOf is the file of a session.
func (w *world) fileOf(id string) string {
	w.t.Helper()
	var found string
	root := filepath.Join(w.home, ".pi", "agent", "sessions")
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".jsonl") && strings.Contains(filepath.Base(path), id) {
			found = path
		}
		return err
	})
	if err != nil || found == "" {
		w.t.Fatalf("no file of %s below %s: %v", id, root, err)
	}
	return found
}

var marker = regexp.MustCompile(`\[attachment [^\]]*\] `)

// spoken leaves out what the page shows in another way than as text: marks of
// attachments, and of Markdown.
func spoken(said []string) []string {
	var out []string
	for _, s := range said {
		s = marker.ReplaceAllString(s, "")
		out = append(out, strings.ReplaceAll(s, "**", ""))
	}
	return out
}
