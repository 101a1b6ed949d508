package wrapper

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
)

// texts are the user messages of the session's context.
func texts(t *testing.T, s *Session) (out []string) {
	t.Helper()
	c, err := s.Log().Context()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Messages {
		if m.Role() == message.RoleUser {
			out = append(out, message.ContentOf(m).PlainText())
		}
	}
	return out
}

func TestQueueOfASession(t *testing.T) {
	gate := make(chan struct{})
	h := &stage{gate: gate}
	r := registry(t, h, Options{})
	s := opened(t, r, file(t, t.TempDir()), OpenOptions{})
	turn, err := s.Prompt(t.Context(), Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	for h.asked.Load() == 0 { // before that, the run takes what waits
		runtime.Gosched()
	}
	if _, err := s.Steer(t.Context(), Input{Text: " "}); !errors.Is(err, ErrEmpty) {
		t.Errorf("error %v", err)
	}
	for _, text := range []string{"one", "two"} {
		if at, err := s.Steer(t.Context(), Input{Text: text}); err != nil || at != nil {
			t.Fatal(at, err)
		}
	}
	if _, err := s.FollowUp(t.Context(), Input{Text: "three"}); err != nil {
		t.Fatal(err)
	}
	if w := s.Waiting(); !slices.Equal(w.Steering, []string{"one", "two"}) || !slices.Equal(w.FollowUp, []string{"three"}) {
		t.Errorf("waiting %+v", w)
	}
	close(gate)
	if err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, s); !slices.Equal(got, []string{"q", "go", "one", "two", "three"}) {
		t.Errorf("context %v", got)
	}
	if at, err := s.Steer(t.Context(), Input{Text: "late"}); err != nil || at == nil {
		t.Errorf("where nothing runs it is a prompt: %v %v", at, err)
	} else if err := at.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestQueueAfterAStop(t *testing.T) {
	h := &stage{gate: make(chan struct{})}
	r := registry(t, h, Options{})
	s := opened(t, r, file(t, t.TempDir()), OpenOptions{})
	sub := s.Subscribe(0)
	defer sub.Close()
	turn, err := s.Prompt(t.Context(), Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := sub.Next(t.Context()); e.Type != agent.MessageEnd; e, err = sub.Next(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, _ = s.Steer(t.Context(), Input{Text: "kept"})
	s.Abort()
	if err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w := s.Waiting(); !slices.Equal(w.Steering, []string{"kept"}) {
		t.Errorf("after a stop %+v waits", w)
	}
	close(h.gate)
	say(t, s, "again")
	if got := texts(t, s); !slices.Equal(got, []string{"q", "go", "again", "kept"}) {
		t.Errorf("context %v", got)
	}
	updates := 0
	for done := 0; done < 2; {
		e, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case agent.QueueUpdate:
			updates++
		case PromptDone:
			done++
		}
	}
	if updates != 2 {
		t.Errorf("%d updates, want one for in and one for out", updates)
	}
}

func TestClearQueueAndBounds(t *testing.T) {
	gate := make(chan struct{})
	r := registry(t, &stage{gate: gate}, Options{})
	s := opened(t, r, file(t, t.TempDir()), OpenOptions{})
	turn, err := s.Prompt(t.Context(), Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxWaiting {
		if _, err := s.FollowUp(t.Context(), Input{Text: fmt.Sprint(i)}); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, err := s.Steer(t.Context(), Input{Text: "more"}); !errors.Is(err, ErrQueueFull) {
		t.Errorf("error %v", err)
	}
	if w := s.ClearQueue(); len(w.FollowUp) != maxWaiting || len(s.Waiting().FollowUp) != 0 {
		t.Errorf("%d were taken back", len(w.FollowUp))
	}
	if _, err := s.Steer(t.Context(), Input{Text: strings.Repeat("x", maxWaitingBytes)}); !errors.Is(err, ErrQueueFull) {
		t.Errorf("error %v", err)
	}
	close(gate)
	if err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestNothingSaidIsLost: whatever the moment at which something is said, before,
// in or after the end of a run, it is in the file once.
func TestNothingSaidIsLost(t *testing.T) {
	r := registry(t, &stage{}, Options{})
	s := opened(t, r, file(t, t.TempDir()), OpenOptions{})
	const people, lines = 6, 8
	var wg sync.WaitGroup
	var turns atomic.Int64
	for p := range people {
		wg.Go(func() {
			for i := range lines {
				do := s.Steer
				if i%2 == 1 {
					do = s.FollowUp
				}
				at, err := do(t.Context(), Input{Text: fmt.Sprintf("%d.%d", p, i)})
				if err != nil {
					t.Error(err)
				}
				if at != nil {
					turns.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if err := s.ended(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := texts(t, s)[1:]
	seen := map[string]bool{}
	for _, x := range got {
		seen[x] = true
	}
	if len(got) != people*lines || len(seen) != people*lines || turns.Load() == 0 {
		t.Errorf("%d messages, %d different, %d turns", len(got), len(seen), turns.Load())
	}
	if w := s.Waiting(); len(w.Steering)+len(w.FollowUp) != 0 {
		t.Errorf("left behind: %+v", w)
	}
}

func TestAsk(t *testing.T) {
	q := agent.Question{CallID: "c1", Tool: "bash", Arguments: []byte(`{"command":"rm"}`), Reason: "it deletes"}
	type end struct {
		allowed bool
		err     error
	}
	run := func(ctx context.Context, s *Session) chan end {
		done := make(chan end, 1)
		go func() {
			allowed, err := s.ask(ctx, q)
			done <- end{allowed, err}
		}()
		for len(s.Asks()) == 0 {
			time.Sleep(time.Millisecond)
		}
		return done
	}
	t.Run("any client answers, once", func(t *testing.T) {
		s := opened(t, registry(t, &stage{}, Options{AskTimeout: time.Hour}), file(t, t.TempDir()), OpenOptions{})
		sub := s.Subscribe(0)
		defer sub.Close()
		done := run(t.Context(), s)
		a := s.Asks()[0]
		if a.Tool != "bash" || a.Reason != "it deletes" || a.ID == "" {
			t.Errorf("the question is %+v", a)
		}
		if err := s.Answer(a.ID, true); err != nil {
			t.Error(err)
		}
		if err := s.Answer(a.ID, false); !errors.Is(err, ErrNoAsk) {
			t.Errorf("a second answer: %v", err)
		}
		if e := <-done; !e.allowed || e.err != nil {
			t.Errorf("the call got %+v", e)
		}
		var told []string
		for range 2 {
			e, err := sub.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			told = append(told, string(e.Type)+" "+e.AskID)
		}
		if !slices.Equal(told, []string{"tool_execution_ask " + a.ID, "tool_execution_answer " + a.ID}) {
			t.Errorf("told %v", told)
		}
	})
	t.Run("nobody is there", func(t *testing.T) {
		s := opened(t, registry(t, &stage{}, Options{AskTimeout: time.Millisecond}), file(t, t.TempDir()), OpenOptions{})
		if allowed, err := s.ask(t.Context(), q); allowed || !errors.Is(err, ErrNobody) || len(s.Asks()) != 0 {
			t.Errorf("%v %v", allowed, err)
		}
	})
	t.Run("somebody is there and takes time, then goes", func(t *testing.T) {
		s := opened(t, registry(t, &stage{}, Options{AskTimeout: 20 * time.Millisecond}), file(t, t.TempDir()), OpenOptions{})
		leave := s.Attend()
		done := run(t.Context(), s)
		select {
		case e := <-done:
			t.Fatalf("it gave up although somebody is there: %+v", e)
		case <-time.After(100 * time.Millisecond):
		}
		leave()
		leave()
		if e := <-done; e.allowed || !errors.Is(e.err, ErrNobody) {
			t.Errorf("%+v", e)
		}
	})
	t.Run("the run is stopped", func(t *testing.T) {
		s := opened(t, registry(t, &stage{}, Options{}), file(t, t.TempDir()), OpenOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		done := run(ctx, s)
		cancel()
		if e := <-done; e.allowed || e.err == nil || len(s.Asks()) != 0 {
			t.Errorf("%+v", e)
		}
	})
}
