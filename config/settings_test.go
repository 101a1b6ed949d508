package config

import (
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestSettingsDefaults(t *testing.T) {
	h := newHome(t)
	c := Load(h.env(), Options{})
	s := c.Settings
	s.merged = nil
	want := Settings{
		DefaultThinkingLevel: ThinkingMedium,
		DefaultProjectTrust:  TrustAsk,
		Images:               Images{AutoResize: true},
		Compaction:           Compaction{Enabled: true, ReserveTokens: 16384, KeepRecentTokens: 20000, overrides: map[string]compactionOverride{}},
		BranchSummary:        BranchSummary{ReserveTokens: 16384},
		Retry:                Retry{Enabled: true, MaxRetries: 3, BaseDelay: 2 * time.Second, MaxAgentDelay: time.Minute, ProviderMaxDelay: time.Minute},
		SteeringMode:         "one-at-a-time",
		FollowUpMode:         "one-at-a-time",
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("without files:\n got %+v\nwant %+v", s, want)
	}
	if len(c.Problems) != 0 || c.Err() != nil {
		t.Errorf("problems without files: %v", c.Problems)
	}
}

func TestSettingsLayers(t *testing.T) {
	h := newHome(t)
	h.write("settings.json", "\ufeff"+`{
		"defaultProvider":"openai","defaultModel":"a","defaultThinkingLevel":"high","shellPath":"~/bin/my sh",
		"shellCommandPrefix":"set -e","defaultProjectTrust":"always",
		"images":{"autoResize":false,"blockImages":true},
		"compaction":{"reserveTokens":1000,"keepRecentTokens":2000,"modelOverrides":{"p/m":{"reserveTokens":5},"p/n":{"keepRecentTokens":6}}},
		"retry":{"maxRetries":7,"provider":{"timeoutMs":1500,"maxRetries":2}},
		"custom":{"list":[1,2,3],"keep":true}, "enabledModels":["x"]}`)
	h.project(".pi/settings.json", `{
		"defaultModel":"b","defaultProjectTrust":"never",
		"compaction":{"reserveTokens":1,"modelOverrides":{"p/m":{"keepRecentTokens":9}}},
		"retry":{"provider":{"timeoutMs":1}},
		"custom":{"list":[4]}, "enabledModels":[]}`)
	c := Load(h.env(), Options{})
	s := c.Settings
	if len(c.Problems) != 0 {
		t.Fatalf("problems: %v", c.Problems)
	}
	for _, check := range []struct {
		name      string
		got, want any
	}{
		{"global stands", s.DefaultProvider, "openai"},
		{"project replaces", s.DefaultModel, "b"},
		{"reference", s.DefaultRef(), "openai/b"},
		{"level", s.DefaultThinkingLevel, ThinkingHigh},
		{"shell path expanded", s.ShellPath, filepath.Join(h.dir, "bin", "my sh")},
		{"prefix", s.ShellCommandPrefix, "set -e"},
		{"trust is the user's to say", s.DefaultProjectTrust, TrustAlways},
		{"images", s.Images, Images{Block: true}},
		{"objects merge", []int{s.Compaction.ReserveTokens, s.Compaction.KeepRecentTokens}, []int{1, 2000}},
		{"deep objects merge", []any{s.Retry.MaxRetries, s.Retry.ProviderTimeout, s.Retry.ProviderMaxRetries}, []any{7, time.Millisecond, 2}},
		{"override of one model", s.Compaction.For("p", "m").KeepRecentTokens, 9},
		{"overrides merge", s.Compaction.For("p", "m").ReserveTokens, 5},
		{"override of another", s.Compaction.For("p", "n").KeepRecentTokens, 6},
		{"no override", s.Compaction.For("q", "m").ReserveTokens, 1},
	} {
		if !reflect.DeepEqual(check.got, check.want) {
			t.Errorf("%s: got %v, want %v", check.name, check.got, check.want)
		}
	}
	if list, ok := s.Lookup("custom", "list"); !ok || string(list) != "[4]" {
		t.Errorf("arrays replace: %s %v", list, ok)
	}
	if keep, ok := s.Lookup("custom", "keep"); !ok || string(keep) != "true" {
		t.Errorf("unknown settings are kept: %s %v", keep, ok)
	}
	if empty, ok := s.Lookup("enabledModels"); !ok || string(empty) != "[]" {
		t.Errorf("an empty list replaces: %s %v", empty, ok)
	}
	if _, ok := s.Lookup("nothing", "here"); ok {
		t.Error("Lookup found what is not there")
	}
}

func TestSettingsProjectNeedsTrust(t *testing.T) {
	for _, c := range []struct {
		name    string
		trust   *bool
		want    string
		problem bool
	}{{"trusted", yes(), "project", false}, {"not trusted", no(), "user", false}, {"undecided", nil, "user", false}} {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t)
			h.write("settings.json", `{"defaultModel":"user"}`)
			h.project(".pi/settings.json", `{"defaultModel":"project"}`)
			cfg := Load(h.env(), Options{Trust: c.trust})
			if cfg.Settings.DefaultModel != c.want {
				t.Errorf("model %q, want %q (trust %+v)", cfg.Settings.DefaultModel, c.want, cfg.Trust)
			}
		})
	}
}

func TestSettingsInTheHomeFolderAreReadOnce(t *testing.T) {
	h := newHome(t)
	env := h.env()
	env.Cwd = h.dir
	h.set(EnvAgentDir, filepath.Join(h.dir, ".pi"))
	h.put(filepath.Join(h.dir, ".pi", "settings.json"), `{"defaultTools":["+grep"]}`)
	if got := Load(env, Options{Trust: yes()}).Settings.DefaultTools.Names; strings.Join(got, " ") != "read bash edit write grep" {
		t.Errorf("tools %v", got)
	}
}

func TestSettingsBrokenFile(t *testing.T) {
	for _, c := range []struct {
		name, text   string
		line, column int
		offset       int64
		err          error
	}{
		{"comma too many", "{\n  \"defaultModel\": \"x\",\n}", 3, 1, 25, ErrSyntax},
		{"not quoted", "{defaultModel: 1}", 1, 2, 1, ErrSyntax},
		{"cut off", "{\n\"defaultModel\": \"x\"", 2, 20, 21, ErrSyntax},
		{"text behind", "{}\n\nx", 3, 1, 4, ErrSyntax},
		{"second object behind", "{} {}", 1, 4, 3, ErrSyntax},
		{"after a BOM", "\ufeff{,}", 1, 5, 4, ErrSyntax},
		{"comments are not for settings", "// x\n{}", 1, 1, 0, ErrSyntax},
		{"binary", "\x00\x01\x02", 1, 1, 0, ErrSyntax},
		{"list", "[]", 0, 0, 0, ErrSchema},
		{"string", `"x"`, 0, 0, 0, ErrSchema},
		{"null", `null`, 0, 0, 0, ErrSchema},
		{"deep nesting", strings.Repeat(`{"a":`, 20000), 1, 0, 0, ErrSyntax},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t)
			path := h.write("settings.json", c.text)
			h.project(".pi/settings.json", `{"shellPath":"/bin/sh"}`)
			cfg := Load(h.env(), Options{Trust: yes()})
			if len(cfg.Problems) != 1 {
				t.Fatalf("problems: %v", cfg.Problems)
			}
			p := cfg.Problems[0]
			if p.File != path || p.Warning || p.Hint == "" || !errors.Is(p, c.err) || !errors.Is(cfg.Err(), c.err) {
				t.Errorf("problem %#v", p)
			}
			if c.column > 0 && (p.Line != c.line || p.Column != c.column || p.Offset != c.offset) {
				t.Errorf("place %d:%d (%d), want %d:%d (%d): %v", p.Line, p.Column, p.Offset, c.line, c.column, c.offset, p)
			}
			if !strings.HasPrefix(p.Error(), path) {
				t.Errorf("the message does not begin with the file: %v", p)
			}
			if cfg.Settings.Retry.MaxRetries != 3 || cfg.Settings.ShellPath != "/bin/sh" {
				t.Error("the rest does not go on")
			}
		})
	}
}

func TestSettingsEmptyFileIsNoSettings(t *testing.T) {
	for _, text := range []string{"", " \n\t", "\ufeff", "\ufeff \n", "{}"} {
		h := newHome(t)
		h.write("settings.json", text)
		if c := Load(h.env(), Options{}); len(c.Problems) != 0 {
			t.Errorf("%q: %v", text, c.Problems)
		}
	}
}

func TestSettingsUnusableValuesFallBack(t *testing.T) {
	h := newHome(t)
	h.write("settings.json", `{"defaultModel":"user","retry":{"maxRetries":5,"baseDelayMs":1e3},"defaultThinkingLevel":"low"}`)
	path := h.project(".pi/settings.json", `{"defaultModel":7,"retry":{"maxRetries":-1,"baseDelayMs":1.5,"maxAgentDelayMs":"1","provider":[]},
		"defaultThinkingLevel":"extreme","compaction":{"enabled":"yes","modelOverrides":{"a/b":1,"c/d":{"reserveTokens":"x"}}},
		"images":null,"shellPath":null,"sessionDir":{},"branchSummary":false}`)
	c := Load(h.env(), Options{Trust: yes()})
	var paths []string
	for _, p := range c.Problems {
		paths = append(paths, p.Path)
		if !p.Warning || p.File != path || !errors.Is(p, ErrValue) {
			t.Errorf("%#v", p)
		}
	}
	want := "branchSummary compaction.enabled defaultModel defaultThinkingLevel retry.baseDelayMs retry.maxAgentDelayMs retry.maxRetries retry.provider sessionDir compaction.modelOverrides.a/b compaction.modelOverrides.c/d.reserveTokens"
	if got := strings.Join(paths, " "); got != want {
		t.Errorf("problems at\n%s\nwant\n%s", got, want)
	}
	s := c.Settings
	if s.DefaultModel != "user" || s.Retry.MaxRetries != 5 || s.Retry.BaseDelay != time.Second || s.DefaultThinkingLevel != ThinkingLow {
		t.Errorf("the user's values do not stand: %+v", s)
	}
	if !s.Compaction.Enabled || !s.Images.AutoResize || s.Retry.ProviderMaxDelay != time.Minute || c.Sessions.Custom {
		t.Error("defaults do not stand")
	}
	if c.Err() != nil {
		t.Errorf("warnings are no errors: %v", c.Err())
	}
}

func TestSettingsLargestNumbersDoNotOverflow(t *testing.T) {
	h := newHome(t)
	h.write("settings.json", `{"retry":{"baseDelayMs":9007199254740991,"maxRetries":9007199254740992}}`)
	c := Load(h.env(), Options{})
	if c.Settings.Retry.BaseDelay <= 0 || c.Settings.Retry.MaxRetries != 3 {
		t.Errorf("%+v", c.Settings.Retry)
	}
	if got := c.Settings.Retry.BaseDelay; got > math.MaxInt64/time.Millisecond*time.Millisecond {
		t.Errorf("delay %v", got)
	}
}

func TestSettingsOldRetrySpelling(t *testing.T) {
	for text, want := range map[string]time.Duration{
		`{"retry":{"maxDelayMs":5000}}`:                                       5 * time.Second,
		`{"retry":{"maxDelayMs":5000,"provider":{"maxRetryDelayMs":1}}}`:      time.Millisecond,
		`{"retry":{"maxDelayMs":5000,"provider":{"maxRetryDelayMs":null}}}`:   5 * time.Second,
		`{"retry":{"maxDelayMs":"no"}}`:                                       time.Minute,
		`{"retry":{"provider":{"maxRetryDelayMs":0}}}`:                        0,
		`{"retry":{"provider":{"maxRetryDelayMs":1},"provider":{"x":[1,2]}}}`: time.Minute, // the last key counts
	} {
		h := newHome(t)
		h.write("settings.json", text)
		if got := Load(h.env(), Options{}).Settings.Retry.ProviderMaxDelay; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestSettingsAreNotWritten(t *testing.T) {
	h := newHome(t)
	path := h.write("settings.json", `{broken`)
	before := snapshot(t, filepath.Dir(h.dir))
	Load(h.env(), Options{Trust: yes()})
	if after := snapshot(t, filepath.Dir(h.dir)); !reflect.DeepEqual(before, after) {
		t.Errorf("loading changed files: %v → %v (%s)", before, after, path)
	}
}
