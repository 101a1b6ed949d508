package subagent

import (
	"context"
	"fmt"
)

// At is the child whose file is at path; ok is false for a session that is no
// child. parent is the file of the session that started or resumed it where it
// waits or runs in this process, else "": what a file says of its parent is only
// said, and the caller knows which files there are.
func (m *Manager) At(path string) (r Run, parent string, ok bool, err error) {
	r, ok, err = m.read(path)
	if err != nil || !ok {
		return Run{}, "", false, err
	}
	if here, live := m.here(r.ID); live && here.path == path {
		parent = here.parent
	}
	return r, parent, true, nil
}

// Overview is what a session has delegated.
type Overview struct {
	Runs   []Run // its children, in the order in which they were made; Delivered is filled in
	Limits Limits
	Spent  Spending
	Depth  int // of the session; 0 for a root
}

// Overview tells what a session has delegated and what its tree may still spend.
func (m *Manager) Overview(ctx context.Context, parent string) (Overview, error) {
	t, err := m.tree(ctx, parent)
	if err != nil {
		return Overview{}, err
	}
	runs, err := m.Children(ctx, parent)
	if err != nil {
		return Overview{}, err
	}
	pending, err := m.Pending(ctx, parent)
	if err != nil {
		return Overview{}, err
	}
	waits := map[string]bool{}
	for _, p := range pending {
		waits[p.key()] = true
	}
	for i := range runs {
		runs[i].Delivered = runs[i].Background && runs[i].CompletedAt != "" && !waits[runs[i].key()]
	}
	return Overview{runs, t.limits, t.spent, t.depth}, nil
}

// SetLimits records the limits of a tree in the file of its root; what is zero is
// the default. The new limits are in force at once. A subagent has no limits of its
// own to set.
func (m *Manager) SetLimits(ctx context.Context, path string, l Limits) error {
	entry, err := Budget{Limits: l}.Payload()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLimits, err)
	}
	t, err := m.host.Tree(ctx, path)
	if err != nil {
		return err
	}
	if t.Depth > 0 {
		return fmt.Errorf("%w: this is a subagent; its limits are those of the session that everything began with", ErrLimits)
	}
	if err := m.host.Record(ctx, path, entry); err != nil {
		return err
	}
	set, _ := m.settings.Read()
	m.mu.Lock()
	defer m.mu.Unlock()
	if lane := m.lanes[t.Root]; lane != nil {
		for _, next := range lane.allow(min(l.orDefault().Concurrent, set.Concurrent)) {
			m.launch(next)
		}
	}
	return nil
}
