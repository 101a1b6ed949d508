package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb/agent/model/modeltest"
)

func settingOf(t *testing.T, a answer, key string) map[string]any {
	t.Helper()
	all, _ := a.json["settings"].([]any)
	for _, s := range all {
		if m := s.(map[string]any); m["key"] == key {
			return m
		}
	}
	t.Fatalf("there is no setting %s in %s", key, a.body)
	return nil
}

// TestSettings changes settings of both files: what is unknown stays as it is
// written, null takes a value back, and who decides is told.
func TestSettings(t *testing.T) {
	w := newWorld(t, modeltest.Parse(t, `{"steps":[]}`))
	pi := w.put(".pi/agent/settings.json", `{"theme":"dark","compaction":{"other":1.50,"enabled":true},"defaultProvider":"rec","defaultModel":"m1","zz":[1, 2]}`)
	own := w.put(".pi/agent/piweb.json", `{"mine":{"x":1e2}}`)
	read := func(path string) string {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	a := w.do(200, "GET", "/api/settings")
	for key, want := range map[string][2]any{
		"defaultModel":             {"rec/m1", "user"},
		"compaction.enabled":       {true, "user"},
		"compaction.reserveTokens": {16384.0, "default"},
		"defaultThinkingLevel":     {"medium", "default"},
		"mentions.maxBytes":        {65536.0, "default"},
	} {
		if s := settingOf(t, a, key); s["value"] != want[0] || s["by"] != want[1] {
			t.Errorf("%s: %v", key, s)
		}
	}
	a = w.do(200, "PUT", "/api/settings", `{"changes":{"compaction.reserveTokens":9000,"defaultModel":"rec/m2","defaultTools":["read","ls"],"defaultThinkingLevel":"high","mentions.documents":true,"blobs.externalize":"on","compaction.enabled":null}}`)
	for key, want := range map[string]any{"compaction.reserveTokens": 9000.0, "defaultModel": "rec/m2", "defaultThinkingLevel": "high", "mentions.documents": true, "blobs.externalize": "on"} {
		if s := settingOf(t, a, key); s["value"] != want || s["by"] != "user" || s["own"] != want {
			t.Errorf("%s: %v", key, s)
		}
	}
	if s := settingOf(t, a, "compaction.enabled"); s["value"] != true || s["by"] != "default" || s["own"] != nil {
		t.Errorf("taken back: %v", s)
	}
	for path, parts := range map[string][]string{
		pi:  {`"theme": "dark"`, `"other": 1.50`, `"reserveTokens": 9000`, `"defaultProvider": "rec"`, `"defaultModel": "m2"`, `"zz": [`},
		own: {`"x": 1e2`, `"documents": true`, `"externalize": "on"`},
	} {
		text := read(path)
		for _, p := range parts {
			if !strings.Contains(text, p) {
				t.Errorf("%s lacks %s:\n%s", filepath.Base(path), p, text)
			}
		}
	}
	if text := read(pi); strings.Contains(text, `"enabled"`) {
		t.Errorf("a value was not taken away: %s", text)
	}

	t.Run("what does not fit changes nothing", func(t *testing.T) {
		before := read(pi) + read(own)
		for _, changes := range []string{
			`{"compaction.reserveTokens":-1}`, `{"compaction.reserveTokens":1.5}`, `{"compaction.reserveTokens":"9"}`, `{"compaction.enabled":"yes"}`,
			`{"defaultThinkingLevel":"much"}`, `{"defaultTools":["read","powershell"]}`, `{"defaultTools":"read"}`, `{"defaultModel":"m1"}`, `{"defaultModel":""}`,
			`{"sessionDir":"/tmp"}`, `{"shellPath":"/bin/evil"}`, `{"zz":null}`, `{"mentions.maxBytes":0}`,
			`{"compaction.enabled":false,"nothing.like.it":1}`,
		} {
			if a := w.do(400, "PUT", "/api/settings", `{"changes":`+changes+`}`); a.code() != "VALIDATION_FAILED" {
				t.Errorf("%s: %s", changes, a.body)
			}
		}
		w.do(400, "PUT", "/api/settings", `{}`)
		w.do(400, "GET", "/api/settings?cwd=relative")
		if after := read(pi) + read(own); after != before {
			t.Errorf("the files are now %s", after)
		}
	})

	t.Run("a project that is trusted says otherwise", func(t *testing.T) {
		w.put("project/.pi/settings.json", `{"compaction":{"reserveTokens":77}}`)
		yes := true
		if _, err := w.rt.SetTrust(w.project, &yes); err != nil {
			t.Fatal(err)
		}
		if s := settingOf(t, w.do(200, "GET", "/api/settings?cwd="+w.project), "compaction.reserveTokens"); s["value"] != 77.0 || s["by"] != "project" || s["own"] != 9000.0 {
			t.Errorf("%v", s)
		}
	})

	t.Run("another program is writing", func(t *testing.T) {
		if err := os.Mkdir(pi+".lock", 0o700); err != nil {
			t.Fatal(err)
		}
		now := time.Now().Add(time.Hour) // it lives
		if err := os.Chtimes(pi+".lock", now, now); err != nil {
			t.Fatal(err)
		}
		if a := w.do(409, "PUT", "/api/settings", `{"changes":{"retry.enabled":false}}`); a.code() != "SETTINGS_BUSY" {
			t.Errorf("%s", a.body)
		}
		os.Remove(pi + ".lock")
	})

	t.Run("a broken file is left alone", func(t *testing.T) {
		w.put(".pi/agent/settings.json", `{"theme":`)
		if a := w.do(409, "PUT", "/api/settings", `{"changes":{"retry.enabled":false}}`); a.code() != "SETTINGS_UNREADABLE" {
			t.Errorf("%s", a.body)
		}
		if got := read(pi); got != `{"theme":` {
			t.Errorf("it is now %q", got)
		}
		if a := w.do(200, "GET", "/api/settings"); !strings.Contains(string(a.body), "settings.json") || len(a.json["problems"].([]any)) == 0 {
			t.Errorf("the problem is not told: %s", a.body)
		}
	})
}
