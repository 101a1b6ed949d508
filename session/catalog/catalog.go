// Package catalog lists the sessions of a folder, finds one by its id, and
// searches in their messages.
//
// # What is true
//
// The list is made from the files and from nothing else. [Open] gives a Catalogue
// that remembers what it read of a file, in memory and in one file of a cache
// folder, for as long as the file has the same size, time and inode; that memory is
// derived, checked, and may be deleted at any time. A file that has only grown is
// read from where it ended. Reading a file for the list never changes it. A file
// that cannot be read as a session is listed with the reason, not left out.
//
// What a list shows is counted line by line, so that it can go on from any line.
// A line that is not one plain record is taken apart by package session. What
// concerns the tree (a repeated id, a longer branch beside the leaf) is not part
// of a list.
//
// # What is a session
//
// A file "*.jsonl" in the folder or in one of its direct folders. Side files that
// programs leave beside a session (".bak", ".reset", ".deleted", ".checkpoint",
// ".torn", ".tmp", also in the middle of a name) are none. The name of a project's
// folder says little: two working folders can share one. A filter by working
// folder compares the header's.
//
// Source of the rules: pi 1.6.0, "Listing" and the resolution of a session
// argument; an ambiguous id is an error that lists the paths (ids of copied
// files repeat).
package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Info is what a list shows of a session. Times are in UTC.
type Info struct {
	Path     string    `json:"path"`
	ID       string    `json:"id"`
	CWD      string    `json:"cwd"` // "" where the header names none
	Name     string    `json:"name,omitempty"`
	Parent   string    `json:"parentSessionPath,omitempty"`
	Created  time.Time `json:"created"`
	Modified time.Time `json:"modified"`     // of the last user or assistant message
	Messages int       `json:"messageCount"` // all message entries, of all branches
	First    string    `json:"firstMessage"` // the first user text, its first 500 characters, "" for none
	Bytes    int64     `json:"bytes"`
	Tools    string    `json:"tools"`           // the recorded selection, in words
	Notes    int       `json:"notes,omitempty"` // lines that are odd in some way
	// Problem is why the file is no session; the other fields are empty then.
	Problem string `json:"problem,omitempty"`
}

// Files lists the session files of a root: those that lie in it and in its
// direct folders. A root that does not exist has none, and a folder in it that
// may not be read is passed over.
func Files(root string) ([]string, error) {
	top, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list sessions of %s: %w", root, err)
	}
	var files []string
	for _, d := range top {
		path := filepath.Join(root, d.Name())
		if isSession(path, d) {
			files = append(files, path)
			continue
		}
		inner, err := os.ReadDir(path)
		if err != nil {
			continue
		}
		for _, d := range inner {
			if inside := filepath.Join(path, d.Name()); isSession(inside, d) {
				files = append(files, inside)
			}
		}
	}
	return files, nil
}

// isSession tells by its name and kind whether a file may be a session. Links
// are followed: people keep sessions behind them.
func isSession(path string, d os.DirEntry) bool {
	name := d.Name()
	if !strings.HasSuffix(name, ".jsonl") || strings.HasPrefix(name, ".") {
		return false
	}
	if d.Type()&os.ModeSymlink == 0 {
		if !d.Type().IsRegular() {
			return false
		}
	} else if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	return !sideName(name) || named(path)
}

// sideName tells whether a name says that the file was put aside: the ending is
// part of the name where programs write "x.checkpoint.<time>.jsonl".
func sideName(name string) bool {
	for i, part := range strings.Split(strings.TrimSuffix(name, ".jsonl"), ".") {
		switch part {
		case "reset", "deleted", "bak", "checkpoint", "torn", "tmp":
			if i > 0 {
				return true
			}
		}
	}
	return false
}

// named tells whether a file has the name of its own session: ids may hold dots,
// and "my.bak" is a good id.
func named(path string) bool {
	h, err := readHeader(path)
	return err == nil && h.ID == nameID(path)
}

// List reads all sessions of a root, the newest first; what could not be read
// stands at the end. It remembers nothing: see [Open].
func List(ctx context.Context, root string) ([]Info, error) {
	page, err := Open(root, "", Options{}).List(ctx, Filter{})
	return page.Infos, err
}

// Read describes one file.
func Read(path string) Info {
	r, err := scan(path, nil, time.Now())
	if err != nil {
		return Info{Path: path, Problem: err.Error()}
	}
	return r.describe(path)
}

// newest orders a list.
func newest(a, b *Info) int {
	if x, y := a.Problem == "", b.Problem == ""; x != y {
		if x {
			return -1
		}
		return 1
	}
	if c := b.Modified.Compare(a.Modified); c != 0 {
		return c
	}
	return strings.Compare(a.Path, b.Path)
}

// Errors to match with errors.Is.
var (
	ErrNone      = errors.New("no session has this id")
	ErrAmbiguous = errors.New("several sessions have this id")
)

// Find resolves what a person calls a session: a path (anything with a
// separator, or ending in .jsonl), an id, or the beginning of an id. An exact id
// goes before a beginning; more than one hit is ErrAmbiguous and lists the
// paths.
func Find(root, ref string) (string, error) {
	if isPath(ref) {
		return ref, nil
	}
	files, err := Files(root)
	if err != nil {
		return "", err
	}
	ids := make([]identified, 0, len(files))
	for _, f := range files {
		ids = append(ids, identified{f, fileID(f)})
	}
	hits := match(ids, ref)
	return decide(hits, root, ref)
}

// identified is a file and the id of its session.
type identified struct{ path, id string }

// match finds the files of an id, or where there is none, of its beginnings.
func match(files []identified, ref string) []string {
	var exact, begins []string
	for _, f := range files {
		switch {
		case f.id == ref:
			exact = append(exact, f.path)
		case ref != "" && strings.HasPrefix(f.id, ref):
			begins = append(begins, f.path)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return begins
}

// decide makes the answer of a search for an id.
func decide(hits []string, root, ref string) (string, error) {
	switch len(hits) {
	case 1:
		return hits[0], nil
	case 0:
		return "", fmt.Errorf("%q: %w in %s; `piweb sessions list` shows those that exist", ref, ErrNone, root)
	}
	slices.Sort(hits)
	return "", fmt.Errorf("%q: %w; name one of the files:\n  %s", ref, ErrAmbiguous, strings.Join(hits, "\n  "))
}

// isPath tells whether what a person calls a session is a path.
func isPath(ref string) bool {
	return strings.ContainsAny(ref, `/\`) || strings.HasSuffix(ref, ".jsonl")
}

// fileID is the id of a session file: from its header, and where that cannot be
// read, from its name.
func fileID(path string) string {
	if h, err := readHeader(path); err == nil {
		return h.ID
	}
	return nameID(path)
}

func nameID(path string) string {
	_, id, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".jsonl"), "_")
	return id
}

// missing tells whether a file went away between two looks.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
