package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/toolselect"
	"pgregory.net/rapid"
)

// reopened is the policy of a child whose file holds the snapshot.
func reopened(t *testing.T, s Snapshot) Policy {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Gather(file(t, `"custom","customType":"pi-web:subagent","data":{"version":1,"parentSessionId":"p","resourceSnapshot":`+string(raw)+`}`))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := Resolve(f)
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSubagentPrompt has the rows SP1 to SP3 of pi-web's table, the two modes,
// and defect D15: what is inherited is never lost.
func TestSubagentPrompt(t *testing.T) {
	exact := func(s string) *string { return &s }
	for _, c := range []struct {
		name   string
		wish   ChildWish
		append []string
		exact  *string
		task   string
		kind   string
	}{
		{"SP1 no tools, inherited", ChildWish{Body: "profile", Task: "task", Inherited: "context"}, []string{"profile"}, exact("profile"), "task\n\ncontext", "exactly a given text of 7 bytes"},
		{"SP2 tools, inherited", ChildWish{Body: "profile", Tools: []string{"read"}, Task: "task", Inherited: "context"}, []string{"profile", "context"}, nil, "task", "composed, with 16 bytes appended"},
		{"SP3 no tools, skills", ChildWish{Body: "profile", LoadSkills: true, Task: "task", Inherited: "context"}, []string{"profile", "context"}, nil, "task", "composed, with 16 bytes appended"},
		{"SP3 no tools, extensions", ChildWish{Body: "profile", LoadExtensions: true, Task: "task", Inherited: "context"}, []string{"profile", "context"}, nil, "task", "composed, with 16 bytes appended"},
		{"nothing inherited", ChildWish{Body: "profile", Tools: []string{"read"}, Task: "task"}, []string{"profile"}, nil, "task", "composed, with 7 bytes appended"},
		{"D15 replace, inherited", ChildWish{Body: "profile", Tools: []string{"read"}, Replace: true, Task: "task", Inherited: "context"}, []string{"profile"}, exact("profile"), "task\n\ncontext", "exactly a given text of 7 bytes"},
		{"no body", ChildWish{Task: "task"}, []string{""}, exact(""), "task", "exactly a given text of 0 bytes"},
		{"D17 the body is a path", ChildWish{Body: "/etc/hostname", Task: "task"}, []string{"/etc/hostname"}, exact("/etc/hostname"), "task", "exactly a given text of 13 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := PlanChild(c.wish)
			if d := cmp.Diff(c.append, plan.Snapshot.Append); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.exact, plan.Snapshot.Exact); d != "" {
				t.Error(d)
			}
			if plan.Task != c.task {
				t.Errorf("task %q", plan.Task)
			}
			if p := reopened(t, plan.Snapshot); p.Kind != Child || p.Prompt.String() != c.kind || p.Loads.Skills != c.wish.LoadSkills || p.Loads.Extensions != c.wish.LoadExtensions {
				t.Errorf("reopened it is %s", p)
			}
		})
	}
}

// TestChildTools has row SA9: duplicates and the control tools are left out.
func TestChildTools(t *testing.T) {
	plan := PlanChild(ChildWish{Tools: []string{"read"}, LoadExtensions: true,
		ExtensionTools: []string{"web_search", "Agent", "get_subagent_result", "steer_subagent", "web_search", ""}})
	if d := cmp.Diff([]string{"read", "web_search"}, plan.Snapshot.Tools); d != "" {
		t.Error(d)
	}
	off := PlanChild(ChildWish{Tools: []string{"read"}, ExtensionTools: []string{"web_search"}})
	if d := cmp.Diff([]string{"read"}, off.Snapshot.Tools); d != "" {
		t.Errorf("extensions are off: %s", d)
	}
}

// TestNoChildControlsSubagents: whatever a profile asks for, no control tool is
// among what the child may use, now or reopened (nicobailon/pi-subagents#11).
func TestNoChildControlsSubagents(t *testing.T) {
	names := append(toolselect.Builtins(), "web_search", "Agent", "get_subagent_result", "steer_subagent", "powershell", "")
	rapid.Check(t, func(rt *rapid.T) {
		list := rapid.SliceOf(rapid.SampledFrom(names))
		w := ChildWish{Body: "b", Tools: rapid.SliceOf(rapid.SampledFrom(toolselect.Builtins())).Draw(rt, "tools"), ExtensionTools: list.Draw(rt, "extension tools"),
			LoadSkills: rapid.Bool().Draw(rt, "skills"), LoadExtensions: rapid.Bool().Draw(rt, "extensions"), Replace: rapid.Bool().Draw(rt, "replace")}
		p := reopened(t, PlanChild(w).Snapshot)
		for _, name := range []string{"Agent", "get_subagent_result", "steer_subagent"} {
			if ok, _ := p.Admits(Tool{Name: name}); ok || slices.Contains(p.Tools, name) {
				rt.Fatalf("%s may use %s", p, name)
			}
		}
	})
}

// TestInherit is defect D9: the parent's system text and pictures stay with the
// parent, and what is dropped does not count.
func TestInherit(t *testing.T) {
	picture := strings.Repeat("QUJD", 20_000)
	got := Inherit([]message.Message{
		&message.System{Content: "THE PARENT'S PROMPT"},
		&message.User{Content: message.Content{message.Text("look at this 漢"), message.Image("image/png", picture)}},
		&message.Assistant{Content: message.Content{{Type: message.TypeThinking, Thinking: "SECRET THOUGHT"}, message.Text("I look."), message.ToolCall("c1", "read", json.RawMessage(`{"path":"a"}`))}},
		&message.ToolResult{ToolCallID: "c1", ToolName: "read", Content: message.Content{message.Text("found <it>"), message.Image("image/png", picture)}},
		&message.CompactionSummary{Summary: "earlier"},
	})
	want := inheritedPreamble + `[{"role":"user","text":"look at this 漢"},{"role":"assistant","text":"I look.","toolCalls":[{"name":"read","arguments":{"path":"a"}}]},{"role":"toolResult","toolName":"read","text":"found <it>"},{"role":"compactionSummary","text":"earlier"}]`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := Inherit([]message.Message{&message.System{Content: "x"}}); got != "" {
		t.Errorf("of nothing said: %q", got)
	}
	if got := Inherit(nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

func TestInheritIsCut(t *testing.T) {
	for _, text := range []string{"x", "漢", "😀", "é"} {
		got := Inherit([]message.Message{&message.User{Content: message.Content{message.Text(strings.Repeat(text, 60_000))}}})
		body, ok := strings.CutPrefix(got, inheritedPreamble)
		body, cut := strings.CutSuffix(body, inheritedTruncated)
		if n := len(utf16.Encode([]rune(body))); !ok || !cut || n > maxInherited || n < maxInherited-1 {
			t.Errorf("of %q: %d units, cut=%v", text, n, cut)
		}
		if strings.Contains(body, "\uFFFD") {
			t.Errorf("of %q: a character was cut in two", text)
		}
	}
	fits := Inherit([]message.Message{&message.User{Content: message.Content{message.Text(strings.Repeat("x", maxInherited-len(`[{"role":"user","text":""}]`)))}}})
	if strings.HasSuffix(fits, inheritedTruncated) {
		t.Error("what just fits is cut")
	}
}
