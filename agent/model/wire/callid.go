package wire

import "crypto/rand"

// CallIDs keeps the ids of the calls of one answer apart. The zero value has seen
// none.
type CallIDs struct{ seen map[string]bool }

// Take returns the id under which a call goes on: its own, or a new one where the
// provider gave none or one that another call of the answer has. A result answers
// exactly one call, in the file and in the next request.
func (c *CallIDs) Take(id string) string {
	if id == "" || c.seen[id] {
		id = "call_" + rand.Text()
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[id] = true
	return id
}
