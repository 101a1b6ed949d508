package config

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A command that is cut off takes its children with it.
func TestShellCommandLeavesNoChildren(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	r := &resolver{run: runShell, timeout: 500 * time.Millisecond}
	_, err := r.resolve(context.Background(), parseTemplate("!sleep 300 & echo $! > '"+pidFile+"'; wait"), "k", nil)
	if err == nil {
		t.Fatal("the command came to an end")
	}
	pid, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	stat := filepath.Join("/proc", strings.TrimSpace(string(pid)), "stat")
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(stat)
		if err != nil || bytes.Contains(text, []byte(") Z ")) {
			return // gone, or dead and waiting to be collected
		}
		if time.Now().After(deadline) {
			t.Fatalf("the child still runs: %s", text)
		}
	}
}
