package resource

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTemplateVectors holds arguments and placeholders against what pi 1.6.0
// makes of the same; testdata/templates.json was recorded from it.
func TestTemplateVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/templates.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Arguments  [][2]json.RawMessage
		Substitute [][3]json.RawMessage
		Expand     [][2]string
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	str := func(raw json.RawMessage) (s string) { _ = json.Unmarshal(raw, &s); return s }
	list := func(raw json.RawMessage) (l []string) { _ = json.Unmarshal(raw, &l); return l }
	for _, c := range v.Arguments {
		if got := Arguments(str(c[0])); !slices.Equal(got, list(c[1])) {
			t.Errorf("arguments of %q: %q, pi says %q", str(c[0]), got, list(c[1]))
		}
	}
	for _, c := range v.Substitute {
		if got := substitute(str(c[0]), list(c[1])); got != str(c[2]) {
			t.Errorf("%q with %q: %q, pi says %q", str(c[0]), list(c[1]), got, str(c[2]))
		}
	}
	bodies := []Template{{Name: "r", Body: "<$1|$@>"}, {Name: "a.b", Body: "dot $1"}, {Name: "日本", Body: "J $@"}}
	for _, c := range v.Expand {
		got := c[0]
		if name, args, ok := Slash(c[0]); ok {
			if i := slices.IndexFunc(bodies, func(b Template) bool { return b.Name == name }); i >= 0 {
				got = bodies[i].Expand(args)
			}
		}
		if got != c[1] {
			t.Errorf("typed %q: %q, pi says %q", c[0], got, c[1])
		}
	}
	if len(v.Arguments) < 100 || len(v.Substitute) < 100 || len(v.Expand) < 10 {
		t.Errorf("only %d, %d and %d vectors", len(v.Arguments), len(v.Substitute), len(v.Expand))
	}
}

func TestTemplates(t *testing.T) {
	g := newGround(t)
	g.put(g.agent+"/prompts/review.md", "---\ndescription: Review it\nargument-hint: \"[focus]\"\n---\nReview $1\n")
	g.put(g.agent+"/prompts/plain.md", "\n\nThe first line of a text that goes on for more than sixty letters, é🙂 and so on\nmore")
	g.put(g.agent+"/prompts/below/deep.md", "not direct")
	g.put(g.agent+"/prompts/.hidden.md", "hidden")
	g.put(g.agent+"/prompts/note.txt", "no template")
	g.put(g.agent+"/prompts/broken.md", "---\ndescription: Use: this\n---\nstill here")
	g.put(g.agent+"/prompts/same.md", "user's")
	g.put(g.agent+"/prompts/off.md", "switched off")
	g.put(g.agent+"/more/extra one.md", "by settings")
	g.put(g.project+"/.pi/prompts/same.md", "project's")
	g.link(g.put(g.outside+"/secret.md", "secret"), g.project+"/.pi/prompts/leak.md")
	p := g.place()
	p.Templates = Lists{User: []string{"more", "!off.md", "gone"}}

	show := func(list []Template) (out []string) {
		for _, t := range list {
			out = append(out, t.Name+"|"+t.Description+"|"+t.Hint+"|"+t.Body+"|"+string(t.Scope))
		}
		return out
	}
	users := []string{
		"extra one|by settings||by settings|user",
		"broken|Use: this||still here|user",
		"plain|The first line of a text that goes on for more than sixty le...||\n\nThe first line of a text that goes on for more than sixty letters, é🙂 and so on\nmore|user",
		"review|Review it|[focus]|Review $1|user",
	}
	got, left := Templates(p)
	expect(t, "untrusted", show(got), append(slices.Clone(users), "same|user's||user's|user")...)
	if why := reasons(g, left); !strings.Contains(why, "prompts/off.md: the setting") || !strings.Contains(why, "gone: the settings name it") || strings.Contains(why, "proj") {
		t.Errorf("left out:\n%s", why)
	}
	p.Trusted = true
	got, left = Templates(p)
	expect(t, "trusted", show(got), append([]string{"same|project's||project's|project"}, users...)...)
	why := reasons(g, left)
	for _, want := range []string{"same.md: the name \"/same\" is taken by", "leak.md: it leads to"} {
		if !strings.Contains(why, want) {
			t.Errorf("not told: %s\nbut\n%s", want, why)
		}
	}
}

func reasons(g *ground, left []Omission) string {
	var out []string
	for _, o := range left {
		out = append(out, o.String())
	}
	return strings.ReplaceAll(strings.Join(out, "\n"), filepath.ToSlash(g.base)+"/", "")
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{"a 'b c'", `"\"`, "''", "\ufeff\u0085"} {
		f.Add(s, "$1 ${@:2:1} ${1:-x}")
	}
	f.Fuzz(func(t *testing.T, typed, body string) {
		args := Arguments(typed)
		total := 0
		for _, a := range args {
			total += len(a)
		}
		if total > len(typed)+3*strings.Count(typed, "\xff")+3*len(typed) {
			t.Errorf("arguments grew: %q", args)
		}
		if out := substitute(body, nil); !strings.Contains(body, "$") && out != body {
			t.Errorf("a body without places changed: %q", out)
		}
	})
}
