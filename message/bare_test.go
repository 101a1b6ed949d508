package message

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// bared is Bare the slow way: of a message that was decoded.
func bared(m Message) Message {
	switch m := m.(type) {
	case *User:
		return &User{Content: m.Content.bare()}
	case *Assistant:
		return &Assistant{Content: m.Content.bare(), API: m.API, Provider: m.Provider, Model: m.Model, StopReason: m.StopReason}
	case *ToolResult:
		return &ToolResult{ToolCallID: m.ToolCallID, Content: m.Content.bare()}
	case *System:
		return &System{}
	case *BashExecution:
		return &BashExecution{ExcludeFromContext: m.ExcludeFromContext}
	case *Custom:
		return &Custom{Content: m.Content.bare()}
	case *BranchSummary:
		return &BranchSummary{}
	case *CompactionSummary:
		return &CompactionSummary{}
	}
	return &Unknown{Kind: m.Role()}
}

func TestBareAgainstDecode(t *testing.T) {
	check := func(t interface {
		Helper()
		Errorf(string, ...any)
	}, data []byte) {
		t.Helper()
		m, err := Decode(data)
		if err != nil && !json.Valid(data) {
			return // Bare is not asked for it
		}
		if err != nil {
			t.Errorf("%s: %v", data, err)
			return
		}
		if d := cmp.Diff(bared(m), Bare(data)); d != "" {
			t.Errorf("%s: (-decoded +bare)\n%s", data, d)
		}
	}
	for _, data := range append(oddMessages,
		`{"role":"bashExecution","command":"ls","excludeFromContext":true}`, `{"role":"bashExecution","command":5,"excludeFromContext":"x"}`,
		`{"role":"custom","content":[{"type":"text","text":"x"},{"type":"image","data":"eA=="}]}`, `{"role":"system","content":"x"}`,
		`{"role":"branchSummary","summary":"s"}`, `{"role":"compactionSummary","summary":"s"}`, `{"role":"hookMessage","content":"x"}`) {
		check(t, []byte(data))
	}
	rapid.Check(t, func(rt *rapid.T) { check(rt, drawMessage(rt)) })
	for _, no := range []string{`[]`, `5`, `"x"`, `null`} {
		if m := Bare([]byte(no)); m != nil {
			t.Errorf("%s is the message %v", no, m)
		}
	}
}
