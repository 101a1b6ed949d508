package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/piweb-go/piweb/message"
)

func read(body io.Reader) (out []string, err error) {
	e := NewEvents(io.NopCloser(body))
	for e.Next() {
		out = append(out, e.Event().Type+"|"+string(e.Event().Data))
	}
	return out, e.Err()
}

func TestEvents(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"nothing", "", nil},
		{"one", "data: {\"a\":1}\n\n", []string{`|{"a":1}`}},
		{"without a blank", "data:x\n\n", []string{"|x"}},
		{"one blank only is taken", "data:  x \n\n", []string{"| x "}},
		{"types, comments, ids", ": hi\nid: 3\nevent: ping\ndata: {}\nretry: 5\n\nevent: end\n\n", []string{"ping|{}"}},
		{"lines join", "data: a\ndata: b\ndata\n\n", []string{"|a\nb\n"}},
		{"CR LF and CR", "data: a\r\n\r\ndata: b\r\rdata: c\n\n", []string{"|a", "|b", "|c"}},
		{"an empty event is none", "\n\n\ndata: a\n\n", []string{"|a"}},
		{"end without an empty line", "data: a\n\ndata: {\"b\":1}", []string{"|a", `|{"b":1}`}},
		{"end in the middle of an event", "data: a\n\ndata: {\"b\":", []string{"|a"}},
		{"line separators of Unicode stay", "data: \"a\u2028b\"\n\n", []string{"|\"a\u2028b\""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for how, body := range map[string]io.Reader{
				"at once": strings.NewReader(c.body), "byte by byte": iotest.OneByteReader(strings.NewReader(c.body)),
			} {
				got, err := read(body)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
			}
		})
	}
}

// What is written as events is read as them, however it is cut on the way.
func TestEventsProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		list := rapid.SliceOf(rapid.StringMatching(`[^\r\n]{1,40}(\n[^\r\n]{1,40}){0,3}`)).Draw(r, "events")
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(r, "line end")
		var body, want = "", []string(nil)
		for _, data := range list {
			for _, l := range strings.Split(data, "\n") {
				body += "data: " + l + end
			}
			body += end
			want = append(want, "|"+data)
		}
		got, err := read(iotest.OneByteReader(strings.NewReader(body)))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			r.Fatalf("%v\n%s", err, diff)
		}
	})
}

func TestEventsAreBounded(t *testing.T) {
	long := strings.Repeat("x", MaxEvent/2)
	for name, body := range map[string]string{
		"one line":   "data: " + long + long + "\n\n",
		"many lines": "data: " + long + "\ndata: " + long + "\ndata: x\n\n",
	} {
		if got, err := read(strings.NewReader(body)); !errors.Is(err, ErrBigEvent) || len(got) != 0 {
			t.Errorf("%s: %d events, %v", name, len(got), err)
		}
	}
	if _, err := read(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(io.ErrUnexpectedEOF))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a broken connection is %v", err)
	}
}

func TestMark(t *testing.T) {
	for data, want := range map[string]bool{
		`{"error":{"message":"x"}}`: true, `{"error":"x"}`: true, `{"error":5}`: true, `{"error":true}`: true,
		`{"error":null}`: false, `{"error":""}`: false, `{"error":{}}`: false, `{"error":0}`: false, `{"error":[]}`: false, `{"error":false}`: false, `{}`: false, `x`: false,
	} {
		if got := (Event{Data: []byte(data)}).Mark(); got != want {
			t.Errorf("%s: %t", data, got)
		}
	}
	if !(Event{Type: "error", Data: []byte("{}")}).Mark() {
		t.Error("the type error is none")
	}
}

func TestHead(t *testing.T) {
	if got, err := Head([]byte("gr\u00fc\u00dfe \ufffd")); err != nil || got != "gr\u00fc\u00dfe \ufffd" {
		t.Errorf("%q, %v", got, err)
	}
	for text, at := range map[string]string{"gr\xfc": "byte 2", "\ufffd\xed\xa0\x80": "byte 3", "ab\xc3": "byte 2"} {
		if _, err := Head([]byte(text)); err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSchemaAndArguments(t *testing.T) {
	for in, want := range map[string]string{"": `{"type":"object","properties":{}}`, " null ": `{"type":"object","properties":{}}`, ` {"b":1.50,"a":1e3} `: `{"b":1.50,"a":1e3}`, `[]`: "", `{"a":`: "", `"x"`: ""} {
		got, err := Schema(message.ToolDeclaration{Name: "t", Parameters: json.RawMessage(in)})
		if string(got) != want || (err != nil) != (want == "") {
			t.Errorf("schema %q: %s, %v", in, got, err)
		}
	}
	for in, want := range map[string]string{"": "{}", "null": "{}", `[1]`: "{}", `{"a":`: "{}", `{"b":1.50, "a":2}`: `{"b":1.50, "a":2}`} {
		if got := Arguments(json.RawMessage(in)); string(got) != want {
			t.Errorf("arguments %q: %s", in, got)
		}
	}
}

func TestCallIDs(t *testing.T) {
	var ids CallIDs
	if got := ids.Take("a"); got != "a" {
		t.Errorf("the first is %q", got)
	}
	seen := map[string]bool{"a": true}
	for _, id := range []string{"a", "", "", "b", "b"} {
		got := ids.Take(id)
		if got == "" || seen[got] {
			t.Errorf("%q became %q", id, got)
		}
		seen[got] = true
	}
}

func TestCloseClosesTheBody(t *testing.T) {
	body := &closing{Reader: bytes.NewReader(nil)}
	NewEvents(body).Close()
	if !body.closed {
		t.Error("it stays open")
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}
