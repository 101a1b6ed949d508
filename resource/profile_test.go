package resource

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/toolselect"
)

// TestCase025 reads the front matters of public bug reports: an empty list is no
// tools, a blank or a missing key is all of them.
func TestCase025(t *testing.T) {
	all := toolselect.Builtins()
	for name, want := range map[string]struct {
		tools    []string
		chatOnly bool
		prompt   string
	}{
		"omitted":         {all, false, "Answer in one line."},
		"blank":           {all, false, "Answer in one line."},
		"empty-string":    {all, false, "Answer in one line."},
		"empty-list":      {[]string{}, true, "Answer in one line."},
		"none-but-skills": {[]string{}, false, "Answer in one line."},
		"no-body":         {[]string{}, true, ""},
	} {
		text, err := os.ReadFile("testdata/profiles/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		p, err := ParseProfile(name, string(text))
		if err != nil || !slices.Equal(p.Tools, want.tools) || p.ChatOnly() != want.chatOnly || p.Prompt != want.prompt || p.Name != name {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestProfileKeys(t *testing.T) {
	all := toolselect.Builtins()
	yes := true
	base := Profile{Name: "f", DisplayName: "f", Description: "f", Enabled: true, Tools: all, Prompt: "P"}
	with := func(change func(p *Profile)) Profile {
		p := base
		change(&p)
		return p
	}
	for _, c := range []struct {
		name, head string
		want       Profile
		err        string
	}{
		{"nothing", "", base, ""},
		{"texts are trimmed", "display_name: ' A b '\ndescription: '  d '", with(func(p *Profile) { p.DisplayName, p.Description = "A b", "d" }), ""},
		{"blank texts are the name", "name: n.1_-\ndisplay_name: ' '\ndescription:", with(func(p *Profile) { p.Name, p.DisplayName, p.Description = "n.1_-", "n.1_-", "n.1_-" }), ""},
		{"camel case", "displayName: A\nloadSkills: true\nloadExtensions: true\nmaxTurns: 3.9\ninheritContext: true\nrunInBackground: true\npromptMode: replace\npersistSession: true\nallowInputFiles: true\ndisallowedTools: [bash, write, edit]",
			with(func(p *Profile) {
				p.DisplayName, p.Skills, p.Extensions, p.MaxTurns, p.InheritContext, p.Background, p.Replace, p.Persist, p.AllowInputFiles = "A", true, true, 3, true, true, true, &yes, true
				p.Tools = []string{"read", "grep", "find", "ls"}
			}), ""},
		{"snake case", "load_skills: true\nload_extensions: true\nmax_turns: 3\ninherit_context: true\nrun_in_background: true\nprompt_mode: replace\nallow_input_files: true\ndisallowed_tools: bash, write,edit",
			with(func(p *Profile) {
				p.Skills, p.Extensions, p.MaxTurns, p.InheritContext, p.Background, p.Replace, p.AllowInputFiles = true, true, 3, true, true, true, true
				p.Tools = []string{"read", "grep", "find", "ls"}
			}), ""},
		{"aliases", "skills: [a, b]\nextensions: all", with(func(p *Profile) { p.Skills, p.Extensions = true, true }), ""},
		{"aliases that say no", "skills: none\nextensions: false", base, ""},
		{"the long name goes before the alias", "load_skills: false\nskills: all", base, ""},
		{"tools by list", "tools: [read, ls, read]", with(func(p *Profile) { p.Tools = []string{"read", "ls"} }), ""},
		{"tools by commas", "tools: read,ls , bash", with(func(p *Profile) { p.Tools = []string{"read", "ls", "bash"} }), ""},
		{"none among others", "tools: read, none", with(func(p *Profile) { p.Tools = []string{} }), ""},
		{"all", "tools: all", base, ""},
		{"a star", "tools: ['*']", base, ""},
		{"unknown names", "tools: [read, fly]", with(func(p *Profile) {
			p.Tools, p.Unknown, p.Warnings = []string{"read"}, []string{"fly"}, []string{"tools: piweb has no fly"}
		}), ""},
		{"only unknown names are no tools, not all", "tools: [fly]", with(func(p *Profile) {
			p.Tools, p.Unknown, p.Warnings = []string{}, []string{"fly"}, []string{"tools: piweb has no fly"}
		}), ""},
		{"a number is no tools, not all", "tools: 7", with(func(p *Profile) { p.Tools = []string{} }), ""},
		{"everything denied", "disallowed_tools: '*'", with(func(p *Profile) { p.Tools = []string{} }), ""},
		{"selectors", "tools: [ext:mcp/search, read]\ndisallowed_tools: write", with(func(p *Profile) {
			p.Tools, p.Selectors, p.Extensions = []string{"read"}, []string{"mcp/search"}, true
		}), ""},
		{"a denied selector", "tools: [ext:a, ext:B]\ndisallowed_tools: ext:b", with(func(p *Profile) {
			p.Tools, p.Selectors, p.Extensions = []string{}, []string{"a"}, true
		}), ""},
		{"selectors with extensions off", "tools: [ext:a]\nload_extensions: false", with(func(p *Profile) { p.Tools, p.Selectors = []string{}, []string{"a"} }), ""},
		{"powershell is bash", "tools: [powershell, bash]", with(func(p *Profile) { p.Tools = []string{"bash"} }), ""},
		{"levels and models", "thinking: high\nmodel: ' a/b '", with(func(p *Profile) { p.Thinking, p.Model = "high", "a/b" }), ""},
		{"no level", "thinking: extreme", with(func(p *Profile) {
			p.Warnings = []string{`thinking: "extreme" is no level; the parent's is used`}
		}), ""},
		{"turns", "max_turns: 0", base, ""},
		{"turns below", "max_turns: -3", base, ""},
		{"disabled", "enabled: false\ncolor: red\nisolation: worktree", with(func(p *Profile) { p.Enabled, p.Color, p.Isolation = false, "red", "worktree" }), ""},
		{"an isolation that there is not", "isolation: moon", base, ""},
		{"broken YAML is read by line", "description: Use: this\ntools: [read]", with(func(p *Profile) {
			p.Description, p.Tools = "Use: this", []string{"read"}
			p.Warnings = []string{"*"}
		}), ""},
		{"a bad name", "name: ../x", Profile{}, "no name for a profile"},
		{"another bad name", "name: ''", Profile{}, "no name for a profile"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseProfile("f", "---\n"+c.head+"\n---\n\n P \n")
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v", err)
				}
				return
			}
			if len(c.want.Warnings) == 1 && c.want.Warnings[0] == "*" && len(got.Warnings) == 1 {
				got.Warnings = c.want.Warnings
			}
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, %v\nwant %+v", got, err, c.want)
			}
		})
	}
}

func TestProfilesOnDisk(t *testing.T) {
	g := newGround(t)
	g.put(g.agent+"/agents/a.md", "global")
	g.put(g.agent+"/agents/bad name.md", "---\nname: ../bad\n---\nx")
	g.put(g.agent+"/agents/sub/b.md", "not direct")
	g.put(g.agent+"/agents/c.txt", "no profile")
	g.link(g.put(g.home+"/dot/linked.md", "linked"), g.agent+"/agents/l.md")
	g.put(g.project+"/.agents/agents/a.md", "workspace")
	g.put(g.project+"/.pi/agents/a.md", "project")
	g.link(g.put(g.outside+"/s.md", "secret"), g.project+"/.pi/agents/s.md")
	p := g.place()
	show := func(list []Profile) (out []string) {
		for _, p := range list {
			out = append(out, p.Name+" "+string(p.Source)+" "+p.Prompt)
		}
		return out
	}
	got, left := Profiles(p)
	expect(t, "untrusted", show(got), "a global global", "l global linked")
	if why := reasons(g, left); !strings.Contains(why, "bad name.md") || strings.Contains(why, "code/") {
		t.Errorf("left out: %s", why)
	}
	p.Trusted = true
	got, left = Profiles(p)
	expect(t, "trusted", show(got), "a global global", "l global linked", "a workspace workspace", "a project project")
	if why := reasons(g, left); !strings.Contains(why, "s.md: a project's profile must be a file and no link") {
		t.Errorf("left out: %s", why)
	}
	// A folder that leads out of the project brings nothing.
	if err := os.RemoveAll(filepath.Join(g.project, ".pi")); err != nil {
		t.Fatal(err)
	}
	g.put(g.outside+"/pi/agents/evil.md", "evil")
	g.link(g.outside+"/pi", g.project+"/.pi")
	got, left = Profiles(p)
	expect(t, "linked folder", show(got), "a global global", "l global linked", "a workspace workspace")
	if why := reasons(g, left); !strings.Contains(why, "it leads out of the working folder") {
		t.Errorf("left out: %s", why)
	}
}

func FuzzParseProfile(f *testing.F) {
	for _, s := range []string{"---\ntools: []\n---\nx", "---\ntools:\n- ext:*\n---", "---\nname: a\nname: b\n---\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseProfile("f", text)
		if err == nil && (p.Tools == nil || !IsProfileName(p.Name)) {
			t.Errorf("%+v", p)
		}
	})
}

// TestProfileNamedByItsFile: a file's name is what a person called the profile, in any
// script and with blanks; a name that the text gives keeps to the rule.
func TestProfileNamedByItsFile(t *testing.T) {
	for file, want := range map[string]string{
		"reviewer": "reviewer", "code reviewer": "code reviewer", "审查": "审查", "caf\u0065\u0301": "caf\u00e9", "😀": "😀",
		"": "", " x": "", "a\u202eb": "", "a\nb": "", "a\\b": "", "\xff": "",
	} {
		p, err := ParseProfile(file, "---\ntools: read\n---\nP")
		if want == "" != (err != nil) || err == nil && p.Name != want {
			t.Errorf("%q: %q, %v", file, p.Name, err)
		}
		if p, err := ParseProfile(file, "---\nname: own\n---\nP"); err != nil || p.Name != "own" {
			t.Errorf("%q with a name: %q, %v", file, p.Name, err)
		}
	}
	if _, err := ParseProfile("审查", "---\nname: 审查\n---\n"); err == nil {
		t.Error("a name that the text gives is taken whatever it is")
	}
	if !SameName("Caf\u00e9", "cafe\u0301") || SameName("cafe", "caf\u00e9") {
		t.Error("SameName")
	}
}
