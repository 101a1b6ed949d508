// Package catalog lists the sessions of a folder and finds one by its id.
//
// The list is made from the files and from nothing else: there is no index that
// could be wrong or lost. Reading a file for the list never changes it. A file
// that cannot be read as a session is listed with the reason, not left out.
//
// Source of the rules: pi 1.6.0, "Listing" and the resolution of a session
// argument; an ambiguous id is an error that lists the paths (ids of copied
// files repeat).
package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
)

// Info is what a list shows of a session.
type Info struct {
	Path     string    `json:"path"`
	ID       string    `json:"id"`
	CWD      string    `json:"cwd"` // "" where the header names none
	Name     string    `json:"name,omitempty"`
	Parent   string    `json:"parentSessionPath,omitempty"`
	Created  time.Time `json:"created"`
	Modified time.Time `json:"modified"`     // of the last user or assistant message
	Messages int       `json:"messageCount"` // all message entries, of all branches
	First    string    `json:"firstMessage"` // the first user text, "" for none
	Bytes    int64     `json:"bytes"`
	Tools    string    `json:"tools"`           // the recorded selection, in words
	Notes    int       `json:"notes,omitempty"` // diagnostics of the file
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
	if !strings.HasSuffix(d.Name(), ".jsonl") || strings.HasPrefix(d.Name(), ".") {
		return false
	}
	if d.Type()&os.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// List reads all sessions of a root, the newest first; what could not be read
// stands at the end.
func List(ctx context.Context, root string) ([]Info, error) {
	files, err := Files(root)
	if err != nil {
		return nil, err
	}
	infos := make([]Info, len(files))
	work := make(chan int)
	var wg sync.WaitGroup
	for range min(len(files), 2*runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range work {
				infos[i] = Read(files[i])
			}
		})
	}
	for i := range files {
		if ctx.Err() != nil {
			break
		}
		work <- i
	}
	close(work)
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sort.SliceStable(infos, func(i, j int) bool {
		if a, b := infos[i].Problem == "", infos[j].Problem == ""; a != b {
			return a
		}
		return infos[i].Modified.After(infos[j].Modified)
	})
	return infos, nil
}

// Read describes one file.
func Read(path string) Info {
	info := Info{Path: path}
	s, err := session.Open(path, session.Options{})
	if err != nil {
		info.Problem = err.Error()
		return info
	}
	defer s.Close()
	if err := info.fill(s); err != nil {
		return Info{Path: path, Problem: err.Error()}
	}
	return info
}

func (info *Info) fill(s *session.Session) error {
	h := s.Header()
	info.ID, info.CWD, info.Parent, info.Created, info.Modified = h.ID, h.CWD, h.ParentSession, h.Created(), h.Created()
	if st, err := os.Stat(info.Path); err == nil {
		info.Bytes = st.Size()
		if info.Modified.IsZero() {
			info.Modified = st.ModTime()
		}
	}
	var err error
	if info.Name, err = s.Name(); err != nil {
		return err
	}
	found, err := toolselect.Find(s)
	if err != nil {
		return err
	}
	info.Tools, info.Notes = found.Selection.String(), len(s.Diagnostics())
	for e := range s.Entries() {
		if e.Type != session.TypeMessage {
			continue
		}
		info.Messages++
		if e.Role != string(message.RoleUser) && e.Role != string(message.RoleAssistant) {
			continue
		}
		if t := e.Time(); t.After(info.Modified) {
			info.Modified = t
		}
		if info.First == "" && e.Role == string(message.RoleUser) {
			if info.First, err = firstText(s, e); err != nil {
				return err
			}
		}
	}
	return nil
}

func firstText(s *session.Session, e session.Entry) (string, error) {
	p, err := s.Decode(e)
	if err != nil {
		return "", err
	}
	m, _ := p.(session.MessagePayload)
	u, ok := m.Message.(*message.User)
	if !ok {
		return "", nil
	}
	var parts []string
	for _, b := range u.Content {
		if b.Type == message.TypeText {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, " "), nil
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
	if strings.ContainsAny(ref, `/\`) || strings.HasSuffix(ref, ".jsonl") {
		return ref, nil
	}
	files, err := Files(root)
	if err != nil {
		return "", err
	}
	var exact, begins []string
	for _, f := range files {
		id := fileID(f)
		switch {
		case id == ref:
			exact = append(exact, f)
		case ref != "" && strings.HasPrefix(id, ref):
			begins = append(begins, f)
		}
	}
	hits := exact
	if len(hits) == 0 {
		hits = begins
	}
	switch len(hits) {
	case 1:
		return hits[0], nil
	case 0:
		return "", fmt.Errorf("%q: %w in %s; `piweb sessions list` shows those that exist", ref, ErrNone, root)
	}
	return "", fmt.Errorf("%q: %w; name one of the files:\n  %s", ref, ErrAmbiguous, strings.Join(hits, "\n  "))
}

// fileID is the id of a session file: from its header, and where that cannot be
// read, from its name.
func fileID(path string) string {
	if h, err := session.ReadHeader(path); err == nil {
		return h.ID
	}
	_, id, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".jsonl"), "_")
	return id
}
