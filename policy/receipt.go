package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// Receipt is what one request really carried. It is computed from the request
// that is handed to the model, nowhere else, and stands in the file before the
// request is sent.
type Receipt struct {
	Version int           `json:"version"`
	Policy  ReceiptPolicy `json:"policy"`
	System  ReceiptSystem `json:"system"`
	Sources []SourceHash  `json:"sources"`
	Tools   []ToolHash    `json:"tools"`
	Model   string        `json:"model"`
}

// ReceiptPolicy is the policy's kind and what decided it.
type ReceiptPolicy struct {
	Kind   Kind   `json:"kind"`
	Source Source `json:"source"`
}

// ReceiptSystem is the head of the request.
type ReceiptSystem struct {
	SHA256 string  `json:"sha256"`
	Bytes  int     `json:"bytes"`
	Text   *string `json:"text,omitempty"` // with the first receipt of the file that has this hash
}

// SourceHash is a file that the head was made from.
type SourceHash struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// ToolHash is a declared tool; the hash is over its declaration as JSON.
type ToolHash struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// NewReceipt computes the receipt of a request.
func NewReceipt(p Policy, head []byte, sources []SourceHash, tools []message.ToolDeclaration, model string) (Receipt, error) {
	text := string(head)
	r := Receipt{Version: 1, Policy: ReceiptPolicy{p.Kind, p.Source},
		System:  ReceiptSystem{SHA256: Hash(head), Bytes: len(head), Text: &text},
		Sources: append([]SourceHash{}, sources...), Tools: []ToolHash{}, Model: model}
	for _, t := range tools {
		raw, err := message.Marshal(t)
		if err != nil {
			return Receipt{}, fmt.Errorf("receipt: tool %s: %w", t.Name, err)
		}
		r.Tools = append(r.Tools, ToolHash{t.Name, Hash(raw)})
	}
	return r, nil
}

// Hash is the lower-case hex SHA-256 of data.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ParseReceipt reads the data of a receipt entry.
func ParseReceipt(data json.RawMessage) (Receipt, error) {
	var r Receipt
	if err := structure.Unmarshal(data, &r); err != nil {
		return Receipt{}, fmt.Errorf("receipt: %w", err)
	}
	if r.Version != 1 {
		return Receipt{}, fmt.Errorf("receipt: version %d, not 1", r.Version)
	}
	if r.System.SHA256 == "" {
		return Receipt{}, errors.New("receipt: it has no hash of the head")
	}
	return r, nil
}

// key is everything but the text.
func (r Receipt) key() string {
	r.System.Text = nil
	raw, _ := message.Marshal(r)
	return string(raw)
}

// Changes says in words what a receipt says that the last one did not.
func (r Receipt) Changes(last Receipt) string {
	var changed []string
	if r.Policy != last.Policy {
		changed = append(changed, "the policy")
	}
	if r.System.SHA256 != last.System.SHA256 {
		changed = append(changed, "the head")
	}
	if !slices.Equal(r.Sources, last.Sources) && r.System.SHA256 == last.System.SHA256 {
		changed = append(changed, "the sources")
	}
	if !slices.Equal(r.Tools, last.Tools) {
		changed = append(changed, "the tools")
	}
	if r.Model != last.Model {
		changed = append(changed, "the model")
	}
	if len(changed) == 0 {
		return "nothing new: the last receipt holds for the next request"
	}
	return "a new receipt is written: " + strings.Join(changed, ", ") + " changed"
}

// Ledger knows the receipts of a file: it decides whether the next one says
// anything new. It is not safe for concurrent use.
type Ledger struct {
	last  string
	texts map[string]bool // hashes whose text stands in the file
}

// ReadLedger reads the receipts of a file.
func ReadLedger(v View) (*Ledger, error) {
	l := &Ledger{texts: map[string]bool{}}
	for e := range v.Entries() {
		if e.Type != session.TypeCustom || e.CustomType != ReceiptType {
			continue
		}
		p, err := v.Decode(e)
		if err != nil {
			return nil, err
		}
		custom, _ := p.(session.Custom)
		r, err := ParseReceipt(custom.Data)
		if err != nil {
			continue // not ours to read; Verify reports it
		}
		l.note(r)
	}
	return l, nil
}

func (l *Ledger) note(r Receipt) {
	l.last = r.key()
	if r.System.Text != nil {
		l.texts[r.System.SHA256] = true
	}
}

// Next returns the entry to append before a request with this receipt is sent.
// ok is false when the last receipt says the same. Call Recorded after the
// append succeeded.
func (l *Ledger) Next(r Receipt) (entry session.Custom, ok bool, err error) {
	if r.key() == l.last {
		return session.Custom{}, false, nil
	}
	if l.texts[r.System.SHA256] {
		r.System.Text = nil
	}
	entry, err = session.CustomOf(ReceiptType, r)
	return entry, true, err
}

// Recorded notes that the entry of a receipt is in the file.
func (l *Ledger) Recorded(r Receipt) { l.note(r) }
