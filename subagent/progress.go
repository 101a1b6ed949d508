package subagent

// progress tells of the states of a child, from now on, until stop is called.
func (m *Manager) progress(id string, tell func(Run)) (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listening++
	key := m.listening
	if m.listeners[id] == nil {
		m.listeners[id] = map[int]func(Run){}
	}
	m.listeners[id][key] = tell
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.listeners[id], key)
		if len(m.listeners[id]) == 0 {
			delete(m.listeners, id)
		}
	}
}

// tell tells everybody that a child's state has changed.
func (m *Manager) tell(r *run) {
	m.mu.Lock()
	now := r.view()
	var all []func(Run)
	for _, f := range m.listeners[r.id] {
		all = append(all, f)
	}
	m.mu.Unlock()
	for _, f := range all {
		f(now)
	}
	m.changed(now)
}
