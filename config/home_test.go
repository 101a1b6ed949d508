package config

import (
	"os"
	"path/filepath"
	"testing"
)

// home is a user's home with an agent directory and a project, and variables.
type home struct {
	t    *testing.T
	dir  string
	cwd  string
	vars map[string]string
}

func newHome(t *testing.T) *home {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &home{t: t, dir: filepath.Join(dir, "me"), cwd: filepath.Join(dir, "code", "proj é 日本"), vars: map[string]string{}}
	for _, d := range []string{h.agent(), h.cwd} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func (h *home) agent() string { return filepath.Join(h.dir, ".pi", "agent") }

func (h *home) set(name, value string) { h.vars[name] = value }

func (h *home) env() Env {
	return Env{Home: h.dir, Cwd: h.cwd, Lookup: func(name string) (string, bool) {
		v, ok := h.vars[name]
		return v, ok
	}}
}

// write puts a file into the agent directory, private as pi makes them.
func (h *home) write(name, text string) string {
	h.t.Helper()
	return h.put(filepath.Join(h.agent(), name), text)
}

// project puts a file into the project's folder.
func (h *home) project(name, text string) string {
	h.t.Helper()
	return h.put(filepath.Join(h.cwd, filepath.FromSlash(name)), text)
}

func (h *home) put(path, text string) string {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

func yes() *bool { b := true; return &b }
func no() *bool  { b := false; return &b }
