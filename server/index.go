package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/session/catalog"
	"github.com/piweb-go/piweb/wrapper"
)

// index knows the session files. What it has read of a file holds as long as the
// file has the same size and time, so that looking a session up costs one look at
// the folder and not one read of every file.
type index struct {
	catalogue func() *catalog.Catalogue

	mu    sync.Mutex
	files map[string]*file
}

// file is a session file. Its fields other than item are set by scan and do not
// change; a file that changes becomes another value.
type file struct {
	path string
	key  string // real path
	id   string // of the header; "" where it has none that can be read
	size int64
	mod  time.Time

	once sync.Once
	item item
}

// describe asks the catalogue, which reads the file if it does not know it yet.
func (x *index) describe(f *file) item {
	f.once.Do(func() { f.item = itemOf(x.catalogue().Describe(f.path), f.mod) })
	return f.item
}

func newIndex(catalogue func() *catalog.Catalogue) *index {
	return &index{catalogue: catalogue, files: map[string]*file{}}
}

// scan lists the files as they are now. Two paths to one file are listed once.
func (x *index) scan(ctx context.Context) ([]*file, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	paths, err := catalog.Files(x.catalogue().Root())
	if err != nil {
		return nil, err
	}
	now := make(map[string]*file, len(paths))
	seen := make(map[string]bool, len(paths))
	folders := map[string]string{}
	var list []*file
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f := x.look(path, folders)
		if f == nil || seen[f.key] {
			continue
		}
		now[path], seen[f.key] = f, true
		list = append(list, f)
	}
	x.files = now
	return list, nil
}

// look returns what is known of a file, or reads its header. nil where it is gone.
func (x *index) look(path string, folders map[string]string) *file {
	st, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	linked := st.Mode()&os.ModeSymlink != 0
	if linked {
		if st, err = os.Stat(path); err != nil {
			return nil
		}
	}
	if st.IsDir() {
		return nil
	}
	if old := x.files[path]; old != nil && old.size == st.Size() && old.mod.Equal(st.ModTime()) {
		return old
	}
	f := &file{path: path, size: st.Size(), mod: st.ModTime(), key: realPath(path, linked, folders)}
	if h, err := session.ReadHeader(path); err == nil {
		f.id = h.ID
	}
	return f
}

// realPath resolves a folder once and not once for each of its files.
func realPath(path string, linked bool, folders map[string]string) string {
	if linked {
		return keyOf(path)
	}
	dir := filepath.Dir(path)
	real, ok := folders[dir]
	if !ok {
		real = keyOf(dir)
		folders[dir] = real
	}
	return filepath.Join(real, filepath.Base(path))
}

// keyOf is the name under which a file is known: its real path.
func keyOf(path string) string {
	key, err := wrapper.RealPath(path)
	if err != nil {
		return path
	}
	return key
}

// target is a session that a client means.
type target struct {
	wireID string // as clients see it
	id     string
	path   string
	key    string
	live   *piweb.Session // nil where it is not live
	file   *file          // nil where it has none in the list
}

// distinguished is the id of a session whose own id several files have.
func distinguished(id, key string) string {
	sum := sha256.Sum256([]byte(key))
	return id + "~" + hex.EncodeToString(sum[:4])
}

// targets lists all sessions that who asks may see: the files, and what is live and
// has no file yet. There is no other way to a session, so what is not in this list
// does not exist for who asks.
func (s *Server) targets(ctx context.Context) ([]*target, error) {
	p := whoOf(ctx)
	all, err := s.everything(ctx)
	if err != nil || p.admin() {
		return all, err
	}
	owners, err := s.rt.Owners().All()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(t *target) bool { return !p.sees(owners[t.key]) }), nil
}

// everything is all sessions, whose they may be.
func (s *Server) everything(ctx context.Context) ([]*target, error) {
	files, err := s.index.scan(ctx)
	if err != nil {
		return nil, err
	}
	live := map[string]*piweb.Session{}
	for _, ls := range s.rt.LiveSessions() {
		if state, _ := ls.State(); state != wrapper.Closed {
			live[keyOf(ls.Log().Path())] = ls
		}
	}
	var all []*target
	for _, f := range files {
		all = append(all, &target{id: f.id, path: f.path, key: f.key, live: live[f.key], file: f})
		delete(live, f.key)
	}
	for key, ls := range live {
		all = append(all, &target{id: ls.ID(), path: ls.Log().Path(), key: key, live: ls})
	}
	count := map[string]int{}
	for _, t := range all {
		count[t.id]++
	}
	for _, t := range all {
		if t.wireID = t.id; count[t.id] > 1 || t.id == "" {
			t.wireID = distinguished(t.id, t.key)
		}
	}
	return all, nil
}

// lookup finds the session that a client names. The name is only compared.
func (s *Server) lookup(ctx context.Context, name string) (*target, error) {
	if name == "" || len(name) > 512 {
		return nil, noSession()
	}
	all, err := s.targets(ctx)
	if err != nil {
		return nil, err
	}
	var hits []*target
	for _, t := range all {
		if t.id == name {
			hits = append(hits, t)
		}
	}
	switch {
	case len(hits) == 1:
		return hits[0], nil
	case len(hits) > 1:
		return nil, ambiguous(name, hits)
	}
	for _, t := range all {
		if strings.Contains(name, "~") && name == distinguished(t.id, t.key) {
			return t, nil
		}
	}
	return nil, noSession()
}

func ambiguous(name string, hits []*target) error {
	p := refuse(http.StatusConflict, "AMBIGUOUS_ID", fmt.Sprintf("%d files have the session id %s. Name one of them by its longer id, as in the list.", len(hits), name))
	for _, t := range hits {
		p.fields = append(p.fields, t.wireID)
	}
	slices.Sort(p.fields)
	return p
}

// describeAll lets the catalogue look at all files at once, so that what it has to
// read it reads side by side and remembers, and then takes what it knows of each.
func (x *index) describeAll(ctx context.Context, all []*target) error {
	if _, err := x.catalogue().List(ctx, catalog.Filter{Limit: 1}); err != nil {
		return err
	}
	for _, t := range all {
		if t.file != nil {
			x.describe(t.file)
		}
	}
	return ctx.Err()
}
