package piweb_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/agent/model/openai"
	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/server"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/piweb-go/piweb/web"
	"github.com/piweb-go/piweb/wrapper"
)

// The programs of docs/embedding.md. TestEmbeddingCompiles holds the document against
// them.

func askOnce(ctx context.Context, home, project string, out io.Writer) error {
	rt, err := piweb.New(piweb.Config{
		Home:      home, // "" is the user's own
		Providers: model.Registry{openai.API: openai.New, offline.API: offline.New},
	})
	if err != nil {
		return err
	}
	defer rt.Close()

	s, err := rt.Create(ctx, project, piweb.OpenOptions{Tools: &[]string{"read"}})
	if err != nil {
		return err
	}
	turn, err := s.Prompt(ctx, piweb.Input{Text: "hello"})
	if err != nil {
		return err
	}
	if err := turn.Wait(ctx); err != nil {
		return err
	}
	u, err := s.Log().Usage()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, u.Counts.Assistant, "answer")
	return nil
}

func followToEnd(ctx context.Context, s *piweb.Session, out io.Writer) error {
	sub := s.Subscribe(0)
	defer sub.Close()
	for {
		e, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		if e.Update != nil && e.Update.Type == "text_delta" {
			fmt.Fprint(out, e.Update.Delta)
		}
		if e.Type == wrapper.PromptDone {
			return nil
		}
	}
}

func guarded(home string) (*piweb.Runtime, error) {
	return piweb.New(piweb.Config{
		Home: home,
		Gates: agent.Gates{Owner: func(_ context.Context, call *tool.Call) agent.Verdict {
			if call.Name == "bash" {
				return agent.Verdict{Decision: agent.Ask, Reason: "a command wants to run"}
			}
			return agent.Verdict{Decision: agent.Allow}
		}},
	})
}

func toChatOnly(ctx context.Context, rt *piweb.Runtime, path string) error {
	changed, err := rt.SetTools(ctx, path, toolselect.ChatOnly(), piweb.OpenOptions{})
	if err != nil {
		return err
	}
	fmt.Println(changed.Policy) // Chat Only, by selection …
	return nil
}

func forkBefore(ctx context.Context, rt *piweb.Runtime, path string, entry session.ID) (string, error) {
	f, err := rt.Fork(ctx, path, piweb.ForkOptions{At: entry, Before: true})
	if err != nil {
		return "", err
	}
	return f.Path, nil // f.Text is the message that it leaves out
}

func serveUntil(ctx context.Context, rt *piweb.Runtime, project, token string) error {
	api, err := server.New(server.Config{Runtime: rt, Page: web.FS(), Token: token, DefaultCWD: project})
	if err != nil {
		return err
	}
	defer api.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/?token=%s\n", ln.Addr(), token)
	return api.Serve(ctx, ln)
}

// Ask a model something in a folder, and read what it cost.
func Example_embedding() {
	home, err := os.MkdirTemp("", "piweb-example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(home)
	fmt.Println(askOnce(context.Background(), home, home, os.Stdout))
	// Output:
	// 1 answer
	// <nil>
}

// TestEmbeddingCompiles: the programs of docs/embedding.md and README.md stand, line
// for line, in the examples of this package.
func TestEmbeddingCompiles(t *testing.T) {
	var compiled strings.Builder
	files, err := filepath.Glob("example*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	squeeze := func(text string) string {
		var b strings.Builder
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				b.WriteString(line + "\n")
			}
		}
		return b.String()
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		compiled.WriteString(squeeze(string(data)))
	}
	doc, err := os.ReadFile("docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(doc), -1)
	if len(blocks) < 6 {
		t.Errorf("only %d programs were found", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(compiled.String(), squeeze(b[1])) {
			t.Errorf("this stands in no example:\n%s", b[1])
		}
	}
}

// TestEmbeddingRuns uses what the document shows beside the example.
func TestEmbeddingRuns(t *testing.T) {
	home := t.TempDir()
	rt, err := guarded(home)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	w := newWorld(t, &offline.Script{})
	s, err := w.rt.Create(t.Context(), w.project, piweb.OpenOptions{Tools: &[]string{"read"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prompt(t.Context(), piweb.Input{Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	if err := followToEnd(t.Context(), s, io.Discard); err != nil {
		t.Fatal(err)
	}
	path := s.Log().Path()
	if err := toChatOnly(t.Context(), w.rt, path); err != nil {
		t.Error(err)
	}
	branch, err := s.Log().Branch(s.Log().Leaf())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range branch.Entries {
		if e.Role == "user" {
			if to, err := forkBefore(t.Context(), w.rt, path, e.ID); err != nil || to == path {
				t.Errorf("fork: %q, %v", to, err)
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := serveUntil(ctx, w.rt, w.project, "token"); err != nil {
		t.Error(err)
	}
}
