package resource

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSourcesOfPackages(t *testing.T) {
	p := Place{Home: "/home/u"}
	for source, want := range map[string]string{
		"npm:a":                             "npm/node_modules/a",
		"npm:@s/a@^1.2":                     "npm/node_modules/@s/a",
		" npm:a@latest ":                    "npm/node_modules/a",
		"git:github.com/u/r@v1":             "git/github.com/u/r",
		"git:u/r":                           "git/github.com/u/r",
		"git:git@example.org:u/r.git@v1":    "git/example.org/u/r",
		"https://example.org/u/r.git":       "git/example.org/u/r",
		"ssh://git@example.org:22/u/v/r#v1": "git/example.org/u/v/r",
		"../here":                           "../here",
		"~/there":                           "/home/u/there",
		// What would lead elsewhere, or nowhere.
		"npm:":                           "",
		"npm:../../x":                    "",
		"npm:/etc":                       "",
		"npm:.":                          "",
		"git:example.org/../../x":        "",
		"git:../u/r":                     "",
		"https://example.org/u/%2e%2e/r": "",
		"https://example.org/r":          "",
		"git:git@..:u/r":                 "",
		"file:///etc/x":                  "",
		"":                               "",
	} {
		_, root := p.source("/base", source)
		if want != "" && !filepath.IsAbs(want) {
			want = filepath.Join("/base", want)
		}
		if filepath.ToSlash(root) != want {
			t.Errorf("%q lies in %q, want %q", source, root, want)
		}
	}
}

// TestPackages: what pi installed counts last; nothing leads out of a package; a
// project that nobody trusts brings none; what is not installed is told.
func TestPackages(t *testing.T) {
	base := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	skill := func(name string) string { return "---\nname: " + name + "\ndescription: d\n---\n" }
	put("agent/skills/same/SKILL.md", skill("same"))
	put("agent/npm/node_modules/one/skills/same/SKILL.md", skill("same"))
	put("agent/npm/node_modules/one/skills/own/SKILL.md", skill("own"))
	put("agent/npm/node_modules/one/prompts/below/x.md", "x")
	put("work/.pi/npm/node_modules/team/package.json", `{"pi":{"skills":["../../../../secret","mine","li*"]}}`)
	put("work/.pi/npm/node_modules/team/mine/team/SKILL.md", skill("team"))
	put("secret/s/SKILL.md", skill("secret"))
	if err := os.Symlink(filepath.Join(base, "secret"), filepath.Join(base, "work/.pi/npm/node_modules/team/link")); err != nil {
		t.Skip(err)
	}
	p := Place{Cwd: filepath.Join(base, "work"), AgentDir: filepath.Join(base, "agent"), Trusted: true, Packages: Packages{
		Project: []Package{{Source: "npm:team"}}, User: []Package{{Source: "npm:one"}, {Source: "npm:gone"}},
	}}
	names := func() (out []string) {
		skills, _ := Skills(p)
		for _, s := range skills {
			out = append(out, s.Name)
		}
		return out
	}
	if got := names(); !slices.Equal(got, []string{"same", "team", "own"}) {
		t.Errorf("skills %v", got)
	}
	skills, left := Skills(p)
	if !strings.HasPrefix(skills[0].Path, filepath.Join(base, "agent", "skills")) {
		t.Errorf("a package's skill won: %s", skills[0].Path)
	}
	for _, want := range []string{"gone", "link"} {
		if !slices.ContainsFunc(left, func(o Omission) bool { return strings.Contains(o.Path, want) }) {
			t.Errorf("nothing is said of %s: %v", want, left)
		}
	}
	if templates, _ := Templates(p); len(templates) != 1 || templates[0].Name != "x" {
		t.Errorf("templates %v", templates)
	}
	p.Packages.User[0].Skills = []string{"skills/*", "!skills/own"}
	if got := names(); !slices.Equal(got, []string{"same", "team"}) {
		t.Errorf("with a choice: %v", got)
	}
	p.Packages.User[0].Skills, p.Trusted = nil, false
	if got := names(); !slices.Equal(got, []string{"same", "own"}) {
		t.Errorf("without trust: %v", got)
	}
}
