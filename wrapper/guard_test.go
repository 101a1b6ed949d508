package wrapper

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/piweb-go/piweb/agent"
)

// TestGuardOfARun: a guard watches over the run that it came with. Another prompt
// that is refused meanwhile does not take it away, and the next prompt is not judged
// by it.
func TestGuardOfARun(t *testing.T) {
	h := &stage{gate: make(chan struct{}), calls: "nothing"}
	r := registry(t, h, Options{})
	s := opened(t, r, file(t, t.TempDir()), OpenOptions{})
	var asked, other atomic.Int64
	guard := func(n *atomic.Int64) agent.Guard {
		return func(int) (string, error) { n.Add(1); return "", nil }
	}
	turn, err := s.PromptGuarded(t.Context(), Input{Text: "one"}, guard(&asked))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PromptGuarded(t.Context(), Input{Text: "two"}, guard(&other)); !errors.Is(err, ErrRunning) {
		t.Fatalf("a second prompt: %v", err)
	}
	close(h.gate)
	if err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if asked.Load() != 1 || other.Load() != 0 {
		t.Errorf("the guard of the run was asked %d times, that of the refused prompt %d times", asked.Load(), other.Load())
	}
	say(t, s, "three")
	if asked.Load() != 1 || other.Load() != 0 {
		t.Errorf("a guard of an earlier prompt judged the next one: %d, %d", asked.Load(), other.Load())
	}
}
