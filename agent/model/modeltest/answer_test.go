package modeltest_test

import (
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/message"
)

// stream yields what it is given, errors as errors.
func stream(items ...any) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		for _, it := range items {
			d, _ := it.(agent.Delta)
			err, _ := it.(error)
			if !yield(d, err) {
				return
			}
		}
	}
}

func TestCollectFindsBreaches(t *testing.T) {
	stop := agent.Stop{Reason: message.StopEnd}
	failed := errors.New("failed")
	for _, c := range []struct {
		name  string
		items []any
		want  string // part of the error, "" for none
	}{
		{"whole", []any{agent.TextDelta{Text: "a"}, agent.ToolCallDelta{Index: 1, ID: "i", Name: "n"}, agent.TextDelta{Text: "b"}, agent.ToolCallDelta{Index: 1, Arguments: "{}"}, agent.UsageDelta{}, stop}, ""},
		{"failed", []any{agent.TextDelta{Text: "a"}, failed}, "failed"},
		{"gap", []any{agent.TextDelta{Index: 1}}, "block 1 after 0"},
		{"negative", []any{agent.TextDelta{Index: -1}}, "block -1"},
		{"changed kind", []any{agent.TextDelta{}, agent.ThinkingDelta{}}, "got thinking"},
		{"call without a name", []any{agent.ToolCallDelta{ID: "i"}}, "first delta"},
		{"call without an id", []any{agent.ToolCallDelta{Name: "n"}}, "first delta"},
		{"call begun twice", []any{agent.ToolCallDelta{ID: "i", Name: "n"}, agent.ToolCallDelta{ID: "i", Name: "n"}}, "first delta"},
		{"something behind the stop", []any{stop, agent.TextDelta{}}, "after the stop"},
		{"two stops", []any{stop, stop}, "after the stop"},
		{"something behind the error", []any{failed, agent.TextDelta{}}, "after the error"},
		{"strange reason", []any{agent.Stop{Reason: message.StopPending}}, "pending"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := modeltest.Collect(stream(c.items...))
			if c.want == "" && got.Err != nil || c.want != "" && (got.Err == nil || !strings.Contains(got.Err.Error(), c.want)) {
				t.Errorf("error is %v, want %q", got.Err, c.want)
			}
			if c.name == "something behind the error" && errors.Is(got.Err, failed) {
				t.Error("the breach passes for the error")
			}
		})
	}
}

func TestHeadsAreWhatTheyPromise(t *testing.T) {
	seen := make(map[string]bool)
	for _, h := range modeltest.Heads() {
		if h.Text == "" || strings.ToValidUTF8(h.Text, "") != h.Text || seen[h.Name] {
			t.Errorf("%s: %.40q", h.Name, h.Text)
		}
		seen[h.Name] = true
	}
	if last := modeltest.Heads()[len(modeltest.Heads())-1]; len(last.Text) < 1<<20 {
		t.Errorf("%s has %d bytes", last.Name, len(last.Text))
	}
}
