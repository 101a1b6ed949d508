package session

import (
	"time"

	"github.com/piweb-go/piweb/internal/structure"
	"github.com/tidwall/gjson"
)

// ID is the id of an entry, unique in its file. piweb writes 8 lower-case hex
// characters, or what the author of an entry chose (see [WithID]); ids of other writers are opaque. The empty ID is "none".
type ID string

// The entry types of pi 1.6.0. Entries of any other type are kept, may be
// parents, and give nothing to a context.
const (
	TypeMessage       = "message"
	TypeModelChange   = "model_change"
	TypeThinkingLevel = "thinking_level_change"
	TypeUsage         = "usage"
	TypeCompaction    = "compaction"
	TypeBranchSummary = "branch_summary"
	TypeCustom        = "custom"
	TypeCustomMessage = "custom_message"
	TypeContextEdit   = "context_edit"
	TypeLabel         = "label"
	TypeSessionInfo   = "session_info"

	typeHeader = "session"
)

// Entry is what is known of an entry without its body. Bodies are read by
// [Session.Raw] and [Session.Decode].
type Entry struct {
	ID         ID
	Parent     ID // empty for a root
	Type       string
	CustomType string // for custom and custom_message
	Role       string // for message
	Line       int    // 1-based line of the file; 0 for an entry without a file
	Offset     int64  // of the first byte of the JSON value in the file
	Len        int64  // length of the JSON value in bytes

	pos       int    // place in Session.entries
	value     int    // place among the JSON values of the file, the header being 0
	mem       []byte // the value itself, where it is not (or not as such) in the file
	timestamp string // raw JSON of the timestamp
}

// Time is the time of the entry, or the zero time where it has none that we
// read.
func (e Entry) Time() time.Time { return parseTime(gjson.Parse(e.timestamp)) }

// Kind says what a Diagnostic is about.
type Kind string

// The kinds of diagnostics.
const (
	KindEmpty       Kind = "empty"        // the file has no bytes
	KindTornTail    Kind = "torn-tail"    // the last line is a fragment
	KindBadLine     Kind = "bad-line"     // a line that is not JSON
	KindNotText     Kind = "not-text"     // bytes that are not UTF-8 in a record
	KindGlued       Kind = "glued"        // several records on one line, all recovered
	KindNotObject   Kind = "not-an-entry" // a JSON value that is no object
	KindNoID        Kind = "no-id"        // an object without an id
	KindHeader      Kind = "second-header"
	KindPreface     Kind = "preface" // a title record in front of the header
	KindDuplicate   Kind = "duplicate-id"
	KindNoParent    Kind = "missing-parent" // the branch stops at a parent that is not there
	KindCycle       Kind = "cycle"          // the branch comes back to an entry
	KindKept        Kind = "kept-entry-missing"
	KindVersion     Kind = "newer-version"
	KindLeaves      Kind = "other-leaf" // a longer branch exists beside the leaf's
	KindOtherWriter Kind = "other-writer"
)

// Diagnostic is something odd about a file that did not keep it from opening.
type Diagnostic struct {
	Kind   Kind   `json:"kind"`
	Line   int    `json:"line,omitempty"`   // 1-based, 0 where it is about the whole file
	Offset int64  `json:"offset,omitempty"` // of the line's first byte
	ID     ID     `json:"id,omitempty"`
	Text   string `json:"text"` // for people
	// CustomType is what a damaged record says it was, where that can still be read.
	CustomType string `json:"customType,omitempty"`
}

// truthy tells whether a JSON value counts as a value for pi: null, false, 0 and
// the empty string do not.
func truthy(value []byte) bool {
	if value[0] == '{' || value[0] == '[' {
		return true
	}
	v := gjson.Parse(structure.Alias(value))
	switch v.Type {
	case gjson.Null, gjson.False:
		return false
	case gjson.Number:
		return v.Num != 0
	case gjson.String:
		return v.Str != ""
	}
	return true
}
