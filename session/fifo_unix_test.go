//go:build !windows

package session

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipeIsRefused: opening a pipe would wait for a writer for ever.
func TestPipeIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Open(path, Options{}); !errors.Is(err, ErrNotSession) {
		t.Errorf("open: %v", err)
	}
	if _, err := ReadHeader(path); !errors.Is(err, ErrNotSession) {
		t.Errorf("header: %v", err)
	}
}
