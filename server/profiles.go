package server

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/resource"
	"github.com/piweb-go/piweb/subagent"
)

// getSubagentSettings tells whether subagents are on.
func (s *Server) getSubagentSettings(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	set, err := s.rt.SubagentSettings().Read()
	if err != nil {
		return err
	}
	write(w, r, http.StatusOK, switches{set.BuiltIn, set.Concurrent})
	return nil
}

type switches struct {
	Enabled    bool `json:"enabled"`
	Concurrent int  `json:"maxConcurrent"`
}

// setSubagentSettings changes what it is told and nothing else.
func (s *Server) setSubagentSettings(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	on, n := f.maybe("enabled"), f.number("maxConcurrent")
	if n != nil && (*n != float64(int(*n)) || *n < 1 || *n > subagent.MaxConcurrent) {
		f.bad("maxConcurrent")
	}
	if !f.has("enabled") && !f.has("maxConcurrent") {
		f.bad("enabled")
	}
	if err := f.check(); err != nil {
		return err
	}
	set := s.rt.SubagentSettings()
	if on != nil {
		if err := set.SetBuiltIn(*on); err != nil {
			return err
		}
	}
	if n != nil {
		if err := set.SetConcurrent(int(*n)); err != nil {
			return err
		}
	}
	return s.getSubagentSettings(w, r, args)
}

type leftOut struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// listProfiles lists the profiles of a folder, of every source, also those that a
// stronger one hides, and what was left out.
func (s *Server) listProfiles(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	cwd, err := projectOf(r.URL.Query().Get("cwd"))
	if err != nil {
		return err
	}
	list, left := s.rt.Subagents().Profiles(cwd)
	items, out := []subagent.ProfileInfo{}, []leftOut{}
	for _, p := range list {
		items = append(items, p.Info())
	}
	for _, l := range left {
		out = append(out, leftOut{l.Path, l.Reason})
	}
	set, _ := s.rt.SubagentSettings().Read()
	write(w, r, http.StatusOK, struct {
		Enabled  bool                   `json:"enabled"`
		Profiles []subagent.ProfileInfo `json:"profiles"`
		LeftOut  []leftOut              `json:"leftOut"`
	}{set.BuiltIn, items, out})
	return nil
}

// projectOf checks a working folder that a client names.
func projectOf(cwd string) (string, error) {
	if cwd == "" || !filepath.IsAbs(cwd) || strings.ContainsRune(cwd, 0) {
		return "", invalid("Name the working folder by its absolute path.", "cwd")
	}
	if st, err := os.Stat(cwd); err != nil || !st.IsDir() {
		return "", invalid("There is no folder "+cwd+". Name one that exists.", "cwd")
	}
	return filepath.Clean(cwd), nil
}

// place reads where a profile is to be changed.
func (f *form) place(of ...string) (scope resource.ProfileSource, cwd string) {
	cwd, err := projectOf(f.str("cwd"))
	if err != nil {
		f.bad("cwd")
	}
	if !f.has("scope") {
		f.bad("scope")
	}
	return resource.ProfileSource(f.choice("scope", of...)), cwd
}

func (s *Server) saveProfile(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	scope, cwd := f.place(string(resource.GlobalProfile), string(resource.ProjectProfile))
	p := f.object("profile")
	d := subagent.Draft{Name: strings.TrimSpace(p.str("name")), Description: p.optional("description"), DisplayName: p.optional("displayName"), Skills: p.flag("loadSkills"),
		Extensions: p.flag("loadExtensions"), Enabled: true, Inherit: p.flag("inheritContext"), Background: p.flag("runInBackground"),
		Replace: p.choice("promptMode", "append", "replace") == "replace", Model: p.optional("model"), Thinking: p.optional("thinking"),
		Color: p.optional("color"), Isolation: p.optional("isolation"), InputFiles: p.maybe("allowInputFiles"), Prompt: p.optional("systemPrompt")}
	if on := p.maybe("enabled"); on != nil {
		d.Enabled = *on
	}
	if tools := p.list("tools"); tools != nil {
		d.Tools = *tools
	}
	if n := p.number("maxTurns"); n != nil {
		if d.MaxTurns = *n; *n < 0 {
			p.bad("maxTurns")
		}
	}
	if !resource.IsProfileName(d.Name) {
		p.bad("name")
	}
	if piweb.CheckThinking(strings.TrimSpace(d.Thinking)) != nil {
		p.bad("thinking")
	}
	f.take("profile", p)
	if err := f.check(); err != nil {
		return err
	}
	saved, err := s.rt.Subagents().Save(scope, cwd, d)
	if err != nil {
		return err
	}
	return answerProfile(w, r, saved)
}

func answerProfile(w http.ResponseWriter, r *http.Request, p subagent.Profile) error {
	write(w, r, http.StatusOK, struct {
		Profile subagent.ProfileInfo `json:"profile"`
	}{p.Info()})
	return nil
}

func (s *Server) toggleProfile(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	scope, cwd := f.place(string(subagent.Builtin), string(resource.GlobalProfile), string(resource.ProjectProfile))
	name, on := strings.TrimSpace(f.str("name")), f.maybe("enabled")
	if name == "" {
		f.bad("name")
	}
	if on == nil {
		f.bad("enabled")
	}
	if err := f.check(); err != nil {
		return err
	}
	p, err := s.rt.Subagents().Toggle(scope, cwd, name, *on)
	if err != nil {
		return err
	}
	return answerProfile(w, r, p)
}

func (s *Server) deleteProfile(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	scope, cwd := f.place(string(resource.GlobalProfile), string(resource.ProjectProfile))
	name := strings.TrimSpace(f.str("name"))
	if name == "" {
		f.bad("name")
	}
	if err := f.check(); err != nil {
		return err
	}
	if err := s.rt.Subagents().Delete(scope, cwd, name); err != nil {
		return err
	}
	write(w, r, http.StatusOK, okay{true})
	return nil
}
