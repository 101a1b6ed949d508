package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/message"
)

// shelf keeps outputs in memory.
type shelf struct {
	mu     sync.Mutex
	saved  []string
	sinks  []*shelfSink
	refuse error
}

type shelfSink struct {
	strings.Builder
	closed int
}

func (s *shelfSink) Close() error { s.closed++; return nil }

func (s *shelf) Sink(string) io.WriteCloser {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := &shelfSink{}
	s.sinks = append(s.sinks, k)
	return k
}

func (s *shelf) Save(_, text string) (path, name string, err error) {
	if s.refuse != nil {
		return "", "", s.refuse
	}
	s.saved = append(s.saved, text)
	return "/side/7.x.log", "artifact://7", nil
}

func (s *shelf) Handles(name string) bool { return strings.HasPrefix(name, "artifact://") }

func (s *shelf) OpenURL(context.Context, string) (io.ReadCloser, bool, error) {
	return io.NopCloser(strings.NewReader("kept")), false, nil
}

func TestLongResultsGoToTheShelf(t *testing.T) {
	lines := strings.Repeat("0123456789abcdef0123456789abcde\n", 2000) // 64 000 bytes
	picture := message.Block{Type: message.TypeImage, MimeType: "image/png", Data: "AAAA"}
	for _, c := range []struct {
		name    string
		content message.Content
		details string
		refuse  error
		saved   string
		text    string // the end of what is shown
		range_  [2]int // of the details
	}{
		{name: "short", content: message.Content{message.Text("short")}, text: "short"},
		{name: "at the limit", content: message.Content{message.Text(strings.Repeat("x", spillLimit))}, text: "xxx"},
		{name: "long", content: message.Content{message.Text(lines)}, saved: lines, text: "[Lines 1501-2000 of 2000; whole output: artifact://7]", range_: [2]int{1501, 2000}},
		{name: "one line", content: message.Content{message.Text(strings.Repeat("é", 30000))}, saved: strings.Repeat("é", 30000),
			text: "é\n\n[Last 20480 bytes of line 1; whole output: artifact://7]", range_: [2]int{1, 1}},
		{name: "blocks", content: message.Content{message.Text(lines), picture, message.Text("end")}, saved: lines + "\nend",
			text: "end\n\n[Lines 1503-2002 of 2002; whole output: artifact://7]", range_: [2]int{1503, 2002}},
		{name: "cut by its tool", content: message.Content{message.Text(lines)}, details: `{"truncation":{"truncated":true}}`, text: "abcde\n"},
		{name: "cut elsewhere", content: message.Content{message.Text(lines)}, details: `{"meta":{"truncation":{"artifactId":"1"}}}`, text: "abcde\n"},
		{name: "details stay", content: message.Content{message.Text(lines)}, details: `{"a":1.50,"meta":{"b":2}}`, saved: lines, text: "artifact://7]", range_: [2]int{1501, 2000}},
		{name: "details null", content: message.Content{message.Text(lines)}, details: `null`, saved: lines, text: "artifact://7]", range_: [2]int{1501, 2000}},
		{name: "nowhere to keep it", content: message.Content{message.Text(lines)}, refuse: errors.New("disk is full"), text: "abcde\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &shelf{refuse: c.refuse}
			in := tool.Result{Content: c.content}
			if c.details != "" {
				in.Details = json.RawMessage(c.details)
			}
			r := spillResult(s, &tool.Call{Name: "x"}, in)
			if r.IsError || !strings.HasSuffix(r.Content.PlainText(), c.text) {
				t.Errorf("shown …%q", r.Content.PlainText()[max(0, len(r.Content.PlainText())-100):])
			}
			if got := strings.Join(s.saved, "|"); got != c.saved {
				t.Errorf("kept %d bytes, want %d", len(got), len(c.saved))
			}
			if c.saved == "" {
				if string(r.Details) != c.details {
					t.Errorf("details %s", r.Details)
				}
				return
			}
			if last := r.Content[len(r.Content)-1]; len(last.Text) > spillBytes+100 || last.Type != message.TypeText {
				t.Errorf("%d bytes are shown", len(last.Text))
			}
			var d struct {
				A              json.Number
				FullOutputPath string
				Meta           struct {
					B          int
					Truncation struct {
						Direction  string
						ArtifactID string
						TotalBytes int
						ShownRange struct{ Start, End int }
					}
				}
			}
			if err := json.Unmarshal(r.Details, &d); err != nil {
				t.Fatal(err)
			}
			tr := d.Meta.Truncation
			if d.FullOutputPath != "/side/7.x.log" || tr.ArtifactID != "7" || tr.Direction != "tail" || tr.TotalBytes != len(c.saved) || [2]int{tr.ShownRange.Start, tr.ShownRange.End} != c.range_ {
				t.Errorf("details %s", r.Details)
			}
			if c.name == "details stay" && (d.A != "1.50" || d.Meta.B != 2) {
				t.Errorf("details were lost: %s", r.Details)
			}
		})
	}
}

// TestEveryCallHasASink: it is closed whatever the tool does.
func TestEveryCallHasASink(t *testing.T) {
	s := &shelf{}
	l := &Loop{cfg: Config{Outputs: s}}
	for name, run := range map[string]func(context.Context, *tool.Call) (tool.Result, error){
		"writes": func(_ context.Context, c *tool.Call) (tool.Result, error) {
			_, err := io.WriteString(c.Output(), "output")
			return tool.Text("t"), err
		},
		"fails":  func(context.Context, *tool.Call) (tool.Result, error) { return tool.Result{}, errors.New("no") },
		"panics": func(context.Context, *tool.Call) (tool.Result, error) { panic("no") },
		"reads": func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			if !c.Links.Handles("artifact://1") {
				return tool.Result{}, errors.New("there are no links")
			}
			return tool.Text("t"), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			call := &tool.Call{Name: name}
			r := l.execute(context.Background(), fake{name: name, run: run}, call)
			k := s.sinks[len(s.sinks)-1]
			if k.closed == 0 || (name == "writes") != (k.String() == "output") || r.IsError != (name == "fails" || name == "panics") {
				t.Errorf("closed %d times, holds %q, result %+v", k.closed, k.String(), r)
			}
		})
	}
}
