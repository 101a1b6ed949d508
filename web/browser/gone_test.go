package browser

import (
	"os"
	"testing"
	"time"
)

// TestFolderGone: a session whose folder was taken away says so, keeps what is
// written, and goes on in another folder with its conversation and its limits.
func TestFolderGone(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[{"match":"go on","text":"On it."}]}`)
	id, _ := w.written("旧 place", "Old", time.Hour, []string{"read"}, "What is here?", "A **list**.")
	if err := os.RemoveAll(w.home + "/旧 place"); err != nil {
		t.Fatal(err)
	}
	b := w.enter()
	get[string](b, "location.hash = "+quote("#/s/"+id))
	b.see(".folder-gone", "The folder of this session is not there.")
	b.see(".folder-gone bdi", "旧 place")
	b.write("go on")
	b.axe("the folder is gone")
	b.click(".folder-gone button", "Go on in another folder")
	b.fill("dialog input[name=folder]", w.home+"/nowhere")
	b.during("status of 4", func() { b.click("dialog button[type=submit]", "Go on") })
	b.see("dialog [role=alert]", "")
	get[bool](b, "(document.querySelector('dialog input[name=folder]').select(), true)")
	b.do("another folder", keys(w.project))
	b.click("dialog button[type=submit]", "Go on")
	b.until("another session is open", "location.hash.length > 4 && location.hash !== "+quote("#/s/"+id))
	b.gone(".folder-gone", "")
	b.see(".row.assistant .markdown", "A list.")
	b.see(".kind-button", "Pinned")
	if kept := get[string](b, "document.querySelector('#composer').value"); kept != "go on" {
		t.Errorf("the composer holds %q", kept)
	}
	b.click(".round[aria-label='Send']", "")
	b.see(".row.assistant .markdown", "On it.")
	b.idle()
}
