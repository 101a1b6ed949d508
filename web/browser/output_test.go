package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestWholeOutput opens the whole of an output that a card shows the end of, turns
// its pages, and searches it.
func TestWholeOutput(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[
		{"match":"count","toolCalls":[{"id":"c1","name":"bash","arguments":{"command":"seq 1 12345; echo 'Nadel <b>名前</b>'; seq 1 5000"}}]},
		{"match":"count","text":"Counted."}]}`)
	id := w.create("bash")
	b := w.open(id)
	b.send("count")
	b.see(".row.assistant .markdown", "Counted.")
	b.idle()
	b.click(".tool-head", "seq 1 12345")
	b.see(".tool.done .whole-link", "Show the whole output")

	b.click(".whole-link button", "Show the whole output")
	b.see("dialog .whole-pages", "Lines 1–500 of 17,346")
	if n := b.count(".whole-line", ""); n != 500 {
		t.Errorf("%d lines are in the page", n)
	}
	b.axe("whole output")
	b.click(".whole-pages button", "Last")
	b.see(".whole-pages", "17,346 of 17,346")
	b.see(".whole-line", "5000")
	b.click(".whole-pages button", "Previous")
	b.see(".whole-pages", "of 17,346")

	b.focus(".whole-bar input")
	b.do("search", keys("nadel"), keys(kb.Enter))
	b.see(".whole-found", "line 12,346: 1 of 1")
	b.see(".whole-line.hit", "Nadel <b>名前</b>")
	b.see(".whole-pages", "Lines 12,001–12,500")
	b.dark()
	b.axe("a match, dark")
	b.do("search what is not there", keys("xyz"), keys(kb.Enter))
	b.see(".whole-found", "nothing found")
	if href := get[string](b, "document.querySelector('.whole-save').href"); !strings.Contains(href, "/artifacts/raw?url=artifact") {
		t.Errorf("saving leads to %s", href)
	}
	b.size(360, 740)
	if wide := get[bool](b, "document.documentElement.scrollWidth > innerWidth"); wide {
		t.Error("the dialog is wider than the window")
	}
	b.press(kb.Escape) // empties the search
	b.press(kb.Escape)
	b.gone("dialog", "")

	// Who comes later finds it in the file.
	later := w.open(id)
	later.click(".tool-head", "seq 1 12345")
	later.see(".whole-link", "Show the whole output")
}

// TestWholeAnswer opens the whole answer of a subagent, of which its parent got the
// beginning.
func TestWholeAnswer(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[
		{"match":"delegate it","toolCalls":[{"id":"c1","name":"Agent","arguments":{"prompt":"the task of the child","description":"A long one","subagent_type":"explore"}}]},
		{"match":"the task of the child","text":"one line of the answer\n","textTimes":4000},
		{"match":"delegate it","text":"Delegated."}]}`)
	if err := w.rt.SubagentSettings().SetBuiltIn(true); err != nil {
		t.Fatal(err)
	}
	id := w.create("read")
	b := w.open(id)
	b.send("delegate it")
	b.see(".row.assistant .markdown", "Delegated.")
	b.idle()
	b.click(".tool-head", "A long one")
	b.click(".whole-link button", "Show the whole output")
	b.see("dialog .whole-pages", "Lines 1–500 of 4,000")
	if href := get[string](b, "document.querySelector('.whole-save').href"); !strings.Contains(href, "/artifacts/raw?url=agent%3A%2F%2F0-explore") {
		t.Errorf("saving leads to %s", href)
	}
}
