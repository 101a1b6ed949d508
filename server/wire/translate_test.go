package wire

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/wrapper"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the frames of fixtures/web/frames")

const frames = "../../fixtures/web/frames"

// golden is a file of fixtures/web/frames.
type golden struct {
	About  string            `json:"about"`
	Events []json.RawMessage `json:"events"`
	Frames []json.RawMessage `json:"frames"`
}

func readGolden(t *testing.T, path string) golden {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return g
}

// event reads an event; its message is an interface and needs a hand.
func event(t testing.TB, seq int, data json.RawMessage) wrapper.Event {
	t.Helper()
	var e struct {
		wrapper.Event
		Message json.RawMessage `json:"message"`
	}
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	if e.Message != nil {
		var err error
		if e.Event.Message, err = message.Decode(e.Message); err != nil {
			t.Fatal(err)
		}
	}
	e.Seq = uint64(seq + 1)
	return e.Event
}

func newTest() *Translator {
	return NewTranslator(Options{
		Now: func() time.Time { return time.UnixMilli(1234) },
		Policy: func() Policy {
			return Policy{Kind: "chat-only", Source: map[string]string{"by": "selection", "entry": "0000000d"}}
		},
	})
}

// TestFrames holds the frames of recorded turns against fixtures/web/frames.
func TestFrames(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(frames, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures in %s (%v)", frames, err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			g := readGolden(t, path)
			tr := newTest()
			var got []Frame
			for i, data := range g.Events {
				got = append(got, tr.Translate(event(t, i, data))...)
			}
			checkTurns(t, got)
			lines := encode(t, got)
			if *update {
				writeGolden(t, path, g, lines)
				return
			}
			var want []string
			for _, f := range g.Frames {
				var b bytes.Buffer
				if err := json.Compact(&b, f); err != nil {
					t.Fatal(err)
				}
				want = append(want, b.String())
			}
			if diff := cmp.Diff(want, lines); diff != "" {
				t.Errorf("frames (-want +got):\n%s", diff)
			}
		})
	}
}

func encode(t testing.TB, list []Frame) []string {
	t.Helper()
	var lines []string
	for _, f := range list {
		data, err := message.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsAny(data, "\r\n") {
			t.Errorf("a frame is not one line: %q", data)
		}
		lines = append(lines, string(data))
	}
	return lines
}

func writeGolden(t *testing.T, path string, g golden, lines []string) {
	t.Helper()
	var b strings.Builder
	about, _ := message.Marshal(g.About)
	b.WriteString("{\n  \"about\": " + string(about) + ",\n  \"events\": [\n    ")
	for i, e := range g.Events {
		if i > 0 {
			b.WriteString(",\n    ")
		}
		b.Write(e)
	}
	b.WriteString("\n  ],\n  \"frames\": [\n    " + strings.Join(lines, ",\n    ") + "\n  ]\n}\n")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// checkTurns holds any sequence of frames against the rules of the package.
func checkTurns(t rapidT, list []Frame) {
	t.Helper()
	var (
		running, busy, step bool
		text, reasoning     string
		used                = map[string]bool{}
	)
	start := func(id string, open *string) {
		if *open != "" || used[id] || id == "" {
			t.Errorf("part %q is started while %q is open, or is not new", id, *open)
		}
		*open, used[id] = id, true
	}
	grow := func(id string, open string) {
		if id != open || id == "" {
			t.Errorf("part %q grows or ends while %q is open", id, open)
		}
	}
	for i, f := range list {
		if s, ok := f.Control.(State); ok {
			busy = s.Busy
		}
		if f.Chunk == nil {
			continue
		}
		c := f.Chunk
		if c.Type == Start {
			if running || !busy {
				t.Errorf("frame %d: start while running=%t, busy=%t", i, running, busy)
			}
			running = true
			continue
		}
		if !running {
			t.Errorf("frame %d: %s outside of a turn", i, c.Type)
		}
		switch c.Type {
		case StartStep:
			if step {
				t.Errorf("frame %d: two steps are open", i)
			}
			step = true
		case FinishStep:
			step = false
		case TextStart:
			start(c.ID, &text)
		case TextDelta:
			grow(c.ID, text)
		case TextEnd:
			grow(c.ID, text)
			text = ""
		case ReasoningStart:
			start(c.ID, &reasoning)
		case ReasoningDelta:
			grow(c.ID, reasoning)
		case ReasoningEnd:
			grow(c.ID, reasoning)
			reasoning = ""
		case Finish, Abort:
			if busy || text != "" || reasoning != "" || step {
				t.Errorf("frame %d: %s while busy=%t, text %q, reasoning %q, step %t", i, c.Type, busy, text, reasoning, step)
			}
			running = false
		}
	}
	if running {
		t.Errorf("the last turn has no end")
	}
}

type rapidT interface {
	Helper()
	Errorf(string, ...any)
}

// TestAnyOrder: whatever comes, in whatever order and with whatever missing, the
// rules hold.
func TestAnyOrder(t *testing.T) {
	yes, no := true, false
	pool := []agent.Event{
		{Type: agent.AgentStart}, {Type: agent.TurnStart}, {Type: agent.TurnEnd}, {Type: wrapper.PromptDone},
		{Type: agent.AgentEnd}, {Type: agent.AgentEnd, Error: "broken"}, {Type: agent.AgentSettled, Aborted: &no},
		{Type: agent.AgentSettled, Aborted: &yes}, {Type: wrapper.Gap}, {Type: wrapper.PromptError, Error: "worse"},
		{Type: agent.ToolStart, ToolCallID: "c"}, {Type: agent.ToolEnd, ToolCallID: "c", IsError: true},
		{Type: agent.MessageEnd, Message: &message.Assistant{Content: message.Content{message.Text("all")}, StopReason: message.StopError}},
		{Type: agent.MessageEnd, Message: &message.User{}}, {Type: wrapper.PolicyChanged}, {Type: "unheard_of"},
	}
	for _, u := range []string{"text_start", "text_delta", "text_end", "thinking_start", "thinking_delta", "thinking_end", "toolcall_delta", "odd"} {
		pool = append(pool, agent.Event{Type: agent.MessageEvent, Update: &agent.Update{Type: u, Delta: "x"}})
	}
	rapid.Check(t, func(rt *rapid.T) {
		tr := newTest()
		var got []Frame
		for _, e := range rapid.SliceOf(rapid.SampledFrom(pool)).Draw(rt, "events") {
			if e.Type == agent.TurnStart && tr.turn.step {
				continue // a loop never opens two
			}
			if e.Type == agent.TurnEnd && (tr.turn.text != "" || tr.turn.reasoning != "") {
				continue // the loop closes its blocks first
			}
			got = append(got, tr.Translate(wrapper.Event{Event: e})...)
		}
		got = append(got, tr.Translate(wrapper.Event{Event: agent.Event{Type: wrapper.PromptDone}})...)
		checkTurns(rt, got)
		encode(t, got)
	})
}

func TestSticky(t *testing.T) {
	tr := newTest()
	want := []string{
		`{"kind":"control","protocolVersion":"0.1.0","payload":{"control":"session-status","state":"ready"}}`,
		`{"kind":"control","protocolVersion":"0.1.0","payload":{"control":"session-state","snapshot":{"lifecycle":"ready","busy":false}}}`,
		`{"kind":"control","protocolVersion":"0.1.0","payload":{"control":"queue","steering":[],"followUp":[]}}`,
	}
	if diff := cmp.Diff(want, encode(t, tr.Sticky())); diff != "" {
		t.Errorf("sticky (-want +got):\n%s", diff)
	}
	tr.Translate(wrapper.Event{Event: agent.Event{Type: agent.AgentStart}})
	want[1] = `{"kind":"control","protocolVersion":"0.1.0","payload":{"control":"session-state","snapshot":{"lifecycle":"ready","busy":true,"turn":{"startedAt":1234}}}}`
	if got := encode(t, tr.Sticky()); !slices.Equal(got, want) {
		t.Errorf("sticky in a turn: %s", got)
	}
	told := encode(t, tr.Queue([]string{"now"}, nil))
	wantQueue := []string{
		`{"kind":"uiMessageChunk","protocolVersion":"0.1.0","chunk":{"type":"data-pi-queue","data":{"steering":["now"],"followUp":[]}}}`,
		`{"kind":"control","protocolVersion":"0.1.0","payload":{"control":"queue","steering":["now"],"followUp":[]}}`,
	}
	if !slices.Equal(told, wantQueue) {
		t.Errorf("queue: %s", told)
	}
	if last := encode(t, tr.Sticky())[2]; last != wantQueue[1] {
		t.Errorf("the queue does not stick: %s", last)
	}
}
