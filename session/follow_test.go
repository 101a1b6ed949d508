package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// envAppend makes this test binary the other process: it appends entries to the
// session that the variable names, one by one.
const envAppend = "PIWEB_TEST_APPEND"

const appends = 200

// TestAppender is no test, but the other process of those below.
func TestAppender(t *testing.T) {
	path := os.Getenv(envAppend)
	if path == "" {
		t.Skip("run by the tests of several processes")
	}
	for i := 0; i < appends; {
		s, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		// The one that is refused tries again, as a person would.
		_, err = s.Append(SessionInfo{Name: fmt.Sprintf("%d of %d", i, os.Getpid())})
		if cerr := s.Close(); cerr != nil {
			t.Fatal(cerr)
		}
		if errors.Is(err, ErrInUse) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		i++
	}
}

func appender(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestAppender$", "-test.count=1")
	cmd.Env = append(os.Environ(), envAppend+"="+path)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(out.String())
		}
	})
	return cmd
}

// TestTwoProcesses: two processes append 200 entries each; all are there, on one
// branch, and a third one that follows saw each of them while they came.
func TestTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "名前 session.jsonl")
	head := `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}` + "\n"
	if err := os.WriteFile(path, []byte(head), 0o600); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, path, Options{})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var seen []ID
	calls := 0
	ended := make(chan error, 1)
	go func() {
		ended <- s.Follow(ctx, func(news []Entry) {
			calls++
			for _, e := range news {
				seen = append(seen, e.ID)
			}
			if len(seen) >= 2*appends {
				stop()
			}
		})
	}()
	for _, cmd := range []*exec.Cmd{appender(t, path), appender(t, path)} {
		defer func() {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		}()
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	all := mustOpen(t, path, Options{Strict: true})
	b, err := all.Branch(all.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	if ids := b.IDs(); len(ids) != 2*appends || !slices.Equal(ids, seen) || len(all.Leaves()) != 1 {
		t.Errorf("%d entries on the branch, %d seen, %d branches", len(ids), len(seen), len(all.Leaves()))
	}
	if calls < 3 {
		t.Errorf("the follower was told everything in %d calls: not live", calls)
	}
	if d := all.Diagnostics(); len(d) > 0 {
		t.Error(d)
	}
}

// TestFollowEnds: a file that is replaced, and a session that is closed.
func TestFollowEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	head := `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}` + "\n"
	for name, c := range map[string]struct {
		do   func(s *Session) error
		want error
	}{
		"replaced": {func(*Session) error {
			return errors.Join(os.WriteFile(path+"2", []byte(head), 0o600), os.Rename(path+"2", path))
		}, ErrReplaced},
		"closed and touched": {func(s *Session) error {
			return errors.Join(s.Close(), os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)))
		}, ErrClosed},
		"nothing to tell": {func(*Session) error { return nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(head), 0o600); err != nil {
				t.Fatal(err)
			}
			s := mustOpen(t, path, Options{})
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error, 1)
			go func() { ended <- s.Follow(ctx, func([]Entry) { t.Error("told of nothing") }) }()
			if err := c.do(s); err != nil {
				t.Fatal(err)
			}
			if c.want == nil {
				stop()
			}
			if err := <-ended; !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}
