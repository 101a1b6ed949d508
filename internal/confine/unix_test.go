//go:build unix

package confine

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestRefusesSpecialFilesWithoutBlocking(t *testing.T) {
	root, _ := tree(t)
	fifo := filepath.Join(root, "fifo")
	if err := syscall.Mkfifo(fifo, 0o644); err != nil {
		t.Skipf("no FIFO here: %v", err)
	}
	link(t, "fifo", filepath.Join(root, "to-fifo"))
	link(t, fifo, filepath.Join(root, "abs-fifo"))
	sock := filepath.Join(root, "s")
	if l, err := net.Listen("unix", sock); err == nil {
		defer l.Close()
	}
	r := open(t, root)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, name := range []string{"fifo", "to-fifo", "abs-fifo"} {
			if _, err := r.ReadFile(name, 10); !errors.Is(err, ErrNotRegular) {
				t.Errorf("%s: %v", name, err)
			}
			if _, _, err := OpenWithin(filepath.Join(root, name), root); !errors.Is(err, ErrNotRegular) {
				t.Errorf("OpenWithin %s: %v", name, err)
			}
			if _, err := ReadRegular(filepath.Join(root, name), 10); !errors.Is(err, ErrNotRegular) {
				t.Errorf("ReadRegular %s: %v", name, err)
			}
		}
		if _, err := r.Open("s"); err == nil {
			t.Error("a socket was opened")
		}
		if _, err := r.Stat("fifo"); err != nil {
			t.Errorf("Stat opens nothing: %v", err)
		}
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("blocked on a FIFO")
	}

	dev := open(t, "/dev")
	for _, name := range []string{"null", "zero"} {
		if _, err := dev.ReadFile(name, 10); !errors.Is(err, ErrNotRegular) {
			t.Errorf("/dev/%s: %v", name, err)
		}
	}
}

// A folder inside the root is swapped for a link to the outside, and a file for
// links, while readers ask for it by relative, absolute and linked names. The
// secret must never come out.
func TestLinkSwapRaceLeaksNothing(t *testing.T) {
	base := realTemp(t)
	root := filepath.Join(base, "root")
	write(t, filepath.Join(root, "d", "f"), "inside")
	write(t, filepath.Join(base, "out", "f"), "SECRET")
	link(t, filepath.Join(root, "d"), filepath.Join(root, "abs"))
	r := open(t, root)

	stop := make(chan struct{})
	var swapper, readers sync.WaitGroup
	swapper.Go(func() {
		d, away, bad := filepath.Join(root, "d"), filepath.Join(root, "away"), filepath.Join(root, "bad")
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			target := filepath.Join(base, "out")
			if n%2 == 1 {
				target = "../out"
			}
			os.Symlink(target, bad)
			os.Rename(d, away)
			os.Rename(bad, d)
			os.Remove(d)
			os.Rename(away, d)
		}
	})
	var mu sync.Mutex
	var good int
	deadline := time.Now().Add(300 * time.Millisecond)
	for _, read := range []func() ([]byte, error){
		func() ([]byte, error) { return r.ReadFile("d/f", 100) },
		func() ([]byte, error) { return r.ReadFile("abs/f", 100) },
		func() ([]byte, error) { return r.ReadFile(filepath.Join(root, "d", "f"), 100) },
		func() ([]byte, error) {
			f, _, err := OpenWithin(filepath.Join(root, "d", "f"), root)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			return ReadOpen(f, 100)
		},
	} {
		readers.Go(func() {
			for time.Now().Before(deadline) {
				data, err := read()
				if err == nil && string(data) != "inside" {
					t.Errorf("leaked %q", data)
					return
				}
				if err == nil {
					mu.Lock()
					good++
					mu.Unlock()
				}
			}
		})
	}
	readers.Wait()
	close(stop)
	swapper.Wait()
	if good == 0 {
		t.Error("no read ever succeeded, so nothing was shown")
	}
}

// The file itself is swapped for a link between the look and the opening.
func TestOpenUnlinkedSwap(t *testing.T) {
	base := realTemp(t)
	path := filepath.Join(base, "f")
	write(t, path, "inside")
	write(t, filepath.Join(base, "secret"), "SECRET")
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.Symlink("secret", path+".l")
			os.Link(path, path+".keep")
			os.Rename(path+".l", path)
			os.Rename(path+".keep", path)
		}
	})
	deadline := time.Now().Add(200 * time.Millisecond)
	for time.Now().Before(deadline) {
		f, _, err := OpenUnlinked(path)
		if err != nil {
			continue
		}
		data, _ := ReadOpen(f, 100)
		f.Close()
		if string(data) != "inside" {
			t.Fatalf("leaked %q", data)
		}
	}
	close(stop)
	swapper.Wait()
}
