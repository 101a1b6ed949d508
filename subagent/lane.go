package subagent

// lane is the queue of a tree: children start in the order in which they were
// dispatched, so many at once as the limit allows that was in force when each was
// put in. The manager's lock guards it.
type lane struct {
	running int
	limit   int
	waiting []*run
}

// put starts a child, or has it wait.
func (l *lane) put(r *run, limit int) (now bool) {
	l.limit = limit
	if l.running < limit && len(l.waiting) == 0 {
		l.running++
		return true
	}
	l.waiting = append(l.waiting, r)
	return false
}

// left gives back the place of a child that ended, and names those that may start
// now.
func (l *lane) left() []*run {
	l.running--
	return l.fill()
}

// allow sets another limit and names those that may start now.
func (l *lane) allow(limit int) []*run {
	l.limit = limit
	return l.fill()
}

func (l *lane) fill() []*run {
	var next []*run
	for l.running < l.limit && len(l.waiting) > 0 {
		next = append(next, l.waiting[0])
		l.waiting = l.waiting[1:]
		l.running++
	}
	return next
}

// drop takes a waiting child out. ok is false if it does not wait (any more).
func (l *lane) drop(r *run) (ok bool) {
	for i, w := range l.waiting {
		if w == r {
			l.waiting = append(l.waiting[:i:i], l.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// empty tells whether the lane can be forgotten.
func (l *lane) empty() bool { return l.running == 0 && len(l.waiting) == 0 }
