package document

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/piweb-go/piweb/internal/confine"
)

// TestD13BoundedRead is a defect of pi-web: it read a whole file before it looked at
// its size. Here a file of a gigabyte is refused without its bytes being read, and so
// is one that says that it is small: what counts is what the opened file gives.
func TestD13BoundedRead(t *testing.T) {
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge.txt")
	f, err := os.Create(huge)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(1<<30), f.Close()); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "fits.txt"), bytes.Repeat([]byte("x"), MaxBytes), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := confine.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if docs, err := Read(root, []string{"huge.txt"}, Limits{}); !errors.Is(err, ErrTotal) || docs != nil {
		t.Errorf("%d documents (%v)", len(docs), err)
	}
	if docs, err := Read(root, []string{"fits.txt", "huge.txt"}, Limits{}); !errors.Is(err, ErrTotal) || docs != nil {
		t.Errorf("%d documents (%v)", len(docs), err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 16*MaxBytes {
		t.Errorf("%d bytes were allocated for a file that is refused", got)
	}
	if docs, err := Read(root, []string{"fits.txt"}, Limits{}); err != nil || len(docs) != 1 {
		t.Errorf("what just fits: %v", err)
	}
}
