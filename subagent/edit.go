package subagent

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/piweb-go/piweb/internal/confine"
	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/internal/frontmatter"
	"github.com/piweb-go/piweb/resource"
	"github.com/piweb-go/piweb/toolselect"
)

// Draft is a profile that a person writes. What is nil or empty is left out of
// the file.
type Draft struct {
	Name        string
	Description string
	DisplayName string
	Tools       []string // built-in ones; none means no tools
	Skills      bool
	Extensions  bool
	Enabled     bool
	Inherit     bool
	Background  bool
	Replace     bool
	Model       string
	Thinking    string
	MaxTurns    float64 // 0 for no limit
	Color       string
	Isolation   string // "worktree", "off" or ""
	InputFiles  *bool  // a model may give it files; nil for what the file says
	Prompt      string
}

// DraftOf is a profile as a draft, for changing a part of it.
func DraftOf(p Profile) Draft {
	files := p.AllowInputFiles
	return Draft{Name: p.Name, Description: p.Description, DisplayName: p.DisplayName, Tools: slices.Clone(p.Tools), Skills: p.Skills, Extensions: p.Extensions,
		Enabled: p.Enabled, Inherit: p.InheritContext, Background: p.Background, Replace: p.Replace, Model: p.Model, Thinking: p.Thinking,
		MaxTurns: float64(p.MaxTurns), Color: p.Color, Isolation: p.Isolation, InputFiles: &files, Prompt: p.Prompt}
}

// Errors of changes to profiles, to match with errors.Is.
var (
	ErrDraft     = errors.New("the profile cannot be saved like this")
	ErrScope     = errors.New("profiles are saved as \"global\" or \"project\"")
	ErrMalformed = errors.New("the profile's front matter cannot be read, so the file is left as it is")
)

// folder is where the profiles of a scope lie. A project's folder must really lie
// in the project.
func (m *Manager) folder(scope resource.ProfileSource, cwd string) (string, error) {
	place := m.host.Place(cwd)
	switch scope {
	case resource.GlobalProfile:
		return filepath.Join(place.AgentDir, "agents"), nil
	case resource.ProjectProfile:
		dir := filepath.Join(place.Cwd, ".pi", "agents")
		if _, inside, err := confine.RealWithin(nearest(dir), place.Cwd); err != nil || !inside {
			return "", fmt.Errorf("%w: %s leads out of the project", ErrDraft, dir)
		}
		return dir, nil
	}
	return "", fmt.Errorf("%w, not as %q", ErrScope, scope)
}

// nearest is a path, or the part of it that exists. A link counts as existing even
// where it leads nowhere.
func nearest(path string) string {
	for {
		if _, err := os.Lstat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// Save writes a profile. Of an existing file only what the draft says is changed:
// keys of other programs, comments and tools of extensions stay.
func (m *Manager) Save(scope resource.ProfileSource, cwd string, d Draft) (Profile, error) {
	if err := d.tidy(); err != nil {
		return Profile{}, err
	}
	dir, err := m.folder(scope, cwd)
	if err != nil {
		return Profile{}, err
	}
	path, old, err := find(dir, d.Name)
	if err != nil {
		return Profile{}, err
	}
	page, err := openPage(old)
	if err != nil {
		return Profile{}, fmt.Errorf("%s: %w", path, err)
	}
	d.writeTo(page, old == "")
	text := page.text(d.Prompt)
	if err := write(path, text); err != nil {
		return Profile{}, err
	}
	return m.saved(scope, path, text)
}

func (m *Manager) saved(scope resource.ProfileSource, path, text string) (Profile, error) {
	p, err := resource.ParseProfile(strings.TrimSuffix(filepath.Base(path), ".md"), text)
	p.File, p.Source = path, scope
	return Profile{Profile: p}, err
}

// Toggle switches a profile on or off and changes nothing else of its file (D19).
// A built-in one is switched by the settings.
func (m *Manager) Toggle(scope resource.ProfileSource, cwd, name string, on bool) (Profile, error) {
	if scope == Builtin {
		i := slices.IndexFunc(builtins(), func(p resource.Profile) bool { return strings.EqualFold(p.Name, name) })
		if i < 0 {
			return Profile{}, fmt.Errorf("%w: no built-in profile is called %q", ErrProfile, name)
		}
		p := builtins()[i]
		if err := m.settings.SetEnabled(p.Name, on); err != nil {
			return Profile{}, err
		}
		p.Enabled = on
		return Profile{Profile: p}, nil
	}
	dir, err := m.folder(scope, cwd)
	if err != nil {
		return Profile{}, err
	}
	path, old, err := find(dir, name)
	if err != nil {
		return Profile{}, err
	}
	if old == "" {
		return Profile{}, fmt.Errorf("%w: %q in %s", ErrProfile, name, dir)
	}
	page, err := openPage(old)
	if err != nil {
		return Profile{}, fmt.Errorf("%s: %w", path, err)
	}
	page.set("enabled", strconv.FormatBool(on))
	text := page.whole()
	if err := write(path, text); err != nil {
		return Profile{}, err
	}
	return m.saved(scope, path, text)
}

// Delete removes a profile's file; one that is not there is no error.
func (m *Manager) Delete(scope resource.ProfileSource, cwd, name string) error {
	dir, err := m.folder(scope, cwd)
	if err != nil {
		return err
	}
	path, old, err := find(dir, name)
	if err != nil || old == "" {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// maxProfile bounds a profile's file.
const maxProfile = 1 << 20

// find looks for the file of a profile by the name that it has, whatever its case;
// text is "" where there is none yet, and path the one that it would get.
func find(dir, name string) (path, text string, err error) {
	name = strings.TrimSpace(name)
	if !resource.IsProfileName(name) {
		return "", "", badName(name)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	for _, e := range entries {
		base, md := strings.CutSuffix(e.Name(), ".md")
		if !md || !e.Type().IsRegular() {
			continue
		}
		at := filepath.Join(dir, e.Name())
		data, err := confine.ReadRegular(at, maxProfile)
		if err != nil {
			continue
		}
		p, err := resource.ParseProfile(base, string(data))
		if (err == nil && resource.SameName(p.Name, name)) || (err != nil && resource.SameName(base, name)) {
			return at, string(data), nil
		}
	}
	if !resource.ValidProfileName(name) {
		return "", "", badName(name)
	}
	return filepath.Join(dir, name+".md"), "", nil
}

// badName refuses a name for a new profile. One that is there may have the name of its
// file.
func badName(name string) error {
	return fmt.Errorf("%w: %q is no name: it begins with a letter or digit and goes on with these, \".\", \"_\" and \"-\"", ErrDraft, name)
}

func write(path, text string) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is no plain file", ErrDraft, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.Save(durable.OS{}, path, []byte(text), 0o600)
}

// tidy checks a draft and brings it into the form in which it is written.
func (d *Draft) tidy() error {
	for _, s := range []*string{&d.Name, &d.Description, &d.DisplayName, &d.Model, &d.Thinking, &d.Color, &d.Isolation, &d.Prompt} {
		*s = strings.TrimSpace(*s)
	}
	d.Prompt = strings.ReplaceAll(d.Prompt, "\r\n", "\n")
	if !resource.IsProfileName(d.Name) {
		return badName(d.Name)
	}
	d.Description, d.DisplayName = cmp.Or(d.Description, d.Name), cmp.Or(d.DisplayName, d.Name)
	var tools []string
	for _, t := range d.Tools {
		if t = strings.TrimSpace(t); toolselect.IsBuiltin(t) && !slices.Contains(tools, t) {
			tools = append(tools, t)
		}
	}
	d.Tools = tools
	switch {
	case d.Thinking != "" && !slices.Contains(levels, d.Thinking):
		return fmt.Errorf("%w: %q is no thinking level; there are %s", ErrDraft, d.Thinking, strings.Join(levels, ", "))
	case math.IsNaN(d.MaxTurns) || math.IsInf(d.MaxTurns, 0) || d.MaxTurns < 0 || d.MaxTurns > math.MaxInt32:
		return fmt.Errorf("%w: max_turns is a number of turns, 0 for no limit, not %v", ErrDraft, d.MaxTurns)
	case d.Isolation != "" && d.Isolation != "worktree" && d.Isolation != "off":
		return fmt.Errorf("%w: isolation is \"worktree\" or \"off\", not %q", ErrDraft, d.Isolation)
	}
	for name, s := range map[string]string{"description": d.Description, "display_name": d.DisplayName, "model": d.Model, "color": d.Color} {
		if strings.ContainsAny(s, "\n\r") {
			return fmt.Errorf("%w: the %s is one line", ErrDraft, name)
		}
	}
	d.MaxTurns = math.Floor(d.MaxTurns)
	return nil
}

// writeTo puts a draft into a page, in pi-web's order of keys.
func (d Draft) writeTo(p *page, fresh bool) {
	if p.has("name") { // else its file has the name
		own := ""
		if resource.ValidProfileName(d.Name) {
			own = quote(d.Name)
		}
		p.orDrop("name", own)
	}
	p.set("description", quote(d.Description))
	p.set("display_name", quote(d.DisplayName))
	tools := strings.Join(append(slices.Clone(d.Tools), p.foreignTools()...), ", ")
	p.set("tools", cmp.Or(tools, "none"))
	p.set("load_skills", strconv.FormatBool(d.Skills))
	p.set("load_extensions", strconv.FormatBool(d.Extensions))
	p.set("enabled", strconv.FormatBool(d.Enabled))
	p.set("inherit_context", strconv.FormatBool(d.Inherit))
	p.set("run_in_background", strconv.FormatBool(d.Background))
	mode := "append"
	if d.Replace {
		mode = "replace"
	}
	p.set("prompt_mode", mode)
	p.alias("skills", d.Skills, fresh)
	p.alias("extensions", d.Extensions, fresh)
	p.orDrop("model", quote(d.Model))
	p.orDrop("thinking", d.Thinking)
	turns := ""
	if d.MaxTurns > 0 {
		turns = strconv.Itoa(int(d.MaxTurns))
	}
	p.orDrop("max_turns", turns)
	p.orDrop("color", quote(d.Color))
	p.orDrop("isolation", d.Isolation)
	if d.InputFiles != nil {
		word := "true"
		if !*d.InputFiles {
			word = ""
		}
		p.orDrop("allow_input_files", word)
	}
}

// quote writes a text as a YAML scalar; "" stays "".
func quote(s string) string {
	if s == "" {
		return ""
	}
	plain := strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789 _./-") == "" && !strings.HasPrefix(s, "-") && !strings.HasPrefix(s, ".") && !strings.HasPrefix(s, " ")
	if d := frontmatter.Parse("---\nk: " + s + "\n---\n"); plain && d.Problem == nil && d.Fields["k"] == s {
		return s
	}
	return strconv.Quote(s)
}
