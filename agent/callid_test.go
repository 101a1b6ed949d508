package agent

import (
	"strconv"
	"testing"
	"time"

	"github.com/piweb-go/piweb/message"
)

// TestCallsGetIDsOfTheirOwn: a server that numbers its calls anew in each answer
// gives the file ids that are there only once.
func TestCallsGetIDsOfTheirOwn(t *testing.T) {
	var history []message.Message
	var got []string
	for range 3 {
		var told []string
		a := newAssembler(ModelInfo{}, "", takenIDs(history), time.UnixMilli(1), func(e Event) {
			if e.Update.Type == "toolcall_start" {
				told = append(told, e.Update.ID)
			}
		})
		for n := range 2 {
			a.add(ToolCallDelta{Index: n, ID: "call_" + strconv.Itoa(n), Name: "ls"})
		}
		a.add(Stop{Reason: message.StopToolUse})
		m := a.finish(t.Context(), nil)
		for n, c := range m.Content.ToolCalls() {
			if c.ID != told[n] {
				t.Errorf("%q was told, and %q is in the file", told[n], c.ID)
			}
			got = append(got, c.ID)
		}
		history = append(history, m)
	}
	seen := map[string]bool{}
	for _, id := range got {
		if seen[id] {
			t.Errorf("%q is there twice: %q", id, got)
		}
		seen[id] = true
	}
	if len(got) != 6 || got[0] != "call_0" || got[1] != "call_1" {
		t.Errorf("the ids are %q", got)
	}
}

// TestManyCallsOfOneID: keeping them apart takes a step each, not one for every
// call before.
func TestManyCallsOfOneID(t *testing.T) {
	c := callIDs{}
	for n := range 100_000 {
		want := "call_0"
		if n > 0 {
			want += "_" + strconv.Itoa(n+1)
		}
		if got := c.take("call_0"); got != want {
			t.Fatalf("call %d is %q, want %q", n, got, want)
		}
	}
}
