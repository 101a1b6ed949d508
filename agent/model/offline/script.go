package offline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
)

// ErrNoStep says that no step of a script fits a request.
var ErrNoStep = errors.New("offline: no step of the script fits")

// Script is a sequence of answers. The format is told in
// fixtures/scripts/README.md.
type Script struct {
	About string `json:"about,omitempty"`
	Steps []Step `json:"steps"`
}

// Step is one answer.
type Step struct {
	Match     string     `json:"match,omitempty"`
	Repeat    bool       `json:"repeat,omitempty"`
	DelayMs   int        `json:"delayMs,omitempty"` // milliseconds before each piece
	Thinking  string     `json:"thinking,omitempty"`
	Text      string     `json:"text,omitempty"`
	TextTimes int        `json:"textTimes,omitempty"` // 0 means once
	ToolCalls []ToolCall `json:"toolCalls,omitempty"`
	Usage     *Usage     `json:"usage,omitempty"`
	Finish    string     `json:"finish,omitempty"` // the provider's word for the end
	// Whole sends thinking, text and arguments in one piece each.
	Whole bool `json:"whole,omitempty"`
	// What goes wrong behind the content; one of these at most, and of Error.
	Cut     bool     `json:"cut,omitempty"`     // nothing more
	Stall   bool     `json:"stall,omitempty"`   // nothing more, and no end, until nobody listens
	Garbled bool     `json:"garbled,omitempty"` // something that cannot be read
	Error   *Failure `json:"error,omitempty"`
}

// ToolCall is a call that a step makes. ArgumentsText, if set, is sent instead
// of Arguments and need not be JSON.
type ToolCall struct {
	ID            string          `json:"id,omitempty"`
	Name          string          `json:"name"`
	Arguments     json.RawMessage `json:"arguments,omitempty"`
	ArgumentsText string          `json:"argumentsText,omitempty"`
}

// Usage is what a step reports, in tokens. Input contains neither CacheRead nor
// CacheWrite; Reasoning is a part of Output, and CacheWrite1h one of CacheWrite.
type Usage struct {
	Input        int64 `json:"input"`
	Output       int64 `json:"output"`
	CacheRead    int64 `json:"cacheRead,omitempty"`
	CacheWrite   int64 `json:"cacheWrite,omitempty"`
	CacheWrite1h int64 `json:"cacheWrite1h,omitempty"`
	Reasoning    int64 `json:"reasoning,omitempty"`
}

// Message returns the usage as a message stores it, without cost.
func (u Usage) Message() message.Usage {
	return message.Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		CacheWrite1h: u.CacheWrite1h, Reasoning: u.Reasoning, TotalTokens: u.Input + u.Output + u.CacheRead + u.CacheWrite,
	}
}

// Failure is a provider's refusal.
type Failure struct {
	Status     int    `json:"status"` // HTTP status
	Message    string `json:"message"`
	Code       string `json:"code,omitempty"`
	RetryAfter string `json:"retryAfter,omitempty"` // value of the header
}

// RequestError returns the failure as a provider reports it to the loop.
func (f *Failure) RequestError(provider string) *agent.RequestError {
	msg := f.Message
	if f.Code != "" {
		msg += " (" + f.Code + ")"
	}
	return &agent.RequestError{Provider: provider, Status: f.Status, Message: msg, RetryAfter: f.RetryAfter}
}

// ParseScript reads a script. Unknown fields and steps that say nothing are
// errors.
func ParseScript(r io.Reader) (*Script, error) {
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	var s Script
	if err := dec.Decode(&s); err != nil {
		return nil, fmt.Errorf("offline: script: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("offline: script: something follows the JSON object")
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return &s, nil
}

func (s *Script) check() error {
	for i, step := range s.Steps {
		for _, call := range step.ToolCalls {
			if call.Name == "" {
				return fmt.Errorf("offline: script: step %d calls a tool without a name", i+1)
			}
			if len(call.Arguments) > 0 && call.ArgumentsText != "" {
				return fmt.Errorf("offline: script: step %d gives %s both arguments and argumentsText", i+1, call.Name)
			}
		}
		if step.Error != nil && (step.Error.Status < 400 || step.Error.Status > 599) {
			return fmt.Errorf("offline: script: step %d refuses with status %d, which is no error", i+1, step.Error.Status)
		}
		if step.DelayMs < 0 || step.TextTimes < 0 {
			return fmt.Errorf("offline: script: step %d has a negative number", i+1)
		}
		if wrong := count(step.Cut, step.Stall, step.Garbled, step.Error != nil); wrong > 1 {
			return fmt.Errorf("offline: script: step %d goes wrong in %d ways; cut, stall, garbled and error exclude each other", i+1, wrong)
		}
		if step.empty() {
			return fmt.Errorf("offline: script: step %d says nothing", i+1)
		}
	}
	return nil
}

func (s Step) empty() bool {
	return s.Text == "" && s.Thinking == "" && len(s.ToolCalls) == 0 &&
		s.Error == nil && !s.Broken() && s.Finish == "" && s.Usage == nil
}

func count(conditions ...bool) (n int) {
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}

// Broken says that the answer does not come to its end.
func (s Step) Broken() bool { return s.Cut || s.Stall || s.Garbled }

// Pieces are a text as the step streams it.
func (s Step) Pieces(text string) []string {
	if s.Whole && text != "" {
		return []string{text}
	}
	return Words(text)
}

// Fragments are the arguments of a call as the step streams them.
func (s Step) Fragments(arguments string) []string {
	if s.Whole {
		return []string{arguments}
	}
	return Fragments(arguments)
}

// FullText is the text with its repetitions.
func (s Step) FullText() string {
	if s.TextTimes > 1 {
		return strings.Repeat(s.Text, s.TextTimes)
	}
	return s.Text
}

// Refused says that the step fails before it says anything.
func (s Step) Refused() bool {
	return s.Error != nil && s.Text == "" && s.Thinking == "" && len(s.ToolCalls) == 0
}

// FinishWord is the provider's word for the end of the step.
func (s Step) FinishWord() string {
	switch {
	case s.Finish != "":
		return s.Finish
	case len(s.ToolCalls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// Delay is the time to wait before each piece.
func (s Step) Delay() time.Duration { return time.Duration(s.DelayMs) * time.Millisecond }

// Text is what the model says as arguments of the call.
func (c ToolCall) Text() string {
	switch {
	case c.ArgumentsText != "":
		return c.ArgumentsText
	case len(bytes.TrimSpace(c.Arguments)) == 0:
		return "{}"
	}
	return string(c.Arguments)
}

// Player hands out the steps of one script. It is safe for concurrent use.
type Player struct {
	script *Script

	mu    sync.Mutex
	used  []bool
	turns int
}

// NewPlayer starts a script at its beginning. The script must not change after.
func NewPlayer(s *Script) *Player {
	return &Player{script: s, used: make([]bool, len(s.Steps))}
}

// Next takes the first step that is unused, or repeats, and that fits the last
// user message. Calls without an id get one. Where no step fits the error wraps
// [ErrNoStep].
func (p *Player) Next(lastUser string) (Step, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turns++
	for i, step := range p.script.Steps {
		if p.used[i] && !step.Repeat {
			continue
		}
		if !strings.Contains(lastUser, step.Match) {
			continue
		}
		p.used[i] = true
		return step.withIDs(p.turns), nil
	}
	return Step{}, fmt.Errorf("%w (request %d of this script, last user message %q)",
		ErrNoStep, p.turns, clip(lastUser, 80))
}

// withIDs names the calls that have no id.
func (s Step) withIDs(turn int) Step {
	calls := make([]ToolCall, len(s.ToolCalls))
	for i, c := range s.ToolCalls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d_%d", turn, i+1)
		}
		calls[i] = c
	}
	s.ToolCalls = calls
	return s
}
