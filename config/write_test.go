package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func set(value string, keys ...string) Change { return Change{keys, json.RawMessage(value)} }

func TestEditSettings(t *testing.T) {
	for _, c := range []struct {
		name, before string // "-" for no file
		changes      []Change
		want, err    string
	}{
		{"a new file", "-", []Change{set(`"x"`, "defaultModel")}, "{\n  \"defaultModel\": \"x\"\n}\n", ""},
		{"an empty file", " \n", []Change{set(`true`, "a", "b")}, "{\n  \"a\": {\n    \"b\": true\n  }\n}\n", ""},
		{"everything else stays", `{"zeta": 1.50, "theme":"dark", "big":12345678901234567890, "nested": {"x":[1,2], "y":null}, "é🙂":"日本"}`,
			[]Change{set(`"new"`, "theme"), set(`7`, "nested", "z")},
			"{\n  \"zeta\": 1.50,\n  \"theme\": \"new\",\n  \"big\": 12345678901234567890,\n  \"nested\": {\n    \"x\": [\n      1,\n      2\n    ],\n    \"y\": null,\n    \"z\": 7\n  },\n  \"é🙂\": \"日本\"\n}\n", ""},
		{"remove", `{"a":1,"b":{"c":2}}`, []Change{{Keys: []string{"a"}}, {Keys: []string{"b", "c"}}, {Keys: []string{"none"}}}, "{\n  \"b\": {}\n}\n", ""},
		{"keys are not patterns", `{"a.b":1,"a":{"*":2}}`, []Change{set(`3`, "a.b"), set(`4`, "a", "*"), set(`5`, "a", "0"), set(`6`, "a", "x|y@this#")},
			"{\n  \"a.b\": 3,\n  \"a\": {\n    \"*\": 4,\n    \"0\": 5,\n    \"x|y@this#\": 6\n  }\n}\n", ""},
		{"BOM", "\ufeff{}", []Change{set(`1`, "a")}, "{\n  \"a\": 1\n}\n", ""},
		{"broken", `{"a":1,}`, []Change{set(`1`, "b")}, `{"a":1,}`, "correct it first"},
		{"a list", `[1]`, []Change{set(`1`, "b")}, `[1]`, "correct it first"},
		{"through something that is no object", `{"a":"x"}`, []Change{set(`1`, "a", "b")}, `{"a":"x"}`, "a is no object"},
		{"a value that is no JSON", `{}`, []Change{set(`{`, "a")}, `{}`, "not valid JSON"},
		{"no key", `{}`, []Change{set(`1`)}, `{}`, "no key"},
		{"an empty key", `{}`, []Change{set(`1`, "")}, `{}`, "a key is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "agent", "settings.json")
			if c.before != "-" {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(c.before), 0o640); err != nil {
					t.Fatal(err)
				}
			}
			err := EditSettings(path, c.changes...)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			got, _ := os.ReadFile(path)
			if string(got) != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			if info, err := os.Stat(path); err == nil && c.before != "-" && info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v", info.Mode())
			}
			if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

func TestEditSettingsThroughALink(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "dotfiles.json")
	if err := os.WriteFile(real, []byte(`{"a":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "settings.json")
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	if err := EditSettings(link, set(`2`, "a")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v %v", info, err)
	}
	if got, _ := os.ReadFile(real); string(got) != "{\n  \"a\": 2\n}\n" {
		t.Errorf("%s", got)
	}
}

// TestEditSettingsManyAtOnce: no change is lost.
func TestEditSettingsManyAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for {
				err := EditSettings(path, set(fmt.Sprint(i), fmt.Sprintf("k%d", i)))
				if err == nil {
					return
				}
				if !errors.Is(err, ErrBusy) {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	var got map[string]int
	data, _ := os.ReadFile(path)
	if err := json.Unmarshal(data, &got); err != nil || len(got) != 16 {
		t.Errorf("%d keys, %v", len(got), err)
	}
}

// TestEditSettingsKeepsPisLock: a lock that somebody holds is waited for, one that
// was left behind is not.
func TestEditSettingsKeepsPisLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	if err := os.Mkdir(path+".lock", 0o755); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- EditSettings(path, set(`1`, "a")) }()
	select {
	case err := <-done:
		t.Fatalf("written under another's lock: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path+".lock", 0o755); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path+".lock", old, old); err != nil {
		t.Fatal(err)
	}
	if err := EditSettings(path, set(`2`, "a")); err != nil {
		t.Errorf("a lock that was left behind: %v", err)
	}
}

func TestSaveTrust(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	agent, project := filepath.Join(base, "agent"), filepath.Join(base, "p 日本")
	below := filepath.Join(project, "below")
	if err := os.MkdirAll(filepath.Join(below, ".pi", "skills"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(project, link); err != nil {
		link = project
	}
	yes, no := true, false
	trust := func(cwd string) Trust {
		env := Env{Lookup: func(name string) (string, bool) {
			return agent, name == EnvAgentDir
		}, Home: base, Cwd: cwd}
		return Load(env, Options{}).Trust
	}
	if got := trust(below); got.Trusted || !got.Undecided || len(got.Needs) != 1 {
		t.Errorf("at first: %+v", got)
	}
	step := func(dir string, decision *bool, want bool) {
		t.Helper()
		if err := SaveTrust(agent, dir, decision); err != nil {
			t.Fatal(err)
		}
		if got := trust(below); got.Trusted != want || got.Undecided != (decision == nil) {
			t.Errorf("after %v for %s: %+v", decision, dir, got)
		}
	}
	step(link, &yes, true) // by the real path, and for what is below
	data, _ := os.ReadFile(filepath.Join(agent, "trust.json"))
	if want := fmt.Sprintf("{\n  %q: true\n}\n", project); string(data) != want {
		t.Errorf("%s, want %s", data, want)
	}
	if err := SaveTrust(agent, below, &no); err != nil { // the nearest decides
		t.Fatal(err)
	}
	if got := trust(below); got.Trusted {
		t.Errorf("%+v", got)
	}
	if err := SaveTrust(agent, below, nil); err != nil {
		t.Fatal(err)
	}
	step(project, nil, false)
	if err := SaveTrust(agent, "relative", &yes); err == nil {
		t.Error("a relative path was taken")
	}
	if err := SaveTrust(agent, filepath.Join(base, "gone"), &yes); err == nil {
		t.Error("a folder that is not there was trusted")
	}
	if err := os.WriteFile(filepath.Join(agent, "trust.json"), []byte(`{"/x": "yes"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := SaveTrust(agent, project, &yes); err == nil {
		t.Error("a broken file was written")
	}
	if data, _ := os.ReadFile(filepath.Join(agent, "trust.json")); string(data) != `{"/x": "yes"}` {
		t.Errorf("a broken file was changed: %s", data)
	}
}
