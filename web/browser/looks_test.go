package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/piweb-go/piweb"
)

//go:embed testdata/axe.min.js
var axeSource string

// axe looks for what keeps people out, and fails for what is serious or critical.
func (b *tab) axe(where string) {
	b.t.Helper()
	b.do("load axe", chromedp.Evaluate[chromedp.Void](axeSource))
	for _, f := range get[[]string](b, `axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations
		.map((v) => v.impact + " " + v.id + ": " + v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " (" + (n.any[0]?.message ?? n.all[0]?.message ?? n.none[0]?.message ?? "") + ")").join("; ")))`) {
		if strings.HasPrefix(f, "serious") || strings.HasPrefix(f, "critical") {
			b.t.Errorf("axe on %q: %s", where, f)
		} else {
			b.t.Logf("axe on %q: %s", where, f)
		}
	}
}

//go:embed testdata/greeter.json
var greeterScript string

// looks shows the page as the README does: a project, a conversation with tools
// that really ran, and the policy beside it.
func looks(t *testing.T, browser context.Context) {
	w := newWorldAt(t, browser, shownHome(t), greeterScript)
	w.written("greeter", "What AGENTS.md asks for", 26*time.Hour, []string{}, "What do the rules of this project ask for?", "Two things: one file, and an exclamation mark at the end of every greeting.")
	w.written("greeter", "Where the names come from", 3*time.Hour, []string{"read", "grep", "find", "ls"}, "Where does the program take the names from?", "From its arguments, in main.")
	w.written("letters", "Invitation for the garden party", 49*time.Hour, []string{}, "Make this invitation shorter.", "Come to our garden on Saturday at four. Bring a chair.")
	w.written("recipes", "Bread with less salt", 8*24*time.Hour, nil, "Halve the salt in bread.md.", "Done: 10 g became 5 g.")

	s, err := w.rt.Create(t.Context(), w.project, piweb.OpenOptions{Tools: &[]string{"read", "bash", "edit", "write"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"It should greet several people, each on a line of their own.", "And if nobody is named?"} {
		turn, err := s.Prompt(t.Context(), piweb.Input{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		if err := turn.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SetName(t.Context(), "Greet several people"); err != nil {
		t.Fatal(err)
	}

	b := w.enter()
	b.light()
	b.until("all sessions are listed", "all('.list .item').length === 5")
	b.visit(s.ID())
	b.see(".row.assistant .markdown", "greets everyone")
	b.see(".policy .glance.holds", "What was sent is what the file says")
	b.click(".tool-head", "go run greet.go")
	b.see(".tool.done .output", "Hello, Ada!\nHello, Grace!")
	b.until("the code has its colours", "document.querySelector('.code .hljs-keyword')")
	b.bottom()
	b.axe("wide, light")
	b.picture("page.png")

	b.dark()
	b.click(".kind .fold", "How it was decided")
	b.see(".trail li.decided", "")
	b.axe("wide, dark")
	b.picture("page-dark.png")
	b.press("n")
	b.see("dialog input[name=folder]", "")
	b.axe("new session, dark")
	b.press(kb.Escape)
	b.gone("dialog", "")
	b.click(".policy .small", "Show exact prompt")
	b.see("dialog .exact", "exclamation mark")
	b.axe("exact prompt, dark")
	b.press(kb.Escape)
	b.gone("dialog", "")

	b.light()
	b.size(360, 740, chromedp.EmulateScale(2))
	b.gone(".policy", "")
	b.bottom()
	b.axe("narrow, light")
	b.picture("page-narrow.png")
	b.dark()
	b.axe("narrow, dark")
}

// shownHome is a home; where pictures are kept it has a name that may be seen.
func shownHome(t *testing.T) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "ada")
	if *shots != "" {
		home = filepath.Join(os.TempDir(), "ada")
		if err := os.Mkdir(home, 0o755); err != nil {
			t.Fatalf("the pictures are taken in a home of this name: %v", err)
		}
		t.Cleanup(func() { os.RemoveAll(home) })
	}
	return home
}

// written puts a session of an earlier day into the sessions folder. tools are
// what it has chosen, nil for nothing.
func (w *world) written(folder, name string, age time.Duration, tools []string, asked, answered string) (id, path string) {
	w.t.Helper()
	at := time.Now().Add(-age).UTC()
	stamp, ms := at.Format("2006-01-02T15:04:05.000Z"), at.UnixMilli()
	id = fmt.Sprintf("00000000-0000-7000-8000-%012d", int(age.Hours()))
	var lines []string
	parent := ""
	add := func(fields map[string]any) {
		if len(lines) > 0 {
			fields["id"], fields["parentId"], fields["timestamp"] = fmt.Sprintf("%08x", len(lines)), nil, stamp
			if parent != "" {
				fields["parentId"] = parent
			}
			parent = fields["id"].(string)
		}
		data, err := json.Marshal(fields)
		if err != nil {
			w.t.Fatal(err)
		}
		lines = append(lines, string(data))
	}
	text := func(s string) []any { return []any{map[string]any{"type": "text", "text": s}} }
	add(map[string]any{"type": "session", "version": 3, "id": id, "timestamp": stamp, "cwd": filepath.Join(w.home, folder)})
	if tools != nil {
		add(map[string]any{"type": "custom", "customType": "pi-web:tool-selection", "data": map[string]any{"version": 1, "tools": tools}})
	}
	add(map[string]any{"type": "message", "message": map[string]any{"role": "user", "content": text(asked), "timestamp": ms}})
	add(map[string]any{"type": "message", "message": map[string]any{"role": "assistant", "content": text(answered), "api": "openai-completions",
		"provider": "local", "model": "coder", "usage": map[string]any{}, "stopReason": "stop", "timestamp": ms}})
	add(map[string]any{"type": "session_info", "name": name})
	path = w.put(".pi/agent/sessions/"+folder+"/"+id+".jsonl", strings.Join(lines, "\n")+"\n")
	if err := os.Chtimes(path, at, at); err != nil {
		w.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(w.home, folder), 0o755); err != nil {
		w.t.Fatal(err)
	}
	return id, path
}

// bottom scrolls the transcript to its end and takes the pointer and the focus
// away, so that nothing is highlighted.
func (b *tab) bottom() {
	b.t.Helper()
	b.do("move the pointer away", chromedp.MouseEvent(chromedp.MouseMoved, 1, 1))
	b.until("the end is in view", `((e) => (e.scrollTop = e.scrollHeight, document.activeElement.blur(), e.scrollHeight - e.scrollTop - e.clientHeight < 2))(document.querySelector(".transcript"))`)
	b.settled(".rowbox:nth-last-child(1 of .rowbox)")
}
