package piweb_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/artifact"
	"github.com/piweb-go/piweb/blob"
	"github.com/piweb-go/piweb/gc"
)

// age makes everything below a folder old.
func age(t *testing.T, root string, by time.Duration) {
	t.Helper()
	at := time.Now().Add(-by)
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Chtimes(path, at, at)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestW7Collect: a blob that only a session outside the agent directory names
// stays (as does one that is named in an output), one that nobody names goes after
// the grace period, and so do the outputs of a session that is gone.
func TestW7Collect(t *testing.T) {
	ctx := context.Background()
	rt, project := offlineRuntime(t)
	outside := filepath.Join(filepath.Dir(project), "outside")
	other, err := piweb.New(piweb.Config{AgentDir: rt.AgentDir(), Home: filepath.Dir(project), SessionDir: outside, Lookup: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	dir, err := blob.NewDir(filepath.Join(rt.AgentDir(), "blobs"), blob.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	blobs := blob.NewContents(dir)
	put := func(text string) blob.Ref {
		t.Helper()
		ref, err := blobs.Put(ctx, []byte(text), "")
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	named, inOutput, unused := put("named by a session elsewhere"), put("named in an output"), put("named by nobody")

	s, err := rt.Create(ctx, project, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := s.Prompt(ctx, piweb.Input{Text: "hello"})
	if err == nil {
		err = turn.Wait(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	path := s.Log().Path()
	if _, err := artifact.New(path, artifact.Options{}).Save("bash", "see "+inOutput.String()); err != nil {
		t.Fatal(err)
	}
	if err := rt.Release(s); err != nil {
		t.Fatal(err)
	}
	// A session in another folder, opened once by another runtime.
	elsewhere := filepath.Join(outside, "2026-01-01T00-00-00-000Z_x.jsonl")
	if err := os.MkdirAll(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	text := `{"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}` + "\n" + `{"type":"custom","id":"0000000a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","customType":"y","data":{"thumb":{"data":"` + named.String() + `"}}}` + "\n"
	if err := os.WriteFile(elsewhere, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := other.Open(ctx, elsewhere, piweb.OpenOptions{CWD: project})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Release(o); err != nil {
		t.Fatal(err)
	}
	// The outputs of a session that somebody removed by hand.
	orphan := filepath.Join(filepath.Dir(path), "2026-01-02T00-00-00-000Z_gone.jsonl")
	if _, err := artifact.New(orphan, artifact.Options{}).Save("bash", "orphan"); err != nil {
		t.Fatal(err)
	}
	age(t, rt.AgentDir(), 100*time.Hour)

	now := time.Now()
	collect := func(remove bool) map[string]gc.Unused {
		t.Helper()
		c, err := rt.Collect(ctx, project, piweb.CollectOptions{Remove: remove, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Folders) != 2 {
			t.Errorf("read %v", c.Folders)
		}
		out := map[string]gc.Unused{}
		for _, u := range c.Unused {
			out[u.Label[:strings.IndexByte(u.Label, ' ')]] = u
		}
		return out
	}
	there := func(ref blob.Ref, want bool) {
		t.Helper()
		if _, err := blobs.Stat(ctx, ref); (err == nil) != want {
			t.Errorf("%s: %v", ref, err)
		}
	}
	// The first run notes, whatever it is asked; the second one is too early.
	for _, remove := range []bool{false, true} {
		got := collect(remove)
		if len(got) != 2 || got["blob"].Due || got["outputs"].Due {
			t.Errorf("unused: %v", got)
		}
		there(unused, true)
		now = now.Add(time.Hour)
	}
	now = now.Add(24 * time.Hour)
	if got := collect(false); !got["blob"].Due || got["blob"].Gone {
		t.Errorf("looking: %v", got)
	}
	there(unused, true)
	if got := collect(true); !got["blob"].Gone || !got["outputs"].Gone {
		t.Errorf("removing: %v", got)
	}
	there(unused, false)
	there(named, true)
	there(inOutput, true)
	if _, err := os.Stat(artifact.Folder(orphan)); !os.IsNotExist(err) {
		t.Errorf("the orphan: %v", err)
	}
	if !artifact.New(path, artifact.Options{}).Exists("0") {
		t.Error("the outputs of a session are gone")
	}

	// In the trash it keeps everything; the disk with the other folder goes missing.
	if _, err := rt.Delete(ctx, path); err != nil {
		t.Fatal(err)
	}
	now = now.Add(48 * time.Hour)
	if got := collect(true); len(got) != 0 {
		t.Errorf("with a session in the trash: %v", got)
	}
	if err := os.Rename(outside, outside+".unmounted"); err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Collect(ctx, project, piweb.CollectOptions{Remove: true}); !errors.Is(err, gc.ErrMissing) {
		t.Errorf("a folder is missing: %v", err)
	}
	there(named, true)
	if err := rt.ForgetFolder(project); !errors.Is(err, piweb.ErrRoot) {
		t.Errorf("forgetting a folder that is not remembered: %v", err)
	}
	if err := rt.ForgetFolder(outside); err != nil {
		t.Fatal(err)
	}
	if c, err := rt.Collect(ctx, project, piweb.CollectOptions{}); err != nil || len(c.Folders) != 1 || len(c.Unused) != 1 {
		t.Errorf("after that: %+v, %v", c, err)
	}

	// Blobs beside a folder "sessions" elsewhere are looked after as well; those of
	// oh-my-pi are not.
	for _, place := range []string{"far", ".omp"} {
		sessions := filepath.Join(filepath.Dir(project), place, "sessions", "p")
		if err := os.MkdirAll(sessions, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(sessions, "2026-01-01T00-00-00-000Z_y.jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := rt.Open(ctx, filepath.Join(sessions, "2026-01-01T00-00-00-000Z_y.jsonl"), piweb.OpenOptions{CWD: project})
		if err != nil {
			t.Fatal(err)
		}
		if err := rt.Release(o); err != nil {
			t.Fatal(err)
		}
		dir, err := blob.NewDir(filepath.Join(filepath.Dir(project), place, "blobs"), blob.DirOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, content := range []string{"named by a session elsewhere", "named by nobody there"} {
			if _, err := blob.NewContents(dir).Put(ctx, []byte(content), ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	c, err := rt.Collect(ctx, project, piweb.CollectOptions{})
	if err != nil || len(c.Skipped) != 1 || !strings.Contains(c.Skipped[0], ".omp") {
		t.Errorf("left alone: %v, %v", c.Skipped, err)
	}
	var labels []string
	for _, u := range c.Unused {
		labels = append(labels, string(u.Key))
	}
	if !slices.ContainsFunc(labels, func(k string) bool { return strings.Contains(k, "far") }) || len(labels) != 1 {
		t.Errorf("unused: %v", labels)
	}
}
