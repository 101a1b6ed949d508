package browser

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTrustAndReload: the page asks once per folder what a project may bring, says
// what is loaded and from where, and reads it anew.
func TestTrustAndReload(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[]}`)
	skill := func(name, description string) {
		w.put(name, "---\ndescription: "+description+"\n---\nDo it.\n")
	}
	rel, err := filepath.Rel(w.home, w.project)
	if err != nil {
		t.Fatal(err)
	}
	skill(rel+"/.pi/skills/deploy/SKILL.md", "Bring it out")
	skill(".pi/agent/skills/notes/SKILL.md", "Keep notes")
	id := w.create("read")
	b := w.open(id)
	b.see(".trust-ask strong", "Do you trust this folder?")
	b.see(".trust-ask li", ".pi/skills")
	b.see(".policy h3", "oad") // Loaded, or Would load
	b.see(".policy .files code", "/skill:notes")
	b.gone(".policy .files code", "/skill:deploy")
	b.click(".trust-ask button", "Trust this folder")
	b.gone(".trust-ask", "")
	b.see(".policy .files code", "/skill:deploy")
	if data, err := os.ReadFile(filepath.Join(w.home, ".pi", "agent", "trust.json")); err != nil || len(data) < 10 {
		t.Errorf("trust.json: %q, %v", data, err)
	}

	// Another session of the folder is not asked about again.
	b.visit(w.create("read"))
	b.see(".policy .files code", "/skill:deploy")
	b.gone(".trust-ask", "")

	// Newer text is told, and taken by a reload.
	skill(".pi/agent/skills/letters/SKILL.md", "Write letters")
	b.see(".policy .strip strong", "There is newer text on disk")
	b.gone(".policy .files code", "/skill:letters")
	b.click(".policy button", "Reload")
	b.see(".policy .files code", "/skill:letters")
	b.gone(".policy .strip strong", "There is newer text on disk")
}
