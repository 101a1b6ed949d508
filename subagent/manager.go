package subagent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/piweb-go/piweb/internal/failpoint"
	"github.com/piweb-go/piweb/session"
)

// Options are the settings of a Manager.
type Options struct {
	Settings *SettingsFile
	Now      func() time.Time // nil for time.Now
	// Changed, if not nil, is told of every change of a child's state. It must not
	// block.
	Changed func(Run)
}

// Manager runs the children of a program's sessions. It is safe for concurrent
// use.
type Manager struct {
	host     Host
	settings *SettingsFile
	now      func() time.Time
	changed  func(Run)

	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup

	starts chan struct{} // one start or resume at a time: what it checks must hold when it is made
	budget sync.Mutex    // one child at a time asks whether it may go on

	mu      sync.Mutex
	runs    map[string]*run            // by the child's id, those that wait or run here
	lanes   map[string]*lane           // by the root of their tree
	fetched map[string]map[string]bool // results on their way, by the parent's path, then by id and time
	waited  map[string]map[string]bool // children that a tool call waits for, by the parent's path, then by id
	notices map[string]*doors          // by parent's path
	cache   map[string]cached          // children, by file

	listeners map[string]map[int]func(Run) // by the child's id
	listening int
}

// run is a child that waits or runs in this process.
type run struct {
	id, path string
	parent   string // path
	root     string
	child    Child
	task     string
	maxTurns int
	output   string // address of its answer, or ""; for the goroutine that executes it
	answered bool   // a complete answer of an earlier run is there
	worktree *worktree

	done chan struct{} // closed when the result is recorded

	// Guarded by the manager's lock.
	meta    Meta
	status  Status
	result  Result
	stopped string // why it was stopped by us, or ""
	began   time.Time
	// A request is under way, or was answered since: asked when the file had so
	// many answers.
	asking      bool
	turnsBefore int
}

// New makes a manager. Close ends it.
func New(host Host, o Options) *Manager {
	m := &Manager{host: host, settings: o.Settings, now: o.Now, changed: o.Changed, runs: map[string]*run{}, lanes: map[string]*lane{},
		starts: make(chan struct{}, 1), fetched: map[string]map[string]bool{}, waited: map[string]map[string]bool{}, notices: map[string]*doors{}, cache: map[string]cached{},
		listeners: map[string]map[int]func(Run){}}
	if m.now == nil {
		m.now = time.Now
	}
	if m.changed == nil {
		m.changed = func(Run) {}
	}
	m.life, m.end = context.WithCancel(context.Background())
	return m
}

// Close ends the manager: what waits and what runs is interrupted, and its file
// says so by saying nothing more.
func (m *Manager) Close() {
	m.end()
	m.mu.Lock()
	var waiting []*run
	for _, r := range m.runs {
		if r.status == Running {
			r.child.Abort()
		}
	}
	for _, l := range m.lanes {
		waiting = append(waiting, l.waiting...)
		l.waiting = nil
	}
	m.mu.Unlock()
	for _, r := range waiting {
		m.interrupt(r)
	}
	m.work.Wait()
}

// ErrClosed says that the manager was closed.
var ErrClosed = errors.New("the program is shutting down")

// Start starts a child of the session whose file is at parent. When it returns,
// the child's file stands, and the child runs or waits for its turn. On error
// nothing is left behind. Where the child is not in the background, the caller is
// expected to Wait; stop ends the child when the caller's interest ends.
func (m *Manager) Start(ctx context.Context, parent string, s Spec) (Run, error) {
	if m.life.Err() != nil {
		return Run{}, ErrClosed
	}
	end, err := m.turn(ctx)
	if err != nil {
		return Run{}, err
	}
	defer end()
	p, err := m.prepare(ctx, parent, s)
	if err != nil {
		return Run{}, err
	}
	var wt *worktree
	if p.isolate {
		if wt, err = addWorktree(ctx, p.parent.CWD); err != nil {
			return Run{}, fmt.Errorf("%w: %w", ErrSpec, err)
		}
		p.meta.WorktreePath, p.meta.WorktreeBranch, p.cwd = wt.path, wt.branch, wt.cwd
	}
	child, err := m.dispatch(ctx, p)
	if err != nil {
		if wt != nil {
			err = errors.Join(err, wt.discard())
		}
		return Run{}, err
	}
	failpoint.Here("subagent-queued")
	r := &run{id: child.ID(), path: child.Path(), parent: p.parent.Path, root: p.tree.root, child: child, task: p.child.Task,
		maxTurns: p.meta.MaxTurns, worktree: wt, done: make(chan struct{}), meta: p.meta, status: Queued}
	m.enqueue(r, p.tree.limits.Concurrent)
	return m.view(r), nil
}

// turn waits until no other start or resume is under way.
func (m *Manager) turn(ctx context.Context) (end func(), err error) {
	select {
	case m.starts <- struct{}{}:
		return func() { <-m.starts }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (m *Manager) dispatch(ctx context.Context, p plan) (Child, error) {
	entries, err := p.first()
	if err != nil {
		return nil, err
	}
	return m.host.Dispatch(ctx, Dispatch{Parent: p.parent, CWD: p.cwd, First: entries, Model: p.model, Thinking: p.thinking})
}

func (m *Manager) enqueue(r *run, limit int) {
	set, _ := m.settings.Read()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs[r.id] = r
	l, ok := m.lanes[r.root]
	if !ok {
		l = &lane{}
		m.lanes[r.root] = l
	}
	if l.put(r, min(limit, set.Concurrent)) {
		m.launch(r)
	}
}

// launch runs a child in the background. The lock is held.
func (m *Manager) launch(r *run) {
	r.status, r.began = Running, m.now()
	m.work.Go(func() { m.execute(r) })
}

// view is a run of this process as others see it.
func (m *Manager) view(r *run) Run {
	m.mu.Lock()
	defer m.mu.Unlock()
	return r.view()
}

func (r *run) view() Run {
	out := Run{ID: r.id, Path: r.path, Meta: r.meta, Result: r.result}
	out.Result.Status = r.status
	return out
}

// Run is a child by its id, among those of a parent. Where it runs in this process
// that is what counts, else its file.
func (m *Manager) Run(ctx context.Context, parent, id string) (Run, error) {
	if r, ok := m.here(id); ok && r.parent == parent {
		return m.withSpent(r), nil
	}
	runs, err := m.Children(ctx, parent)
	if err != nil {
		return Run{}, err
	}
	i := slices.IndexFunc(runs, func(r Run) bool { return r.ID == id })
	if i < 0 {
		return Run{}, fmt.Errorf("%w: %q", ErrNoChild, id)
	}
	return runs[i], nil
}

// ErrNoChild says that a session has no such child.
var ErrNoChild = errors.New("the session has no such subagent")

func (m *Manager) here(id string) (*run, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.runs[id]
	return r, ok
}

// Wait waits until a child has ended, also one that is queued (D5), and returns it.
func (m *Manager) Wait(ctx context.Context, parent, id string) (Run, error) {
	r, ok := m.here(id)
	if !ok || r.parent != parent {
		return m.Run(ctx, parent, id)
	}
	select {
	case <-r.done:
		return m.withSpent(r), nil
	case <-ctx.Done():
		return m.view(r), ctx.Err()
	}
}

// ErrNotRunning says that a child cannot be steered or stopped.
var ErrNotRunning = errors.New("the subagent is not running")

// Steer says something into a running child.
func (m *Manager) Steer(ctx context.Context, parent, id, text string) error {
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("%w: the message is empty", ErrSpec)
	}
	r, ok := m.here(id)
	if !ok || r.parent != parent {
		if _, err := m.Run(ctx, parent, id); err != nil {
			return err
		}
		return ErrNotRunning
	}
	m.mu.Lock()
	running := r.status == Running
	m.mu.Unlock()
	if !running {
		return fmt.Errorf("%w: it is queued", ErrNotRunning)
	}
	return r.child.Steer(ctx, text)
}

// Cancel stops a child: one that waits never starts.
func (m *Manager) Cancel(ctx context.Context, parent, id string) error {
	r, ok := m.here(id)
	if !ok || r.parent != parent {
		if _, err := m.Run(ctx, parent, id); err != nil {
			return err
		}
		return ErrNotRunning
	}
	m.cancel(r, "it was stopped")
	return nil
}

func (m *Manager) cancel(r *run, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.stopped == "" {
		r.stopped = why
	}
	switch l := m.lanes[r.root]; {
	case r.status == Running:
		r.child.Abort()
	case r.status == Queued && l != nil && l.drop(r):
		l.running++ // settle gives the place back
		m.work.Go(func() { m.settle(r, Result{Status: Aborted}) })
	}
}

// Resume goes on with a child that has ended or was interrupted: its policy is the
// one of its file, and so is its limit of turns.
func (m *Manager) Resume(ctx context.Context, parent, id, prompt string, background *bool) (Run, error) {
	return m.resume(ctx, parent, id, prompt, background, "")
}

// resume is Resume for a tool call that may wait for the result. Of several who go on
// with one child at once, one does.
func (m *Manager) resume(ctx context.Context, parent, id, prompt string, background *bool, call string) (Run, error) {
	if m.life.Err() != nil {
		return Run{}, ErrClosed
	}
	end, err := m.turn(ctx)
	if err != nil {
		return Run{}, err
	}
	defer end()
	set, err := m.settings.Read()
	switch {
	case err != nil:
		return Run{}, err
	case !set.BuiltIn:
		return Run{}, fmt.Errorf("%w: switch them on with `piweb agents enable`, or on the page", ErrOff)
	case strings.TrimSpace(prompt) == "":
		return Run{}, fmt.Errorf("%w: the task is empty", ErrSpec)
	}
	old, err := m.Run(ctx, parent, id)
	if err != nil {
		return Run{}, err
	}
	if _, here := m.here(id); here || old.Status.Waiting() {
		return Run{}, fmt.Errorf("%w: the subagent is %s", ErrSpec, old.Status)
	}
	t, err := m.tree(ctx, parent)
	if err != nil {
		return Run{}, err
	}
	if err := t.limits.Over(t.spent); err != nil {
		return Run{}, err
	}
	child, err := m.host.Reopen(ctx, old.Path)
	if err != nil {
		return Run{}, err
	}
	meta := old.Meta
	meta.Background = orElse(background, false)
	entry, err := payload(StatusType, struct {
		Status     Status `json:"status"`
		Background bool   `json:"runInBackground"`
		Call       string `json:"parentToolCallId,omitempty"`
	}{Queued, meta.Background, call})
	if err == nil {
		err = child.Record(ctx, entry)
		failpoint.Here("subagent-resumed")
	}
	if err != nil {
		child.Release()
		return Run{}, err
	}
	output := m.ownOutput(ctx, parent, old)
	r := &run{id: id, path: old.Path, parent: parent, root: t.root, child: child, task: prompt, maxTurns: meta.MaxTurns,
		output: output, answered: old.answered && output != "", done: make(chan struct{}), meta: meta, status: Queued}
	m.enqueue(r, t.limits.Concurrent)
	return m.view(r), nil
}

// ownOutput is where the earlier answer of a child is kept, to be replaced by the
// next. A file that names the place of a sibling's answer gets a place of its own.
func (m *Manager) ownOutput(ctx context.Context, parent string, r Run) string {
	siblings, err := m.Children(ctx, parent)
	if err != nil || slices.ContainsFunc(siblings, func(s Run) bool { return s.ID != r.ID && s.Address == r.Address }) {
		return ""
	}
	return r.Address
}

// Children are all children of a session, in the order in which they were made.
func (m *Manager) Children(ctx context.Context, parent string) ([]Run, error) {
	tree, err := m.host.Tree(ctx, parent)
	if err != nil {
		return nil, err
	}
	var id string
	if err := m.host.Look(parent, func(v View) error { id = v.ID(); return nil }); err != nil {
		return nil, err
	}
	var out []Run
	for _, path := range tree.Children {
		r, ok, err := m.read(path)
		if err != nil || !ok || r.ParentID != id {
			continue // one file that cannot be read hides no other
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b Run) int { return strings.Compare(a.CreatedAt, b.CreatedAt) })
	return out, nil
}

func (m *Manager) withSpent(r *run) Run {
	out := m.view(r)
	if read, ok, err := m.read(r.path); err == nil && ok {
		out.Spent, out.ChatOnly = read.Spent, read.ChatOnly
	}
	return out
}

// record is how a session's own entries are made durable.
func record(ctx context.Context, c Child, entries ...session.Payload) error {
	return c.Record(context.WithoutCancel(ctx), entries...)
}
