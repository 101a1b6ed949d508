package piweb_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/wrapper"
)

// TestGoingElsewhereNeverWidens: where what a branch declares decides, going to a
// branch that declares more pins the tools of now, by whatever way one goes: to a
// session that is live, to one that is not, and by the page's way.
func TestGoingElsewhereNeverWidens(t *testing.T) {
	w := newWorld(t, modeltest.Parse(t, always))
	declare := func(m *message.System) session.Payload { return session.Message(m) }
	said := func(x string) session.Payload {
		return session.Message(&message.User{Content: message.Content{message.Text(x)}})
	}
	for name, move := range map[string]func(path string, target session.ID) error{
		"closed": func(path string, target session.ID) error {
			_, err := w.rt.MoveLeaf(t.Context(), path, target)
			return err
		},
		"live": func(path string, target session.ID) error {
			if _, err := w.rt.Open(t.Context(), path, piweb.OpenOptions{}); err != nil {
				return err
			}
			_, err := w.rt.MoveLeaf(t.Context(), path, target)
			return err
		},
		"page": func(path string, target session.ID) error {
			s, err := w.rt.Open(t.Context(), path, piweb.OpenOptions{})
			if err != nil {
				return err
			}
			_, err = s.Navigate(t.Context(), target, wrapper.NavigateOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			log, err := session.Create(session.NewSession{Dir: filepath.Join(w.home, "moves", name), CWD: w.project}, session.Options{})
			if err != nil {
				t.Fatal(err)
			}
			both := []message.ToolDeclaration{{Name: "read", Parameters: []byte("{}")}, {Name: "bash", Parameters: []byte("{}")}}
			ids, err := log.Append(said("q"), declare(&message.System{ToolsAdded: both}),
				session.Message(&message.Assistant{Content: message.Content{message.Text("wide")}, StopReason: message.StopEnd}),
				declare(&message.System{ToolsRemoved: []message.ToolName{{Name: "bash"}}}), said("narrow"))
			if err != nil {
				t.Fatal(err)
			}
			path := log.Path()
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			before, _, err := w.rt.Decide(path, "")
			if err != nil || !slices.Equal(before.Tools, []string{"read"}) {
				t.Fatalf("before: %s, %v", before, err)
			}
			if err := move(path, ids[2]); err != nil {
				t.Fatal(err)
			}
			after, _, err := w.rt.Decide(path, "")
			if err != nil || after.Kind != policy.Pinned || !policy.Within(after, before) {
				t.Errorf("after: %s, %v", fmt.Sprint(after), err)
			}
		})
	}
}
