package wrapper

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/piweb-go/piweb/agent"
)

// AskAnswered tells that a question is settled: by a person, by the end of the
// run, or because nobody was there.
const AskAnswered agent.EventType = "tool_execution_answer"

// askTime is how long a question waits while nobody is there to answer.
const askTime = 2 * time.Minute

// Errors to match with errors.Is.
var (
	ErrNoAsk  = errors.New("there is no such question, or it is answered")
	ErrNobody = errors.New("nobody was there to answer")
)

// Ask is a call that waits for a person's decision.
type Ask struct {
	ID        string          `json:"id"`
	CallID    string          `json:"toolCallId"`
	Tool      string          `json:"toolName"`
	Arguments json.RawMessage `json:"args,omitempty"`
	Reason    string          `json:"reason"`
	Since     time.Time       `json:"since"`
}

// asks are the open questions of a session, and how many people could answer.
type asks struct {
	mu      sync.Mutex
	open    []openAsk
	present int
	changed chan struct{} // closed when somebody comes or goes
}

type openAsk struct {
	Ask
	answer chan bool
}

// ask tells people of a question and waits for the answer of any of them. While
// somebody is there it waits as long as it takes; else it gives up after a while,
// because the call would hold up the run for ever.
func (s *Session) ask(ctx context.Context, q agent.Question) (bool, error) {
	a := openAsk{Ask{rand.Text(), q.CallID, q.Tool, q.Arguments, q.Reason, time.Now()}, make(chan bool, 1)}
	s.asks.mu.Lock()
	s.asks.open = append(s.asks.open, a)
	s.asks.mu.Unlock()
	s.hub.publish(agent.Event{Type: agent.ToolAsk, AskID: a.ID, ToolCallID: q.CallID, ToolName: q.Tool, Args: q.Arguments, Reason: q.Reason})
	allowed, err := s.await(ctx, q, a)
	s.asks.close(a.ID)
	s.hub.publish(agent.Event{Type: AskAnswered, AskID: a.ID, ToolCallID: q.CallID, Success: &allowed})
	return allowed, err
}

func (s *Session) await(ctx context.Context, q agent.Question, a openAsk) (bool, error) {
	if s.opts.Ask != nil {
		return s.opts.Ask(ctx, q)
	}
	limit := s.opts.AskTimeout
	if limit <= 0 {
		limit = askTime
	}
	alone := time.NewTimer(limit)
	defer alone.Stop()
	for {
		present, changed := s.asks.look()
		alone.Stop()
		if !present {
			alone.Reset(limit)
		}
		select {
		case allowed := <-a.answer:
			return allowed, nil
		case <-ctx.Done():
			return false, errors.New("the run was stopped before an answer came")
		case <-changed:
		case <-alone.C:
			return false, fmt.Errorf("%w within %s", ErrNobody, limit)
		}
	}
}

func (a *asks) look() (present bool, changed chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return a.present > 0, a.changed
}

func (a *asks) close(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open = slices.DeleteFunc(a.open, func(o openAsk) bool { return o.ID == id })
}

func (a *asks) came(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.present += n
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// Attend says that somebody is there who can answer questions, until leave is
// called. A subscription alone does not count: logs subscribe, too.
func (s *Session) Attend() (leave func()) {
	s.asks.came(1)
	var once sync.Once
	return func() { once.Do(func() { s.asks.came(-1) }) }
}

// Asks lists the questions that wait for an answer, the oldest first.
func (s *Session) Asks() []Ask {
	s.asks.mu.Lock()
	defer s.asks.mu.Unlock()
	out := []Ask{}
	for _, o := range s.asks.open {
		out = append(out, o.Ask)
	}
	return out
}

// Answer decides on an asked call. The first answer counts; it is ErrNoAsk after
// that.
func (s *Session) Answer(id string, allow bool) error {
	s.touch()
	s.asks.mu.Lock()
	defer s.asks.mu.Unlock()
	for i, o := range s.asks.open {
		if o.ID == id {
			s.asks.open = slices.Delete(s.asks.open, i, i+1)
			o.answer <- allow
			return nil
		}
	}
	return ErrNoAsk
}
