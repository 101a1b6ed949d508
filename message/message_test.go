package message

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestBlocksComeBackByteForByte: a block that was read is written as it was,
// with unknown fields, number spellings and escapes.
func TestBlocksComeBackByteForByte(t *testing.T) {
	for name, raw := range map[string]string{
		"text":          `{"type":"text","text":"a\u2028b <tag> & é","textSignature":"s"}`,
		"unknown field": `{"type":"text","text":"x","n":2.50,"m":1e-7,"o":{"z":1,"a":2}}`,
		"thinking":      `{"type":"thinking","thinking":"","thinkingSignature":"sig","redacted":true}`,
		"tool call":     `{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"x","n":1.0},"partialJson":"{\"co"}`,
		"image":         `{"type":"image","data":"AAAA","mimeType":"image/png"}`,
		"unknown type":  `{"type":"new_block","x":[1,2.50]}`,
		"wrong types":   `{"type":"text","text":5,"textSignature":[]}`,
		"no object":     `"just a string"`,
	} {
		var b Block
		if err := json.Unmarshal([]byte(raw), &b); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := Marshal(b)
		if err != nil || string(got) != raw {
			t.Errorf("%s: got %s (%v)\nwant %s", name, got, err, raw)
		}
	}
}

func TestContentShapes(t *testing.T) {
	for raw, want := range map[string]string{
		`"text"`: "text", `null`: "", `[]`: "", `{}`: "", `5`: "",
		`[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]`: "a\nb",
	} {
		var c Content
		if err := json.Unmarshal([]byte(raw), &c); err != nil || c.PlainText() != want {
			t.Errorf("%s: %q, %v", raw, c.PlainText(), err)
		}
	}
	if got, _ := Marshal(Content(nil)); string(got) != "[]" {
		t.Errorf("no content is written as %s", got)
	}
}

// TestKeyOrder pins the lines that we write to pi's order of keys.
func TestKeyOrder(t *testing.T) {
	one := 1
	text := "now"
	for want, m := range map[string]Message{
		`{"role":"user","content":[{"type":"text","text":"<&>"}],"timestamp":1}`: &User{Content{Text("<&>")}, 1},
		`{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"ls","arguments":{}}],"api":"a","provider":"p","model":"m","usage":{"input":1,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":1}`: &Assistant{
			Content: Content{ToolCall("c", "ls", nil)}, API: "a", Provider: "p", Model: "m", Usage: Usage{Input: 1}, StopReason: StopToolUse, Timestamp: 1},
		`{"role":"toolResult","toolCallId":"c","toolName":"ls","content":[],"details":{},"isError":true,"timestamp":1}`:     &ToolResult{ToolCallID: "c", ToolName: "ls", Details: json.RawMessage("{}"), IsError: true, Timestamp: 1},
		`{"role":"bashExecution","command":"x","output":"","exitCode":1,"cancelled":false,"truncated":false,"timestamp":1}`: &BashExecution{Command: "x", ExitCode: &one, Timestamp: 1},
		`{"role":"custom","customType":"t","content":[],"display":true,"timestamp":1}`:                                      &Custom{CustomType: "t", Display: true, Timestamp: 1},
		`{"role":"system","content":"","sections":{"b":"now","a":null},"toolsRemoved":[{"name":"x"}],"timestamp":1}`:        &System{Sections: &Sections{{"b", &text}, {"a", nil}}, ToolsRemoved: []ToolName{{"x"}}, Timestamp: 1},
	} {
		got, err := Marshal(m)
		if err != nil || string(got) != want {
			t.Errorf("got  %s (%v)\nwant %s", got, err, want)
		}
		back, err := Decode(got)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := Marshal(back); string(again) != want {
			t.Errorf("read and written again: %s", again)
		}
	}
}

// TestOddFieldsCostOnlyThemselves: another writer's mistake hides no message.
func TestOddFieldsCostOnlyThemselves(t *testing.T) {
	m, err := Decode([]byte(`{"role":"assistant","content":"plain","usage":"none","timestamp":"2026","stopReason":5,"provider":"p","durationMs":1.5}`))
	if err != nil {
		t.Fatal(err)
	}
	a, ok := m.(*Assistant)
	if !ok || a.Content.PlainText() != "plain" || a.Provider != "p" || a.Usage != (Usage{}) {
		t.Errorf("%+v", m)
	}
	if m, err := Decode([]byte(`{"role":"branchManager","x":1}`)); err != nil || m.Role() != "branchManager" {
		t.Errorf("%v, %v", m, err)
	}
	if m, err := Decode([]byte(`{"role":7}`)); err != nil || m.Role() != "" {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := Decode([]byte(`[1]`)); err == nil {
		t.Error("a list is no message")
	}
}

// TestReplay follows pi's rules for patches of prompt and tools.
func TestReplay(t *testing.T) {
	apply := func(lines ...string) *Replay {
		var r Replay
		for _, l := range lines {
			m, err := Decode([]byte(l))
			if err != nil {
				t.Fatal(err)
			}
			r.Apply(m.(*System))
		}
		return &r
	}
	first := `{"role":"system","content":"always","sections":{"a":"A","b":"B"},"toolsAdded":[{"name":"read","parameters":{}},{"name":"bash","parameters":{}}]}`
	for _, c := range []struct {
		name, patch, prompt, tools string
	}{
		{"nothing", `{"role":"system","content":""}`, "always\n\nA\n\nB", "read bash"},
		{"replaced keeps its place", `{"role":"system","content":"","sections":{"a":"A2"}}`, "always\n\nA2\n\nB", "read bash"},
		{"null removes", `{"role":"system","content":"","sections":{"a":null}}`, "always\n\nB", "read bash"},
		{"removed and added goes to the end", `{"role":"system","content":"","sections":{"a":null,"c":"C"}}`, "always\n\nB\n\nC", "read bash"},
		{"content adds up", `{"role":"system","content":"more"}`, "always\n\nmore\n\nA\n\nB", "read bash"},
		{"removed before added", `{"role":"system","content":"","toolsAdded":[{"name":"read","parameters":{}}],"toolsRemoved":[{"name":"read"}]}`, "always\n\nA\n\nB", "bash read"},
		{"names as strings are nothing", `{"role":"system","content":"","toolsRemoved":["read"]}`, "always\n\nA\n\nB", "read bash"},
	} {
		r := apply(first, c.patch)
		if r.Prompt() != c.prompt || strings.Join(r.ToolNames(), " ") != c.tools {
			t.Errorf("%s: %q, %v", c.name, r.Prompt(), r.ToolNames())
		}
	}
}

// TestTextSurvives: any text that JSON can hold comes back.
func TestTextSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "text")
		raw, err := Marshal(&User{Content{Text(want)}, 1})
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(string(raw), "\n\r") {
			t.Fatalf("the line breaks: %q", raw)
		}
		m, err := Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, m.(*User).Content.PlainText()); d != "" {
			t.Fatal(d)
		}
	})
}
