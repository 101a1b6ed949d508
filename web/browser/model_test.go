package browser

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// chooseJS picks an option as a person does: it is set, and the page is told.
const chooseJS = `((css, value) => { const s = document.querySelector(css); s.value = value; s.dispatchEvent(new Event("change", { bubbles: true })); return s.value })(%s, %s)`

// TestModelAndThinking: the choices of the header become entries of the file, reach
// the provider, and are there again after a visit.
func TestModelAndThinking(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[{"text":"Good.","repeat":true}]}`)
	w.put(".pi/agent/models.json", fmt.Sprintf(`{"providers":{"local":{"baseUrl":%q,"api":"openai-completions","apiKey":"k","models":[
		{"id":"coder","name":"Coder"},{"id":"thinker","name":"Thinker","reasoning":true}]}}}`, w.provider.URL))
	id := w.create("read")
	b := w.open(id)
	b.send("hello")
	b.see(".row.assistant", "Good.")
	b.idle()

	choose := func(css, value string) {
		t.Helper()
		if got := get[string](b, fmt.Sprintf(chooseJS, quote(css), quote(value))); got != value {
			t.Fatalf("%s has no option %q, it is at %q", css, value, got)
		}
	}
	b.until("the models are known", `!!document.querySelector('.model option[value="local/thinker"]')`)
	choose(".model:not(.thinking-choice) select", "local/thinker")
	b.until("its levels are offered", `!!document.querySelector('.thinking-choice option[value="high"]')`)
	choose(".thinking-choice select", "high")
	b.poll("both choices are in the file", func() bool {
		data, err := os.ReadFile(w.live(id).Log().Path())
		return err == nil && bytes.Contains(data, []byte(`"modelId":"thinker"`)) && bytes.Contains(data, []byte(`"thinkingLevel":"high"`))
	})
	b.axe("the choice of model and thinking")

	b.send("think")
	b.until("both answers are there", `document.querySelectorAll('.row.assistant').length === 2`)
	b.idle()
	body := string(w.last().Body)
	for _, want := range []string{`"model":"thinker"`, `"reasoning_effort":"high"`} {
		if !strings.Contains(strings.ReplaceAll(body, `": `, `":`), want) {
			t.Errorf("the request has no %s: %.400s", want, body)
		}
	}
	b.do("reload", chromedp.Reload())
	b.until("model and level are those of the file", `document.querySelector('.model:not(.thinking-choice) select')?.value === "local/thinker" && document.querySelector('.thinking-choice select')?.value === "high"`)
}
