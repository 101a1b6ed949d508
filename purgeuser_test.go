package piweb_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/account"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/memory"
	"github.com/piweb-go/piweb/wrapper"
)

// TestPurgeUser: of a user nothing is left, not even in the trash or in the memories'
// database, and of the others everything is. A session that runs stops it, with the
// account gone already; asked again it goes on.
func TestPurgeUser(t *testing.T) {
	w := newWorld(t, modeltest.Parse(t, `{"steps":[{"text":"Yes."},{"text":"Yes."},{"text":"Yes."},{"text":"slow answer","delayMs":20000}]}`))
	rt, ctx := w.rt, t.Context()
	users := account.OpenUsers(rt.AgentDir())
	session := func(owner, text string) string {
		t.Helper()
		s := w.create()
		w.say(s, text)
		path, err := wrapper.RealPath(s.Log().Path())
		if err == nil {
			err = rt.Owners().Set(path, owner)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.eventually("nothing runs", func() bool { state, _ := s.State(); return state != wrapper.Running })
		if err := rt.Release(s); err != nil {
			t.Fatal(err)
		}
		return path
	}
	m, err := rt.Memory()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"alice", "bob"} {
		if _, err := users.Add(name, account.Member); err != nil {
			t.Fatal(err)
		}
		if _, err := rt.Favorites().Of(name).SetSources([]string{"/secret-of-" + name}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Remember(ctx, memory.Scope{User: name}, memory.Note{Session: "s", Text: "secret-of-" + name}); err != nil {
			t.Fatal(err)
		}
	}
	first, trashed, of := session("alice", "secret-of-alice"), session("alice", "secret-of-alice"), session("bob", "secret-of-bob")
	if _, err := rt.Delete(ctx, trashed); err != nil {
		t.Fatal(err)
	}
	h, err := rt.Holdings(ctx, "alice")
	if err != nil || !h.Account || !h.Favorites || len(h.Sessions) != 1 || h.Sessions[0] != first || len(h.Trashed) != 1 || h.Memory == nil || h.Memory.Memories != 1 {
		t.Fatalf("%+v, %v", h, err)
	}

	// One that runs stops it.
	running, err := rt.Open(ctx, first, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := running.Prompt(ctx, piweb.Input{Text: "go on"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := rt.PurgeUser(ctx, "alice"); !errors.Is(err, wrapper.ErrRunning) {
		t.Errorf("a session runs: %v", err)
	}
	if _, ok := users.Get("alice"); ok {
		t.Error("the account is there still")
	}
	if _, err := os.Stat(first); err != nil {
		t.Error(err)
	}
	running.Abort()
	_ = turn.Wait(ctx)

	if _, done, err := rt.PurgeUser(ctx, "alice"); err != nil || done.Kept {
		t.Fatalf("%+v, %v", done, err)
	}
	if h, err := rt.Holdings(ctx, "alice"); err != nil || !h.Empty() {
		t.Errorf("%+v, %v", h, err)
	}
	if _, _, err := rt.PurgeUser(ctx, "alice"); !errors.Is(err, piweb.ErrNoHolder) {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{"", "local", "../bob", "Bob"} {
		if _, _, err := rt.PurgeUser(ctx, bad); !errors.Is(err, account.ErrName) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if h, err := rt.Holdings(ctx, "bob"); err != nil || !h.Account || !h.Favorites || len(h.Sessions) != 1 || h.Sessions[0] != of || h.Memory.Memories != 1 {
		t.Errorf("bob has %+v, %v", h, err)
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(rt.AgentDir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), "secret-of-alice") {
			t.Errorf("%s has words of alice still", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
