package piweb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/piweb-go/piweb/resource"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/subagent"
	"github.com/piweb-go/piweb/wrapper"
)

// The types of delegation, named here for embedders.
type (
	Subagents    = subagent.Manager
	SubagentSpec = subagent.Spec
	SubagentRun  = subagent.Run
)

// Subagents start children of sessions and look after them.
func (r *Runtime) Subagents() *Subagents { return r.subagents }

// SubagentSettings are the switches of subagents.
func (r *Runtime) SubagentSettings() *subagent.SettingsFile { return r.subagentSettings }

// nursery is the runtime as package subagent sees it.
type nursery struct {
	rt *Runtime

	mu    sync.Mutex
	trees map[string]family // by the root's path
}

// family is what was below a root when somebody looked.
type family struct {
	at    time.Time
	files []string
}

// familyTime is how long a look holds. Children that this process starts are added
// at once; those of others are seen after it.
const familyTime = 2 * time.Second

// maxDepthWalk bounds the way up to a root; files can name each other in circles.
const maxDepthWalk = 64

func (n *nursery) Parent(ctx context.Context, path string) (subagent.Parent, error) {
	s, err := n.open(ctx, path)
	if err != nil {
		return subagent.Parent{}, err
	}
	e, err := s.Equipment(ctx)
	if err != nil {
		return subagent.Parent{}, err
	}
	p := subagent.Parent{ID: s.ID(), Path: s.Log().Path(), CWD: s.Folder().Path, Kind: e.Policy.Kind, OnlyReads: e.Policy.OnlyReads(),
		Model: e.Model.String(), Thinking: e.Thinking, Messages: e.Messages}
	for _, t := range e.Tools {
		p.ExtensionTools = append(p.ExtensionTools, subagent.ExtensionTool(t))
	}
	return p, nil
}

// open is the live session of a file, also of one that has none yet.
func (n *nursery) open(ctx context.Context, path string) (*Session, error) {
	if s, live := n.rt.registry.Live(path); live {
		return s, nil
	}
	return n.rt.Open(ctx, path, OpenOptions{})
}

func (n *nursery) Place(cwd string) resource.Place {
	return n.rt.host.place(n.rt.host.config(cwd), cwd)
}

func (n *nursery) PickModel(ctx context.Context, cwd, name string) (string, error) {
	c, err := n.rt.host.pick(ctx, wrapper.ModelWish{CWD: cwd, Explicit: name}, n.rt.host.peek)
	if err != nil {
		return "", err
	}
	return c.Model.Info().String(), nil
}

// Dispatch gives a parent that was never prompted its file first (RULINGS 24), and not
// before: a start that is refused leaves nothing behind.
func (n *nursery) Dispatch(ctx context.Context, d subagent.Dispatch) (subagent.Child, error) {
	parent, err := n.open(ctx, d.Parent.Path)
	if err == nil {
		err = parent.Persist()
	}
	if err != nil {
		return nil, err
	}
	root := n.rt.SessionRoot(d.CWD)
	dir := root.Dir
	if !root.Custom {
		dir = filepath.Join(dir, session.DirName(d.CWD))
	}
	s, err := n.rt.registry.CreateWith(ctx, session.NewSession{Dir: dir, CWD: d.CWD, ParentSession: d.Parent.Path},
		wrapper.OpenOptions{Model: d.Model, Thinking: d.Thinking}, d.First...)
	if err != nil {
		return nil, err
	}
	if err := n.rt.inherit(d.Parent.Path, s.Log().Path()); err != nil {
		return nil, errors.Join(err, n.rt.registry.Release(s), os.Remove(s.Log().Path()))
	}
	n.born(d.Parent.Path, s.Log().Path())
	return &child{s, n.rt.attachments}, nil
}

// born adds a child to the trees that its parent is in. A parent that is in none was
// made since somebody looked, as a fork of a child is: then what was seen is old.
func (n *nursery) born(parent, file string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	known := false
	for root, f := range n.trees {
		if root == parent || slices.Contains(f.files, parent) {
			f.files = append(f.files[:len(f.files):len(f.files)], file)
			n.trees[root], known = f, true
		}
	}
	if !known {
		clear(n.trees)
	}
}

func (n *nursery) Reopen(ctx context.Context, path string) (subagent.Child, error) {
	s, err := n.open(ctx, path)
	if err != nil {
		return nil, err
	}
	if state, _ := s.State(); state == wrapper.Running {
		return nil, fmt.Errorf("%w: the subagent answers somebody else", wrapper.ErrRunning)
	}
	return &child{s, n.rt.attachments}, nil
}

// Tree finds the root of a session by the links that children carry, and all that
// hangs below it. Where a parent is gone, the child that names it stands for the
// root, and its depth still counts.
func (n *nursery) Tree(_ context.Context, path string) (subagent.Tree, error) {
	t := subagent.Tree{Root: path}
	seen := map[string]bool{path: true}
	for range maxDepthWalk {
		l, ok := n.rt.linkOf(t.Root)
		if !ok {
			break
		}
		t.Depth++
		if _, err := session.ReadHeader(l.Path); err != nil || seen[l.Path] {
			break
		}
		seen[l.Path] = true
		t.Root = l.Path
	}
	n.mu.Lock()
	f, known := n.trees[t.Root]
	n.mu.Unlock()
	if known && time.Since(f.at) < familyTime {
		t.Children = f.files
		return t, nil
	}
	now := time.Now()
	files, err := n.rt.descendants(t.Root, n.rt.sessionFiles)
	if err != nil {
		return t, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, made := range n.trees[t.Root].files { // meanwhile, by this process
		if _, err := session.ReadHeader(made); err == nil && !slices.Contains(files, made) {
			files = append(files, made)
		}
	}
	n.trees[t.Root] = family{now, files}
	t.Children = files
	return t, nil
}

func (n *nursery) Deliver(ctx context.Context, path string, notice session.CustomMessage) error {
	s, live := n.rt.registry.Live(path)
	if !live {
		if !n.rt.registry.WasIdled(path) {
			return subagent.ErrNotHere
		}
		var err error
		if s, err = n.rt.Open(ctx, path, OpenOptions{}); err != nil {
			return err
		}
	}
	return s.Notify(ctx, notice)
}

func (n *nursery) Record(ctx context.Context, path string, entries ...session.Payload) error {
	s, err := n.open(ctx, path)
	if err != nil {
		return err
	}
	if err := s.Persist(); err != nil {
		return err
	}
	return s.RecordNow(entries...)
}

func (n *nursery) Look(path string, do func(subagent.View) error) error {
	return n.look(path, func(log *session.Session) error { return do(log) })
}

// look shows a session, from memory where it is live.
func (n *nursery) look(path string, do func(*session.Session) error) error {
	if s, live := n.rt.registry.Live(path); live {
		if err := do(s.Log()); !errors.Is(err, session.ErrClosed) {
			return err
		}
	}
	log, err := session.Open(path, n.rt.session)
	if err != nil {
		return err
	}
	defer log.Close()
	return do(log)
}

// child is a live child as package subagent sees it.
type child struct {
	s     *Session
	files *attachments
}

func (c *child) ID() string   { return c.s.ID() }
func (c *child) Path() string { return c.s.Log().Path() }

func (c *child) Record(_ context.Context, entries ...session.Payload) error {
	return c.s.RecordNow(entries...)
}

func (c *child) Prompt(ctx context.Context, text string, guard func(int) (string, error)) (func(context.Context) error, error) {
	if err := c.files.handOver(ctx, c.s, text); err != nil {
		return nil, err
	}
	t, err := c.s.PromptGuarded(ctx, Input{Text: text, Verbatim: true}, guard)
	if err != nil {
		return nil, err
	}
	return t.Wait, nil
}

func (c *child) Steer(ctx context.Context, text string) error {
	if err := c.files.handOver(ctx, c.s, text); err != nil {
		return err
	}
	_, err := c.s.Steer(ctx, Input{Text: text, Verbatim: true})
	return err
}

func (c *child) Abort() bool                             { return c.s.Abort() }
func (c *child) Look(do func(subagent.View) error) error { return do(c.s.Log()) }
func (c *child) Release()                                {} // closed when nobody uses it
