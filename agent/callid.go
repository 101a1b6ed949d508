package agent

import (
	"strconv"
	"strings"

	"github.com/piweb-go/piweb/message"
)

// callIDs keeps the calls of a conversation apart. Servers number the calls of each
// answer anew ("call_0"), and providers refuse a history in which two calls have one
// id; a result under such an id belongs to nobody in particular. The value counts how
// often each id was wanted.
type callIDs map[string]int

// take returns the id under which a call goes on: its own, or one with a number where
// another call has it. The same ids in the same order always become the same ones, so
// that a provider's cache of the conversation holds. An id of the Responses wire joins
// that of the call and that of the item with a bar; the first part tells calls apart.
func (c callIDs) take(id string) string {
	call, item, joined := strings.Cut(id, "|")
	if call == "" {
		call = "call"
	}
	own := call
	for c[own] > 0 {
		c[call]++
		own = call + "_" + strconv.Itoa(c[call])
	}
	c[own]++
	if joined {
		own += "|" + item
	}
	return own
}

// takenIDs are those of the calls that a request carries.
func takenIDs(msgs []message.Message) callIDs {
	c := callIDs{}
	for _, m := range msgs {
		if a, ok := m.(*message.Assistant); ok {
			for _, call := range a.Content.ToolCalls() {
				c.take(call.ID)
			}
		}
	}
	return c
}
