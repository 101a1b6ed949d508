package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/message"
)

// TestPage drives one browser through all scenes. Each has a home, a server and a
// browser profile of its own.
func TestPage(t *testing.T) {
	browser := startBrowser(t)
	for _, s := range []struct {
		name string
		run  func(t *testing.T, browser context.Context)
	}{
		{"empty machine", emptyMachine},
		{"session of pi with a tool", piSession},
		{"Chat Only and back", chatOnlyAndBack},
		{"reload in the middle of a turn", reloadMidTurn},
		{"stop", stopTurn},
		{"two tabs", twoTabs},
		{"not signed in", notSignedIn},
		{"failures in words", failures},
		{"a thousand messages", longTranscript},
		{"narrow, by keyboard", narrow},
		{"looks", looks},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(t, browser) })
	}
}

// emptyMachine is the first minute of a new user, with the program itself.
func emptyMachine(t *testing.T, browser context.Context) {
	home := t.TempDir()
	link := startProgram(t, buildProgram(t), home).link
	origin, _, _ := strings.Cut(link, "/?token=")
	b := newProfile(t, browser).tab(t, origin)
	b.do("open the link", chromedp.Navigate(link))
	b.see(".welcome", "Welcome")
	b.see(".offline-note", "No real model is set up")
	if at := get[string](b, "location.href"); at != origin+"/" {
		t.Errorf("the page is at %s after the link", at)
	}
	if in := get[string](b, "document.cookie"); in != "" {
		t.Errorf("scripts can read the cookie: %s", in)
	}
	b.axe("welcome")
	b.click(".welcome .primary", "Try the demo")
	b.until("four sessions are listed", "all('.list .item').length === 4")
	for title, badge := range map[string]string{
		"nothing chosen": "By settings", "pinned:": "Pinned", "taken back": "By settings", "Chat Only:": "Chat Only",
	} {
		if !get[bool](b, fmt.Sprintf("all('.list .item', %s).some((e) => e.querySelector('.badge').innerText === %s)", quote(title), quote(badge))) {
			t.Errorf("no session %q of the kind %q in the list:\n%s", title, badge, get[string](b, "document.querySelector('.list').innerText"))
		}
	}
	for title, sees := range map[string][4]string{
		"nothing chosen": {"kind-open", "read README.md", "read", "Built-in default"},
		"pinned:":        {"kind-pinned", "read README.md", "read", "Choice recorded in this session"},
		"taken back":     {"kind-open", "read greet.go", "read", "Built-in default"},
		"Chat Only:":     {"kind-chat-only", "what may you do here?", "", "Choice recorded in this session"},
	} {
		b.click(".list .item", title)
		b.see(".item[aria-current]", title)
		b.see(".policy ."+sees[0], strings.ToLower(sees[3]))
		b.see(".row.user .said", sees[1])
		b.see(".row.assistant .markdown", "")
		if sees[2] != "" {
			b.see(".tool.done .tool-name", sees[2])
		} else if n := b.count(".tool", ""); n != 0 {
			t.Errorf("%s has %d tool cards", title, n)
		}
		b.see(".policy .glance.holds", "What was sent is what the file says")
	}
	b.see(".offline", "Offline model")
	b.send("hello there")
	b.see(".row.user .said", "hello there")
	b.until("the third message is answered", "all('.row.assistant .markdown').length >= 3")
	b.idle()
}

// waiting is a call of bash that prints something, waits until the file go-on is
// there, and prints more.
const waiting = `"toolCalls":[{"name":"bash","arguments":{"command":"echo first part; while [ ! -e go-on ]; do sleep 0.02; done; echo second part"}}]`

// piSession goes on with a session that real pi has written.
func piSession(t *testing.T, browser context.Context) {
	w := newWorld(t, browser, `{"steps":[
		{"match":"run the check",`+waiting+`},
		{"match":"run the check","text":"The check is through, both parts were printed."}]}`)
	id, path := w.fixture("pi/linear.jsonl")
	before := messages(t, path)
	b := w.enter()
	b.click(".list .item", "My name")
	b.see(".top .title", "My name")
	b.see(".row.user .said", "hello")
	b.see(".row.assistant", "done")
	b.see(".tool.done .tool-what", "a.txt")
	b.see(".policy .kind-name", "By transcript")
	if at := get[string](b, "location.hash"); at != "#/s/"+id {
		t.Errorf("the address is %s", at)
	}
	b.send("run the check")
	b.see(".tool.running .tool-what", "echo first part")
	b.see(".tool.running .tail", "first part")
	if get[bool](b, "all('.tool.running', 'second part').some((e) => e.querySelector('.tail').innerText.includes('second part'))") {
		t.Error("the tool shows what it has not printed yet")
	}
	b.see(".round.stop", "")
	w.put("greeter/go-on", "")
	b.see(".tool.done .tool-what", "echo first part")
	b.idle()
	b.see(".row.assistant .markdown", "The check is through")
	b.click(".tool.done .tool-head", "echo first part")
	b.see(".tool.done .output", "first part\nsecond part")
	if n := b.count(".row.user .said", "run the check"); n != 1 {
		t.Errorf("the message is shown %d times", n)
	}

	added := messages(t, path)[len(before):]
	var roles []string
	for _, l := range added {
		roles = append(roles, l.role)
	}
	if !slices.Equal(roles, []string{"user", "assistant", "toolResult", "assistant"}) {
		t.Fatalf("the file has the new messages %v", roles)
	}
	if added[0].text != "run the check" || added[2].text != "first part\nsecond part\n" && added[2].text != "first part\nsecond part" || added[3].text != "The check is through, both parts were printed." {
		t.Errorf("the file says %q, %q, %q", added[0].text, added[2].text, added[3].text)
	}
	if calls := added[1].m.(*message.Assistant).Content.ToolCalls(); len(calls) != 1 || calls[0].Name != "bash" {
		t.Errorf("the file has the calls %v", calls)
	}
	if got, want := b.said(), saidIn(messages(t, path)); !slices.Equal(got, want) {
		t.Errorf("the page says\n%q\nthe file\n%q", got, want)
	}
	if got := modeltest.ToolNames(w.last().Body); !slices.Equal(got, []string{"read", "bash"}) {
		t.Errorf("the provider was offered %v; the conversation declares read and bash", got)
	}
}

// chatOnlyAndBack makes a session by the keyboard and crosses the boundary twice.
func chatOnlyAndBack(t *testing.T, browser context.Context) {
	w := newWorld(t, browser, `{"steps":[{"match":"question","text":"An answer.","repeat":true}]}`)
	b := w.enter()
	b.until("the page knows the folder to propose", `performance.getEntriesByType("resource").some((e) => e.name.endsWith("/api/bootstrap") && e.responseEnd > 0)`)
	b.press("n")
	b.see("dialog input[name=folder]", "")
	b.axe("new session")
	if folder := get[string](b, "document.querySelector('input[name=folder]').value"); folder != w.project {
		t.Errorf("the dialog proposes the folder %q", folder)
	}
	b.press(kb.Enter)
	b.see(".kind-button", "By settings")

	ask := func(n int) modeltest.Recorded {
		t.Helper()
		b.send(fmt.Sprintf("question %d", n))
		b.until("the answer is there", fmt.Sprintf("all('.row.assistant .markdown', 'An answer.').length === %d", n))
		b.idle()
		b.see(".policy .glance.holds", "What was sent is what the file says")
		b.until("the receipt is shown", fmt.Sprintf("all('.receipts li.holds').length === %d", n))
		return w.last()
	}
	r := ask(1)
	if !modeltest.HasTools(r.Body) {
		t.Error("a session by settings sent no tools")
	}

	b.click(".presets button", "Chat Only")
	b.see(".confirm", "Go Chat Only?")
	b.see(".confirm", "unloads")
	b.axe("crossing")
	b.click(".confirm button", "Keep as it is")
	b.gone(".confirm", "")
	b.see(".policy .kind-open", "")
	b.click(".presets button", "Chat Only")
	b.click(".confirm .primary", "Go Chat Only")
	b.see(".policy .kind-chat-only", "Chat Only")
	b.see(".kind-button", "Chat Only")
	b.see(".presets button[aria-pressed=true]", "Chat Only")
	r = ask(2)
	if modeltest.HasTools(r.Body) {
		t.Errorf("Chat Only sent tools: %v", modeltest.ToolNames(r.Body))
	}
	if head, _ := modeltest.Head(r.Body); string(head) != agentsText {
		t.Errorf("Chat Only sent the head %q", head)
	}

	b.click(".presets button", "Follow settings")
	b.see(".confirm", "Leave Chat Only?")
	b.click(".confirm .primary", "Follow settings")
	b.see(".policy .kind-open", "")
	r = ask(3)
	if got := modeltest.ToolNames(r.Body); !slices.Equal(got, []string{"read", "bash", "edit", "write"}) {
		t.Errorf("back by settings it sent the tools %v", got)
	}

	b.click(".tool-list label", "bash")
	b.see(".policy .kind-pinned", "")
	b.until("bash is out", "all('.tool-list li.out', 'bash').length === 1")
	r = ask(4)
	if got := modeltest.ToolNames(r.Body); !slices.Equal(got, []string{"read", "edit", "write"}) {
		t.Errorf("pinned without bash it sent the tools %v", got)
	}
	b.click(".policy .small", "Show exact prompt")
	b.see("dialog .exact", "")
	head, _ := modeltest.Head(r.Body)
	if shown := get[string](b, "document.querySelector('dialog .exact').textContent"); shown != string(head) {
		t.Errorf("the exact prompt is shown as\n%q\nand was sent as\n%q", shown, head)
	}
	b.axe("exact prompt")
	b.press(kb.Escape)
	b.gone("dialog", "")

	// The history stands along the transcript, with what was sent at each place.
	for _, words := range []string{"Sent with read, bash, edit and write", "Chat Only from here on", "From here on the settings decide", "Tools from here on: read, edit and write"} {
		b.see(".row.moment", words)
	}
	b.click(".row.moment .fold", "Sent with no tools")
	b.axe("history of the policy")
	b.click(".row.moment .small", "Show what was sent")
	b.see("dialog .exact", "")
	if shown := get[string](b, "document.querySelector('dialog .exact').textContent"); shown != agentsText {
		t.Errorf("what was sent under Chat Only is shown as %q", shown)
	}
	b.press(kb.Escape)
	b.gone("dialog", "")
}

// numbered is a text of words that are all different.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%03d ", i)
	}
	return strings.TrimSpace(b.String())
}

// growing waits until the answer has at least n words. At every look it must be a
// beginning of the text: nothing lost, nothing twice. A look while the page loads
// sees nothing.
func (b *tab) growing(text string, n int) {
	b.t.Helper()
	words := strings.Fields(text)
	b.poll(fmt.Sprintf("%d words are there", n), func() bool {
		said, err := eval[[]string](b, saidJS)
		if err != nil || len(said) == 0 {
			return false
		}
		var shown []string
		for i, s := range said {
			if slices.Contains(said[:i], s) {
				b.t.Fatalf("%q is shown twice", s)
			}
			if a, ok := strings.CutPrefix(s, "assistant w000"); ok {
				if shown != nil {
					b.t.Fatalf("the answer is shown twice: %q", said)
				}
				shown = strings.Fields("w000" + a)
			}
		}
		if len(shown) > 0 {
			shown[len(shown)-1] = words[min(len(shown), len(words))-1] // the last word may be half
		}
		if len(shown) > len(words) || !slices.Equal(shown, words[:len(shown)]) {
			b.t.Fatalf("the answer is not the beginning of what is said: %q", shown)
		}
		return len(shown) >= n
	})
}

func reloadMidTurn(t *testing.T, browser context.Context) {
	text := numbered(240)
	w := newWorld(t, browser, `{"steps":[
		{"match":"before","text":"An earlier answer."},
		{"match":"tell","text":"First a look.",`+waiting+`},
		{"match":"tell","text":`+quote(text)+`,"delayMs":8}]}`)
	id := w.create("bash")
	b := w.open(id)
	tools := func(when string) {
		t.Helper()
		if n := b.count(".tool", ""); n != 1 {
			t.Errorf("%s %d tool cards are shown", when, n)
		}
	}
	b.send("before")
	b.see(".row.assistant", "An earlier answer.")
	b.idle()
	b.send("tell me all of it")
	b.see(".tool.running .tail", "first part")
	b.do("reload while the tool runs", chromedp.Reload())
	b.see(".tool.running .tail", "first part")
	b.see(".round.stop", "")
	b.growing(text, 0)
	tools("after the first reload")
	w.put("greeter/go-on", "")
	b.growing(text, 30)
	b.do("reload while it answers", chromedp.Reload())
	b.growing(text, 31)
	tools("after the second reload")
	b.growing(text, 120)
	b.do("reload", chromedp.Reload())
	b.growing(text, 240)
	b.idle()
	tools("in the end")
	path := w.live(id).Log().Path()
	want := saidIn(messages(t, path))
	if got := b.said(); !slices.Equal(got, want) {
		t.Errorf("the page says\n%q\nthe file\n%q", got, want)
	}
	if len(want) != 5 || want[4] != "assistant "+text {
		t.Errorf("the file says %q", want)
	}
	if n := w.provider.Count(); n != 3 {
		t.Errorf("the provider was asked %d times", n)
	}
	b.do("reload", chromedp.Reload())
	b.until("all is there once more", fmt.Sprintf("%s.length === 5", saidJS))
	if got := b.said(); !slices.Equal(got, want) {
		t.Errorf("after the last reload the page says\n%q\nthe file\n%q", got, want)
	}
}

func stopTurn(t *testing.T, browser context.Context) {
	text := numbered(20) // and then nothing comes, and no end
	w := newWorld(t, browser, `{"steps":[{"match":"tell","text":`+quote(text)+`,"stall":true},{"match":"tell","text":`+quote(text)+`,"stall":true},{"match":"and now","text":"Something else."}]}`)
	id := w.create()
	b := w.open(id)
	b.send("tell me")
	b.growing(text, 8)
	b.click(".round.stop", "")
	b.see(".row.assistant .ended", "Stopped before the end")
	b.idle()
	path := w.live(id).Log().Path()
	check := func() {
		t.Helper()
		lines := messages(t, path)
		last, ok := lines[len(lines)-1].m.(*message.Assistant)
		if !ok || last.StopReason != message.StopAborted || !strings.HasPrefix(text, last.Content.PlainText()) || last.Content.PlainText() == "" {
			t.Errorf("the file has %+v as its last message", lines[len(lines)-1].m)
		}
		if got, want := b.said(), saidIn(lines); !slices.Equal(got, want) {
			t.Errorf("the page says\n%q\nthe file\n%q", got, want)
		}
	}
	check()
	b.write("and now") // it can be used again at once; Escape stops as well
	b.press(kb.Enter)
	b.answered()
	b.see(".row.assistant", "Something else.")
	b.idle()
	b.send("tell me again")
	b.until("it answers", "all('.row.assistant .markdown', 'w008').length === 2")
	b.press(kb.Escape)
	b.until("both stops are said", "all('.row.assistant .ended', 'Stopped').length === 2")
	b.idle()
	check()
}

func twoTabs(t *testing.T, browser context.Context) {
	text := numbered(60)
	w := newWorld(t, browser, `{"steps":[
		{"match":"first","text":`+quote(text)+`,"delayMs":10},
		{"match":"second",`+waiting+`},
		{"match":"second","text":"Listed."}]}`)
	id := w.create("bash", "read")
	a := w.open(id)
	b := w.profile.tab(t, w.origin)
	b.do("open the session by its address", chromedp.Navigate(w.origin+"/#/s/"+id))
	b.see("#composer:not(:disabled)", "")
	a.send("first message")
	b.see(".row.user .said", "first message")
	b.growing(text, 5)
	a.growing(text, 5)
	a.growing(text, 60)
	b.growing(text, 60)
	a.idle()
	b.idle()
	b.send("second message") // the other way round
	a.see(".tool.running .tail", "first part")
	for _, tab := range []*tab{a, b} {
		tab.see(".round.stop", "")
	}
	w.put("greeter/go-on", "")
	a.see(".tool.done .tool-name", "bash")
	a.see(".row.assistant .markdown", "Listed.")
	a.idle()
	b.idle()
	want := saidIn(messages(t, w.live(id).Log().Path()))
	for name, tab := range map[string]*tab{"first": a, "second": b} {
		if got := tab.said(); !slices.Equal(got, want) {
			t.Errorf("the %s tab says\n%q\nthe file\n%q", name, got, want)
		}
		if n := tab.count(".tool", ""); n != 1 {
			t.Errorf("the %s tab has %d tool cards", name, n)
		}
	}
	b.click(".presets button", "Chat Only")
	b.click(".confirm .primary", "")
	a.see(".policy .kind-chat-only", "Chat Only")
}

// notSignedIn looks from a second profile.
func notSignedIn(t *testing.T, browser context.Context) {
	w := newWorld(t, browser, `{"steps":[]}`)
	w.enter() // the first profile is in
	other := newProfile(t, browser).tab(t, w.origin)
	for _, at := range []string{"/", "/?token=wrong", "/?token=", "/main.js", "/#/s/" + w.create()} {
		var status int64
		other.during("status of 401", func() {
			res, err := chromedp.Run(other.ctx, chromedp.NavigateResponse(w.origin+at))
			if err != nil {
				t.Fatalf("%s: %v", at, err)
			}
			status = res.Status
		})
		if status != 401 {
			t.Errorf("%s: status %d", at, status)
		}
		other.see("h1", "This browser is not signed in")
		if n := get[int](other, "document.querySelectorAll('script, #app').length"); n != 0 {
			t.Errorf("%s: a stranger gets the page", at)
		}
	}
	if cookies := get[string](other, "document.cookie"); cookies != "" {
		t.Errorf("a stranger got the cookies %s", cookies)
	}
	other.axe("not signed in")
}

func failures(t *testing.T, browser context.Context) {
	w := newWorld(t, browser, `{"steps":[
		{"match":"too much","error":{"status":400,"message":"This model takes at most 8192 tokens.","code":"context_length_exceeded"}},
		{"match":"half","text":"It begins well, but","error":{"status":400,"message":"The server lost its mind."}},
		{"match":"elsewhere","text":"Answered elsewhere."},
		{"match":"precious","text":"Received."},
		{"match":"slow","text":"It takes","stall":true}]}`)
	id := w.create()
	b := w.open(id)
	b.send("too much")
	b.see(".trouble", "This model takes at most 8192 tokens.")
	b.idle()
	b.until("it is said once", "all('.trouble').length === 1")
	b.see(".row.user .said", "too much")
	b.send("half an answer")
	b.see(".trouble", "The server lost its mind.")
	b.idle()
	b.see(".row.assistant .markdown", "It begins well, but")

	// Another program has a session: a send is refused, the text stays.
	shared, path := w.written("greeter", "Shared", time.Hour, nil, "What is here?", "A greeter.")
	elsewhere := w.runtime()
	theirs, err := elsewhere.Open(t.Context(), path, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := theirs.Prompt(t.Context(), piweb.Input{Text: "elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	if err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.visit(shared)
	b.see(".row.assistant .markdown", "Answered elsewhere.")
	const precious = "precious words, hard to find again"
	b.during("status of 409", func() {
		b.send(precious)
		b.see(".composer .strip.bad", "Another program is using this session")
	})
	if left := get[string](b, "document.getElementById('composer').value"); left != precious {
		t.Errorf("after the refusal the composer holds %q", left)
	}
	b.do("reload", chromedp.Reload())
	b.until("the text is there after a reload", "document.getElementById('composer')?.value === "+quote(precious))
	if err := elsewhere.Close(); err != nil {
		t.Fatal(err)
	}
	b.click("#composer:not(:disabled)", "")
	b.press(kb.Enter)
	b.see(".row.assistant .markdown", "Received.")
	b.until("the composer is empty", "document.getElementById('composer').value === ''")
	b.idle()
	if n := b.count(".row.user .said", precious); n != 1 {
		t.Errorf("the text was sent %d times", n)
	}

	// While an answer runs, Enter lets the text wait; a stop leaves it waiting.
	b.send("slow")
	b.see(".round.stop", "")
	b.send("meanwhile")
	b.see(".queued-text", "meanwhile")
	b.click(".round.stop", "")
	b.see(".row.assistant .ended", "Stopped")
	b.idle()
	b.see(".queued", "goes in with your next message")
	if n := b.count(".row.user .said", "meanwhile"); n != 0 {
		t.Error("what waits was sent")
	}
}

// thousand is a session file of a thousand messages.
func (w *world) thousand() (id string) {
	w.t.Helper()
	id = "00000000-0000-7000-8000-000000001000"
	cwd, _ := json.Marshal(w.project)
	var b strings.Builder
	at := time.Now().Add(-24 * time.Hour).UTC()
	stamp := func(n int) string { return at.Add(time.Duration(n) * time.Second).Format("2006-01-02T15:04:05.000Z") }
	fmt.Fprintf(&b, `{"type":"session","version":3,"id":%q,"timestamp":%q,"cwd":%s}`+"\n", id, stamp(0), cwd)
	parent := "null"
	for n := 1; n <= 1000; n++ {
		m := fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"Question %d of many."}],"timestamp":%d}`, n, at.UnixMilli()+int64(n)*1000)
		if n%2 == 0 {
			m = fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":"Answer %d.\n\n- with a list\n- and **words** in it\n\n`+"```"+`go\nfmt.Println(%d)\n`+"```"+`"}],"api":"openai-completions","provider":"local","model":"coder","usage":{},"stopReason":"stop","timestamp":%d}`, n, n, at.UnixMilli()+int64(n)*1000)
		}
		fmt.Fprintf(&b, `{"type":"message","id":"%08x","parentId":%s,"timestamp":%q,"message":%s}`+"\n", n, parent, stamp(n), m)
		parent = fmt.Sprintf(`"%08x"`, n)
	}
	w.put(".pi/agent/sessions/long/"+id+".jsonl", b.String())
	return id
}

func longTranscript(t *testing.T, browser context.Context) {
	w := newWorld(t, browser, `{"steps":[{"match":"one more","text":"The last answer."}]}`)
	b := w.open(w.thousand())
	b.see(".rowbox", "Answer 1000.")
	b.until("all of it has come", "document.querySelector('.transcript').getAttribute('aria-busy') === 'false'")
	rows := func() int {
		t.Helper()
		n := get[int](b, "document.querySelectorAll('.rowbox').length")
		if n > 200 {
			t.Errorf("%d rows are in the page", n)
		}
		return n
	}
	b.poll("the window is full of rows", func() bool { return rows() >= 8 })
	b.scrollTo("0")
	b.see(".rowbox", "Question 1 of many.")
	rows()
	b.click(".pill", "Jump to newest")
	b.see(".rowbox", "Answer 1000.")
	b.until("the end is in view", "((e) => e.scrollHeight - e.scrollTop - e.clientHeight < 5)(document.querySelector('.transcript'))")
	b.send("one more")
	b.see(".rowbox", "The last answer.")
	b.idle()
	rows()
}

// narrow is a phone's window, used without a pointer.
func narrow(t *testing.T, browser context.Context) {
	w := newWorld(t, browser, `{"steps":[{"match":"wide","text":"A long line:\n\n`+"```"+`\n`+strings.Repeat("wide ", 60)+`\n`+"```"+`\n\n| a | b | c |\n|---|---|---|\n| `+strings.Repeat("x", 80)+` | y | z |"}]}`)
	first, second := w.create("read"), w.create()
	b := w.enter()
	b.size(360, 740)
	fits := func(where string) {
		t.Helper()
		if over := get[int](b, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			t.Errorf("%s: the page is %d px wider than the window", where, over)
		}
	}
	fits("start")
	b.visit(first)
	b.send("something wide")
	b.see(".row.assistant", "A long line")
	b.idle()
	fits("wide texts")
	w.name(second, "The other session")

	b.see(".menu", "")
	if n := b.count(".side .item", ""); n != 0 {
		t.Error("the list is seen before the menu is opened")
	}
	b.focus(".transcript")
	b.tabTo(".menu", chromedp.ModifierShift)
	b.press(kb.Enter)
	b.see(".side .item", "The other session")
	b.settled(".side")
	fits("menu")
	b.axe("narrow menu")
	b.until("the menu has the focus", "document.querySelector('.side').contains(document.activeElement)")
	b.tabTo(".side .item:not([aria-current])")
	b.press(kb.Enter)
	b.see(".top .title", "The other session")
	b.until("the menu is closed", "all('.side .item').length === 0")
	if at := get[string](b, "location.hash"); at != "#/s/"+second {
		t.Errorf("the address is %s", at)
	}
	b.focus(".transcript")
	b.tabTo(".kind-button", chromedp.ModifierShift)
	b.press(kb.Enter)
	b.see(".policy .kind-name", "By settings")
	fits("policy")
	b.axe("narrow policy")
	b.tabTo(".policy .presets button")
	b.press(kb.Enter)
	b.see(".policy .confirm", "Go Chat Only?")
	b.until("the question has the focus", "document.activeElement.matches('.confirm .primary')")
	b.press(kb.Enter)
	b.see(".policy .kind-chat-only", "")
	b.press(kb.Escape)
	b.gone(".policy", "")
	b.see(".kind-button.chat-only", "")
	fits("after all")

	b.focus(".transcript")
	b.press("/")
	b.until("/ opens the menu at the search", "document.activeElement.id === 'search' && all('.side .item').length > 0")
	b.press(kb.Escape)
	b.until("Escape closes it", "all('.side .item').length === 0")
}

// name gives a live session a name.
func (w *world) name(id, name string) {
	w.t.Helper()
	if err := w.live(id).SetName(w.t.Context(), name); err != nil {
		w.t.Fatal(err)
	}
}

// focus puts the focus on an element, as a person would who starts from there.
func (b *tab) focus(css string) {
	b.t.Helper()
	b.until(css+" has the focus", fmt.Sprintf("(document.querySelector(%s).focus(), document.activeElement.matches(%s))", quote(css), quote(css)))
}

// settled waits until an element neither moves nor changes its size.
func (b *tab) settled(css string) {
	b.t.Helper()
	last := ""
	b.poll(css+" stands still", func() bool {
		now, err := eval[string](b, fmt.Sprintf("JSON.stringify(document.querySelector(%s).getBoundingClientRect())", quote(css)))
		still := err == nil && now == last
		last = now
		return still
	})
}
