package modeltest

import (
	"io/fs"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/offline"
)

// Server is a handler that listens on a free port of 127.0.0.1.
type Server struct {
	*Handler
	URL string // the base URL, with /v1 and without a trailing slash

	http *httptest.Server
}

// Start listens. The caller closes the server; in a test use [NewServer].
func Start(script *offline.Script, options Options) *Server {
	h := NewHandler(script, options)
	s := &Server{Handler: h, http: httptest.NewServer(h)}
	s.URL = s.http.URL + "/v1"
	return s
}

// NewServer listens until the test ends.
func NewServer(tb testing.TB, script *offline.Script) *Server {
	tb.Helper()
	return NewServerWith(tb, script, Options{})
}

// NewServerWith is NewServer with options.
func NewServerWith(tb testing.TB, script *offline.Script, options Options) *Server {
	tb.Helper()
	s := Start(script, options)
	tb.Cleanup(s.Close)
	return s
}

// Close ends the answers under way, closes every connection and waits for the
// handlers. It may be called more than once.
func (s *Server) Close() {
	s.Handler.Close()
	s.http.CloseClientConnections()
	s.http.Close()
}

// Spec tells a client how to reach the server: a model "scripted" of the provider
// "modeltest", with the key "modeltest-key" and the server's own connections,
// which end with the server.
func (s *Server) Spec() model.Spec {
	return model.Spec{
		Info: agent.ModelInfo{
			API: "openai-completions", Provider: "modeltest", ID: "scripted", Name: "Scripted",
			Images: true, ContextWindow: 128000, MaxTokens: 16384,
		},
		BaseURL: s.URL, APIKey: "modeltest-key", Client: s.http.Client(),
	}
}

// SpecOf is Spec for another wire than chat completions.
func (s *Server) SpecOf(api string) model.Spec {
	spec := s.Spec()
	spec.Info.API = api
	return spec
}

// Sent tells what reached the server last, for [Subject].
func (s *Server) Sent() Sent {
	last, ok := s.Last()
	if !ok {
		return Sent{}
	}
	return SentOf(last)
}

// SentOf is a recorded request as its provider read it, on whatever wire.
func SentOf(r Recorded) Sent {
	f := formatOf(r.Path)
	if f == nil {
		return Sent{}
	}
	return f.sent(r.Body)
}

// Script reads the script NAME.json of a folder, such as [scripts.FS], or fails
// the test.
//
// [scripts.FS]: https://pkg.go.dev/github.com/piweb-go/piweb/fixtures/scripts#FS
func Script(tb testing.TB, folder fs.FS, name string) *offline.Script {
	tb.Helper()
	text, err := fs.ReadFile(folder, name+".json")
	if err != nil {
		tb.Fatal(err)
	}
	return Parse(tb, string(text))
}

// Parse reads a script from text, or fails the test.
func Parse(tb testing.TB, text string) *offline.Script {
	tb.Helper()
	script, err := offline.ParseScript(strings.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	return script
}

// Text returns a script of text answers, one after the other.
func Text(answers ...string) *offline.Script {
	s := &offline.Script{}
	for _, a := range answers {
		s.Steps = append(s.Steps, offline.Step{Text: a})
	}
	return s
}
