package resource

import (
	"path/filepath"
	"slices"
)

// Folder is a place where resources may appear, change or go.
type Folder struct {
	Path string
	Deep bool // also what lies below it
}

// Folders lists the folders that discovery looks into, for whoever wants to
// notice changes. Some may not be there; the folder above each is listed, too.
func Folders(p Place, skills, templates bool) []Folder {
	var out []Folder
	add := func(path string, deep bool) {
		if f := (Folder{path, deep}); path != "" && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	add(p.AgentDir, false)
	if p.Cwd != "" {
		for _, dir := range downTo(p.Cwd) {
			add(dir, false)
		}
	}
	if p.Trusted && p.Cwd != "" && (skills || templates) {
		add(filepath.Join(p.Cwd, ".pi"), false)
	}
	look := func(on bool, name string, lists Lists, f form) {
		if !on {
			return
		}
		for _, l := range p.locations(name, lists, f) {
			dir := l.dir
			if filepath.Ext(dir) == ".md" {
				dir = filepath.Dir(dir)
			}
			add(dir, true)
			add(filepath.Dir(dir), false)
		}
	}
	look(skills, "skills", p.Skills, skillsOfPi)
	look(templates, "prompts", p.Templates, flatMarkdown)
	return out
}

// MayMatter tells whether a name in a folder that holds resources can be one, or
// a folder of them.
func MayMatter(name string) bool {
	return slices.Contains(candidates(), name) || slices.Contains([]string{
		"SYSTEM.md", "APPEND_SYSTEM.md", ".pi", ".agents", "skills", "prompts", "mcp.json", "settings.json", "trust.json", "SKILL.md",
	}, name)
}
