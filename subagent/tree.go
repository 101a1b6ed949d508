package subagent

import (
	"context"
	"fmt"
	"os"
	"time"
)

// tree is a root session, and what was spent below it so far.
type tree struct {
	root   string
	depth  int
	own    Limits // as the root says
	limits Limits // with the defaults
	spent  Spending
	turns  map[string]int // of each child, by its file, as counted in spent
}

// tree reads the limits of a session's tree from its root, and what was spent
// from the files of the children, so that a restart forgets nothing.
func (m *Manager) tree(ctx context.Context, path string) (*tree, error) {
	t, err := m.host.Tree(ctx, path)
	if err != nil {
		return nil, err
	}
	out := &tree{root: t.Root, depth: t.Depth, turns: map[string]int{}}
	var b Budget
	if err := m.host.Look(t.Root, func(v View) error {
		b, err = ReadBudget(v)
		return err
	}); err != nil {
		return nil, err
	}
	out.own, out.limits = b.Limits, b.Limits.orDefault()
	if b.Carried != nil {
		out.spent = *b.Carried
	}
	for _, file := range t.Children {
		r, ok, err := m.read(file)
		if err != nil || !ok {
			r = Run{Spent: Spending{Children: 1}} // it was started, whatever became of it
		}
		out.spent = out.spent.Plus(r.Spent)
		out.turns[file] = r.Spent.Turns
	}
	return out, nil
}

// Budget is what the tree of a session may spend, and what it has spent.
func (m *Manager) Budget(ctx context.Context, path string) (Limits, Spending, error) {
	t, err := m.tree(ctx, path)
	if err != nil {
		return Limits{}, Spending{}, err
	}
	return t.limits, t.spent, nil
}

// CarriedBudget is what a fork of a session takes along: its limits and what its
// tree has spent; nil where there is neither. A subagent's fork is a subagent of
// the same tree and takes nothing.
func (m *Manager) CarriedBudget(ctx context.Context, path string) (*Budget, error) {
	t, err := m.tree(ctx, path)
	if err != nil || t.depth > 0 {
		return nil, err
	}
	if t.own == (Limits{}) && t.spent == (Spending{}) {
		return nil, nil
	}
	return &Budget{Limits: t.own, Carried: &t.spent}, nil
}

// mayStart says why no further child may be started.
func (t *tree) mayStart() error {
	if t.spent.Children >= t.limits.Total {
		return fmt.Errorf("%w: %d of %d subagents were started; a person can raise the limit", ErrBudget, t.spent.Children, t.limits.Total)
	}
	return t.limits.Over(t.spent)
}

// within asks, before each request of a child, whether its tree may go on, and
// counts the turn as being under way. Turns of other children that are under way
// count too, so that the limit of turns holds however many run at once.
func (m *Manager) within(r *run) error {
	m.budget.Lock()
	defer m.budget.Unlock()
	t, err := m.tree(m.life, r.root)
	if err != nil {
		return err
	}
	m.mu.Lock()
	for _, o := range m.runs {
		if o != r && o.root == r.root && o.status == Running && o.asking && t.turns[o.path] == o.turnsBefore {
			t.spent.Turns++
		}
	}
	m.mu.Unlock()
	if err := t.limits.Over(t.spent); err != nil {
		return err
	}
	m.mu.Lock()
	r.asking, r.turnsBefore = true, t.turns[r.path]
	m.mu.Unlock()
	return nil
}

// cached is a child as its file said when it had this size and time.
type cached struct {
	size int64
	time time.Time
	run  Run
	ok   bool
}

// maxCached bounds what is remembered of files.
const maxCached = 4096

// read reads a child from its file, again only if it changed. Of one that this
// process runs, the process knows the status.
func (m *Manager) read(path string) (Run, bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Run{}, false, err
	}
	m.mu.Lock()
	c, have := m.cache[path]
	m.mu.Unlock()
	if !have || c.size != info.Size() || !c.time.Equal(info.ModTime()) {
		c = cached{size: info.Size(), time: info.ModTime()}
		if err := m.host.Look(path, func(v View) (err error) {
			c.run, c.ok, err = ReadRun(v)
			return err
		}); err != nil {
			return Run{}, false, err
		}
		m.mu.Lock()
		if len(m.cache) >= maxCached {
			clear(m.cache)
		}
		m.cache[path] = c
		m.mu.Unlock()
	}
	out := c.run
	m.mu.Lock()
	r, here := m.runs[out.ID]
	if here && r.path == path {
		spent, chat := out.Spent, out.ChatOnly
		if out = r.view(); r.status == Running {
			spent.Seconds = max(spent.Seconds, int64(m.now().Sub(r.began)/time.Second))
		}
		out.Spent, out.ChatOnly = spent, chat
	} else if out.Status.Waiting() {
		out.Result.Status = Interrupted // nobody runs it any more (D4)
	}
	m.mu.Unlock()
	return out, c.ok, nil
}
