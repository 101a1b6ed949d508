package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/piweb-go/piweb/session"
)

// Severity says what a finding costs.
type Severity string

// The severities.
const (
	Note    Severity = "note"    // worth knowing
	Warning Severity = "warning" // a reader hides something, or cannot go on as it should
	Loss    Severity = "loss"    // a reader loses data, refuses the file, or hangs
)

// Reader says who is meant.
type Reader string

// The readers.
const (
	Pi    Reader = "pi"
	Piweb Reader = "piweb"
	Every Reader = "every reader"
)

// The kinds of findings beside those of package session.
const (
	KindBOM        = "byte-order-mark"
	KindNoSession  = "no-session"
	KindHeaderLost = "header-lost"
	KindHeaderID   = "header-without-id"
	KindNoIDs      = "no-ids"
	KindHeaderLate = "header-late"
	KindTooLarge   = "too-large"
	KindUnreadable = "unreadable"
	KindContent    = "null-content"
	KindNoMessage  = "no-message"
	KindLevel      = "no-thinking-level"
	KindOpenCall   = "open-tool-call"
	KindLoneResult = "result-without-call"
	KindNoFolder   = "no-folder"
	KindFolderGone = "folder-gone"
	KindOldVersion = "old-version"
	KindImageSides = "image-sides"
	KindImageBytes = "image-bytes"
	KindContext    = "context-not-built"
)

// Finding is one thing that is odd.
type Finding struct {
	Kind     string     `json:"kind"`
	Severity Severity   `json:"severity"`
	Reader   Reader     `json:"reader"`
	Line     int        `json:"line,omitempty"` // 1-based; 0 where it is about the whole file
	Entry    session.ID `json:"entry,omitempty"`
	Text     string     `json:"text"`             // what there is, and what it costs
	Advice   string     `json:"advice,omitempty"` // what to do
}

func (f Finding) String() string {
	where := ""
	if f.Line > 0 {
		where = fmt.Sprintf("line %d: ", f.Line)
	}
	return fmt.Sprintf("%s: %s%s", f.Severity, where, f.Text)
}

// Report is what Check found.
type Report struct {
	Path     string    `json:"path"`
	ID       string    `json:"id,omitempty"`
	Version  int       `json:"version,omitempty"`
	Bytes    int64     `json:"bytes"`
	Entries  int       `json:"entries"`
	Branch   int       `json:"branch"` // entries on the branch of the leaf
	Opens    bool      `json:"opens"`  // in piweb, as it is
	Findings []Finding `json:"findings"`
	// More counts the findings of each kind beyond the first 50.
	More map[string]int `json:"more,omitempty"`
}

// maxOfKind bounds how many findings of a kind are listed.
const maxOfKind = 50

func (r *Report) add(f Finding) {
	n := 0
	for _, g := range r.Findings {
		if g.Kind == f.Kind {
			n++
		}
	}
	if n >= maxOfKind {
		if r.More == nil {
			r.More = map[string]int{}
		}
		r.More[f.Kind]++
		return
	}
	r.Findings = append(r.Findings, f)
}

// sort puts the worst first.
func (r *Report) sort() {
	rank := map[Severity]int{Loss: 0, Warning: 1, Note: 2}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(rank[a.Severity], rank[b.Severity]), cmp.Compare(a.Line, b.Line))
	})
}

// Loses tells whether some reader loses data of the file.
func (r Report) Loses() bool { return r.count(Loss) > 0 }

// Worst is the highest severity, or "" where nothing was found.
func (r Report) Worst() Severity {
	for _, s := range []Severity{Loss, Warning, Note} {
		if r.count(s) > 0 {
			return s
		}
	}
	return ""
}

func (r Report) count(s Severity) (n int) {
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Has tells whether there is a finding of a kind.
func (r Report) Has(kind string) bool {
	for _, f := range r.Findings {
		if f.Kind == kind {
			return true
		}
	}
	return false
}
