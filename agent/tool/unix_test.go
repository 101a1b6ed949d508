//go:build unix

package tool

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func sameOwner(a, b fs.FileInfo) bool {
	x, y := a.Sys().(*syscall.Stat_t), b.Sys().(*syscall.Stat_t)
	return x.Uid == y.Uid && x.Gid == y.Gid
}

func TestReadPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Skip(err)
	}
	// Opening it would wait for a writer.
	r := callTool(t, NewRead(Options{}), dir, `{"path":"pipe"}`)
	if !r.IsError || !strings.Contains(r.Content.PlainText(), "a pipe") {
		t.Errorf("got %s", r.Content.PlainText())
	}
	var perm fs.FileMode // the pipe is untouched
	if info, err := os.Lstat(filepath.Join(dir, "pipe")); err == nil {
		perm = info.Mode()
	}
	if perm&fs.ModeNamedPipe == 0 {
		t.Errorf("mode %v", perm)
	}
}
