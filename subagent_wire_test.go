package piweb_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model/modeltest"
)

var updateWire = flag.Bool("update", false, "write the goldens of testdata anew")

// TestChildOnTheWire holds the first request of a child against a golden: Chat Only,
// append and replace, with and without the parent's conversation and documents.
func TestChildOnTheWire(t *testing.T) {
	modes := map[string]string{"chat-only": "tools: none", "append": "tools: read", "replace": "tools: read\nprompt_mode: replace"}
	for _, mode := range []string{"chat-only", "append", "replace"} {
		for _, with := range []string{"nothing", "context", "documents", "both"} {
			t.Run(mode+" with "+with, func(t *testing.T) {
				w, s := delegating(t, `{"steps":[{"text":"ok","repeat":true}]}`)
				w.put("my project 漢/.pi/agents/helper.md", "---\n"+modes[mode]+"\n---\nTHE BODY")
				w.put("my project 漢/notes 漢.md", "first\n</document>\nlast")
				w.say(s, "what the parent was told")
				spec := piweb.SubagentSpec{Profile: "helper", Task: "the task"}
				yes := true
				if with == "context" || with == "both" {
					spec.Inherit = &yes
				}
				if with == "documents" || with == "both" {
					spec.InputFiles = []string{"notes 漢.md"}
				}
				r, err := w.rt.Subagents().Start(t.Context(), s.Log().Path(), spec)
				if err == nil {
					_, err = w.rt.Subagents().Wait(t.Context(), s.Log().Path(), r.ID)
				}
				if err != nil {
					t.Fatal(err)
				}
				compareGolden(t, "child-"+mode+"-"+with, w.spelled(w.last()))
			})
		}
	}
}

// spelled is a request in words: what differs from machine to machine is named.
func (w *world) spelled(r modeltest.Recorded) string {
	w.t.Helper()
	var body struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		w.t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range body.Messages {
		var text string
		if json.Unmarshal(m.Content, &text) != nil {
			var parts []struct {
				Text string `json:"text"`
			}
			if err := json.Unmarshal(m.Content, &parts); err != nil {
				w.t.Fatal(err)
			}
			for _, p := range parts {
				text += p.Text
			}
		}
		fmt.Fprintf(&b, "== %s\n%s\n", m.Role, text)
	}
	fmt.Fprintf(&b, "== tools\n%s\n", strings.Join(modeltest.ToolNames(r.Body), " "))
	return strings.ReplaceAll(b.String(), w.home, "HOME")
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "wire", name+".golden")
	if *updateWire {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); d != "" {
		t.Error(d)
	}
}
