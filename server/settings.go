package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/piweb-go/piweb/config"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/toolselect"
)

// General settings: those of pi's settings.json and of piweb.json that people
// change on the page. Both are files of the user; what a project says over them is
// shown and not written. Whatever else the files hold stays as it is.

// settingKind is the form of a value.
type settingKind string

const (
	kindFlag   settingKind = "flag"   // true or false
	kindNumber settingKind = "number" // a whole number
	kindChoice settingKind = "choice" // one of the choices
	kindModel  settingKind = "model"  // "provider/id"
	kindTools  settingKind = "tools"  // a list of the choices
)

// setting is a value that can be changed here.
type setting struct {
	key      string // as pi or piweb.json spell it, with dots
	own      bool   // of piweb.json
	kind     settingKind
	choices  []string
	min, max int
	usual    any                        // where nobody says anything
	now      func(c *config.Config) any // what holds in a folder
}

func names[S ~string](list []S) (out []string) {
	for _, s := range list {
		out = append(out, string(s))
	}
	return out
}

// settings are all of them, in the order of the page.
func settings() []setting {
	modes := []string{"one-at-a-time", "all"}
	tokens := 10_000_000
	return []setting{
		{key: "defaultModel", kind: kindModel, usual: "", now: func(c *config.Config) any { return c.Settings.DefaultRef() }},
		{key: "defaultThinkingLevel", kind: kindChoice, choices: names(config.ThinkingLevels()), usual: "medium", now: func(c *config.Config) any { return string(c.Settings.DefaultThinkingLevel) }},
		{key: "defaultTools", kind: kindTools, choices: toolselect.Builtins(), usual: config.BuiltinTools(), now: func(c *config.Config) any { return append([]string{}, c.Settings.DefaultTools.Effective()...) }},
		{key: "defaultProjectTrust", kind: kindChoice, choices: names([]config.ProjectTrust{config.TrustAsk, config.TrustAlways, config.TrustNever}), usual: "ask", now: func(c *config.Config) any { return string(c.Settings.DefaultProjectTrust) }},
		{key: "steeringMode", kind: kindChoice, choices: modes, usual: modes[0], now: func(c *config.Config) any { return c.Settings.SteeringMode }},
		{key: "followUpMode", kind: kindChoice, choices: modes, usual: modes[0], now: func(c *config.Config) any { return c.Settings.FollowUpMode }},
		{key: "compaction.enabled", kind: kindFlag, usual: true, now: func(c *config.Config) any { return c.Settings.Compaction.Enabled }},
		{key: "compaction.reserveTokens", kind: kindNumber, max: tokens, usual: 16384, now: func(c *config.Config) any { return c.Settings.Compaction.ReserveTokens }},
		{key: "compaction.keepRecentTokens", kind: kindNumber, max: tokens, usual: 20000, now: func(c *config.Config) any { return c.Settings.Compaction.KeepRecentTokens }},
		{key: "retry.enabled", kind: kindFlag, usual: true, now: func(c *config.Config) any { return c.Settings.Retry.Enabled }},
		{key: "retry.maxRetries", kind: kindNumber, max: 100, usual: 3, now: func(c *config.Config) any { return c.Settings.Retry.MaxRetries }},
		{key: "images.autoResize", kind: kindFlag, usual: true, now: func(c *config.Config) any { return c.Settings.Images.AutoResize }},
		{key: "images.blockImages", kind: kindFlag, usual: false, now: func(c *config.Config) any { return c.Settings.Images.Block }},
		{key: "mentions.ignored", own: true, kind: kindFlag, usual: false, now: func(c *config.Config) any { return c.Own.Mentions.Ignored }},
		{key: "mentions.documents", own: true, kind: kindFlag, usual: false, now: func(c *config.Config) any { return c.Own.Mentions.Documents }},
		{key: "mentions.maxBytes", own: true, kind: kindNumber, min: 1, max: 16 << 20, usual: 64 << 10, now: func(c *config.Config) any { return int(c.Own.Mentions.MaxBytes) }},
		{key: "attachments.tools", own: true, kind: kindFlag, usual: false, now: func(c *config.Config) any { return c.Own.Attachments.Tools }},
		{key: "blobs.externalize", own: true, kind: kindChoice, choices: names([]config.Externalize{config.ExternalizeAuto, config.ExternalizeOn, config.ExternalizeOff}), usual: "auto", now: func(c *config.Config) any { return string(c.Own.Externalize) }},
		{key: "memory.tools", own: true, kind: kindFlag, usual: false, now: func(c *config.Config) any { return c.Own.Memory.Tools }},
	}
}

// file is where a setting is written.
func (st setting) file(agentDir string) string {
	if st.own {
		return filepath.Join(agentDir, "piweb.json")
	}
	return filepath.Join(agentDir, "settings.json")
}

// fits tells whether a value has the form of the setting.
func (st setting) fits(raw json.RawMessage) bool {
	switch st.kind {
	case kindFlag:
		var v *bool
		return json.Unmarshal(raw, &v) == nil && v != nil
	case kindNumber:
		var v *int
		return json.Unmarshal(raw, &v) == nil && v != nil && *v >= st.min && *v <= st.max
	case kindTools:
		var v []string
		if json.Unmarshal(raw, &v) != nil || v == nil {
			return false
		}
		return !slices.ContainsFunc(v, func(n string) bool { return !slices.Contains(st.choices, n) })
	case kindModel:
		var v *string
		if json.Unmarshal(raw, &v) != nil || v == nil {
			return false
		}
		provider, id, _ := strings.Cut(*v, "/")
		return provider != "" && id != "" && len(*v) < 500
	default:
		var v *string
		return json.Unmarshal(raw, &v) == nil && v != nil && slices.Contains(st.choices, *v)
	}
}

// changes are what is written for a value; null takes it away.
func (st setting) changes(raw json.RawMessage) []config.Change {
	if st.kind == kindModel {
		if string(raw) == "null" {
			return []config.Change{{Keys: []string{"defaultProvider"}}, {Keys: []string{"defaultModel"}}}
		}
		var ref string
		_ = json.Unmarshal(raw, &ref) // it fits
		provider, id, _ := strings.Cut(ref, "/")
		quoted := func(s string) json.RawMessage { data, _ := json.Marshal(s); return data }
		return []config.Change{{Keys: []string{"defaultProvider"}, Value: quoted(provider)}, {Keys: []string{"defaultModel"}, Value: quoted(id)}}
	}
	c := config.Change{Keys: strings.Split(st.key, "."), Value: raw}
	if string(raw) == "null" {
		c.Value = nil
	}
	return []config.Change{c}
}

// written is what a file says, and whether it says anything. A broken file says
// nothing; it is among the problems.
func (st setting) written(path string) (json.RawMessage, bool) {
	own, ok, _ := config.ReadSetting(path, strings.Split(st.key, ".")...)
	if !ok || st.kind != kindModel {
		return own, ok
	}
	var provider, id string // they stand apart
	if raw, there, _ := config.ReadSetting(path, "defaultProvider"); there && json.Unmarshal(raw, &provider) == nil && json.Unmarshal(own, &id) == nil {
		own, _ = message.Marshal(provider + "/" + id)
	}
	return own, true
}

// settingItem is a setting as it holds.
type settingItem struct {
	Key     string      `json:"key"`
	File    string      `json:"file"` // "settings.json" or "piweb.json", of the agent directory
	Kind    settingKind `json:"kind"`
	Value   any         `json:"value"`   // what holds in the folder
	Default any         `json:"default"` // what holds where nobody says anything
	Own     any         `json:"own"`     // what the user's file says; null for nothing
	By      string      `json:"by"`      // default, user, or project: who decides
	Choices []string    `json:"choices,omitempty"`
	Min     int         `json:"min,omitempty"`
	Max     int         `json:"max,omitempty"`
}

type settingsAnswer struct {
	AgentDir string        `json:"agentDir"`
	CWD      string        `json:"cwd"`
	Settings []settingItem `json:"settings"`
	Problems []string      `json:"problems"` // what is wrong with the files
}

// settingsFolder is the folder that a request asks about.
func (s *Server) settingsFolder(r *http.Request) (string, error) {
	cwd := r.URL.Query().Get("cwd")
	if cwd == "" {
		return s.cfg.DefaultCWD, nil
	}
	if !filepath.IsAbs(cwd) {
		return "", badQuery("cwd", "cwd must be an absolute path.")
	}
	return filepath.Clean(cwd), nil
}

// getSettings tells the general settings as they hold in a folder.
func (s *Server) getSettings(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	cwd, err := s.settingsFolder(r)
	if err != nil {
		return err
	}
	write(w, r, http.StatusOK, s.settingsIn(cwd))
	return nil
}

func (s *Server) settingsIn(cwd string) settingsAnswer {
	cfg := s.rt.Config(cwd)
	a := settingsAnswer{AgentDir: s.rt.AgentDir(), CWD: cwd, Settings: []settingItem{}, Problems: []string{}}
	for _, p := range cfg.Problems {
		a.Problems = append(a.Problems, p.Error())
	}
	for _, st := range settings() {
		path := st.file(a.AgentDir)
		it := settingItem{Key: st.key, File: filepath.Base(path), Kind: st.kind, Value: st.now(cfg), Default: st.usual, By: "default", Choices: st.choices, Min: st.min, Max: st.max}
		own, written := st.written(path)
		if written {
			it.Own = own
		}
		switch {
		case written && sameValue(own, it.Value):
			it.By = "user"
		case !reflect.DeepEqual(it.Value, it.Default):
			it.By = "project"
			if written && st.kind == kindTools {
				it.By = "user" // "+name" and "-name" say it in another way
			}
		}
		a.Settings = append(a.Settings, it)
	}
	return a
}

// sameValue tells whether a written value says what holds.
func sameValue(raw json.RawMessage, v any) bool {
	data, err := message.Marshal(v)
	if err != nil {
		return false
	}
	var a, b any
	return json.Unmarshal(raw, &a) == nil && json.Unmarshal(data, &b) == nil && reflect.DeepEqual(a, b)
}

// setSettings changes settings in the user's files: all that are named, or none.
// null takes one back.
func (s *Server) setSettings(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	cwd, err := s.settingsFolder(r)
	if err != nil {
		return err
	}
	changes := f.object("changes")
	files := map[string][]config.Change{}
	all := settings()
	for key, raw := range changes.fields {
		i := slices.IndexFunc(all, func(st setting) bool { return st.key == key })
		if i < 0 || string(raw) != "null" && !all[i].fits(raw) {
			f.bad("changes." + key)
			continue
		}
		path := all[i].file(s.rt.AgentDir())
		files[path] = append(files[path], all[i].changes(raw)...)
	}
	if err := f.check(); err != nil {
		return err
	}
	for path, list := range files {
		if err := config.EditSettings(path, list...); err != nil {
			if errors.Is(err, config.ErrBusy) {
				return refuse(http.StatusConflict, "SETTINGS_BUSY", "Another program is writing the settings. Try again.")
			}
			return &problem{status: http.StatusConflict, code: "SETTINGS_UNREADABLE", text: fmt.Sprintf("The settings were not changed: %v", err), cause: err}
		}
	}
	write(w, r, http.StatusOK, s.settingsIn(cwd))
	return nil
}
