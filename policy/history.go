package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
)

// Moment is an entry that bears on the session's policy: a choice of tools, a
// declaration of another program, a subagent's metadata, or a receipt.
type Moment struct {
	Entry session.ID `json:"entry"`
	Line  int        `json:"line"`
	// After is the last message before it on its branch, "" where there is none.
	After session.ID `json:"after,omitempty"`
	What  What       `json:"what"`
	// Counts is false for a choice that is not valid: the older one stays.
	Counts bool `json:"counts"`
	// Kind is the policy behind the entry; of a receipt, the one that it was sent
	// under.
	Kind Kind `json:"kind"`
	// Tools are the tools behind the entry, nil where the settings decide, which
	// are not in the file. Of a receipt they are what was offered, tools of
	// extensions included.
	Tools []string `json:"tools"`
	Text  string   `json:"text"`
	// Head, Model and Holds are for receipts.
	Head  string `json:"head,omitempty"` // SHA-256 of the exact head
	Bytes int    `json:"bytes,omitempty"`
	Model string `json:"model,omitempty"`
	Holds bool   `json:"holds,omitempty"`
}

// What is the kind of a Moment.
type What string

// The kinds of moments.
const (
	WhatSelection   What = "selection"
	WhatDeclaration What = "declaration"
	WhatSubagent    What = "subagent"
	WhatReceipt     What = "receipt"
)

// History lists what bears on the policy, in the order of the file, all branches
// included: a choice counts wherever it stands. It goes through the file once.
func History(v View) ([]Moment, error) {
	p := newPass(v)
	after := map[session.ID]session.ID{} // entry → the last message up to it
	var out []Moment
	for e := range v.Entries() {
		shown := after[e.Parent]
		if e.Type == session.TypeMessage && e.Role != "system" {
			shown = e.ID
		}
		after[e.ID] = shown
		m, ok, err := p.moment(e)
		if err != nil {
			return nil, err
		}
		if ok {
			m.Entry, m.Line, m.After = e.ID, e.Line, after[e.Parent]
			out = append(out, m)
		}
	}
	return out, nil
}

// moment goes past an entry and says what it changed.
func (p *pass) moment(e session.Entry) (m Moment, ok bool, err error) {
	if e.Type == session.TypeCustom && e.CustomType == ReceiptType {
		c, err := p.check(e)
		if err != nil {
			return m, false, err
		}
		return sent(c), true, p.add(e)
	}
	child, selection := p.child, p.selection
	if err := p.add(e); err != nil {
		return m, false, err
	}
	now, _ := Resolve(Facts{Child: p.child, Selection: p.selection, Declared: p.states[e.ID].declared()})
	m = Moment{Counts: true, Kind: now.Kind, Tools: now.Tools}
	if now.Source.By == BySettings || now.Source.By == ByDefault {
		m.Tools = nil
	}
	switch {
	case p.child.Is && !child.Is:
		m.What, m.Text = WhatSubagent, "the session is a subagent's"
		if p.child.Invalid != "" {
			m.Counts, m.Text = false, "the session is a subagent's, and is refused: "+p.child.Invalid
		}
	case e.Type == session.TypeCustom && e.CustomType == toolselect.CustomType:
		m.What, m.Text = WhatSelection, p.selection.Selection.String()
		if p.selection.Entry != e.ID {
			m.Counts, m.Text = false, "not counted"
			if p.selection.Passed > selection.Passed && len(p.selection.Skipped) > 0 {
				m.Text = "not counted: " + p.selection.Skipped[0].Reason
			}
		}
	default:
		st := p.states[e.ID]
		if st.entry != e.ID || !st.counts {
			return m, false, nil
		}
		m.What, m.Text = WhatDeclaration, "another program declared "+describeTools(st.declared().Tools)
		m.Counts = now.Source.Entry == e.ID
	}
	return m, true, nil
}

// sent is the moment of a receipt.
func sent(c Check) Moment {
	r := c.Receipt
	m := Moment{What: WhatReceipt, Counts: true, Kind: r.Policy.Kind, Tools: []string{}, Head: r.System.SHA256, Bytes: r.System.Bytes, Model: r.Model, Holds: c.OK()}
	for _, t := range r.Tools {
		m.Tools = append(m.Tools, t.Name)
	}
	m.Text = fmt.Sprintf("sent with %s and a prompt of %d bytes", describeTools(m.Tools), m.Bytes)
	if !c.OK() {
		m.Text += "; " + strings.Join(c.Differences, "; ")
	}
	return m
}

// ErrHead says that no head of a file has a hash.
var ErrHead = errors.New("no request with such a prompt is recorded in the session")

// minPrefix is how much of a hash names a head.
const minPrefix = 8

// HeadText is the exact head with a hash, as it was sent: the text stands in the
// file with the first receipt that names the hash. The beginning of the hash
// will do, at least 8 digits of it, where only one head has it. A text that is
// not what its hash says is not given out.
func HeadText(v View, prefix string) (sha256, text string, err error) {
	if len(prefix) < minPrefix {
		return "", "", fmt.Errorf("%w: a hash is 64 hexadecimal digits, or the first %d or more of them, not %q", ErrHead, minPrefix, prefix)
	}
	for e := range v.Entries() {
		if e.Type != session.TypeCustom || e.CustomType != ReceiptType {
			continue
		}
		body, err := v.Decode(e)
		if err != nil {
			return "", "", err
		}
		custom, _ := body.(session.Custom)
		r, err := ParseReceipt(custom.Data)
		if err != nil || r.System.Text == nil || !strings.HasPrefix(r.System.SHA256, prefix) || Hash([]byte(*r.System.Text)) != r.System.SHA256 {
			continue
		}
		if sha256 != "" && sha256 != r.System.SHA256 {
			return "", "", fmt.Errorf("%w: %q is the beginning of more than one hash", ErrHead, prefix)
		}
		sha256, text = r.System.SHA256, *r.System.Text
	}
	if sha256 == "" {
		return "", "", fmt.Errorf("%w: %s", ErrHead, prefix)
	}
	return sha256, text, nil
}
