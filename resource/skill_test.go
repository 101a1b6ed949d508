package resource

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// md is a skill's file.
func md(name, description, more string) string {
	head := "---\n"
	if name != "" {
		head += "name: " + name + "\n"
	}
	if description != "" {
		head += "description: " + description + "\n"
	}
	return head + more + "---\n\nDo it.\n"
}

func showSkills(list []Skill) (out []string) {
	for _, s := range list {
		line := s.Name + " " + string(s.Scope)
		if s.Hidden {
			line += " hidden"
		}
		out = append(out, line)
	}
	return out
}

func TestSkillsOfOneFolder(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string // below <agentDir>/skills
		want  []string
		left  string // part of what is told
	}{
		{"none", nil, nil, ""},
		{"a folder", map[string]string{"a/SKILL.md": md("a", "d", "")}, []string{"a user"}, ""},
		{"the name is the folder's", map[string]string{"my-tool/SKILL.md": md("", "d", "")}, []string{"my-tool user"}, ""},
		{"another name than the folder's", map[string]string{"x/SKILL.md": md("y", "d", "")}, []string{"y user"}, ""},
		{"no deeper than a SKILL.md", map[string]string{"a/SKILL.md": md("a", "d", ""), "a/b/SKILL.md": md("b", "d", "")}, []string{"a user"}, ""},
		{"folders recurse", map[string]string{"g/h/SKILL.md": md("h", "d", "")}, []string{"h user"}, ""},
		{"a root that is a skill", map[string]string{"SKILL.md": md("root", "d", ""), "a/SKILL.md": md("a", "d", "")}, []string{"root user"}, ""},
		{"files in the root", map[string]string{"one.md": md("one", "d", ""), "two.md": md("", "d", ""), "note.md": "a note", "a/three.md": md("three", "d", "")}, []string{"one user", "skills user"}, ""},
		{"no description", map[string]string{"a/SKILL.md": md("a", "", "")}, nil, "a/SKILL.md: it has no description"},
		{"a blank description", map[string]string{"a/SKILL.md": md("a", "' '", "")}, nil, "it has no description"},
		{"a description that is no text", map[string]string{"a/SKILL.md": md("a", "[x]", "")}, nil, "it has no description"},
		{"hidden", map[string]string{"a/SKILL.md": md("a", "d", "disable-model-invocation: true\n")}, []string{"a user hidden"}, ""},
		{"hidden by a word only", map[string]string{"a/SKILL.md": md("a", "d", "disable-model-invocation: 'true'\n")}, []string{"a user"}, ""},
		{"broken YAML with a description", map[string]string{"a/SKILL.md": md("a", "Use when: asked", "")}, []string{"a user"}, ""},
		{"broken YAML without", map[string]string{"a/SKILL.md": "---\na: b: c\n---\n"}, nil, "not valid YAML"},
		{"dots and modules", map[string]string{".x/SKILL.md": md("x", "d", ""), "node_modules/y/SKILL.md": md("y", "d", ""), "a/.SKILL.md": md("z", "d", "")}, nil, ""},
		{"ignored", map[string]string{".gitignore": "/a\nc.md\n", "a/SKILL.md": md("a", "d", ""), "b/SKILL.md": md("b", "d", ""), "c.md": md("c", "d", ""), ".ignore": "d/\n", "d/SKILL.md": md("d", "d", ""), "e/.fdignore": "SKILL.md\n", "e/SKILL.md": md("e", "d", "")}, []string{"b user"}, ""},
		{"two of one name", map[string]string{"a/SKILL.md": md("same", "d", ""), "b/SKILL.md": md("same", "d", "")}, []string{"same user"}, `b/SKILL.md: the name "same" is taken by`},
		{"CJK and emoji", map[string]string{"日本 🙂/SKILL.md": md("", "説明", "")}, []string{"日本 🙂 user"}, ""},
		{"a folder of that name", map[string]string{"a/SKILL.md/x": "", "a/b/SKILL.md": md("b", "d", "")}, []string{"b user"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGround(t)
			for path, text := range c.files {
				g.put(g.agent+"/skills/"+path, text)
			}
			got, left := Skills(g.place())
			expect(t, "found", showSkills(got), c.want...)
			why := reasons(g, left)
			if c.left == "" && why != "" || !strings.Contains(why, c.left) {
				t.Errorf("left out: %q, want %q", why, c.left)
			}
			for _, s := range got {
				if s.Body != "Do it." || s.SHA256 == "" || filepath.Dir(s.Path) != s.Dir {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

func TestSkillLocations(t *testing.T) {
	g := newGround(t)
	top := filepath.Join(g.base, "code")
	for where, name := range map[string]string{
		g.project + "/ps/SKILL.md":                 "by-project-settings",
		g.project + "/.pi/skills/pp/SKILL.md":      "of-pi",
		g.project + "/.agents/skills/pa/SKILL.md":  "of-agents",
		g.project + "/.agents/skills/direct.md":    "root-file-in-agents",
		g.project + "/.agents/skills/g/below.md":   "file-below-in-agents",
		top + "/.agents/skills/up/SKILL.md":        "of-a-folder-above",
		g.base + "/.agents/skills/way-up/SKILL.md": "above-the-git-root",
		g.base + "/us/SKILL.md":                    "by-user-settings",
		g.agent + "/skills/ua/SKILL.md":            "of-the-agent-directory",
		g.home + "/.agents/skills/uh/SKILL.md":     "of-home",
	} {
		g.put(where, md(name, "d", ""))
	}
	// One name in all places: the strongest has it.
	for i, dir := range []string{g.project + "/.pi/skills", g.project + "/.agents/skills", g.agent + "/skills", g.home + "/.agents/skills"} {
		g.put(dir+"/shared/SKILL.md", md("shared", "from place "+string(rune('1'+i)), ""))
	}
	g.put(top+"/.git/HEAD", "")
	p := g.place()
	p.Skills = Lists{Project: []string{"../ps"}, User: []string{g.base + "/us"}}

	got, left := Skills(p)
	expect(t, "untrusted", showSkills(got), "by-user-settings user", "shared user", "of-the-agent-directory user", "of-home user")
	if why := reasons(g, left); strings.Contains(why, "proj") {
		t.Errorf("an untrusted project is spoken of: %s", why)
	}
	p.Trusted = true
	got, _ = Skills(p)
	expect(t, "trusted", showSkills(got), "by-project-settings project", "of-pi project", "shared project",
		"file-below-in-agents project", "of-agents project", "of-a-folder-above project",
		"by-user-settings user", "of-the-agent-directory user", "of-home user")
	if i := slices.IndexFunc(got, func(s Skill) bool { return s.Name == "shared" }); got[i].Description != "from place 1" {
		t.Errorf("the name went to %q", got[i].Description)
	}

	// Working in the home folder, its .agents are the user's and need no trust.
	p = Place{Cwd: g.home, AgentDir: g.agent, Home: g.home, Trusted: true}
	got, _ = Skills(p)
	for _, s := range got {
		if s.Name == "of-home" && s.Scope != User {
			t.Errorf("%s is the %s's", s.Name, s.Scope)
		}
	}
}

func TestSkillModifiers(t *testing.T) {
	for _, c := range []struct {
		name string
		user []string
		want []string
	}{
		{"nothing", nil, []string{"a", "b", "c"}},
		{"take away by name", []string{"!a"}, []string{"b", "c"}},
		{"take away by glob", []string{"!skills/**"}, nil},
		{"take away and bring back", []string{"!*", "+skills/b"}, []string{"b"}},
		{"bring back needs the exact path", []string{"!*", "+b"}, nil},
		{"for good", []string{"+skills/c/SKILL.md", "-skills/c"}, []string{"a", "b"}},
		{"order does not count", []string{"-skills/a", "+skills/a", "!b"}, []string{"c"}},
		{"blank entries", []string{"", "  "}, []string{"a", "b", "c"}},
		{"a broken glob", []string{"![a"}, []string{"a", "b", "c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGround(t)
			for _, n := range []string{"a", "b", "c"} {
				g.put(g.agent+"/skills/"+n+"/SKILL.md", md(n, "d", ""))
			}
			p := g.place()
			p.Skills.User = c.user
			got, left := Skills(p)
			var names []string
			for _, s := range got {
				names = append(names, s.Name)
			}
			expect(t, "found", names, c.want...)
			if len(got)+len(left) != 3 {
				t.Errorf("%d found and %d told, of 3", len(got), len(left))
			}
		})
	}
}

func TestSkillLinks(t *testing.T) {
	g := newGround(t)
	g.put(g.outside+"/shared/x/SKILL.md", md("x", "d", ""))
	g.link(g.outside+"/shared", g.agent+"/skills/theirs") // the user's own links lead anywhere
	g.link(g.outside+"/shared/x", g.agent+"/skills/again")
	g.link(g.agent+"/skills", g.agent+"/skills/circle")
	g.link("gone", g.agent+"/skills/dangling")
	g.put(g.home+"/dot/h/SKILL.md", md("h", "d", ""))
	g.link(g.home+"/dot/h", g.project+"/.pi/skills/h")
	g.put(g.outside+"/secret/s/SKILL.md", md("s", "d", ""))
	g.link(g.outside+"/secret/s", g.project+"/.pi/skills/s")
	g.link(g.outside+"/secret", g.project+"/.agents/skills")
	p := g.place()
	p.Trusted = true
	got, left := Skills(p)
	expect(t, "found", showSkills(got), "h project", "x user")
	if why := reasons(g, left); strings.Count(why, "outside the agent directory") != 1 || !strings.Contains(why, ".pi/skills/s/SKILL.md") {
		t.Errorf("left out:\n%s", why)
	}
}

func TestSkillWarnings(t *testing.T) {
	for name, want := range map[string]int{
		"good-name-1": 0, "Bad": 1, "-a": 1, "a-": 1, "a--b": 1, "a b": 1, "日本": 1, strings.Repeat("x", 65): 1, "-" + strings.Repeat("X", 65): 3,
	} {
		s, why := parseSkill(file{path: "/s/" + name + "/SKILL.md"}, ContextFile{Text: md("'"+name+"'", "d", "")})
		if why != "" || len(s.Warnings) != want || s.Name != name {
			t.Errorf("%s: %q %v", name, why, s.Warnings)
		}
	}
	s, _ := parseSkill(file{path: "/s/a/SKILL.md"}, ContextFile{Text: md("a", strings.Repeat("é", 1025), "")})
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "1025") {
		t.Errorf("%v", s.Warnings)
	}
}

func TestSkillExpand(t *testing.T) {
	s := Skill{Name: "a", Path: "/p q/a/SKILL.md", Dir: "/p q/a", Body: "Do $1.\n"}
	const block = "<skill name=\"a\" location=\"/p q/a/SKILL.md\">\nRelative paths in it start at /p q/a.\n\nDo $1.\n</skill>"
	for args, want := range map[string]string{"": block, "  ": block, " x $1 ": block + "\n\nx $1"} {
		if got := s.Expand(args); got != want {
			t.Errorf("%q: %q", args, got)
		}
	}
	s.Name = `a"><x`
	if got := s.Expand(""); !strings.HasPrefix(got, `<skill name="a&quot;><x" location="/p q/a/SKILL.md">`+"\n") {
		t.Errorf("%q", got)
	}
}
