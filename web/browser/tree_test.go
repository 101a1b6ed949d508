package browser

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestTree writes a message anew, finds both branches in the tree, goes back to the
// first, names an entry, and makes a session of a part; then the place of a hit on
// the branch that was left is shown.
func TestTree(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[
		{"match":"apples","text":"About apples."},{"match":"pears","text":"About pears."},{"match":"plums","text":"About plums."},
		{"match":"quinces","text":"About quinces."},{"match":"<conversation>","text":"A SUMMARY of plums.","repeat":true}]}`)
	id := w.create()
	b := w.open(id)
	for _, text := range []string{"apples", "pears"} {
		b.send("tell me of " + text)
		b.see(".row.assistant .markdown", "About "+text+".")
		b.idle()
	}
	path := w.live(id).Log().Path()

	t.Log("write a message anew")
	edit := func() {
		t.Helper()
		get[bool](b, `(all(".row.user", "pears")[0].querySelector(".action").focus(), true)`)
		b.click(`.row.user:focus-within button[aria-label="Edit and send anew"]`, "")
	}
	edit()
	b.until("an editor has the focus", "document.activeElement.matches('.edit-said textarea')")
	b.press(kb.Escape)
	b.gone(".edit-said", "")
	edit()
	b.see(".edit-said", "What came after it stays")
	b.axe("a message written anew")
	get[bool](b, "(document.activeElement.select(), true)")
	b.do("write it anew", keys("no, plums"), keys(kb.Enter))
	b.see(".row.assistant .markdown", "About plums.")
	b.idle()
	b.gone(".row.assistant", "About pears.")
	if got, want := b.said(), saidIn(messages(t, path)); !slices.Equal(got, want) {
		t.Errorf("the page shows %q, the file has %q", got, want)
	}
	if asked := string(w.last().Body); strings.Contains(asked, "pears") || !strings.Contains(asked, "no, plums") || !strings.Contains(asked, "About apples.") {
		t.Errorf("the provider was asked %s", asked)
	}

	t.Log("the tree")
	b.focus(".transcript")
	b.press("t")
	b.see("dialog .tree-line", "tell me of apples")
	b.see(".tree-line .tree-note", "2 branches")
	b.see(".tree-line.here", "About plums.")
	b.see(".tree-line:not(.on)", "tell me of pears")
	b.axe("tree")
	b.dark()
	b.axe("tree, dark")
	b.light()
	b.focus(".tree-lines")
	b.press(kb.Home)
	b.see(`.tree-line[aria-selected="true"]`, "apples")
	b.press(kb.ArrowDown)
	b.see(`.tree-line[aria-selected="true"]`, "tell me of pears")
	b.click(".tree-name input", "")
	b.do("name it", keys("the first try 漢字"), keys(kb.Enter))
	b.see(".tree-line .tree-label", "the first try 漢字")
	get[bool](b, `((s) => (s.value = "messages", s.dispatchEvent(new Event("change", {bubbles: true})), true))(document.querySelector("dialog select"))`)
	b.see(".tree-line", "About pears.")
	b.click(".tree-line", "About pears.")
	b.click(".tree-node .choice", "")
	b.click(".tree-node button.primary", "Go on from here")
	b.gone("dialog", "")
	b.see(".row.assistant .markdown", "About pears.")
	b.see(".row-label", "the first try 漢字")
	b.see(".note", "Summary of a branch")
	b.gone(".row.assistant .markdown", "About plums.")

	t.Log("the leaf is durable, and the conversation goes on there")
	b.do("reload", chromedp.Reload())
	b.see("#composer:not(:disabled)", "")
	b.see(".row.assistant .markdown", "About pears.")
	b.send("and quinces")
	b.see(".row.assistant .markdown", "About quinces.")
	b.idle()

	t.Log("a place on the branch that was left")
	b.focus("#search")
	b.do("search", keys("plums"))
	b.see(".hits .hit mark", "plums")
	b.click(".hits .hit-item", "no, plums")
	b.see(".astray", "on another branch")
	b.axe("a place elsewhere")
	b.click(".astray button", "Show in the tree")
	b.see(`.tree-line[aria-selected="true"]`, "plums")

	t.Log("a session of a part")
	b.click(".tree-line", "tell me of apples")
	b.click(".tree-node button", "New session that writes it anew")
	b.gone("dialog", "")
	b.until("another session is open", "!location.hash.includes("+quote(id)+")")
	b.until("the text is there to be written anew", "document.querySelector('#composer')?.value === 'tell me of apples'")

	b.visit(id)
	b.size(360, 740)
	b.click(".tree-button", "")
	b.see("dialog .tree-line", "apples")
	if over := get[int](b, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
		t.Errorf("the page is %d px wider than the window", over)
	}
	b.axe("tree, narrow")
}
