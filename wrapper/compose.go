package wrapper

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/resource"
)

//go:embed prose/preamble.md
var preamble string

//go:embed prose/rules.md
var closingRules string

//go:embed prose/context.md
var contextLead string

//go:embed prose/skills.md
var skillsLead string

// describer is a tool that brings its own line for the head.
type describer interface {
	Snippet() string
	Guidelines() []string
}

// Compose makes the head of a normal session: sections in pi's order, joined by
// one blank line, from the tools that are in effect. A tool that is not in
// effect is not named anywhere.
func Compose(p policy.Policy, tools []agent.Tool, res Resources, cwd string) []byte {
	var parts []string
	section := func(name, text string) {
		parts = append(parts, "<"+name+">\n"+strings.TrimRight(text, "\n")+"\n</"+name+">")
	}
	if res.System != nil {
		parts = append(parts, res.System.Text)
	} else {
		parts = append(parts, strings.TrimSpace(preamble))
		section("tools", toolLines(tools))
		section("rules", ruleLines(tools))
	}
	var added []string
	if text := p.Prompt.Text(); text != "" {
		added = append(added, text)
	}
	if res.Append != nil {
		added = append(added, res.Append.Text)
	}
	if len(added) > 0 {
		section("addendum", strings.Join(added, "\n\n"))
	}
	if len(res.ContextFiles) > 0 {
		section("project_context", contextText(res))
	}
	if text := skillsText(tools, res.Skills); text != "" {
		section("skills", text)
	}
	section("cwd", filepath.ToSlash(cwd))
	return []byte(strings.Join(parts, "\n\n"))
}

func toolLines(tools []agent.Tool) string {
	var lines []string
	for _, t := range tools {
		name := t.Declaration().Name
		if d, ok := t.(describer); ok && d.Snippet() != "" {
			lines = append(lines, "- "+name+": "+d.Snippet())
		}
	}
	if len(lines) == 0 {
		return "(none)"
	}
	return strings.Join(lines, "\n")
}

// ruleLines are the tools' own rules in the order of the tools, then the closing
// ones; a rule that two tools bring is named once.
func ruleLines(tools []agent.Tool) string {
	var lines []string
	seen := map[string]bool{}
	add := func(rule string) {
		rule = strings.TrimSpace(rule)
		if rule != "" && !seen[rule] {
			seen[rule] = true
			lines = append(lines, "- "+strings.TrimPrefix(rule, "- "))
		}
	}
	for _, t := range tools {
		if d, ok := t.(describer); ok {
			for _, rule := range d.Guidelines() {
				add(rule)
			}
		}
	}
	for rule := range strings.Lines(closingRules) {
		add(rule)
	}
	return strings.Join(lines, "\n")
}

// visibleSkills are those that the model is told of: none where it has no tool to
// read them with.
func visibleSkills(tools []agent.Tool, skills []resource.Skill) (out []resource.Skill) {
	reads := func(t agent.Tool) bool {
		name := t.Declaration().Name
		return name == "read" || name == "bash"
	}
	if !slices.ContainsFunc(tools, reads) {
		return nil
	}
	for _, s := range skills {
		if !s.Hidden {
			out = append(out, s)
		}
	}
	return out
}

func skillsText(tools []agent.Tool, skills []resource.Skill) string {
	skills = visibleSkills(tools, skills)
	if len(skills) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(strings.TrimSpace(skillsLead) + "\n\n<available_skills>\n")
	for _, s := range skills {
		fmt.Fprintf(&b, "  <skill>\n    <name>%s</name>\n    <description>%s</description>\n    <location>%s</location>\n  </skill>\n",
			escape.Replace(s.Name), escape.Replace(s.Description), escape.Replace(filepath.ToSlash(s.Path)))
	}
	return b.String() + "</available_skills>"
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")

func contextText(res Resources) string {
	parts := []string{strings.TrimSpace(contextLead)}
	for _, f := range res.ContextFiles {
		parts = append(parts, `<project_instructions path="`+f.Path+`">`+"\n"+f.Text+"\n</project_instructions>")
	}
	return strings.Join(parts, "\n\n")
}
