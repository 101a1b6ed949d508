package durable_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/piweb-go/piweb/internal/durable"
)

// TestManyRewriters: who replaces a file at the same time as others uses no temporary file
// of theirs. Each sees one of them whole, and nothing is left beside it.
func TestManyRewriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list.json")
	whole := func(data []byte) bool {
		return len(data) == 100_000 && bytes.Count(data, data[:1]) == len(data)
	}
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for range 15 {
				if err := durable.Save(durable.OS{}, path, bytes.Repeat([]byte{byte('a' + n)}, 100_000), 0o600); err != nil {
					t.Error(err)
				}
				if data, err := os.ReadFile(path); err != nil || !whole(data) {
					t.Errorf("%d bytes of several, %v", len(data), err)
				}
			}
		})
	}
	all.Wait()
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}
