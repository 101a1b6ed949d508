package attachment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/piweb-go/piweb/blob"
	"github.com/piweb-go/piweb/internal/signed"
)

// TestMain is also a tool program: see TestToolProgram.
func TestMain(m *testing.M) {
	if os.Getenv("PIWEB_TEST_TOOL_PROGRAM") != "" {
		os.Exit(toolProgram())
	}
	if dir := os.Getenv("PIWEB_TEST_KILLED"); dir != "" {
		killedProgram(dir)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func testLinks(t testing.TB, now func() time.Time) *Links {
	t.Helper()
	keys, err := signed.NewKeys("test secret")
	if err != nil {
		t.Fatal(err)
	}
	return NewLinks(keys, "/api", 0, now)
}

type world struct {
	*Store
	dir *blob.Dir
	t   testing.TB
}

func newWorld(t testing.TB, change ...func(*Options)) *world {
	return worldIn(t, filepath.Join(t.TempDir(), "attachments"), change...)
}

func worldIn(t testing.TB, path string, change ...func(*Options)) *world {
	t.Helper()
	dir, err := blob.NewDir(path, blob.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Registry: dir, Links: testLinks(t, nil)}
	for _, c := range change {
		c(&o)
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return &world{s, dir, t}
}

func (w *world) put(session, name, mimeType, data string) Descriptor {
	w.t.Helper()
	d, err := w.Put(w.t.Context(), New{SessionID: session, Name: name, MimeType: mimeType, Origin: Upload}, strings.NewReader(data))
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w *world) list(session string) (ids []ID) {
	w.t.Helper()
	list, err := w.List(w.t.Context(), session)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range list {
		ids = append(ids, d.ID)
	}
	return ids
}

func (w *world) bytes(d Descriptor) string {
	w.t.Helper()
	o, err := w.Open(w.t.Context(), d)
	if err != nil {
		w.t.Fatal(err)
	}
	defer o.Close()
	data, err := io.ReadAll(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

func (w *world) files() (names []string) {
	w.t.Helper()
	list, err := os.ReadDir(w.dir.Root())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	for _, f := range list {
		names = append(names, f.Name())
	}
	return names
}

func (w *world) write(name, data string) {
	w.t.Helper()
	if err := os.MkdirAll(w.dir.Root(), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir.Root(), name), []byte(data), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func want(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("the error is %v, not %v", err, target)
	}
}

// toolProgram is what TestToolProgram starts: it doubles an attachment and prints
// what it stored, or why it could not.
func toolProgram() int {
	ctx := context.Background()
	tools, err := FromEnv(os.LookupEnv)
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return 2
	}
	if !tools.Available() {
		_, err := tools.PutOutput(ctx, "x", "text/plain", strings.NewReader("x"))
		os.Stdout.WriteString(err.Error())
		return 0
	}
	in, err := tools.Resolve(ctx, os.Args[len(os.Args)-1])
	if err != nil {
		os.Stdout.WriteString(err.Error())
		return 0
	}
	data, err := in.Bytes(ctx, 1000)
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return 2
	}
	out, err := tools.PutOutput(ctx, "twice "+in.Info().Name, in.Info().MimeType, bytes.NewReader(append(data, data...)))
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return 2
	}
	_ = json.NewEncoder(os.Stdout).Encode(out)
	return 0
}

// TestToolProgram starts a real program with the environment of a session: it sees
// that session's attachments and no others, its output is there for the server,
// and its address is one that the server takes.
func TestToolProgram(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Skip("the test's own program is not known:", err)
	}
	base := t.TempDir()
	none := func(string) (string, bool) { return "", false }
	setup := Setup{Lookup: none, Dir: filepath.Join(base, "att"), SecretFile: filepath.Join(base, "data", "secret"), URLBase: "/api"}
	store, err := OpenSetup(setup)
	if err != nil {
		t.Fatal(err)
	}
	own, err := store.Put(t.Context(), New{SessionID: "s1", Name: "a.txt", MimeType: "text/plain"}, strings.NewReader("ab"))
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := store.Put(t.Context(), New{SessionID: "s2", Name: "b.txt", MimeType: "text/plain"}, strings.NewReader("secret"))
	if err != nil {
		t.Fatal(err)
	}
	env, err := setup.Environ("s1")
	if err != nil {
		t.Fatal(err)
	}
	run := func(env []string, arg string) string {
		cmd := exec.Command(exe, arg)
		cmd.Env = append([]string{"PIWEB_TEST_TOOL_PROGRAM=1", "PATH=" + os.Getenv("PATH")}, env...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, stderr.String())
		}
		return string(out)
	}
	var out struct{ AttachmentID, DisplayURL, Name, MimeType string }
	if err := json.Unmarshal([]byte(run(env, own.ID.String())), &out); err != nil {
		t.Fatal(err)
	}
	id, err := ParseID(out.AttachmentID)
	if err != nil {
		t.Fatal(err)
	}
	d, err := store.Check(t.Context(), "s1", id)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{store, nil, t}
	if got := w.bytes(d); got != "abab" || d.Name != "twice a.txt" || d.Origin != ToolOutput || out.Name != d.Name {
		t.Fatalf("the program stored %q as %+v", got, d)
	}
	checkURL(t, store.Links(), out.DisplayURL, id)
	if got := run(env, foreign.ID.String()); !strings.Contains(got, "another session") {
		t.Errorf("a foreign attachment: %q", got)
	}
	if got := run(nil, own.ID.String()); got != ErrUnavailable.Error() {
		t.Errorf("without the environment: %q", got)
	}
	if got := run([]string{EnvDir + "=" + setup.Dir, EnvSecret + "=x"}, own.ID.String()); got != ErrUnavailable.Error() {
		t.Errorf("without a session: %q", got)
	}
}

func checkURL(t *testing.T, l *Links, address string, id ID) {
	t.Helper()
	path, query, _ := strings.Cut(address, "?")
	if path != "/api/attachments/"+id.String()+"/raw" {
		t.Fatalf("the address is %s", address)
	}
	exp, sig, ok := strings.Cut(strings.TrimPrefix(query, "exp="), "&sig=")
	if !ok {
		t.Fatalf("the address is %s", address)
	}
	got, err := l.Check(id.String(), exp, sig)
	if err != nil || got != id {
		t.Fatalf("%s: %v", address, err)
	}
}
