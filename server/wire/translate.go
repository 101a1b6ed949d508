package wire

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/wrapper"
)

// Options are what a translator cannot know from events.
type Options struct {
	Now func() time.Time // nil for time.Now; the start of a turn is told
	// Result, if not nil, may add to what a client is told of a finished call.
	Result func(*agent.EventResult) *agent.EventResult
	// Policy is asked after a change of the policy. nil tells of none.
	Policy func() Policy
}

// Translator turns the events of one session into frames. It is used by one
// goroutine at a time.
type Translator struct {
	opts      Options
	lifecycle Lifecycle
	title     string
	queue     Queue
	asks      []Ask
	parts     int // how many part ids were given out

	turn turn
	lost bool // events are missing, and with them perhaps the start of a turn
}

// turn is what is known of the prompt that runs.
type turn struct {
	running   bool
	started   time.Time
	step      bool
	text      string // id of the open text part, "" for none
	reasoning string
	muted     bool // events are missing: only the end and the final text are told

	retrying bool // the run begins anew, and the turn goes on
	aborted  bool
	failed   bool   // the last answer broke off
	reason   string // why it did
	broken   string // why the run broke off
	final    string // text of the last answer that had any
}

// NewTranslator starts with an idle session.
func NewTranslator(o Options) *Translator {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Translator{opts: o, lifecycle: Ready}
}

// Title tells the translator what the session is called where no event has.
func (t *Translator) Title(name string) {
	if t.title == "" {
		t.title = name
	}
}

// Running tells whether a turn has begun and has not ended.
func (t *Translator) Running() bool { return t.turn.running }

// Sticky are the controls that a client gets first.
func (t *Translator) Sticky() []Frame {
	frames := []Frame{{Control: Status{t.lifecycle}}, t.state(), {Control: t.queue}}
	for _, a := range t.asks {
		frames = append(frames, Frame{Control: a})
	}
	return frames
}

func (t *Translator) state() Frame {
	s := State{Lifecycle: t.lifecycle, Busy: t.turn.running, Title: t.title}
	if t.turn.running {
		s.StartedAt = t.turn.started.UnixMilli()
	}
	return Frame{Control: s}
}

// Translate takes the next event.
func (t *Translator) Translate(e wrapper.Event) []Frame {
	switch e.Type {
	case agent.AgentStart:
		if t.turn.running && t.turn.retrying {
			t.turn.retrying = false
			return nil
		}
		return append(t.unfinished(), t.begin()...)
	case agent.QueueUpdate:
		return t.waits(e)
	case agent.ToolAsk:
		return append(t.inTurn(e), t.asked(e)...)
	case wrapper.AskAnswered:
		return t.answered(e)
	case wrapper.PromptDone:
		t.asks = nil
		t.lost = false
		if !t.turn.running {
			return nil
		}
		return t.end()
	case wrapper.PolicyChanged, wrapper.EngineSwapped:
		return t.policy(e.Type == wrapper.EngineSwapped)
	case wrapper.Notice, wrapper.NewerText:
		return []Frame{{Control: Notice{e.Reason}, Own: true}}
	case wrapper.Navigation, wrapper.LeafMoved, wrapper.LabelChanged:
		return []Frame{{Control: History{}, Own: true}}
	case wrapper.Noted:
		return attached(e.ToolName, e.Args)
	case wrapper.NameChanged:
		t.title = e.Reason
		return []Frame{t.state(), {Control: History{}, Own: true}}
	case wrapper.Gap:
		return t.gap()
	case wrapper.Shutdown:
		return t.End("stopped", "The session was stopped.")
	}
	return t.inTurn(e)
}

func (t *Translator) policy(recreated bool) []Frame {
	if t.opts.Policy == nil {
		return nil
	}
	p := t.opts.Policy()
	p.Recreated = recreated
	return []Frame{{Control: p, Own: true}}
}

// begin opens a turn. That the session is busy is said before its first chunk.
func (t *Translator) begin() []Frame {
	t.lost = false
	t.turn = turn{running: true, started: t.opts.Now()}
	return []Frame{t.state(), chunk(Start)}
}

// unfinished ends a turn whose end was lost.
func (t *Translator) unfinished() []Frame {
	if !t.turn.running {
		return nil
	}
	return t.end()
}

// inTurn takes the events that belong to a turn.
func (t *Translator) inTurn(e wrapper.Event) []Frame {
	var frames []Frame
	if !t.turn.running {
		if !t.lost || !ofRun(e.Type) {
			return nil
		}
		frames = append(t.begin(), failure(GapText))
		t.turn.muted = true
	}
	t.note(e)
	if t.turn.muted {
		return frames
	}
	return append(frames, t.tell(e)...)
}

// ofRun tells whether an event shows that a run is under way.
func ofRun(t agent.EventType) bool {
	switch t {
	case agent.TurnStart, agent.MessageStart, agent.MessageEvent, agent.MessageEnd, agent.ToolStart, agent.ToolUpdate, agent.ToolEnd,
		agent.ToolAsk, agent.AutoRetryStart, agent.AutoRetryEnd, agent.CompactionStart, agent.CompactionEnd, agent.TurnEnd, agent.AgentEnd, agent.AgentSettled, wrapper.PromptError:
		return true
	}
	return false
}

// note keeps what the end of the turn depends on.
func (t *Translator) note(e wrapper.Event) {
	switch e.Type {
	case agent.MessageEnd:
		m, ok := e.Message.(*message.Assistant)
		if !ok {
			return
		}
		if text := m.Content.PlainText(); text != "" {
			t.turn.final = text
		}
		t.turn.failed, t.turn.reason = m.StopReason == message.StopError, m.ErrorMessage
		t.turn.aborted = t.turn.aborted || m.StopReason == message.StopAborted
	case agent.AgentEnd, wrapper.PromptError:
		t.turn.retrying = e.WillRetry != nil && *e.WillRetry
		if t.turn.broken == "" {
			t.turn.broken = e.Error
		}
	case agent.AgentSettled:
		t.turn.aborted = t.turn.aborted || e.Aborted != nil && *e.Aborted
	}
}

func (t *Translator) tell(e wrapper.Event) []Frame {
	switch e.Type {
	case agent.TurnStart:
		t.turn.step = true
		return []Frame{chunk(StartStep)}
	case agent.TurnEnd:
		t.turn.step, t.turn.text, t.turn.reasoning = false, "", ""
		return []Frame{chunk(FinishStep)}
	case agent.MessageEvent:
		if e.Update != nil {
			return t.update(*e.Update)
		}
	case agent.ToolStart:
		input := e.Args
		if len(input) == 0 {
			input = []byte("{}")
		}
		return []Frame{{Chunk: &Chunk{Type: ToolInput, ToolCallID: e.ToolCallID, ToolName: e.ToolName, Input: input}}}
	case agent.AutoRetryStart, agent.AutoRetryEnd:
		return []Frame{retry(e)}
	case agent.CompactionStart, agent.CompactionEnd:
		return []Frame{compaction(e)}
	case agent.ToolUpdate:
		return []Frame{{Chunk: &Chunk{Type: ToolOutput, ToolCallID: e.ToolCallID, Output: e.Partial, Preliminary: true}}}
	case agent.ToolEnd:
		if e.IsError {
			return []Frame{{Chunk: &Chunk{Type: ToolOutputError, ToolCallID: e.ToolCallID, ErrorText: toolError(e.Result)}}}
		}
		fine := false
		result := e.Result
		if t.opts.Result != nil {
			result = t.opts.Result(result)
		}
		return []Frame{{Chunk: &Chunk{Type: ToolOutput, ToolCallID: e.ToolCallID, Output: result, IsError: &fine}}}
	}
	return nil
}

// update tells how an answer grows. Arguments of calls are not told while they
// grow: the call is told as a whole when it starts.
func (t *Translator) update(u agent.Update) []Frame {
	switch u.Type {
	case "text_start":
		return t.open(&t.turn.text, TextStart, TextEnd)
	case "text_delta":
		return t.grow(&t.turn.text, TextStart, TextDelta, u.Delta)
	case "text_end":
		return t.shut(&t.turn.text, TextEnd)
	case "thinking_start":
		return t.open(&t.turn.reasoning, ReasoningStart, ReasoningEnd)
	case "thinking_delta":
		return t.grow(&t.turn.reasoning, ReasoningStart, ReasoningDelta, u.Delta)
	case "thinking_end":
		return t.shut(&t.turn.reasoning, ReasoningEnd)
	}
	return nil
}

func (t *Translator) nextPart() string {
	t.parts++
	return fmt.Sprintf("p%d", t.parts)
}

func (t *Translator) open(id *string, start, end ChunkType) []Frame {
	frames := t.shut(id, end)
	*id = t.nextPart()
	return append(frames, part(start, *id))
}

func (t *Translator) grow(id *string, start, delta ChunkType, text string) []Frame {
	if text == "" {
		return nil
	}
	var frames []Frame
	if *id == "" {
		*id = t.nextPart()
		frames = append(frames, part(start, *id))
	}
	return append(frames, Frame{Chunk: &Chunk{Type: delta, ID: *id, Delta: text}})
}

func (t *Translator) shut(id *string, end ChunkType) []Frame {
	if *id == "" {
		return nil
	}
	f := part(end, *id)
	*id = ""
	return []Frame{f}
}

// closing ends whatever is open.
func (t *Translator) closing() []Frame {
	frames := append(t.shut(&t.turn.reasoning, ReasoningEnd), t.shut(&t.turn.text, TextEnd)...)
	if t.turn.step {
		t.turn.step = false
		frames = append(frames, chunk(FinishStep))
	}
	return frames
}

// end closes the turn with its one terminal chunk.
func (t *Translator) end() []Frame {
	frames := t.closing()
	if t.turn.muted {
		frames = append(frames, t.Summary()...)
	}
	ended := t.turn
	t.turn = turn{final: ended.final}
	frames = append(frames, t.state())
	switch {
	case ended.broken != "":
		return append(frames, failure(shorten(ended.broken)), chunk(Finish))
	case ended.aborted:
		return append(frames, chunk(Abort))
	case ended.failed:
		return append(frames, failure(shorten(ended.reason)), chunk(Finish))
	}
	return append(frames, chunk(Finish))
}

// GapText is said in place of what cannot be shown.
const GapText = "Part of this turn is not shown here: it was too long to keep. The session's file has all of it; its last answer follows as a whole."

// gap notes that events are missing. What is open is closed, the client is told,
// and the rest of the turn comes as its final text.
func (t *Translator) gap() []Frame {
	if !t.turn.running {
		t.lost = true
		return nil
	}
	if t.turn.muted {
		return nil
	}
	frames := append(t.closing(), failure(GapText))
	t.turn.muted = true
	return frames
}

// Summary is the last answer of the turn as one text part, for those who missed
// a part of it. It is empty where nothing was answered.
func (t *Translator) Summary() []Frame {
	if t.turn.final == "" {
		return nil
	}
	id := t.nextPart()
	return []Frame{chunk(StartStep), part(TextStart, id), {Chunk: &Chunk{Type: TextDelta, ID: id, Delta: t.turn.final}}, part(TextEnd, id), chunk(FinishStep)}
}

// Opening is what somebody gets who missed the beginning of a turn.
func Opening() []Frame { return []Frame{chunk(Start), failure(GapText)} }

// Queue tells of other waiting messages: the chunk, then the control.
func (t *Translator) Queue(steering, followUp []string) []Frame {
	t.queue = Queue{steering, followUp}
	return []Frame{{Chunk: &Chunk{Type: QueueData, Data: t.queue.content()}}, {Control: t.queue}}
}

// End tells that the session has ended, and why. A turn that still runs is over
// for the client.
func (t *Translator) End(code, text string) []Frame {
	if t.lifecycle == Ended {
		return nil
	}
	var frames []Frame
	if t.turn.running {
		t.turn.aborted = true
		frames = t.end()
	}
	t.lifecycle = Ended
	return append(frames, Frame{Control: Status{Ended}}, t.state(), Frame{Control: Failure{text, code}})
}

// maxErrorText is how many characters of an error a client is told.
const maxErrorText = 500

func shorten(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return "The answer broke off, and no reason was given."
	}
	if utf8.RuneCountInString(text) <= maxErrorText {
		return text
	}
	return string([]rune(text)[:maxErrorText]) + "…"
}

// toolError is the text of a failed call: its text blocks, else the whole result.
func toolError(r *agent.EventResult) string {
	if r == nil {
		return "The tool failed and gave no reason."
	}
	if text := strings.TrimSpace(r.Content.PlainText()); text != "" {
		return text
	}
	data, err := message.Marshal(r)
	if err != nil {
		return "The tool failed and gave no reason."
	}
	return string(data)
}
