package resource

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// asNobody runs f on a thread whose file accesses are those of an ordinary user,
// so that modes count even where the tests run as root.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		err := syscall.Setfsuid(65534)
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Skipf("cannot become another user: %v", err)
	}
}

func TestContextUnreadableIsToldAndTheNextTried(t *testing.T) {
	g := newGround(t)
	for dir := g.base; len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755)
	}
	locked := g.put(g.project+"/AGENTS.md", "locked")
	os.Chmod(locked, 0)
	g.link("AGENTS.md", g.project+"/AGENTS.override.md")
	g.put(g.project+"/CLAUDE.md", "next")
	closed := g.put(g.base+"/code/closed/AGENTS.md", "in a closed folder")
	os.Chmod(filepath.Dir(closed), 0)
	defer os.Chmod(filepath.Dir(closed), 0o755)

	asNobody(t, func() {
		if _, err := os.ReadFile(locked); err == nil {
			t.Error("modes do not count here, so nothing is shown")
			return
		}
		found, omitted := texts(g, g.place())
		expect(t, "found", found, "next")
		expect(t, "left out", omitted, "code/proj/AGENTS.override.md", "code/proj/AGENTS.md")
		_, omissions := ContextFiles(g.place())
		for _, o := range omissions {
			if !errors.Is(o.Err, fs.ErrPermission) {
				t.Errorf("%v: %v", o, o.Err)
			}
		}
		// A folder that may be passed but not listed, as /home often is.
		p := g.place()
		p.Cwd = filepath.Dir(closed)
		_, omissions = ContextFiles(p)
		if len(omissions) == 0 || !errors.Is(omissions[0].Err, fs.ErrPermission) {
			t.Errorf("closed folder: %v", omissions)
		}
	})
}

func TestContextFolderThatCanBePassedButNotListed(t *testing.T) {
	g := newGround(t)
	for dir := g.base; len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755)
	}
	g.put(g.base+"/code/AGENTS.md", "code")
	g.put(g.project+"/AGENTS.md", "proj")
	work := filepath.Join(g.base, "code")
	os.Chmod(work, 0o711)
	asNobody(t, func() {
		found, omitted := texts(g, g.place())
		expect(t, "found", found, "code", "proj")
		expect(t, "left out", omitted)
	})
}

func TestContextSpecialFiles(t *testing.T) {
	g := newGround(t)
	fifo := filepath.Join(g.project, "AGENTS.md")
	if err := syscall.Mkfifo(fifo, 0o644); err != nil {
		t.Skip(err)
	}
	g.link("AGENTS.md", g.project+"/AGENTS.override.md")
	g.put(g.project+"/CLAUDE.md", "next")
	type result struct{ found, omitted []string }
	done := make(chan result, 1)
	go func() {
		found, omitted := texts(g, g.place())
		done <- result{found, omitted}
	}()
	select {
	case r := <-done:
		expect(t, "found", r.found, "next")
		expect(t, "left out", r.omitted, "code/proj/AGENTS.override.md", "code/proj/AGENTS.md")
	case <-time.After(10 * time.Second):
		t.Fatal("blocked on a FIFO")
	}
}
