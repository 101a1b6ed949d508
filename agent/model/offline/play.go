package offline

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
)

// FromScript returns a model that plays the script in r, for tests. All streams
// of one model share the script: each takes the next step that fits its last
// user message. Where no step fits, the stream fails with an
// [agent.RequestError] of status 500 that wraps [ErrNoStep].
func FromScript(r io.Reader, info agent.ModelInfo) (agent.Model, error) {
	script, err := ParseScript(r)
	if err != nil {
		return nil, err
	}
	return Play(script, info), nil
}

// Play is FromScript for a script that was read already.
func Play(s *Script, info agent.ModelInfo) agent.Model {
	return &scripted{info: info, player: NewPlayer(s)}
}

// errGarbled is what a wire makes of an event that it cannot read.
var errGarbled = errors.New("an event of the answer cannot be read: it is not JSON")

type scripted struct {
	info   agent.ModelInfo
	player *Player
}

func (m *scripted) Info() agent.ModelInfo { return m.info }

func (m *scripted) Stream(ctx context.Context, req agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		out := &speaker{ctx: ctx, yield: yield}
		if out.stopped() {
			return
		}
		step, err := m.player.Next(lastUserText(req.Messages))
		if err != nil {
			out.fail(&agent.RequestError{Provider: m.info.Provider, Status: 500, Message: err.Error(), Err: err})
			return
		}
		out.delay = step.Delay()
		m.say(out, step)
	}
}

func (m *scripted) say(out *speaker, step Step) {
	if step.Refused() {
		out.wait()
		out.fail(step.Error.RequestError(m.info.Provider))
		return
	}
	out.thinking(step.Pieces(step.Thinking))
	out.text(step.Pieces(step.FullText()))
	for _, c := range step.ToolCalls {
		out.call(c.ID, c.Name, step.Fragments(c.Text()))
	}
	switch {
	case step.Error != nil:
		out.fail(step.Error.RequestError(m.info.Provider))
	case step.Garbled:
		out.fail(errGarbled)
	case step.Stall:
		out.stall()
	case step.Cut:
		return
	default:
		if step.Usage != nil {
			out.send(agent.UsageDelta{Usage: step.Usage.Message()})
		}
		word := step.FinishWord()
		out.send(agent.Stop{Reason: stopReason(word, len(step.ToolCalls) > 0), RawReason: word})
	}
}

// stopReason maps a provider's word as the HTTP providers do.
func stopReason(word string, calls bool) message.StopReason {
	switch word {
	case "length":
		return message.StopLength
	case "tool_calls", "function_call":
		return message.StopToolUse
	}
	if calls {
		return message.StopToolUse
	}
	return message.StopEnd
}

// speaker yields the deltas of one answer, each after the delay, until the
// listener or the context ends it.
type speaker struct {
	ctx   context.Context
	delay time.Duration
	yield func(agent.Delta, error) bool
	block int // index of the next block
	done  bool
}

func (s *speaker) thinking(pieces []string) {
	if len(pieces) == 0 {
		return
	}
	for _, w := range pieces {
		s.wait()
		s.send(agent.ThinkingDelta{Index: s.block, Text: w})
	}
	s.block++
}

func (s *speaker) text(pieces []string) {
	if len(pieces) == 0 {
		return
	}
	for _, w := range pieces {
		s.wait()
		s.send(agent.TextDelta{Index: s.block, Text: w})
	}
	s.block++
}

func (s *speaker) call(id, name string, arguments []string) {
	s.wait()
	s.send(agent.ToolCallDelta{Index: s.block, ID: id, Name: name})
	for _, part := range arguments {
		s.wait()
		s.send(agent.ToolCallDelta{Index: s.block, Arguments: part})
	}
	s.block++
}

// wait lets the delay pass, or ends the answer with the context.
func (s *speaker) wait() {
	if s.done || s.delay <= 0 {
		return
	}
	timer := time.NewTimer(s.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
		s.fail(s.ctx.Err())
	}
}

// stall says nothing more until nobody listens.
func (s *speaker) stall() {
	if !s.done {
		<-s.ctx.Done()
		s.fail(s.ctx.Err())
	}
}

func (s *speaker) send(d agent.Delta) {
	if s.stopped() {
		return
	}
	s.done = !s.yield(d, nil)
}

func (s *speaker) fail(err error) {
	if s.done {
		return
	}
	s.done = true
	s.yield(nil, err)
}

// stopped reports the end of the context to the listener, once.
func (s *speaker) stopped() bool {
	if !s.done && s.ctx.Err() != nil {
		s.fail(s.ctx.Err())
	}
	return s.done
}

// lastUserText is the text of the last user message, or "".
func lastUserText(messages []message.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if u, ok := messages[i].(*message.User); ok {
			return u.Content.PlainText()
		}
	}
	return ""
}
