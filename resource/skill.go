package resource

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/piweb-go/piweb/internal/frontmatter"
)

// Skill is a set of instructions that a model reads when it needs them.
type Skill struct {
	Name        string
	Description string
	Path        string // of its file
	Dir         string // what it says is relative to this folder
	Scope       Scope
	Hidden      bool // models are not told of it; /skill:NAME still works
	Body        string
	SHA256      string // of the file
	Warnings    []string
}

// Skills finds the skills of a place: those that the project's settings name,
// those of <cwd>/.pi/skills and of .agents/skills from the working folder up to
// the git root, those that the user's settings name, those of the agent directory
// and of ~/.agents/skills, and those of installed packages. The project's own need its trust. Of two skills with
// one name the first counts. A folder with a SKILL.md is one skill; direct
// Markdown files count in the two folders of pi, and below the root in the
// others, where they describe themselves.
func Skills(p Place) ([]Skill, []Omission) {
	r := newReader(p)
	var out []Skill
	taken := map[string]string{}
	for _, f := range r.find(p, "skills", p.locations("skills", p.Skills, skillsOfPi)) {
		c, ok := r.text(f)
		if !ok {
			continue
		}
		s, why := parseSkill(f, c)
		switch {
		case why != "":
			r.omit(f.path, why, nil)
			continue
		case s.Name == "":
			continue // any Markdown file; nobody said that it is a skill
		case taken[s.Name] != "":
			r.omit(f.path, fmt.Sprintf("the name %q is taken by %s", s.Name, taken[s.Name]), nil)
			continue
		}
		taken[s.Name] = f.path
		out = append(out, s)
	}
	return out, r.omissions
}

// parseSkill reads a skill; why says why it is none although it claims to be.
func parseSkill(f file, c ContextFile) (s Skill, why string) {
	declared := filepath.Base(f.path) == "SKILL.md"
	d := frontmatter.Parse(c.Text)
	description, _ := d.Text("description")
	if strings.TrimSpace(description) == "" {
		switch {
		case !declared:
			return Skill{}, ""
		case d.Problem != nil:
			return Skill{}, d.Problem.Error()
		}
		return Skill{}, "it has no description"
	}
	s = Skill{Description: description, Path: f.path, Dir: filepath.Dir(f.path), Scope: f.scope, Body: d.Body, SHA256: c.SHA256,
		Hidden: d.Fields["disable-model-invocation"] == true}
	if d.Problem != nil {
		s.Warnings = append(s.Warnings, d.Problem.Error())
	}
	if s.Name, _ = d.Text("name"); s.Name == "" {
		s.Name = filepath.Base(s.Dir)
	}
	s.Warnings = append(s.Warnings, nameWarnings(s.Name)...)
	if n := utf8.RuneCountInString(description); n > 1024 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("its description has %d characters, more than 1024", n))
	}
	return s, ""
}

// nameWarnings says what the Agent Skills format would not have in a name.
func nameWarnings(name string) (out []string) {
	if n := utf8.RuneCountInString(name); n > 64 {
		out = append(out, fmt.Sprintf("its name has %d characters, more than 64", n))
	}
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		out = append(out, fmt.Sprintf("its name %q holds more than a-z, 0-9 and hyphens", name))
	}
	if strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") || strings.Contains(name, "--") {
		out = append(out, fmt.Sprintf("its name %q has a hyphen at an end or two in a row", name))
	}
	return out
}

// Expand is what a person gets who types /skill:NAME: the block that pi knows,
// with the folder that the skill's paths are relative to, and the arguments
// behind it. Nothing in it is looked at again.
func (s Skill) Expand(args string) string {
	quote := strings.NewReplacer(`"`, "&quot;")
	block := fmt.Sprintf("<skill name=\"%s\" location=\"%s\">\nRelative paths in it start at %s.\n\n%s\n</skill>",
		quote.Replace(s.Name), quote.Replace(s.Path), s.Dir, strings.TrimSpace(s.Body))
	if args = strings.TrimSpace(args); args != "" {
		return block + "\n\n" + args
	}
	return block
}
