package policy

import (
	"fmt"
	"slices"

	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
)

// Check is the verdict on one receipt.
type Check struct {
	Entry       session.ID `json:"entry"`
	Line        int        `json:"line"`
	Receipt     Receipt    `json:"receipt"`
	Differences []string   `json:"differences"` // empty: the receipt holds
	Notes       []string   `json:"notes"`       // what cannot be recomputed from the file
}

// OK tells whether the receipt is what the file says.
func (c Check) OK() bool { return len(c.Differences) == 0 }

// Verify holds every receipt of a file against the file: kind, source and tools
// are recomputed from the entries before it, and the hash from the text of the
// head. It goes through the file once.
func Verify(v View) ([]Check, error) {
	p := newPass(v)
	var checks []Check
	for e := range v.Entries() {
		if e.Type == session.TypeCustom && e.CustomType == ReceiptType {
			c, err := p.check(e)
			if err != nil {
				return nil, err
			}
			checks = append(checks, c)
		}
		if err := p.add(e); err != nil {
			return nil, err
		}
	}
	return checks, nil
}

func newPass(v View) *pass {
	p := &pass{v: v, states: map[session.ID]declState{}, texts: map[string]string{}}
	if h, ok := v.(interface{ Header() session.Header }); ok {
		p.forked = h.Header().ParentSession != ""
	}
	return p
}

// pass knows what the file says up to one of its lines.
type pass struct {
	v         View
	forked    bool // the file began as a part of another one
	child     ChildFact
	selection toolselect.Found
	states    map[session.ID]declState // behind each entry so far
	texts     map[string]string        // of heads, by hash
}

func (p *pass) add(e session.Entry) error {
	st, err := p.states[e.Parent].after(p.v, e)
	if err != nil {
		return err
	}
	p.states[e.ID] = st
	switch {
	case isChildMeta(e) && !p.child.Is:
		p.child, err = childFact(p.v, e)
	case e.Type == session.TypeCustom && e.CustomType == toolselect.CustomType:
		p.selection, err = toolselect.Next(p.selection, p.v, e)
	}
	return err
}

func (p *pass) check(e session.Entry) (Check, error) {
	c := Check{Entry: e.ID, Line: e.Line, Differences: []string{}, Notes: []string{}}
	body, err := p.v.Decode(e)
	if err != nil {
		return c, err
	}
	custom, _ := body.(session.Custom)
	r, err := ParseReceipt(custom.Data)
	if err != nil {
		c.Differences = append(c.Differences, err.Error())
		return c, nil
	}
	c.Receipt = r
	c.verifyText(p.texts)
	before, known := p.states[e.Parent]
	if !known && e.Parent != "" {
		c.Notes = append(c.Notes, fmt.Sprintf("the entry %s before it is not in the file; declarations on its branch are not known", e.Parent))
	}
	if e := r.Policy.Source.Entry; e != "" && p.forked {
		if _, here := p.states[e]; !here {
			// A fork takes one branch; what decided may have stood on another.
			c.Notes = append(c.Notes, fmt.Sprintf("the entry %s that decided is not in this file: it stayed in the session that this one was forked from", e))
			return c, nil
		}
	}
	want, _ := Resolve(Facts{Child: p.child, Selection: p.selection, Declared: before.declared()})
	if want.Kind == Refused {
		c.Differences = append(c.Differences, "a request was sent for a subagent that must be refused: "+want.Err().Error())
		return c, nil
	}
	c.verifySource(want)
	c.verifyTools(want)
	return c, nil
}

// verifyText recomputes the hash from the text of this receipt, or of the
// earlier one that has it.
func (c *Check) verifyText(texts map[string]string) {
	sys := c.Receipt.System
	if sys.Text != nil {
		texts[sys.SHA256] = *sys.Text
	}
	text, ok := texts[sys.SHA256]
	if !ok {
		c.Differences = append(c.Differences, "the text of the head is nowhere in the file before it")
		return
	}
	if got := Hash([]byte(text)); got != sys.SHA256 {
		c.Differences = append(c.Differences, fmt.Sprintf("the text has the hash %s, the receipt says %s", got, sys.SHA256))
	}
	if len(text) != sys.Bytes {
		c.Differences = append(c.Differences, fmt.Sprintf("the text has %d bytes, the receipt says %d", len(text), sys.Bytes))
	}
}

func (c *Check) verifySource(want Policy) {
	got := c.Receipt.Policy
	fromSettings := want.Source.By == BySettings || want.Source.By == ByDefault
	if fromSettings && got.Kind == want.Kind && (got.Source.By == BySettings || got.Source.By == ByDefault) {
		c.Notes = append(c.Notes, "the tools followed the settings of that day, which are not in the file")
		return
	}
	if got.Kind != want.Kind || got.Source != want.Source {
		c.Differences = append(c.Differences, fmt.Sprintf("the receipt says %s by %s, the file says %s by %s", got.Kind, got.Source, want.Kind, want.Source))
	}
}

// verifyTools compares the built-in tools; others come from extensions and must
// be admitted.
func (c *Check) verifyTools(want Policy) {
	var builtin []string
	for _, t := range c.Receipt.Tools {
		name := toolselect.MapShell([]string{t.Name}, false)[0]
		if toolselect.IsBuiltin(name) {
			builtin = append(builtin, name)
		} else if ok, why := want.Admits(Tool{Name: name}); !ok {
			c.Differences = append(c.Differences, fmt.Sprintf("the request offered %q: %s", t.Name, why))
		}
	}
	if want.Source.By == BySettings || want.Source.By == ByDefault {
		return // not in the file
	}
	for _, name := range builtin {
		if !slices.Contains(want.Tools, name) {
			c.Differences = append(c.Differences, fmt.Sprintf("the request offered %q, which the file does not allow", name))
		}
	}
	for _, name := range want.Tools {
		if !slices.Contains(builtin, name) && toolselect.IsBuiltin(name) {
			c.Notes = append(c.Notes, fmt.Sprintf("%q is allowed and was not offered: this program did not have it", name))
		}
	}
}
