package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"time"
)

const settingsHint = "correct the file; it is left as it is, and defaults are used instead of it"

// ProjectTrust is what the setting defaultProjectTrust says about a project on
// which nothing is decided.
type ProjectTrust string

// The values of defaultProjectTrust. There is nobody to ask here, so ask means
// no (spec/pi.md §3.6).
const (
	TrustAsk    ProjectTrust = "ask"
	TrustAlways ProjectTrust = "always"
	TrustNever  ProjectTrust = "never"
)

// Settings is what the settings files say, with pi's defaults for the rest. It
// is not changed after loading.
type Settings struct {
	DefaultProvider      string        // "" when unset
	DefaultModel         string        // "" when unset; a model id, or "provider/id"
	DefaultThinkingLevel ThinkingLevel // default medium
	DefaultTools         Tools
	SessionDir           string // as written; "" when unset
	ShellPath            string // tilde expanded; "" for the system's shell
	ShellCommandPrefix   string // a line put before every command
	DefaultProjectTrust  ProjectTrust
	Images               Images
	Compaction           Compaction
	BranchSummary        BranchSummary
	Retry                Retry
	SteeringMode         string // "one-at-a-time" (default) or "all"
	FollowUpMode         string // the same

	// Resources are the lists "skills", "prompts" and "packages" of each file, as written:
	// their paths are relative to where the file lies, so they are not merged.
	Resources ResourceLists

	merged        map[string]any
	sessionSource string
}

// Images says what happens to pictures.
type Images struct {
	AutoResize bool // default true
	Block      bool // setting blockImages: send none to a model; default false
}

// Compaction is when and how a long session is summed up. Sizes are in tokens.
type Compaction struct {
	Enabled          bool // default true
	ReserveTokens    int  // room kept for the answer; default 16384
	KeepRecentTokens int  // default 20000
	overrides        map[string]compactionOverride
}

type compactionOverride struct{ reserve, keep *int }

// For returns the settings with what modelOverrides says about a model.
func (c Compaction) For(provider, model string) Compaction {
	o := c.overrides[provider+"/"+model]
	if o.reserve != nil {
		c.ReserveTokens = *o.reserve
	}
	if o.keep != nil {
		c.KeepRecentTokens = *o.keep
	}
	return c
}

// BranchSummary is how a left branch is summed up.
type BranchSummary struct {
	ReserveTokens int  // default 16384
	SkipPrompt    bool // default false
}

// Retry is what happens when a provider fails.
type Retry struct {
	Enabled       bool          // default true
	MaxRetries    int           // by the agent; default 3
	BaseDelay     time.Duration // doubled each time; default 2 s
	MaxAgentDelay time.Duration // longest wait of the agent; default 60 s

	ProviderTimeout    time.Duration // of one request; 0 for the provider's own
	ProviderMaxRetries int           // inside one request; default 0
	ProviderMaxDelay   time.Duration // longest wait that a provider may ask for; default 60 s
}

// ResourceLists are the lists of resources of the two layers.
type ResourceLists struct{ User, Project ResourceList }

// ResourceList is what one settings file says of skills and prompt templates.
type ResourceList struct {
	Skills, Prompts []string
	Packages        []Package
}

// Package is an entry of the setting "packages". Nil lists say nothing.
type Package struct {
	Source          string
	Skills, Prompts []string
	OptIn           bool // autoload is false: only what the lists name
}

// packages reads the setting "packages": sources, or objects that have one.
func packages(v any) (out []Package) {
	list, _ := v.([]any)
	for _, item := range list {
		switch item := item.(type) {
		case string:
			out = append(out, Package{Source: item})
		case map[string]any:
			source, _ := item["source"].(string)
			p := Package{Source: source, OptIn: item["autoload"] == false}
			for key, to := range map[string]*[]string{"skills": &p.Skills, "prompts": &p.Prompts} {
				if entries, ok := item[key].([]any); ok {
					*to = append([]string{}, texts(entries)...)
				}
			}
			out = append(out, p)
		}
	}
	return out
}

// texts are the strings of a list; what else it holds is passed over.
func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// settingsPaths are the files of the two layers.
func settingsPaths(agentDir, cwd string) (global, project string) {
	return filepath.Join(agentDir, "settings.json"), filepath.Join(cwd, ".pi", "settings.json")
}

// layer is one settings file: its object with unusable values taken out.
type layer struct {
	path   string
	values map[string]any
}

// readLayer reads a settings file. A file that is missing or empty is an empty
// layer; a broken one is an empty layer and a problem.
func readLayer(path string) (layer, []*Problem) {
	l := layer{path: path}
	data, problem := readFile(path, settingsHint)
	if problem != nil {
		return l, []*Problem{problem}
	}
	if len(bytes.TrimSpace(bytes.TrimPrefix(data, bom))) == 0 {
		return l, nil
	}
	doc, problem := parse(path, data, settingsHint)
	if problem != nil {
		return l, []*Problem{problem}
	}
	values, ok := doc.(map[string]any)
	if !ok {
		return l, []*Problem{{File: path, What: "it holds " + kindOf(doc) + " where an object is expected",
			Hint: settingsHint, Err: ErrSchema}}
	}
	migrate(values)
	l.values = values
	return l, l.takeOutUnusable()
}

// migrate brings an old spelling that pi still reads into today's.
func migrate(values map[string]any) {
	retry, _ := values["retry"].(map[string]any)
	old, ok := retry["maxDelayMs"].(json.Number)
	if !ok {
		return
	}
	delete(retry, "maxDelayMs")
	provider, ok := retry["provider"].(map[string]any)
	if !ok {
		provider = map[string]any{}
		retry["provider"] = provider
	}
	if provider["maxRetryDelayMs"] == nil {
		provider["maxRetryDelayMs"] = old
	}
}

// merge lays over upon base: objects merge, everything else replaces
// (spec/pi.md §8). Neither argument is changed.
func merge(base, over map[string]any) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range over {
		below, isObject := out[key].(map[string]any)
		if above, ok := value.(map[string]any); ok && isObject {
			value = merge(below, above)
		}
		out[key] = value
	}
	return out
}

// settingsFrom reads the typed values out of the layers, lowest first.
func settingsFrom(env Env, layers ...layer) (Settings, []*Problem) {
	var problems []*Problem
	var s Settings
	for _, l := range layers {
		s.merged = merge(s.merged, l.values)
		problems = append(problems, s.DefaultTools.apply(l)...)
		if _, set := l.values["sessionDir"]; set {
			s.sessionSource = l.path
		}
	}
	v := values(s.merged)
	s.DefaultProvider = v.text("", "defaultProvider")
	s.DefaultModel = v.text("", "defaultModel")
	s.DefaultThinkingLevel = ThinkingLevel(v.text(string(ThinkingMedium), "defaultThinkingLevel"))
	s.SessionDir = v.text("", "sessionDir")
	s.SteeringMode = v.text("one-at-a-time", "steeringMode")
	s.FollowUpMode = v.text("one-at-a-time", "followUpMode")
	s.ShellPath = env.Expand(v.text("", "shellPath"))
	s.ShellCommandPrefix = v.text("", "shellCommandPrefix")
	s.Images = Images{AutoResize: v.flag(true, "images", "autoResize"), Block: v.flag(false, "images", "blockImages")}
	s.Compaction = Compaction{
		Enabled:          v.flag(true, "compaction", "enabled"),
		ReserveTokens:    v.count(16384, "compaction", "reserveTokens"),
		KeepRecentTokens: v.count(20000, "compaction", "keepRecentTokens"),
		overrides:        v.compactionOverrides(),
	}
	s.BranchSummary = BranchSummary{
		ReserveTokens: v.count(16384, "branchSummary", "reserveTokens"),
		SkipPrompt:    v.flag(false, "branchSummary", "skipPrompt"),
	}
	s.Retry = Retry{
		Enabled:            v.flag(true, "retry", "enabled"),
		MaxRetries:         v.count(3, "retry", "maxRetries"),
		BaseDelay:          v.millis(2000, "retry", "baseDelayMs"),
		MaxAgentDelay:      v.millis(60000, "retry", "maxAgentDelayMs"),
		ProviderTimeout:    v.millis(0, "retry", "provider", "timeoutMs"),
		ProviderMaxRetries: v.count(0, "retry", "provider", "maxRetries"),
		ProviderMaxDelay:   v.millis(60000, "retry", "provider", "maxRetryDelayMs"),
	}
	for i, l := range layers {
		lists := &s.Resources.User
		if i > 0 {
			lists = &s.Resources.Project
		}
		lists.Skills, lists.Prompts = texts(l.values["skills"]), texts(l.values["prompts"])
		lists.Packages = packages(l.values["packages"])
	}
	// Only the user's own file may say that projects are trusted.
	if len(layers) > 0 {
		s.DefaultProjectTrust = ProjectTrust(values(layers[0].values).text(string(TrustAsk), "defaultProjectTrust"))
	}
	return s, problems
}

// DefaultRef is the default model as Models.Find takes it, "" where none is set.
func (s Settings) DefaultRef() string {
	if s.DefaultProvider == "" || s.DefaultModel == "" {
		return s.DefaultModel
	}
	return s.DefaultProvider + "/" + s.DefaultModel
}

// Lookup returns a merged value that has no field of its own, as JSON, by the
// keys that lead to it.
func (s Settings) Lookup(keys ...string) (json.RawMessage, bool) {
	value, ok := values(s.merged).at(keys...)
	if !ok {
		return nil, false
	}
	data, err := json.Marshal(value)
	return data, err == nil
}

func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprintf("%T", value)
}
