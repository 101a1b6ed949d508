package agent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piweb-go/piweb/message"
)

// TestSignaturesAreKept: what a provider signs stands in the file as pi spells it.
func TestSignaturesAreKept(t *testing.T) {
	a := newAssembler(ModelInfo{}, "high", callIDs{}, time.UnixMilli(1), func(Event) {})
	for _, d := range []Delta{
		ThinkingDelta{Index: 0, Text: "hidden", Signature: "r/+==", Redacted: true},
		ThinkingDelta{Index: 1, Text: "Hm."}, ThinkingDelta{Index: 1, Signature: "a"}, ThinkingDelta{Index: 1, Signature: "ab"},
		TextDelta{Index: 2, Text: "So."}, SignatureDelta{Index: 2, Signature: "t"},
		ToolCallDelta{Index: 3, ID: "c", Name: "ls"}, SignatureDelta{Index: 3, Signature: "c1"}, SignatureDelta{Index: 3, Signature: "c2"},
		SignatureDelta{Index: 9, Signature: "of nothing"},
		Stop{Reason: message.StopToolUse},
	} {
		a.add(d)
	}
	got, err := message.Marshal(a.finish(t.Context(), nil).Content)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"type":"thinking","thinking":"hidden","thinkingSignature":"r/+==","redacted":true},` +
		`{"type":"thinking","thinking":"Hm.","thinkingSignature":"ab"},` +
		`{"type":"text","text":"So.","textSignature":"t"},` +
		`{"type":"toolCall","id":"c","name":"ls","arguments":{},"thoughtSignature":"c2"}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
