package completion

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Scope is whose question it is. The server fills it in from the session and the
// signed-in user; nothing in it comes from a client.
type Scope struct {
	SessionID   string
	SessionFile string // "" where it is not known
	CWD         string // where the session works; absolute, or "" where there is none
	UserID      string // "" where there is only one user
	// Recent are paths below CWD that the session has mentioned or changed, the
	// latest first.
	Recent []string
}

// Query is what a person has typed so far.
type Query struct {
	Scope
	Trigger string // normalised
	Text    string // behind the trigger, up to the caret
	Limit   int    // at most so many items are of use
}

// Ref is what a token names. Lines are zero where it names the whole.
type Ref struct {
	Scope
	Kind  string
	ID    string
	Lines Lines
}

// Lines is a range of lines of a text, counted from 1, both ends in it.
type Lines struct{ From, To int }

// String is the range as it stands behind a path: "", "#L3" or "#L3-9".
func (l Lines) String() string {
	switch {
	case l.From <= 0:
		return ""
	case l.To <= l.From:
		return fmt.Sprintf("#L%d", l.From)
	}
	return fmt.Sprintf("#L%d-%d", l.From, l.To)
}

// Item is one offer. The JSON is the existing client's; members that it does not
// know are marked.
type Item struct {
	ProviderID string  `json:"providerId"`
	Kind       string  `json:"kind"`
	ID         string  `json:"id"`
	Label      string  `json:"label"`
	Detail     string  `json:"detail,omitempty"`
	InsertText string  `json:"insertText,omitempty"`
	Score      float64 `json:"score,omitempty"` // greater is better; only compared among kinds
	SortText   string  `json:"sortText,omitempty"`
	PreviewURL string  `json:"previewUrl,omitempty"`

	Matches [][2]int `json:"matches,omitempty"` // ours: parts of the label that matched, in UTF-16 units
	Folder  bool     `json:"folder,omitempty"`  // ours: choosing it may go on inside
	Link    bool     `json:"link,omitempty"`    // ours: a link, judged when the message is sent
}

// Offer is what a provider has for a query.
type Offer struct {
	Items []Item // the best first
	// Partial says that the provider is still looking and knows more soon.
	Partial bool
}

// Resolution is what a provider makes of a token.
type Resolution struct {
	Text  string // what stands in the message instead
	ID    string // what was meant, in the provider's own spelling
	Lines Lines
}

// Provider offers things of one kind. Its methods are called from many goroutines.
type Provider interface {
	// ID is unique in a registry.
	ID() string
	// Kind is what its tokens are called: a lower-case letter, then lower-case
	// letters, digits, _ and -.
	Kind() string
	// Trigger is one character.
	Trigger() string
	// Complete offers things. It returns soon after ctx is done; what comes later
	// is not used.
	Complete(ctx context.Context, q Query) (Offer, error)
	// Resolve judges the id of a token that somebody typed. ok is false where it
	// means nothing here, or nothing that may be named: the text stays.
	Resolve(ctx context.Context, r Ref) (res Resolution, ok bool, err error)
}

// Extract says where a trigger counts.
type Extract string

const (
	// WordTail: behind the last trigger before the caret, without blanks.
	WordTail Extract = "wordTail"
	// LineStart: the trigger is the first character of the line.
	LineStart Extract = "lineStart"
)

// Extractor is implemented by providers whose trigger does not count at every
// word.
type Extractor interface{ Extract() Extract }

// Prioritized is implemented by providers whose items come before those of others
// (greater than 0) or behind them.
type Prioritized interface{ Priority() int }

// Observer is implemented by providers that get ready when a person opens the
// place where they will type. Warm returns at once.
type Observer interface{ Warm(Scope) }

// ErrProvider is matched by the errors of [Registry.Add].
var ErrProvider = errors.New("this completion provider cannot be used")

func check(p Provider) error {
	switch {
	case p.ID() == "":
		return fmt.Errorf("%w: it has no id", ErrProvider)
	case utf8.RuneCountInString(p.Trigger()) != 1:
		return fmt.Errorf("%w: %s: the trigger %q must be one character", ErrProvider, p.ID(), p.Trigger())
	case !isKind(p.Kind()):
		return fmt.Errorf("%w: %s: the kind %q must be a lower-case letter, then lower-case letters, digits, _ or -", ErrProvider, p.ID(), p.Kind())
	}
	return nil
}

// NormalizeTrigger turns the full-width forms that input methods write into the
// plain ones.
func NormalizeTrigger(trigger string) string {
	switch trigger {
	case "＠":
		return "@"
	case "＃":
		return "#"
	case "＄", "￥":
		return "$"
	case "／":
		return "/"
	}
	return trigger
}

func extractOf(p Provider) Extract {
	if e, ok := p.(Extractor); ok {
		return e.Extract()
	}
	return WordTail
}

func priorityOf(p Provider) int {
	if e, ok := p.(Prioritized); ok {
		return e.Priority()
	}
	return 0
}
