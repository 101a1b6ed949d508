package modeltest

import (
	"net/http/httptest"
	"testing"

	"pgregory.net/rapid"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
)

// Deltas is what a model makes of the events of a server, and the error that
// ended them.
func Deltas(t *testing.T, api string, open model.Factory, events ...string) (all []agent.Delta, failed error) {
	t.Helper()
	server := httptest.NewServer(streamed(Events(events...)))
	t.Cleanup(server.Close)
	m, err := open(model.Spec{Info: agent.ModelInfo{API: api, Provider: "here", ID: "m"}, BaseURL: server.URL, Client: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	for d, err := range m.Stream(t.Context(), UserRequest("hello")) {
		if err != nil {
			return all, err
		}
		all = append(all, d)
	}
	return all, nil
}

// AnyHead checks that every head arrives as it was, whatever stands in it, and that
// an empty one is not sent.
func AnyHead(t *testing.T, api string, open model.Factory) {
	server := NewServer(t, Parse(t, `{"steps":[{"repeat":true,"text":"fine"}]}`))
	m, err := open(server.SpecOf(api))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		head := rapid.String().Draw(r, "head")
		req := UserRequest("hello")
		req.Head = []byte(head)
		if got := Collect(m.Stream(t.Context(), req)); got.Err != nil {
			r.Fatal(got.Err)
		}
		sent := server.Sent()
		if len(sent.Heads) > 1 || (head != "") != (len(sent.Heads) == 1) || head != "" && string(sent.Heads[0]) != head {
			r.Fatalf("head %q arrived as %q", head, sent.Heads)
		}
	})
	// JSON cannot carry what is not UTF-8: nothing is sent in its place.
	count := server.Count()
	req := UserRequest("hello")
	req.Head = []byte("gr\xfc\xdfe")
	if got := Ask(t, m, req); got.Err == nil || server.Count() != count {
		t.Errorf("a head that is not UTF-8: %v, %d requests", got.Err, server.Count()-count)
	}
}
