package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestAPIDocs reads the page of the API as a person does: in a wide and a narrow
// window, by day and by night. It has no script.
func TestAPIDocs(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[]}`)
	b := w.enter()
	b.do("open the page of the API", chromedp.Navigate(w.origin+"/api/docs"))
	b.see("h1", "Sessions of coding agents over HTTP")
	b.light()
	b.axe("the API")
	b.size(360, 740, chromedp.EmulateScale(2))
	if wide := get[int](b, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
		t.Errorf("the narrow page is %d pixels too wide", wide)
	}
	b.dark()
	b.axe("the API, narrow, dark")
}
