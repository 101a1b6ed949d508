package resource

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/piweb-go/piweb/internal/confine"
)

func TestSystemPrompt(t *testing.T) {
	for _, c := range []struct {
		name            string
		project, global string // "-" for no file
		trusted         bool
		want            string
		from            string
	}{
		{"neither", "-", "-", true, "", ""},
		{"global", "-", "g", true, "g", "global"},
		{"project replaces", "p", "g", true, "p", "project"},
		{"project alone", "p", "-", true, "p", "project"},
		{"project without trust", "p", "g", false, "g", "global"},
		{"project without trust, alone", "p", "-", false, "", ""},
		{"empty is found", "", "g", true, "", "project"},
		{"no trimming", " p\n\n", "g", true, " p\n\n", "project"},
		{"BOM", "\ufeffp", "-", true, "p", "project"},
		{"text that is the path of a file stays text", "/etc/hostname", "-", true, "/etc/hostname", "project"},
	} {
		for name, find := range map[string]func(Place) (PromptFile, bool, []Omission){"SYSTEM.md": SystemPrompt, "APPEND_SYSTEM.md": AppendSystemPrompt} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				g := newGround(t)
				paths := map[string]string{"project": filepath.Join(g.project, ".pi", name), "global": filepath.Join(g.agent, name)}
				if c.project != "-" {
					g.put(paths["project"], c.project)
				}
				if c.global != "-" {
					g.put(paths["global"], c.global)
				}
				g.put(g.project+"/"+name, "not in .pi")
				p := g.place()
				p.Trusted = c.trusted
				got, ok, omissions := find(p)
				if ok != (c.from != "") || got.Text != c.want || got.Path != paths[c.from] || len(omissions) != 0 {
					t.Errorf("%+v, %v, %v; want %q from %q", got, ok, omissions, c.want, paths[c.from])
				}
			})
		}
	}
}

func TestSystemPromptThatCannotBeUsedFallsBack(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(g *ground)
		err   error
		told  bool
	}{
		{"folder", func(g *ground) { g.put(g.project+"/.pi/SYSTEM.md/x", "") }, nil, false},
		{"link outside", func(g *ground) { g.link(g.put(g.outside+"/s", "SECRET"), g.project+"/.pi/SYSTEM.md") }, confine.ErrOutside, true},
		{"dangling link", func(g *ground) { g.link("gone", g.project+"/.pi/SYSTEM.md") }, os.ErrNotExist, true},
		{".pi is a link outside", func(g *ground) {
			g.put(g.outside+"/pi/SYSTEM.md", "SECRET")
			g.link(g.outside+"/pi", g.project+"/.pi")
		}, confine.ErrOutside, true},
		{".pi is a link outside to an empty folder", func(g *ground) { g.link(g.outside, g.project+"/.pi") }, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGround(t)
			c.build(g)
			g.put(g.agent+"/SYSTEM.md", "global")
			p := g.place()
			p.Trusted = true
			got, ok, omissions := SystemPrompt(p)
			if !ok || got.Text != "global" {
				t.Errorf("%+v, %v", got, ok)
			}
			if c.told != (len(omissions) == 1) || c.told && !errors.Is(omissions[0].Err, c.err) {
				t.Errorf("left out: %v", omissions)
			}
		})
	}
}

func TestSystemPromptByLinks(t *testing.T) {
	g := newGround(t)
	g.link(g.put(g.home+"/dotfiles/system.md", "mine"), g.agent+"/SYSTEM.md")
	g.put(g.project+"/conf/SYSTEM.md", "project's")
	got, ok, _ := SystemPrompt(g.place())
	if !ok || got.Text != "mine" || got.Real != filepath.Join(g.home, "dotfiles", "system.md") {
		t.Errorf("link into the home folder: %+v", got)
	}
	g.link("conf", g.project+"/.pi")
	p := g.place()
	p.Trusted = true
	if got, ok, _ := SystemPrompt(p); !ok || got.Text != "project's" {
		t.Errorf(".pi is a link inside the project: %+v", got)
	}
}

func TestPromptFilesWithoutPlaces(t *testing.T) {
	if _, ok, omissions := SystemPrompt(Place{Trusted: true}); ok || len(omissions) != 0 {
		t.Error("found something nowhere")
	}
}
