package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/wrapper"
)

// printer shows the events of one prompt: answers on standard output, what the
// model does and what a person should know on standard error.
type printer struct {
	a       *app
	path    string             // of the session
	answer  func(askID string) // says no to a call that is asked; nil where others answer
	shown   map[int]int        // bytes of each text block that were printed
	dirty   bool               // the last line of the answer is open
	aborted bool
	failure string
	lost    bool // deltas of this message did not come
}

func newPrinter(a *app, path string, header json.RawMessage) *printer {
	p := &printer{a: a, path: path, shown: map[int]int{}}
	if a.json {
		a.printJSONLine(header)
	}
	return p
}

func (p *printer) print(e wrapper.Event) {
	p.note(e)
	if p.a.json {
		p.a.printJSONLine(e)
		return
	}
	switch e.Type {
	case agent.MessageStart:
		p.shown, p.lost = map[int]int{}, false
	case agent.MessageEvent:
		if e.Update.Type == "text_delta" && !p.lost {
			p.text(e.Update.ContentIndex, e.Update.Delta)
		}
	case agent.MessageEnd:
		p.rest(e.Message)
	case agent.ToolStart:
		p.endLine()
		p.a.notef("• %s %s\n", oneLine(e.ToolName), clip(string(e.Args), 100))
	case agent.ToolEnd:
		if e.IsError {
			p.a.notef("  failed: %s\n", clip(e.Result.Content.PlainText(), 200))
		}
	case agent.AutoRetryStart:
		p.endLine()
		p.a.notef("note: %s; trying again in %s, %d of %d\n", clip(e.ErrorMessage, 200), time.Duration(e.DelayMs)*time.Millisecond, e.Attempt, e.MaxAttempts)
	case agent.ToolAsk:
		p.endLine()
		p.question(e)
	case agent.CompactionStart:
		p.endLine()
		p.a.notef("note: summing up earlier messages to make room\n")
	case agent.CompactionEnd:
		if e.ErrorMessage != "" {
			p.a.notef("note: this could not be summed up: %s\n", clip(e.ErrorMessage, 200))
		}
	case wrapper.Notice, wrapper.EngineSwapped:
		p.a.notef("note: %s\n", oneLine(e.Reason))
	case wrapper.Gap:
		p.lost = true
		p.endLine()
		p.a.notef("note: this terminal was too slow; the message is printed again as a whole\n")
	}
}

// question answers an asked call. A prompt on the command line may be a script's,
// so nobody is asked: the answer is no, at once, and it is said how to allow it.
func (p *printer) question(e wrapper.Event) {
	if p.answer == nil {
		p.a.notef("  waits for an answer there: %s (give it on the page of the process that holds the session)\n", oneLine(e.Reason))
		return
	}
	p.a.notef("  not allowed here: %s (answer such questions on the page of `piweb serve`)\n", oneLine(e.Reason))
}

// note keeps what decides the exit code.
func (p *printer) note(e wrapper.Event) {
	if e.Type == agent.ToolAsk {
		if p.answer != nil {
			p.answer(e.AskID)
		}
	}
	if e.Aborted != nil {
		p.aborted = *e.Aborted
	}
	if m, ok := e.Message.(*message.Assistant); ok && e.Type == agent.MessageEnd {
		p.failure = ""
		if m.StopReason == message.StopError {
			p.failure = m.ErrorMessage
		}
	}
}

func (p *printer) text(index int, text string) {
	if p.shown[index] == 0 {
		p.endLine()
	}
	fmt.Fprint(p.a.out, printable(text))
	p.shown[index] += len(text)
	p.dirty = !strings.HasSuffix(text, "\n")
}

// rest prints what did not come as deltas, so that a slow terminal loses
// nothing.
func (p *printer) rest(m message.Message) {
	a, ok := m.(*message.Assistant)
	if !ok {
		return
	}
	for i, b := range a.Content {
		if p.lost {
			p.shown[i] = 0
		}
		if b.Type == message.TypeText && p.shown[i] < len(b.Text) {
			p.text(i, b.Text[p.shown[i]:])
		}
	}
	p.endLine()
}

func (p *printer) endLine() {
	if p.dirty {
		fmt.Fprintln(p.a.out)
		p.dirty = false
	}
}

// finish says where the conversation is.
func (p *printer) finish() {
	if p.a.json {
		return
	}
	if p.aborted {
		p.a.notef("stopped; what came so far is kept\n")
	}
	p.a.notef("session %s\n", oneLine(p.path))
}
