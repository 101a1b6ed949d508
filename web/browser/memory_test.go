package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestMemory lets a model keep something, finds it on the page, goes to where it was
// said, and forgets it.
func TestMemory(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[
		{"match":"keep","toolCalls":[{"id":"call_keep","name":"remember","arguments":{"text":"The 内存网关 <b>stands</b> in front."}}]},
		{"match":"keep","text":"I keep it."}]}`)
	w.put(".pi/agent/piweb.json", `{"memory":{"tools":true}}`)
	id := w.create()
	b := w.open(id)
	b.send("keep this")
	b.see(".row.assistant .markdown", "I keep it.")
	b.idle()
	b.click(`button[aria-label="Memory"]`, "")
	b.see("dialog .memory-text", "The 内存网关 <b>stands</b> in front.")
	b.axe("memories")
	b.focus(".memories input")
	b.do("search what is not there", keys("xyzzy"), keys(kb.Enter))
	b.see(".whole-found", "nothing found")
	b.do("search", keys(kb.Backspace+kb.Backspace+kb.Backspace+kb.Backspace+kb.Backspace+"网关"), keys(kb.Enter))
	b.see(".whole-found", "1")
	b.see("dialog .memory-text", "The 内存网关 <b>stands</b> in front.")
	b.see("dialog .memory-text mark", "网关")
	b.dark()
	b.axe("memories, dark")
	b.click(".memory button", "Open where it was said")
	b.gone("dialog", "")
	b.see(`[data-call="call_keep"]`, "remember")
	b.click(`button[aria-label="Memory"]`, "")
	b.click(".memory button", "Forget")
	b.click(".memory button", "Forget for good?")
	b.see(".whole-found", "nothing found")
	b.see(".memories", "Nothing is kept yet")
	b.size(360, 740)
	if wide := get[bool](b, "document.documentElement.scrollWidth > innerWidth"); wide {
		t.Error("the dialog is wider than the window")
	}
}
