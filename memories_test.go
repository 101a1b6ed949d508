package piweb

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/gc"
	"github.com/piweb-go/piweb/memory"
	"github.com/piweb-go/piweb/policy"
)

func memoryRuntime(t *testing.T, settings string) *Runtime {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "piweb.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := New(Config{AgentDir: dir, Home: t.TempDir(), Lookup: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// TestWhoGetsRecall: only a session that may have extensions, and only where the user
// wants it. Chat Only may have none.
func TestWhoGetsRecall(t *testing.T) {
	for _, c := range []struct {
		name, settings string
		loads          policy.Loads
		want           bool
	}{
		{"a normal session", `{"memory":{"tools":true}}`, policy.Loads{Extensions: true}, true},
		{"Chat Only", `{"memory":{"tools":true}}`, policy.Loads{}, false},
		{"not asked for", `{}`, policy.Loads{Extensions: true}, false},
		{"switched off", `{"memory":{"tools":true,"off":true}}`, policy.Loads{Extensions: true}, false},
	} {
		r := memoryRuntime(t, c.settings)
		got := slices.ContainsFunc(r.host.Extensions("", c.loads), func(f agent.Factory) bool { return f.Name == "memory" })
		if got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		if memory.Exists(r.memories.dir()) {
			t.Errorf("%s: looking made a database", c.name)
		}
	}
}

// TestMemoriesHoldAttachments: what a memory names is in use for a collection, also
// where memory was switched off since.
func TestMemoriesHoldAttachments(t *testing.T) {
	const id = "att_AAAAAAAAAAAAAAAAAAAAAA"
	r := memoryRuntime(t, `{}`)
	marks := func(r *Runtime) (keys []gc.Key) {
		if err := r.memoryRoot().Mark(context.Background(), func(k gc.Key) { keys = append(keys, k) }); err != nil {
			t.Fatal(err)
		}
		return keys
	}
	if got := marks(r); len(got) != 0 || memory.Exists(r.memories.dir()) {
		t.Errorf("%v without memories", got)
	}
	m, err := r.Memory()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Remember(context.Background(), memory.Scope{User: MemoryUser}, memory.Note{Session: "s", Text: "x", Files: []memory.NoteFile{{Name: "a.png", ContentType: "image/png", URI: "attachment://" + id}}}); err != nil {
		t.Fatal(err)
	}
	if got := marks(r); !slices.Contains(got, gc.Key("attachment:"+id)) {
		t.Errorf("%v", got)
	}
	if err := os.WriteFile(filepath.Join(r.AgentDir(), "piweb.json"), []byte(`{"memory":{"off":true}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	off, err := New(Config{AgentDir: r.AgentDir(), Home: t.TempDir(), Lookup: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	defer off.Close()
	if got := marks(off); !slices.Contains(got, gc.Key("attachment:"+id)) {
		t.Errorf("switched off: %v", got)
	}
}
