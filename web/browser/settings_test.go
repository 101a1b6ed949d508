package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestSettings changes settings on the page, by keyboard and pointer: they are
// written to the user's files, which keep the rest, hold for the next session, and
// can be taken back. The choice of light or dark holds after a reload.
func TestSettings(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[{"text":"Good.","repeat":true}]}`)
	pi := w.put(".pi/agent/settings.json", `{"theirs":{"n":1.50},"defaultProvider":"local","defaultModel":"coder"}`)
	file := func() string {
		t.Helper()
		data, err := os.ReadFile(pi)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	b := w.enter()
	b.light()
	b.press(",")
	b.see("dialog .setting", "Sum up what no longer fits")
	b.axe("settings")
	b.tabTo(`[id="setting-compaction.enabled"]`)
	b.press(" ")
	b.poll("the change is written", func() bool { return strings.Contains(file(), `"enabled": false`) })
	b.see(".setting button", "back to on")
	choose := func(key, value string) {
		t.Helper()
		b.until("there is "+value, fmt.Sprintf(`((e) => e?.tagName === "INPUT" || [...e?.options ?? []].some((o) => o.value === %s))(document.getElementById(%s))`, quote(value), quote("setting-"+key)))
		if got := get[string](b, fmt.Sprintf(chooseJS, quote(`[id="setting-`+key+`"]`), quote(value))); got != value {
			t.Fatalf("%s is at %q", key, got)
		}
	}
	choose("defaultModel", "fake/fake-1")
	b.poll("the model is written", func() bool {
		return strings.Contains(file(), `"defaultModel": "fake-1"`) && strings.Contains(file(), `"defaultProvider": "fake"`)
	})
	choose("compaction.reserveTokens", "8000")
	b.poll("the number is written", func() bool { return strings.Contains(file(), `"reserveTokens": 8000`) })
	b.click(".setting-tools label", "bash")
	b.poll("the tools are written", func() bool { return strings.Contains(file(), `"defaultTools"`) && !strings.Contains(file(), `"bash"`) })
	if !strings.Contains(file(), `"n": 1.50`) {
		t.Errorf("what others wrote is gone: %s", file())
	}
	b.click(".setting button", "back to on")
	b.poll("it is taken back", func() bool { return !strings.Contains(file(), `"enabled"`) })

	get[string](b, `((s) => { s.value = "dark"; s.dispatchEvent(new Event("change", {bubbles: true})); return s.value })(document.querySelector("dialog .setting select"))`)
	b.until("the page is dark", "getComputedStyle(document.body).backgroundColor === 'rgb(26, 25, 23)'")
	b.axe("settings, dark by choice")
	b.press(kb.Escape)
	b.gone("dialog", "")
	b.do("reload", chromedp.Reload())
	b.until("the page is dark again", "getComputedStyle(document.body).backgroundColor === 'rgb(26, 25, 23)' && document.querySelector('.item, .welcome')")

	b.visit(w.create())
	b.until("new sessions have the model", "document.querySelector('.model select')?.value === 'fake/fake-1'")
	if n := get[bool](b, `[...document.querySelectorAll(".policy .tool-list label")].some((l) => /bash/.test(l.innerText) && l.querySelector("input").checked)`); n {
		t.Error("bash is on")
	}
	b.size(360, 740)
	b.gone(".policy", "") // it lies over the page now
	b.unfocus()
	b.press(",")
	b.see("dialog .setting", "Projects that nothing")
	if over := get[int](b, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
		t.Errorf("the page is %d px wider than the window", over)
	}
	b.axe("settings, narrow")
}
