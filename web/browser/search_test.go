package browser

import (
	"os"
	"testing"
	"time"
)

// TestSearchAndFollow: the search box finds what was said, CJK included, and a
// session that another program writes to grows on the page.
func TestSearchAndFollow(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[{"text":"Good day.","repeat":true}]}`)
	id, path := w.written("p", "one", time.Hour, nil, "where does the scanner keep 漢字の行?", "In the file.")
	w.written("p", "two", 2*time.Hour, nil, "something else", "Yes.")
	b := w.open(id)
	b.see(".row.assistant .markdown", "In the file.")
	b.focus("#search")
	b.do("search", keys("漢字"))
	b.see(".hits .hit mark", "漢字")
	b.until("there is one hit", `document.querySelector(".hits").getAttribute("aria-busy") === "false" && all(".hits .hit-item").length === 1`)
	b.axe("search in messages")
	b.picture("search.png")
	b.dark()
	b.axe("search in messages, dark")
	b.see(".hits .hit-session", "one")
	b.click(".hits .hit-item", "漢字")
	b.see(".row.assistant .markdown", "In the file.")

	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(`{"type":"message","id":"elsewher","parentId":"00000003","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"written elsewhere","timestamp":1}}` + "\n"); err != nil {
		t.Fatal(err)
	}
	b.see(".row.user", "written elsewhere")
}
