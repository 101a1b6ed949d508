package browser

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/extension/attach/attachtest"
	"github.com/piweb-go/piweb/fixtures/pictures"
)

// ringWorld is a world with the tools for attachments and a model that does what
// it is told.
func ringWorld(t *testing.T, browser context.Context) *world {
	t.Helper()
	home := filepath.Join(t.TempDir(), "ada")
	w := &world{t: t, home: home, project: filepath.Join(home, "greeter")}
	if err := os.MkdirAll(w.project, 0o755); err != nil {
		t.Fatal(err)
	}
	w.put(".pi/agent/models.json", attachtest.Models)
	w.put(".pi/agent/settings.json", attachtest.Settings)
	_, registry := attachtest.New()
	var err error
	w.rt, err = piweb.New(piweb.Config{Home: home, Lookup: func(string) (string, bool) { return "", false }, Providers: registry,
		Attachments: piweb.AttachmentConfig{Tools: true, Limit: 100_000}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.rt.Close() })
	w.serve()
	w.profile = newProfile(t, browser)
	return w
}

// hand gives files to the page, as picking, dropping or pasting does.
func (b *tab) hand(how, name, mimeType string, data []byte) {
	b.t.Helper()
	get[bool](b, fmt.Sprintf(`((how, name, type, data) => {
		const files = new DataTransfer();
		files.items.add(new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], name, { type }));
		const box = document.querySelector(".compose-box"), how2 = { bubbles: true, cancelable: true };
		if (how === "pick") {
			const input = box.querySelector("input[type=file]");
			input.files = files.files;
			input.dispatchEvent(new Event("change", how2));
		} else if (how === "drop") {
			box.dispatchEvent(new DragEvent("dragover", { ...how2, dataTransfer: files }));
			box.dispatchEvent(new DragEvent("drop", { ...how2, dataTransfer: files }));
		} else {
			box.querySelector("textarea").dispatchEvent(new ClipboardEvent("paste", { ...how2, clipboardData: files }));
		}
		return true;
	})(%s, %s, %s, %s)`, quote(how), quote(name), quote(mimeType), quote(base64.StdEncoding.EncodeToString(data))))
}

// pictureOf waits until a picture of the transcript is drawn, and is so wide.
func (b *tab) pictureOf(css string, nth, width int) {
	b.t.Helper()
	b.until(fmt.Sprintf("picture %d in %s is %d wide", nth, css, width),
		fmt.Sprintf("document.querySelectorAll(%s)[%d]?.naturalWidth === %d", quote(css), nth, width))
}

// TestAttachments goes the whole ring: files are picked, dropped and pasted, sent,
// edited by a tool, seen after a reload, and the outcome is edited again.
func TestAttachments(t *testing.T) {
	w := ringWorld(t, startBrowser(t))
	id := w.create()
	b := w.open(id)
	const name = "Katze [1] 🙂.png"

	// One that cannot be sent is named, and keeps the message from going without it.
	b.during("413", func() {
		b.hand("drop", "large.bin", "application/octet-stream", make([]byte, 150_000))
		b.see(".chip.error", "too large")
	})
	b.see(".under", "Remove the file that failed")
	b.click(".chip.error .icon-button", "")
	b.gone(".chip", "")

	// One that breaks off is tried again.
	get[bool](b, `(() => {
		const send = XMLHttpRequest.prototype.send;
		XMLHttpRequest.prototype.send = function () {
			XMLHttpRequest.prototype.send = send;
			setTimeout(() => this.onerror(), 0);
		};
		return true;
	})()`)
	b.hand("paste", "notes.txt", "text/plain", []byte("notes"))
	b.see(".chip.error", "did not arrive")
	b.click(".chip.error .link", "Try again")
	b.see(".chip.ready", "notes.txt")
	b.hand("pick", name, "image/png", pictures.PNG(pictures.Noise(120, 80, 1)))
	b.see(".chip.ready", name)
	b.until("the picture is seen before it is sent", "document.querySelector('.chip.ready img')?.naturalWidth === 120")
	b.axe("attached files")
	b.picture("attachments-chips")

	// A file that is taken back goes from the server, too.
	b.hand("pick", "mistake.txt", "text/plain", []byte("x"))
	b.see(".chip.ready", "mistake.txt")
	b.click(".chips li:last-child .icon-button", "")
	b.gone(".chip", "mistake.txt")
	b.poll("the server has dropped it", func() bool {
		store, err := w.rt.Attachments()
		if err != nil {
			t.Fatal(err)
		}
		list, err := store.List(t.Context(), id)
		return err == nil && len(list) == 2
	})

	b.send(`Turn it. CALL edit_image {"attachmentId":"LAST","rotate":90}`)
	b.see(".tool.done", "edit_image")
	b.pictureOf(".tool .shown img", 0, 80)
	b.idle()
	b.gone(".chips", "")
	b.pictureOf(".row.user .shown img", 0, 120)
	b.see(".row.user .chip.sent", "notes.txt")
	if said := strings.Join(b.said(), "\n"); strings.Contains(said, "[attachment") || !strings.Contains(said, "Turn it.") {
		t.Errorf("the transcript says %q", said)
	}
	if n := b.count(".row.user .bubble img", ""); n != 1 {
		t.Errorf("the picture is shown %d times", n)
	}

	// All of it is there after a reload.
	b.do("reload", chromedp.Reload())
	b.pictureOf(".row.user .shown img", 0, 120)
	b.pictureOf(".tool .shown img", 0, 80)

	// An address that has ended is asked for anew when it is needed.
	b.during("401", func() {
		get[bool](b, `(() => { const i = document.querySelector(".row.user .shown img"); i.src = i.src.replace(/exp=\d+/, "exp=1"); return true; })()`)
		b.until("the address is fresh", `!document.querySelector(".row.user .shown img")?.src.includes("exp=1&")`)
		b.pictureOf(".row.user .shown img", 0, 120)
	})

	// The outcome is edited again; a message may be files alone.
	b.send(`CALL edit_image {"attachmentId":"LAST","resize":{"width":20}}`)
	b.pictureOf(".tool .shown img", 1, 20)
	b.idle()
	b.hand("drop", "last.txt", "text/plain", []byte("last"))
	b.see(".chip.ready", "last.txt")
	b.click("#composer", "")
	b.press(kb.Enter)
	b.see(".row.user .chip.sent", "last.txt")
	b.idle()
	b.axe("a transcript with files")
	b.picture("attachments-ring")
	if n := get[int](b, "document.querySelectorAll('.row.user').length"); n != 3 {
		t.Errorf("%d messages of the user", n)
	}
}
