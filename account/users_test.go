package account

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func users(t *testing.T, lines ...string) *Users {
	t.Helper()
	u := OpenUsers(t.TempDir())
	u.now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	if len(lines) > 0 {
		write(t, u, lines...)
	}
	return u
}

func write(t *testing.T, u *Users, lines ...string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(u.path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(u.path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

var hash = "sha256:" + strings.Repeat("ab", 32)

// TestTokens: a token is shown once, the file has its hash alone, and it lets in who
// it was made for until it is replaced or the user is gone.
func TestTokens(t *testing.T) {
	u := users(t)
	first, err := u.Add("alice", Member)
	if err != nil {
		t.Fatal(err)
	}
	other, err := u.Add("bob", Admin)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^piweb_[A-Z2-7]{26}$`).MatchString(first) || first == other {
		t.Fatalf("the tokens are %q and %q", first, other)
	}
	text, _ := os.ReadFile(u.Path())
	st, _ := os.Stat(u.Path())
	if strings.Contains(string(text), first) || strings.Contains(string(text), strings.TrimPrefix(first, "piweb_")) {
		t.Errorf("the file holds the token:\n%s", text)
	}
	if runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %o", st.Mode().Perm())
	}
	if got, ok := u.Find(first); !ok || got.Name != "alice" || got.Role != Member {
		t.Errorf("the first token is %v, %t", got, ok)
	}
	if got, ok := u.Find(other); !ok || got.Name != "bob" || got.Role != Admin {
		t.Errorf("the second token is %v, %t", got, ok)
	}
	again, err := u.Rotate("alice")
	if err != nil || again == first {
		t.Fatalf("rotate gives %q, %v", again, err)
	}
	if _, ok := u.Find(first); ok {
		t.Error("the old token still lets in")
	}
	if got, ok := u.Find(again); !ok || got.Name != "alice" || got.Role != Member {
		t.Errorf("the new token is %v, %t", got, ok)
	}
	if err := u.Remove("alice"); err != nil {
		t.Fatal(err)
	}
	if _, ok := u.Find(again); ok {
		t.Error("a user who was removed is still let in")
	}
	if _, ok := u.Find(""); ok {
		t.Error("no token lets in")
	}
}

func TestRefusedChanges(t *testing.T) {
	u := users(t, "alice user "+hash+" 2026-01-01T00:00:00Z")
	for _, c := range []struct {
		name string
		do   func() error
		want error
	}{
		{"twice", func() error { _, err := u.Add("alice", Member); return err }, ErrExists},
		{"no such user", func() error { _, err := u.Rotate("bob"); return err }, ErrUnknown},
		{"nobody to remove", func() error { return u.Remove("bob") }, ErrUnknown},
		{"the machine's own name", func() error { _, err := u.Add("local", Member); return err }, ErrName},
		{"upper case", func() error { _, err := u.Add("Alice", Member); return err }, ErrName},
		{"a path", func() error { _, err := u.Add("../x", Member); return err }, ErrName},
		{"a line", func() error { _, err := u.Add("x admin\ny", Member); return err }, ErrName},
		{"too long", func() error { _, err := u.Add(strings.Repeat("a", 33), Member); return err }, ErrName},
		{"no role", func() error { _, err := u.Add("bob", "root"); return err }, ErrRole},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, _ := os.ReadFile(u.path)
			if err := c.do(); !errors.Is(err, c.want) {
				t.Errorf("it is %v and not %v", err, c.want)
			}
			if after, _ := os.ReadFile(u.path); string(after) != string(before) {
				t.Errorf("the file changed:\n%s", after)
			}
		})
	}
}

// TestBadLines: what is not understood lets nobody in and is told by its number,
// without what stands in it; the other lines go on, and a change keeps it.
func TestBadLines(t *testing.T) {
	good := "alice user " + hash + " 2026-01-01T00:00:00Z"
	u := users(t, "# a remark", "", good, "bob user hunter2", "carol king "+hash+" 2026-01-01T00:00:00Z",
		"Dave user "+hash+" 2026-01-01T00:00:00Z", "eve user "+strings.Repeat("ab", 32)+" 2026-01-01T00:00:00Z",
		"fay user "+hash+" yesterday", good, "gil user sha256:abcd 2026-01-01T00:00:00Z", "\x00\xff\xfe")
	list, problems, err := u.List()
	if err != nil || len(list) != 1 || list[0].Name != "alice" {
		t.Fatalf("the users are %v, %v", list, err)
	}
	var lines []int
	for _, p := range problems {
		lines = append(lines, p.Line)
		if strings.Contains(p.Text, "hunter2") || strings.Contains(p.Text, "abab") {
			t.Errorf("a problem repeats what stands in the line: %s", p)
		}
	}
	if fmt.Sprint(lines) != "[4 5 6 7 8 9 10 11]" {
		t.Errorf("the problems are on the lines %v", lines)
	}
	if _, err := u.Add("zoe", Member); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(u.path)
	if !strings.HasPrefix(string(text), "# a remark\n\n"+good+"\nbob user hunter2\n") {
		t.Errorf("a change has lost lines:\n%s", text)
	}
	if list, _, _ := u.List(); len(list) != 2 {
		t.Errorf("the users are %v", list)
	}
}

// TestHotReload: a change by any program is seen by the next question, and a file
// that is not to be believed lets nobody in.
func TestHotReload(t *testing.T) {
	u := users(t)
	other := &Users{path: u.path, fs: u.fs, now: u.now}
	token, err := other.Add("alice", Member)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := u.Find(token); !ok {
		t.Error("a new user is not let in")
	}
	before := u.Loads()
	for range 5 {
		u.Find(token)
	}
	if u.Loads() != before {
		t.Error("the file is read again though nothing changed")
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(u.path, 0o622); err != nil {
			t.Fatal(err)
		}
		if _, ok := u.Find(token); ok {
			t.Error("a file that others may write is believed")
		}
		if _, _, err := u.List(); !errors.Is(err, ErrLoose) {
			t.Errorf("it is said as %v", err)
		}
		if _, err := u.Add("bob", Member); !errors.Is(err, ErrLoose) {
			t.Errorf("a change of it is %v", err)
		}
		if err := os.Chmod(u.path, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok := u.Find(token); !ok {
			t.Error("after the mode was mended the user is still out")
		}
	}
	if err := os.Remove(u.path); err != nil {
		t.Fatal(err)
	}
	if _, ok := u.Find(token); ok {
		t.Error("without a file somebody is let in")
	}
}

// TestChangesAtOnce: many changes by several programs lose none.
func TestChangesAtOnce(t *testing.T) {
	u := users(t)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			mine := &Users{path: u.path, fs: u.fs, now: u.now}
			for k := range 5 {
				if _, err := mine.Add(fmt.Sprintf("u%d-%d", i, k), Member); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if list, problems, err := u.List(); len(list) != 20 || len(problems) > 0 || err != nil {
		t.Errorf("there are %d users, %v, %v", len(list), problems, err)
	}
}
