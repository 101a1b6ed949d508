package ignore

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tree writes files; a name that ends in a slash is an empty folder.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if !strings.HasSuffix(name, "/") {
			write(t, path, text)
		} else if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t testing.TB, root string, opts Options) *Rules {
	t.Helper()
	if opts.Report == nil {
		opts.Report = func(path string, err error) { t.Errorf("%s: %v", path, err) }
	}
	r, err := Open(root, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// walked lists what a sorted walk meets, folders with a slash.
func walked(t testing.TB, root string, opts WalkOptions) []string {
	t.Helper()
	opts.Sorted = true
	var names []string
	err := Walk(t.Context(), root, opts, func(e Entry) error {
		names = append(names, listed(e))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(names) {
		t.Errorf("not in order: %q", names)
	}
	return names
}

func listed(e Entry) string {
	if e.IsDir() {
		return e.Path + "/"
	}
	return e.Path
}

// git runs git with no configuration but that of dir, or skips the test: what
// a check against git needs cannot be had then.
func git(t testing.TB, dir, stdin string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "HOME="+dir, "XDG_CONFIG_HOME="+dir, "LC_ALL=C")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	// check-ignore exits with 1 where nothing is ignored.
	if err != nil && !(args[0] == "check-ignore" && cmd.ProcessState.ExitCode() == 1) {
		t.Fatalf("git %q: %v\n%s", args, err, stderr.String())
	}
	return string(out)
}
