package tool

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// fakeLinks answer artifact://N with prepared text.
type fakeLinks map[string]string

func (f fakeLinks) Handles(name string) bool {
	return strings.HasPrefix(name, "artifact://") || strings.HasPrefix(name, "agent://")
}

func (f fakeLinks) OpenURL(_ context.Context, url string) (io.ReadCloser, bool, error) {
	text, ok := f[url]
	if !ok {
		return nil, false, errors.New("artifact 9 not found. Available: 0, 2")
	}
	return io.NopCloser(strings.NewReader(text)), strings.Contains(url, "?q="), nil
}

func TestReadLink(t *testing.T) {
	links := fakeLinks{
		"artifact://0": "one\ntwo\nthree\n", "artifact://2": strings.Repeat("a line of text\n", 5000),
		"agent://0-a?q=.x": strings.Repeat("x", MaxBytes+10), "agent://0-a?q=.huge": strings.Repeat("x", maxExtracted+1),
	}
	for _, c := range []struct {
		name, args string
		isError    bool
		want       string // a part of the text
	}{
		{"whole", `{"path":"artifact://0"}`, false, "one\ntwo\nthree"},
		{"by lines", `{"path":"artifact://0","offset":2,"limit":1}`, false, "two\n\n[Lines 2-2 of 4, as limited; 2 lines more. Go on with offset=3.]"},
		{"a page of a long one", `{"path":"artifact://2","offset":3001}`, false, "a line of text"},
		{"cut as a file is", `{"path":"artifact://2"}`, false, "[Lines 1-2000 of 5001. Go on with offset=2001.]"},
		{"behind the end", `{"path":"artifact://0","offset":9}`, true, "the file has 4 lines"},
		{"not there: what is", `{"path":"artifact://9"}`, true, "Available: 0, 2"},
		{"extracted, whole", `{"path":"agent://0-a?q=.x"}`, false, strings.Repeat("x", MaxBytes+10)},
		{"extracted with offset", `{"path":"agent://0-a?q=.x","offset":1}`, true, "cannot be combined with offset or limit"},
		{"extracted and huge", `{"path":"agent://0-a?q=.huge"}`, true, "larger than 200.0KB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			call := &Call{Name: "read", CWD: t.TempDir(), Arguments: json.RawMessage(c.args), Links: links}
			r, err := NewRead(Options{}).Run(context.Background(), call)
			if err != nil || r.IsError != c.isError || !strings.Contains(r.Content.PlainText(), c.want) {
				t.Errorf("%v, %v: %.300q", err, r.IsError, r.Content.PlainText())
			}
		})
	}
	// Without links the name is that of a file.
	r, _ := NewRead(Options{}).Run(context.Background(), &Call{Name: "read", CWD: t.TempDir(), Arguments: json.RawMessage(`{"path":"artifact://0"}`)})
	if !r.IsError || !strings.Contains(r.Content.PlainText(), "there is no file") {
		t.Errorf("%q", r.Content.PlainText())
	}
}

// located is a sink that says where it keeps things.
type located struct {
	strings.Builder
	failure error
	partial int64
}

func (l *located) Location() (path, name string) {
	if l.failure != nil {
		return "", ""
	}
	return "/side/3.log", "artifact://3"
}
func (l *located) Failure() error { return l.failure }
func (l *located) Partial() int64 { return l.partial }

// TestWholeOutputOfEveryTool: grep, find and ls say where the rest is.
func TestWholeOutputOfEveryTool(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("n", 200)
	for i := range 400 {
		writeTestFile(t, filepath.Join(dir, long+string(rune(97+i%26))+strings.Repeat("y", i/26)), "needle "+long+"\n")
	}
	for name, args := range map[string]string{"grep": `{"pattern":"needle","limit":1000}`, "find": `{"pattern":"*","limit":1000}`, "ls": `{"limit":1000}`} {
		for _, c := range []struct {
			sink       *located
			path, note string
		}{
			{&located{}, "/side/3.log", "Whole output: artifact://3]"},
			{&located{partial: 2048}, "/side/3.log", "Beginning and end of the output, 2.0KB: artifact://3]"},
			{&located{failure: errors.New("disk is full")}, "", "The whole output could not be kept: disk is full]"},
		} {
			build, _ := Lookup(name)
			r, err := build(Options{}).Run(context.Background(), &Call{Name: name, CWD: dir, Arguments: json.RawMessage(args), Sink: c.sink})
			var d struct{ FullOutputPath string }
			if err != nil || json.Unmarshal(r.Details, &d) != nil || d.FullOutputPath != c.path || !strings.HasSuffix(r.Content.PlainText(), c.note) {
				t.Errorf("%s: %v, %s, …%q", name, err, r.Details[:min(80, len(r.Details))], r.Content.PlainText()[max(0, len(r.Content.PlainText())-150):])
			}
			if n := strings.Count(c.sink.String(), "\n"); n != 399 {
				t.Errorf("%s: the sink has %d lines", name, n+1)
			}
		}
	}
}
