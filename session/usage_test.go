package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/message"
)

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	s, err := Create(NewSession{Dir: dir, CWD: dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	answer := func(model string, stop message.StopReason, in, out int64, calls ...string) Payload {
		m := &message.Assistant{API: "a", Provider: "p", Model: model, StopReason: stop, DurationMs: 100, Content: message.Content{message.Text("x")},
			Usage: message.Usage{Input: in, Output: out, Cost: message.Cost{Total: float64(in) / 1000}}}
		for _, c := range calls {
			m.Content = append(m.Content, message.Block{Type: message.TypeToolCall, ID: c, Name: "read", Arguments: []byte("{}")})
		}
		return Message(m)
	}
	raw := func(u message.Usage) []byte {
		data, _ := json.Marshal(u)
		return data
	}
	user := Message(&message.User{Content: message.Content{message.Text("q")}})
	ids, err := s.Append(user, answer("m1", message.StopToolUse, 1000, 10, "c1", "c2"),
		Message(&message.ToolResult{ToolCallID: "c1", ToolName: "read", Content: message.Content{message.Text("r")}}),
		Message(&message.ToolResult{ToolCallID: "c2", ToolName: "read", Content: message.Content{message.Text("r")}}),
		answer("m1", message.StopError, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(ContextEdit{TargetID: ids[4]}, answer("m2", message.StopEnd, 2000, 20),
		Compaction{Summary: "s", FirstKeptEntryID: ids[0], Details: []byte(`{"request":{"model":"p/m2"}}`), Usage: raw(message.Usage{Input: 500, Output: 5, Cost: message.Cost{Total: 0.5}})},
		UsageRecord{Kind: "cache_warm", Provider: "p", Model: "m1", Usage: message.Usage{Input: 7}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.MoveLeaf(ids[1]); err != nil { // another branch: what was left was paid for
		t.Fatal(err)
	}
	if _, err := s.Append(answer("m1", message.StopEnd, 100, 1)); err != nil {
		t.Fatal(err)
	}
	u, err := s.Usage()
	if err != nil {
		t.Fatal(err)
	}
	if u.Total.Input != 3607 || u.Total.Output != 36 || u.Total.TotalTokens != 3643 || fmt.Sprintf("%.3f", u.Total.Cost.Total) != "3.600" || u.Millis != 400 {
		t.Errorf("total %+v, %d ms", u.Total, u.Millis)
	}
	if want := (Counts{User: 1, Assistant: 4, ToolCalls: 2, ToolResults: 2, Failed: 1, Total: 7}); u.Counts != want {
		t.Errorf("counts %+v, want %+v", u.Counts, want)
	}
	var models []string
	for _, m := range u.Models {
		models = append(models, fmt.Sprintf("%s %d answers %d in", m.Model, m.Answers, m.Usage.Input))
	}
	if want := []string{"p/m1 3 answers 1107 in", "p/m2 1 answers 2500 in"}; !slices.Equal(models, want) {
		t.Errorf("models %v", models)
	}
	var kinds []string
	for _, l := range u.Lines {
		kinds = append(kinds, l.Kind)
	}
	if got := strings.Join(kinds, " "); got != "answer answer answer compaction cache_warm answer" {
		t.Errorf("entries %s", got)
	}
	again, err := Open(s.Path(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if v, err := again.Usage(); err != nil || v.Total != u.Total || v.Counts != u.Counts {
		t.Errorf("reopened: %+v, %v", v.Total, err)
	}
	s.Close()
}

// TestUsageOfOddFiles: whatever stands in a file, it adds up to something.
func TestUsageOfOddFiles(t *testing.T) {
	files, err := filepath.Glob("../fixtures/pi/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "s.jsonl")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path, Options{})
		if err != nil {
			continue // no session
		}
		if _, err := s.Usage(); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		s.Close()
	}
}

// TestUsageOfADamagedEntry: what cannot be read is counted and does not hide the
// rest.
func TestUsageOfADamagedEntry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	text := `{"type":"session","version":3,"id":"aaa","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/tmp"}
{"type":"message","id":"m1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","usage":{"input":5}}}
{"type":"message","id":"m2","parentId":"m1","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"a \x"}],"usage":{"input":7}}}
{"type":"message","id":"m3","parentId":"m2","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"assistant","usage":{"input":11}}}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if u, err := s.Usage(); err != nil || u.Total.Input != 16 || u.Damaged != 1 {
		t.Errorf("%+v, %d damaged, %v", u.Total, u.Damaged, err)
	}
}
