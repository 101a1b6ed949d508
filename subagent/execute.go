package subagent

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/piweb-go/piweb/internal/failpoint"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

//go:embed prose/wrap-up.md
var wrapUp string

// errTurns says that a child went on after its limit of turns.
var errTurns = errors.New("the limit of turns was reached")

// execute runs a child to its end and records how it ended.
func (m *Manager) execute(r *run) {
	m.tell(r)
	from, err := m.begin(r)
	failpoint.Here("subagent-running")
	if err == nil {
		err = m.within(r) // others may have used the budget up while it waited
	}
	if err != nil {
		m.settle(r, Result{Status: Failed, Error: err.Error()})
		return
	}
	var broke error
	wait, err := r.child.Prompt(m.life, r.task, func(done int) (string, error) {
		say, err := m.guard(r, done)
		if err != nil {
			broke = err
		}
		return say, err
	})
	if err == nil {
		m.mu.Lock()
		if r.stopped != "" { // between the launch and the prompt
			r.child.Abort()
		}
		m.mu.Unlock()
		err = wait(context.Background())
	}
	if m.life.Err() != nil {
		m.gone(r)
		return
	}
	text, failure, lerr := lastWords(r.child, from)
	m.settle(r, m.outcome(r, text, failure, errors.Join(err, lerr), broke))
}

// begin records that the child runs, and says how many entries it has by then.
func (m *Manager) begin(r *run) (entries int, err error) {
	m.address(r)
	entry, err := payload(StatusType, status{Running, r.output})
	if err != nil {
		return 0, err
	}
	if err := record(m.life, r.child, entry); err != nil {
		return 0, err
	}
	err = r.child.Look(func(v View) error {
		for range v.Entries() {
			entries++
		}
		return nil
	})
	return entries, err
}

// address gives a run the address of its answer, before it can start children of
// its own, whose addresses begin with it. Without one the answer stands in the
// child's file all the same.
func (m *Manager) address(r *run) {
	if r.output != "" {
		return
	}
	if url, err := m.host.NameOutput(r.parent, r.meta.Profile); err == nil {
		r.output = url
	}
}

// guard is asked before each further request of a run. A run that would go on
// behind its limit of turns gets one turn to wrap up, and ends after it (D7: an
// answer at the limit is the answer, because then nothing is asked).
func (m *Manager) guard(r *run, done int) (say string, err error) {
	if err := m.within(r); err != nil {
		return "", err
	}
	switch {
	case r.maxTurns == 0 || done < r.maxTurns:
		return "", nil
	case done == r.maxTurns:
		return strings.TrimSpace(wrapUp), nil
	}
	return "", fmt.Errorf("%w (%d)", errTurns, r.maxTurns)
}

// outcome is how a run ended, by everything that is known of it.
func (m *Manager) outcome(r *run, text, failure string, err, broke error) Result {
	m.mu.Lock()
	stopped := r.stopped
	m.mu.Unlock()
	res := Result{Status: Completed, Text: text}
	switch {
	case broke != nil:
		res.Status, res.Error = Failed, broke.Error()
	case stopped != "":
		res.Status = Aborted
	case err != nil:
		res.Status, res.Error = Failed, err.Error()
	case failure != "":
		res.Status, res.Error = Failed, failure
	}
	return res
}

// lastWords are the last answer of a run that has text, and why the last answer
// failed, if it did.
func lastWords(c Child, from int) (text, failure string, err error) {
	err = c.Look(func(v View) error {
		n := 0
		for e := range v.Entries() {
			if n++; n <= from || e.Type != session.TypeMessage || e.Role != string(message.RoleAssistant) {
				continue
			}
			p, err := v.Decode(e)
			if err != nil {
				return err
			}
			m, _ := p.(session.MessagePayload)
			a, ok := m.Message.(*message.Assistant)
			if !ok {
				continue
			}
			if t := strings.TrimSpace(a.Content.PlainText()); t != "" {
				text = t
			}
			if failure = ""; a.StopReason == message.StopError {
				if failure = a.ErrorMessage; failure == "" {
					failure = "the model's answer failed"
				}
			}
		}
		return nil
	})
	return text, failure, err
}

// settle records a result, gives the place in the queue back and tells whoever
// waits. What a background child found goes to its parent.
func (m *Manager) settle(r *run, res Result) {
	if r.worktree != nil {
		if err := r.worktree.remove(); err != nil {
			res.CleanupError = err.Error()
		}
	}
	m.keep(r, &res)
	failpoint.Here("subagent-answered")
	res.CompletedAt = stamp(m.now())
	entry, err := payload(ResultType, res)
	if err == nil {
		err = record(m.life, r.child, entry)
	}
	if err != nil && res.Error == "" {
		res.Error = fmt.Sprintf("its result could not be recorded: %v", err)
	}
	failpoint.Here("subagent-recorded")
	m.mu.Lock()
	r.status, r.result = res.Status, res
	m.mu.Unlock()
	m.gone(r)
	m.tell(r)
	if r.meta.Background {
		m.deliver(r.parent)
	}
}

// keep keeps the whole answer beside the parent, where it says so in the result. An
// answer that was complete is not replaced by the last words of a later run that was
// not (can1357/oh-my-pi#9518).
func (m *Manager) keep(r *run, res *Result) {
	fresh := res.Text != "" && (res.Status == Completed || !r.answered)
	if fresh {
		m.address(r)
		fresh = r.output != "" && m.host.KeepOutput(r.parent, r.output, res.Text) == nil
	}
	if fresh || r.answered {
		res.Output, res.Older = r.output, !fresh
	}
}

// gone ends a run that has its result, or that ends with the program, and starts
// who waits for its place.
func (m *Manager) gone(r *run) {
	m.mu.Lock()
	if l := m.lanes[r.root]; l != nil {
		for _, next := range l.left() {
			m.launch(next)
		}
		if l.empty() {
			delete(m.lanes, r.root)
		}
	}
	m.mu.Unlock()
	m.interrupt(r)
}

// interrupt takes a run off the table. Without a result the child is interrupted,
// and can be resumed.
func (m *Manager) interrupt(r *run) {
	m.mu.Lock()
	if r.status.Waiting() {
		r.status, r.result = Interrupted, Result{Status: Interrupted}
	}
	delete(m.runs, r.id)
	m.mu.Unlock()
	close(r.done)
	r.child.Release()
}
