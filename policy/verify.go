package policy

import (
	"fmt"
	"iter"
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
// head.
func Verify(v View) ([]Check, error) {
	var checks []Check
	texts := map[string]string{}
	var before []session.Entry
	for e := range v.Entries() {
		if e.Type == session.TypeCustom && e.CustomType == ReceiptType {
			p, err := v.Decode(e)
			if err != nil {
				return nil, err
			}
			custom, _ := p.(session.Custom)
			c, err := verifyOne(prefix{v, before, e.Parent}, e, custom, texts)
			if err != nil {
				return nil, err
			}
			checks = append(checks, c)
		}
		before = append(before, e)
	}
	return checks, nil
}

// prefix is a file up to one of its lines.
type prefix struct {
	View
	entries []session.Entry
	leaf    session.ID
}

func (p prefix) Entries() iter.Seq[session.Entry] { return slices.Values(p.entries) }
func (p prefix) Leaf() session.ID                 { return p.leaf }

func (p prefix) Backward() iter.Seq[session.Entry] {
	return func(yield func(session.Entry) bool) {
		for _, e := range slices.Backward(p.entries) {
			if !yield(e) {
				return
			}
		}
	}
}

func verifyOne(v prefix, e session.Entry, custom session.Custom, texts map[string]string) (Check, error) {
	c := Check{Entry: e.ID, Line: e.Line, Differences: []string{}, Notes: []string{}}
	r, err := ParseReceipt(custom.Data)
	if err != nil {
		c.Differences = append(c.Differences, err.Error())
		return c, nil
	}
	c.Receipt = r
	c.verifyText(texts)

	facts, err := Gather(v)
	if err != nil {
		return c, err
	}
	want, _ := Resolve(facts)
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
