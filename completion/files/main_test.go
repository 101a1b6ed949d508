package files

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// folder makes a folder with files; a name that ends in a slash is a folder.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "work")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		put(t, dir, name, text)
	}
	return dir
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if strings.HasSuffix(name, "/") {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Skipf("links cannot be made here: %v", err)
	}
}

// git runs git without anybody's configuration.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := gitMayFail(t, dir, args...)
	if err != nil {
		why := ""
		if e, ok := err.(*exec.ExitError); ok {
			why = string(e.Stderr)
		}
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, why)
	}
	return out
}

func gitMayFail(t testing.TB, dir string, args ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main", "-c", "core.fsync=none"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
	out, err := cmd.Output()
	return string(out), err
}

func open(t testing.TB, dir string, o IndexOptions) *Index {
	t.Helper()
	x, err := OpenIndex(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

const patience = time.Minute

// until waits for a condition and says how long it took.
func until(t testing.TB, what string, done func() bool) time.Duration {
	t.Helper()
	return within(t, patience, what, done)
}

// within is until with another bound.
func within(t testing.TB, most time.Duration, what string, done func() bool) time.Duration {
	t.Helper()
	start := time.Now()
	for !done() {
		if time.Since(start) > most {
			t.Fatalf("%s: it did not come", what)
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(start)
}

func (x *Index) ready(t testing.TB) *Index {
	t.Helper()
	return x.readyFor(t, 0)
}

// readyFor waits longer for trees of many files.
func (x *Index) readyFor(t testing.TB, files int) *Index {
	t.Helper()
	within(t, patience*time.Duration(1+files/50_000), "the index is complete", func() bool { done, _ := x.Complete(); return done })
	return x
}

// search gives the paths that a query finds.
func (x *Index) paths(t testing.TB, query string, mentioned ...string) []string {
	t.Helper()
	f, err := x.Search(t.Context(), query, 1000, mentioned)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{}
	for _, h := range f.Hits {
		all = append(all, h.Path)
	}
	return all
}

// filesOf leaves the folders out.
func filesOf(paths []string) []string {
	out := []string{}
	for _, p := range paths {
		if !strings.HasSuffix(p, "/") {
			out = append(out, p)
		}
	}
	return out
}
