package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/fixtures/pictures"
)

// TestPictureCard: the card of a call that read a picture shows it small and says
// its size, while the turn runs and after a reload; the whole one opens by its
// address, and base64 is nowhere to be read (T10).
func TestPictureCard(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[
		{"match":"look","toolCalls":[{"id":"c1","name":"read","arguments":{"path":"图 shot.png"}}]},
		{"text":"Seen.","repeat":true}]}`)
	if err := os.WriteFile(filepath.Join(w.project, "图 shot.png"), pictures.PNG(pictures.Noise(700, 400, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	id := w.create("read")
	b := w.open(id)
	b.send("look")
	b.see(".row.assistant .markdown", "Seen.")
	b.idle()
	b.see(".tool.done .tool-what", "图 shot.png (image, 700×400)")
	checkPicture(t, b)
	b.axe("a picture")

	later := w.open(id)
	later.see(".tool.done .tool-what", "图 shot.png (image, 700×400)")
	checkPicture(t, later)
	later.click(".tool-head", "shot.png")
	later.see(".tool-body", "Read picture 图 shot.png")
}

// checkPicture waits until the card's picture is drawn.
func checkPicture(t *testing.T, b *tab) {
	t.Helper()
	b.until("the picture is drawn", "document.querySelector('.tool img.picture')?.naturalWidth > 0")
	if wide := get[float64](b, "document.querySelector('.tool img.picture').naturalWidth"); wide > 512 {
		t.Errorf("the picture of the card is %v pixels wide", wide)
	}
	if href := get[string](b, "document.querySelector('.tool a.picture-link').href"); !strings.Contains(href, "/api/pictures/") || !strings.Contains(href, "sig=") {
		t.Errorf("the picture leads to %s", href)
	}
	if text := get[string](b, "document.body.innerText"); strings.Contains(text, "base64") || strings.Contains(text, "iVBOR") {
		t.Error("data is shown as text")
	}
}
