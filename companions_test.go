package piweb_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/session"
)

// sideFile keeps one file beside each session.
type sideFile struct {
	log  *[]string
	fail string // the operation that fails
}

func side(at session.Place) string { return strings.TrimSuffix(at.Path, ".jsonl") + ".side" }

func (c sideFile) did(what string) error {
	*c.log = append(*c.log, what)
	if c.fail == what {
		return errors.New("the companion cannot " + what)
	}
	return nil
}

func (c sideFile) Copy(from, to session.Place) (session.Undo, error) {
	data, err := os.ReadFile(side(from))
	if err := errors.Join(err, c.did("copy")); err != nil {
		return nil, err
	}
	return func() error { return os.Remove(side(to)) }, os.WriteFile(side(to), data, 0o600)
}

func (c sideFile) Move(from, to session.Place) (session.Undo, error) {
	if err := c.did("move"); err != nil {
		return nil, err
	}
	return func() error { return os.Rename(side(to), side(from)) }, os.Rename(side(from), side(to))
}

func (c sideFile) Remove(at session.Place) (session.Undo, error) {
	if err := c.did("remove"); err != nil {
		return nil, err
	}
	return nil, os.Remove(side(at))
}

// TestCompanionsOfTheRuntime: whatever takes a session somewhere asks those that
// were registered, and a refusal of theirs leaves all as it was.
func TestCompanionsOfTheRuntime(t *testing.T) {
	for _, fail := range []string{"", "copy", "move", "remove"} {
		t.Run("fails: "+fail, func(t *testing.T) {
			w := newWorld(t, toolTurns(t))
			var log []string
			w.rt = w.runtime(func(c *piweb.Config) { c.Companions = []session.Companion{nil, sideFile{&log, fail}} })
			path := w.child("one", "one", "nobody", "/nowhere")
			at := session.Place{Path: path, ID: "one"}
			if err := os.WriteFile(side(at), []byte("what belongs to it"), 0o600); err != nil {
				t.Fatal(err)
			}
			has := func(path string) {
				t.Helper()
				if data, err := os.ReadFile(side(session.Place{Path: path})); string(data) != "what belongs to it" {
					t.Errorf("%s has %q, %v", path, data, err)
				}
			}
			check := func(what string, err error) bool {
				t.Helper()
				if (err != nil) != (fail == what) {
					t.Fatalf("%s: %v", what, err)
				}
				return err == nil
			}
			ctx := t.Context()
			if f, err := w.rt.Clone(ctx, path, piweb.ForkOptions{}); check("copy", err) {
				has(f.Path)
			}
			if to, err := w.rt.Import(ctx, w.project, path, ""); check("copy", err) {
				has(to)
			}
			other := filepath.Join(w.project, "other")
			if err := os.Mkdir(other, 0o755); err != nil {
				t.Fatal(err)
			}
			if to, err := w.rt.Move(ctx, path, other); check("move", err) {
				path = to
			}
			has(path)
			gone, err := w.rt.Delete(ctx, path)
			if !check("move", err) {
				has(path)
				return
			}
			has(gone[0].Path)
			if _, err := w.rt.Restore(ctx, w.project, path); err != nil {
				t.Fatal(err)
			}
			has(path)
			if gone, err = w.rt.Delete(ctx, path); err != nil {
				t.Fatal(err)
			}
			if _, err := w.rt.Purge(ctx, w.project, path); !check("remove", err) {
				has(gone[0].Path)
				return
			}
			if _, err := os.Stat(filepath.Dir(gone[0].Path)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("something is left in the trash: %v", err)
			}
			want := []string{"copy", "copy", "move", "move", "move", "move", "remove"}
			if fail == "" && !cmp.Equal(log, want) {
				t.Error(cmp.Diff(want, log))
			}
		})
	}
}
