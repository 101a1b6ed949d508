package wire

import "github.com/piweb-go/piweb/message"

// End says how a provider ended an answer, in whatever words.
type End int

// The ways in which an answer ends.
const (
	Whole    End = iota // the model had said what it wanted to say
	Short               // it reached a limit of length
	Withheld            // the provider held something back
)

// Reason is the stop reason of an answer that holds so many calls. What a provider
// held back may be a part of a call: none of them is to run then, as after a
// length stop; the page shows the provider's own word. Several servers tell a
// plain stop although they call tools, so the calls decide and not the word.
func (e End) Reason(calls int) message.StopReason {
	switch {
	case e == Short, e == Withheld && calls > 0:
		return message.StopLength
	case e == Whole && calls > 0:
		return message.StopToolUse
	}
	return message.StopEnd
}
