package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Trust says whether a project may bring settings, profiles, skills, templates
// and servers of its own (spec/pi.md §3.6, RULINGS 13). Context files load
// without it.
type Trust struct {
	Trusted bool
	Reason  string // one clause that says what decided
	// Undecided says that a person could be asked: nobody has decided, there is
	// something to load, and the settings leave it open.
	Undecided bool
	Needs     []string // what would load: absolute paths, none where there is nothing to trust
}

// trustFile is trust.json: real path → decision.
type trustFile struct {
	decisions map[string]bool
	problem   *Problem
}

func readTrust(agentDir string) trustFile {
	path := filepath.Join(agentDir, "trust.json")
	const hint = "correct or remove the file; until then no project is trusted by it"
	data, problem := readFile(path, hint)
	if data == nil {
		return trustFile{problem: problem}
	}
	doc, problem := parse(path, data, hint)
	if problem != nil {
		return trustFile{problem: problem}
	}
	entries, ok := doc.(map[string]any)
	if !ok {
		return trustFile{problem: &Problem{File: path, What: "it holds " + kindOf(doc) + " where an object is expected", Hint: hint, Err: ErrSchema}}
	}
	t := trustFile{decisions: map[string]bool{}}
	for _, dir := range slices.Sorted(maps.Keys(entries)) {
		switch decision := entries[dir].(type) {
		case bool:
			t.decisions[dir] = decision
		case nil: // pi's way of taking a decision back
		default:
			return trustFile{problem: &Problem{File: path, Path: dir, What: "expected true, false or null, found " + kindOf(decision), Hint: hint, Err: ErrSchema}}
		}
	}
	return t
}

// nearest finds the decision for dir or its nearest ancestor that has one.
func (t trustFile) nearest(dir string) (trusted bool, at string, ok bool) {
	for dir = realOrSame(dir); ; dir = filepath.Dir(dir) {
		if trusted, ok := t.decisions[dir]; ok {
			return trusted, dir, true
		}
		if runtime.GOOS == "windows" {
			for _, key := range slices.Sorted(maps.Keys(t.decisions)) {
				if strings.EqualFold(filepath.Clean(key), dir) {
					return t.decisions[key], key, true
				}
			}
		}
		if filepath.Dir(dir) == dir {
			return false, "", false
		}
	}
}

// NeedsTrust lists what a project would load only when trusted: entries of
// <cwd>/.pi, profiles of <cwd>/.agents, and .agents/skills of the folder and its
// ancestors, except the user's own in home. The list is sorted by depth as found.
//
// pi does not count profiles; they are gated here (RULINGS 13), so a project that
// brings nothing else needs trust as well.
func NeedsTrust(cwd, home string) []string {
	if cwd == "" {
		return nil
	}
	cwd = realOrSame(cwd)
	var found []string
	add := func(path string) {
		if _, err := os.Stat(path); err == nil {
			found = append(found, path)
		}
	}
	for _, name := range []string{"settings.json", "mcp.json", "extensions", "skills", "prompts", "themes",
		"SYSTEM.md", "APPEND_SYSTEM.md", "agents"} {
		add(filepath.Join(cwd, ".pi", name))
	}
	add(filepath.Join(cwd, ".agents", "agents"))
	own := ""
	if home != "" {
		own = filepath.Join(realOrSame(home), ".agents", "skills")
	}
	for dir := cwd; ; dir = filepath.Dir(dir) {
		if skills := filepath.Join(dir, ".agents", "skills"); !sameSpelling(skills, own) {
			add(skills)
		}
		if filepath.Dir(dir) == dir {
			return found
		}
	}
}

// decideTrust follows pi's order for a program without a person to ask:
// explicit, then what is saved for the project or an ancestor, then the setting.
// A project that has nothing to load is trusted unless saved otherwise. A broken
// trust file trusts nothing.
func decideTrust(env Env, saved trustFile, setting ProjectTrust, explicit *bool) Trust {
	t := Trust{Needs: NeedsTrust(env.Cwd, env.Home)}
	if explicit != nil {
		t.Trusted, t.Reason = *explicit, "decided on the command line"
		return t
	}
	if env.Cwd == "" {
		t.Reason = "there is no project"
		return t
	}
	if saved.problem != nil {
		t.Reason = "trust.json cannot be used"
		return t
	}
	if trusted, at, ok := saved.nearest(env.Cwd); ok {
		t.Trusted, t.Reason = trusted, fmt.Sprintf("saved in trust.json for %s", at)
		return t
	}
	switch {
	case len(t.Needs) == 0:
		t.Trusted, t.Reason = true, "the project brings nothing that needs trust"
	case setting == TrustAlways:
		t.Trusted, t.Reason = true, "defaultProjectTrust is always"
	case setting == TrustNever:
		t.Reason = "defaultProjectTrust is never"
	default:
		t.Reason, t.Undecided = "nothing is decided for this project", true
	}
	return t
}

func realOrSame(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

func sameSpelling(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}
