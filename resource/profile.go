package resource

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/piweb-go/piweb/internal/frontmatter"
	"github.com/piweb-go/piweb/toolselect"
)

// ProfileSource says where a profile's file lies.
type ProfileSource string

// The sources of profiles on disk, the weakest first. The program's own stand
// below all of them.
const (
	GlobalProfile    ProfileSource = "global"    // <agentDir>/agents
	WorkspaceProfile ProfileSource = "workspace" // <cwd>/.agents/agents
	ProjectProfile   ProfileSource = "project"   // <cwd>/.pi/agents
)

// Profile is a kind of subagent as its file describes it. It only says what is
// written there: which profile of a name is in force, and what it may do, is
// decided elsewhere.
type Profile struct {
	Name        string
	File        string // absolute
	Source      ProfileSource
	DisplayName string
	Description string
	Enabled     bool

	Tools      []string // built-in ones, in order, each once; never nil
	Selectors  []string // "ext:" items of tools, without the prefix
	Unknown    []string // names of tools that piweb does not have
	Skills     bool     // load skills
	Extensions bool     // load extensions

	Model           string // "" for the parent's
	Thinking        string // "" for the parent's
	MaxTurns        int    // 0 for no limit
	InheritContext  bool
	Background      bool
	Replace         bool   // prompt_mode: replace; else the prompt is appended
	Isolation       string // "worktree", "off" or ""
	Color           string
	Persist         *bool // persist_session, nil where it does not say
	AllowInputFiles bool

	Prompt   string // the body, trimmed
	SHA256   string // of the file
	Warnings []string
}

// ChatOnly tells whether a child of this profile has nothing but its prompt.
func (p Profile) ChatOnly() bool {
	return len(p.Tools) == 0 && len(p.Selectors) == 0 && !p.Skills && !p.Extensions
}

var profileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// ValidProfileName tells whether a profile may be given this name.
func ValidProfileName(name string) bool { return len(name) <= 128 && profileName.MatchString(name) }

// IsProfileName tells whether a profile can have this name: one that it may be given,
// or that of its file, which is what a person called it, in any script.
func IsProfileName(name string) bool {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == '/' || r == '\\' || r == utf8.RuneError }
	return name != "" && len(name) <= 255 && strings.TrimSpace(name) == name && !strings.ContainsFunc(name, odd)
}

// SameSpelling tells whether two names have the same letters, however the accents are
// stored: a file system may keep a name in another form than a keyboard types it.
func SameSpelling(a, b string) bool { return a == b || norm.NFC.String(a) == norm.NFC.String(b) }

// SameName tells whether two names are one to a person: case does not count, nor
// whether an accent is a letter of its own.
func SameName(a, b string) bool { return strings.EqualFold(norm.NFC.String(a), norm.NFC.String(b)) }

// Profiles reads the profiles on disk, from the weakest source to the strongest,
// each sorted by file name. Those of the project need its trust, and their folder
// must really lie in the working folder. Only regular files directly in the
// folders count.
func Profiles(p Place) ([]Profile, []Omission) {
	r := newReader(p)
	var out []Profile
	add := func(source ProfileSource, dir string, inside string) {
		if _, err := os.Lstat(dir); err != nil {
			return
		}
		if inside != "" && !reallyInside(dir, inside) {
			r.omit(dir, "it leads out of the working folder", nil)
			return
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			r.omit(dir, "it cannot be looked at: "+short(err), err)
			return
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if !strings.HasSuffix(e.Name(), ".md") || e.IsDir() {
				continue
			}
			if e.Type()&fs.ModeSymlink != 0 && inside != "" {
				r.omit(path, "a project's profile must be a file and no link", nil)
				continue
			}
			if len(out) >= maxFound {
				r.omit(dir, "there are too many files; the rest is left out", nil)
				return
			}
			c, ok := r.text(file{path: path, owner: inside})
			if !ok {
				continue
			}
			profile, err := ParseProfile(strings.TrimSuffix(e.Name(), ".md"), c.Text)
			if err != nil {
				r.omit(path, err.Error(), err)
				continue
			}
			profile.File, profile.Source, profile.SHA256 = path, source, c.SHA256
			out = append(out, profile)
		}
	}
	if p.AgentDir != "" {
		add(GlobalProfile, filepath.Join(p.AgentDir, "agents"), "")
	}
	if p.Trusted && p.Cwd != "" {
		add(WorkspaceProfile, filepath.Join(p.Cwd, ".agents", "agents"), p.Cwd)
		add(ProjectProfile, filepath.Join(p.Cwd, ".pi", "agents"), p.Cwd)
	}
	return out, r.omissions
}

func reallyInside(dir, root string) bool {
	real, err1 := filepath.EvalSymlinks(dir)
	top, err2 := filepath.EvalSymlinks(root)
	if err1 != nil || err2 != nil {
		return false
	}
	rel, err := filepath.Rel(top, real)
	return err == nil && filepath.IsLocal(rel)
}

// ParseProfile reads the text of a profile; file is the name of its file without
// ".md", which is the profile's name where the text gives none: then any letters do.
// An error says why there is no profile.
//
// Keys are read in snake_case, camelCase and with hyphens. Of tools: an empty list
// or "none" is no tools; a blank, an empty string, "all", "*" or no key at all is
// every tool (RULINGS 12).
func ParseProfile(file, text string) (Profile, error) {
	d := frontmatter.Parse(text)
	k := keys{}
	for name, value := range d.Fields {
		k[normal(name)] = value
	}
	p := Profile{Name: norm.NFC.String(file), Enabled: true, Prompt: strings.TrimSpace(d.Body)}
	if d.Problem != nil {
		p.Warnings = append(p.Warnings, d.Problem.Error())
	}
	name, given := k["name"].(string)
	if given {
		p.Name = strings.TrimSpace(name)
	}
	if given && !ValidProfileName(p.Name) || !IsProfileName(p.Name) {
		return p, fmt.Errorf("%q is no name for a profile: it begins with a letter or digit and goes on with these, \".\", \"_\" and \"-\"", p.Name)
	}
	p.DisplayName = k.text(p.Name, "displayname")
	p.Description = k.text(p.Name, "description")
	p.tools(k)
	p.Skills = k.flag(false, "loadskills", "skills")
	p.Extensions = k.flag(len(p.Selectors) > 0, "loadextensions", "extensions")
	p.Model = k.text("", "model")
	p.Thinking = k.text("", "thinking")
	if p.Thinking != "" && !slices.Contains([]string{"off", "minimal", "low", "medium", "high", "xhigh", "max"}, p.Thinking) {
		p.Warnings = append(p.Warnings, fmt.Sprintf("thinking: %q is no level; the parent's is used", p.Thinking))
		p.Thinking = ""
	}
	if n, ok := k["maxturns"].(float64); ok && n >= 1 && n <= math.MaxInt32 {
		p.MaxTurns = int(n)
	}
	p.InheritContext = k.flag(false, "inheritcontext")
	p.Background = k.flag(false, "runinbackground", "background")
	p.Enabled = k.flag(true, "enabled")
	p.AllowInputFiles = k.flag(false, "allowinputfiles")
	p.Replace = k.text("", "promptmode") == "replace"
	if s := k.text("", "isolation"); s == "worktree" || s == "off" {
		p.Isolation = s
	}
	p.Color = k.text("", "color")
	if v, ok := k["persistsession"].(bool); ok {
		p.Persist = &v
	}
	return p, nil
}

// tools reads tools and disallowed_tools.
func (p *Profile) tools(k keys) {
	given, all := toolList(k["tools"])
	_, present := k["tools"]
	if !present || all {
		given = append(toolselect.Builtins(), given...)
	}
	denied, everything := toolList(k["disallowedtools"])
	p.Tools = []string{}
	for _, name := range given {
		bare, isSelector := strings.CutPrefix(name, "ext:")
		switch {
		case everything && k["disallowedtools"] != nil || contains(denied, name):
		case isSelector && bare != "":
			if !contains(p.Selectors, bare) {
				p.Selectors = append(p.Selectors, bare)
			}
		case toolselect.IsBuiltin(name):
			if !slices.Contains(p.Tools, name) {
				p.Tools = append(p.Tools, name)
			}
		case !slices.Contains(p.Unknown, name):
			p.Unknown = append(p.Unknown, name)
		}
	}
	if len(p.Unknown) > 0 {
		p.Warnings = append(p.Warnings, "tools: piweb has no "+strings.Join(p.Unknown, ", "))
	}
}

// toolList reads a list or a string with commas. all says that it stands for
// every built-in tool: nothing is written, or "all", or "*".
func toolList(v any) (names []string, all bool) {
	switch v := v.(type) {
	case nil:
		return nil, true
	case string:
		if strings.TrimSpace(v) == "" {
			return nil, true
		}
		names = strings.Split(v, ",")
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok {
				names = append(names, s)
			}
		}
	default:
		return nil, false // a number, a map: nothing that names a tool
	}
	var out []string
	for _, n := range names {
		n = strings.TrimSpace(n)
		switch strings.ToLower(n) {
		case "":
		case "none":
			return nil, false
		case "all", "*":
			all = true
		case "powershell":
			out = append(out, "bash")
		default:
			out = append(out, n)
		}
	}
	return out, all
}

func contains(list []string, name string) bool {
	return slices.ContainsFunc(list, func(n string) bool { return strings.EqualFold(n, name) })
}

// keys are the fields by their normal names.
type keys map[string]any

func normal(key string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(strings.TrimSpace(key)))
}

func (k keys) text(otherwise, key string) string {
	if s, ok := k[key].(string); ok && strings.TrimSpace(s) != "" {
		return strings.TrimSpace(s)
	}
	return otherwise
}

// flag reads the first of the keys that says something. A list of names counts as
// true unless it is empty; of words only none, false, no and off are false.
func (k keys) flag(otherwise bool, names ...string) bool {
	for _, name := range names {
		switch v := k[name].(type) {
		case bool:
			return v
		case []any:
			return len(v) > 0
		case string:
			switch strings.ToLower(strings.TrimSpace(v)) {
			case "":
			case "none", "false", "no", "off":
				return false
			default:
				return true
			}
		}
	}
	return otherwise
}
