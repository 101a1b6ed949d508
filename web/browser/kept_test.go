package browser

import "testing"

// TestOpenedAtOnce: a card that is opened in the moment in which it appears, before
// the browser painted it, is open.
func TestOpenedAtOnce(t *testing.T) {
	b := newWorld(t, startBrowser(t), `{"steps":[]}`).enter()
	if got := get[string](b, `(async () => {
		const { render, h } = await import("preact");
		const { useKept, keep } = await import("/kept.js");
		const box = document.createElement("div");
		const frame = () => new Promise((ok) => requestAnimationFrame(() => setTimeout(ok, 0)));
		render(h(() => useKept("a card")[0] ? "open" : "closed"), box);
		const before = box.textContent;
		keep("a card", true);
		for (let n = 0; n < 5; n++) await frame();
		return before + ", then " + box.textContent;
	})()`); got != "closed, then open" {
		t.Error(got)
	}
}
