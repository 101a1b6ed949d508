package piweb

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/piweb-go/piweb/completion"
	"github.com/piweb-go/piweb/completion/files"
	"github.com/piweb-go/piweb/completion/sources"
	"github.com/piweb-go/piweb/config"
	"github.com/piweb-go/piweb/internal/confine"
	"github.com/piweb-go/piweb/internal/document"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/session/catalog"
	"github.com/piweb-go/piweb/wrapper"
)

// mentions is what people may name in their messages: the registry of completion,
// and what the runtime itself provides to it.
type mentions struct {
	rt       *Runtime
	agentDir string
	registry *completion.Registry
	files    *files.Provider

	mu     sync.Mutex
	scopes map[string]known // by session file
}

// known is the scope of a session as long as its file is the same.
type known struct {
	scope completion.Scope
	leaf  session.ID
	size  int64
	mod   time.Time
	used  time.Time
}

// maxKnown is how many sessions' scopes are remembered.
const maxKnown = 32

func newMentions(rt *Runtime, extra []completion.Provider) (*mentions, error) {
	h := rt.host
	m := &mentions{rt: rt, agentDir: h.agentDir, registry: completion.NewRegistry(nil), scopes: map[string]known{}}
	m.files = files.New(files.IndexOptions{Home: h.home, Getenv: func(name string) string {
		value, _ := h.lookup(name)
		return value
	}})
	m.files.Ignored(func() bool {
		own, _ := config.ReadOwn(m.agentDir)
		return own.Mentions.Ignored
	})
	own := []completion.Provider{m.files, sources.Commands(m), sources.Sessions(m), sources.Resources(m), sources.Attachments(rt.attachments), sources.Profiles(m)}
	for _, p := range append(own, extra...) {
		if err := m.registry.Add(p); err != nil {
			return nil, errors.Join(err, m.files.Close())
		}
	}
	return m, nil
}

// Completion knows who completes what in messages. A program may add its own.
func (r *Runtime) Completion() *completion.Registry { return r.mentions.registry }

// CompletionScope says whose question it is that is typed in a session: live, or
// the file at path.
func (r *Runtime) CompletionScope(path string, live *Session) (s completion.Scope, err error) {
	if live != nil {
		s, err = r.mentions.scopeOf(live.Log(), live.Folder().Path)
	} else {
		s, err = r.mentions.scopeAt(path)
	}
	if err == nil {
		s.UserID, err = r.OwnerOf(s.SessionFile)
	}
	return s, err
}

// Preview is the beginning of a file that a message may name.
func (r *Runtime) Preview(s completion.Scope, id string) (files.Preview, error) {
	return files.PreviewOf(s.CWD, id)
}

// scopeOf is the scope of an open session.
func (m *mentions) scopeOf(log *session.Session, cwd string) (completion.Scope, error) {
	m.mu.Lock()
	k, ok := m.scopes[log.Path()]
	m.mu.Unlock()
	if ok && k.leaf == log.Leaf() && k.scope.CWD == cwd {
		return k.scope, nil
	}
	recent, err := recentPaths(log, cwd)
	if err != nil {
		return completion.Scope{}, err
	}
	k = known{scope: completion.Scope{SessionID: log.ID(), SessionFile: log.Path(), CWD: cwd, Recent: recent}, leaf: log.Leaf()}
	m.remember(log.Path(), k)
	return k.scope, nil
}

// scopeAt is the scope of a session that is not live.
func (m *mentions) scopeAt(path string) (completion.Scope, error) {
	info, err := os.Stat(path)
	if err != nil {
		return completion.Scope{}, err
	}
	m.mu.Lock()
	k, ok := m.scopes[path]
	m.mu.Unlock()
	if ok && k.size == info.Size() && k.mod.Equal(info.ModTime()) {
		return k.scope, nil
	}
	log, err := session.Open(path, m.rt.session)
	if err != nil {
		return completion.Scope{}, err
	}
	defer log.Close()
	cwd := wrapper.WorkingFolder(log.Header().CWD, "").Path
	recent, err := recentPaths(log, cwd)
	if err != nil {
		return completion.Scope{}, err
	}
	k = known{scope: completion.Scope{SessionID: log.ID(), SessionFile: path, CWD: cwd, Recent: recent}, size: info.Size(), mod: info.ModTime()}
	m.remember(path, k)
	return k.scope, nil
}

func (m *mentions) remember(path string, k known) {
	k.used = time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.scopes[path] = k
	for len(m.scopes) > maxKnown {
		oldest := path
		for p, k := range m.scopes {
			if k.used.Before(m.scopes[oldest].used) {
				oldest = p
			}
		}
		delete(m.scopes, oldest)
	}
}

// lookBack is how many messages are searched for paths.
const lookBack = 200

// recentPaths are the paths that a session mentioned or changed, the latest first.
func recentPaths(log *session.Session, cwd string) ([]string, error) {
	c, err := log.Context()
	if err != nil {
		return nil, err
	}
	var all []string
	add := func(path string) {
		if filepath.IsAbs(path) {
			rel, err := filepath.Rel(cwd, path)
			if err != nil {
				return
			}
			path = rel
		}
		if path = filepath.ToSlash(filepath.Clean(path)); path != "." && !strings.HasPrefix(path, "../") && !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	for i := len(c.Messages) - 1; i >= max(0, len(c.Messages)-lookBack); i-- {
		switch msg := c.Messages[i].(type) {
		case *message.User:
			for _, t := range completion.Parse(msg.Content.PlainText()) {
				if t.Kind == "" || t.Kind == completion.FileKind {
					path, _ := completion.SplitLines(t.ID)
					add(path)
				}
			}
		case *message.Assistant:
			for _, call := range msg.Content.ToolCalls() {
				var args struct {
					Path string `json:"path"`
					File string `json:"file_path"`
				}
				if json.Unmarshal(call.Arguments, &args) == nil {
					for _, p := range []string{args.Path, args.File} {
						if p != "" {
							add(p)
						}
					}
				}
			}
		}
	}
	return all, nil
}

// resolve is the mentions' part of the prompt door.
func (m *mentions) resolve(ctx context.Context, at wrapper.Place, text string) wrapper.Mentioned {
	scope := completion.Scope{SessionID: at.SessionID, SessionFile: at.SessionFile, CWD: at.CWD}
	var err error
	if scope.UserID, err = m.rt.OwnerOf(at.SessionFile); err != nil {
		scope.UserID = "?" // nobody's name: nothing of other sessions is found
	}
	res := m.registry.Resolve(ctx, scope, text)
	out := wrapper.Mentioned{Text: res.Text}
	for _, f := range res.Found {
		if f.Kind == "attachment" {
			out.Attachments = append(out.Attachments, f.ID)
		}
	}
	if own, _ := config.ReadOwn(m.agentDir); own.Mentions.Documents {
		out.Documents = mentionedDocuments(at.CWD, res.Found, own.Mentions.MaxBytes)
	}
	return out
}

// mentionedDocuments reads the small text files among what was named. What is
// large, or no text, stays a name.
func mentionedDocuments(cwd string, found []completion.Found, most int64) []document.Document {
	root, err := confine.OpenRoot(cwd)
	if err != nil {
		return nil
	}
	defer root.Close()
	var docs []document.Document
	left := int64(document.MaxBytes)
	for _, f := range found {
		if f.Kind != completion.FileKind || len(docs) == document.MaxFiles || left <= 0 {
			continue
		}
		got, err := document.Read(root, []string{f.ID}, document.Limits{Bytes: min(most, left)})
		if err != nil || files.InGit(got[0].Path) {
			continue
		}
		doc := got[0].Lines(f.Lines.From, f.Lines.To)
		left -= int64(len(doc.Content))
		docs = append(docs, doc)
	}
	return docs
}

// Commands lists what can be typed at the start of a message in a session, live or
// not. It implements sources.Commander.
func (m *mentions) Commands(ctx context.Context, s completion.Scope) ([]sources.Command, error) {
	infos, err := m.commands(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []sources.Command
	for _, c := range infos {
		all = append(all, sources.Command{Name: c.Name, Description: c.Description, Hint: c.Hint, Kind: c.Kind})
	}
	return all, nil
}

func (m *mentions) commands(ctx context.Context, s completion.Scope) ([]wrapper.CommandInfo, error) {
	if live, ok := m.rt.Live(s.SessionFile); ok {
		return live.Commands(ctx)
	}
	p, err := m.policyOf(s)
	if err != nil {
		return nil, err
	}
	res, err := m.rt.host.Resources(ctx, s.CWD, p.Loads)
	if err != nil {
		return nil, err
	}
	return wrapper.Loadout{Resources: res}.Commands(), nil
}

// Sessions lists the user's sessions. It implements sources.SessionLister.
func (m *mentions) Sessions(ctx context.Context, s completion.Scope) ([]sources.SessionInfo, error) {
	page, err := m.rt.Catalogue(s.CWD).List(ctx, catalog.Filter{})
	if err != nil {
		return nil, err
	}
	owners, err := m.rt.owners.All()
	if err != nil {
		return nil, err
	}
	var all []sources.SessionInfo
	for _, i := range page.Infos {
		if i.Problem != "" || s.UserID != "" && owners[real(i.Path)] != s.UserID {
			continue
		}
		title := i.Name
		if title == "" {
			title = i.First
		}
		all = append(all, sources.SessionInfo{ID: i.ID, Title: title, CWD: i.CWD, Path: i.Path})
	}
	return all, nil
}
