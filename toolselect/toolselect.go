// Package toolselect says which tools a session has chosen: the entries of type
// custom, "pi-web:tool-selection", and the presets that people pick from.
//
// A [Selection] is a closed sum. Unset means that nobody chose; cleared means
// that a choice was taken back; pinned is an exact, ordered set, and the empty
// set is Chat Only. No other value exists, the zero value is unset, and nil
// never means "all".
//
// The package reads and writes entry data. What a selection means for a session
// is decided by package policy.
//
// Source of the rules: the pi-web tool-selection specification, "read rules",
// "write rules" and "built-in names".
package toolselect

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/piweb-go/piweb/session"
)

// CustomType is the customType of a selection entry.
const CustomType = "pi-web:tool-selection"

// version is the only version that there is.
const version = 1

// builtins are the names that an entry may hold, in the order of the preset
// "full". powershell is never stored: see MapShell.
var builtins = [...]string{"bash", "read", "edit", "write", "grep", "find", "ls"}

// Builtins returns the names that may be stored.
func Builtins() []string { return slices.Clone(builtins[:]) }

// IsBuiltin tells whether a name may be stored. Names are exact: case counts
// and nothing is trimmed.
func IsBuiltin(name string) bool { return slices.Contains(builtins[:], name) }

// State is which kind of selection it is.
type State int

// The states of a selection.
const (
	Unset   State = iota // nothing was chosen
	Cleared              // a choice was taken back
	Pinned               // exactly these tools; none is Chat Only
)

func (s State) String() string {
	return [...]string{"unset", "cleared", "pinned"}[s]
}

// Selection is what a session has chosen.
type Selection struct {
	state State
	tools []string
}

// Clear returns the selection that takes a choice back.
func Clear() Selection { return Selection{state: Cleared} }

// ErrNames says that a list holds something that cannot be stored.
var ErrNames = errors.New("a tool selection may hold only built-in tool names")

// Pin returns the selection of exactly these tools, duplicates removed, order
// kept. Pin() is Chat Only. A name that is not a built-in one is ErrNames.
func Pin(names ...string) (Selection, error) {
	s := Selection{state: Pinned, tools: []string{}}
	var unknown []string
	for _, n := range names {
		switch {
		case !IsBuiltin(n):
			unknown = append(unknown, fmt.Sprintf("%q", n))
		case !slices.Contains(s.tools, n):
			s.tools = append(s.tools, n)
		}
	}
	if len(unknown) > 0 {
		return Selection{}, fmt.Errorf("%w (%s); unknown: %s", ErrNames, strings.Join(builtins[:], ", "), strings.Join(unknown, ", "))
	}
	return s, nil
}

// ChatOnly returns the pinned empty set.
func ChatOnly() Selection { return Selection{state: Pinned, tools: []string{}} }

// State returns the kind of the selection.
func (s Selection) State() State { return s.state }

// Tools returns a copy of the pinned set; nil unless pinned.
func (s Selection) Tools() []string { return slices.Clone(s.tools) }

// IsChatOnly tells whether the selection is the pinned empty set.
func (s Selection) IsChatOnly() bool { return s.state == Pinned && len(s.tools) == 0 }

// Equal tells whether two selections are the same choice. The order of a pinned
// set counts: it is the order in which the tools are declared.
func (s Selection) Equal(o Selection) bool {
	return s.state == o.state && slices.Equal(s.tools, o.tools)
}

func (s Selection) String() string {
	switch {
	case s.state != Pinned:
		return s.state.String()
	case len(s.tools) == 0:
		return "Chat Only"
	}
	return "pinned: " + strings.Join(s.tools, ", ")
}

// Payload is the entry that records the selection. An unset selection cannot be
// recorded.
func (s Selection) Payload() (session.Custom, error) {
	switch s.state {
	case Cleared:
		return session.CustomOf(CustomType, struct {
			Version int  `json:"version"`
			Cleared bool `json:"cleared"`
		}{version, true})
	case Pinned:
		return session.CustomOf(CustomType, struct {
			Version int      `json:"version"`
			Tools   []string `json:"tools"`
		}{version, s.tools})
	}
	return session.Custom{}, errors.New("toolselect: an unset selection is no entry")
}

// Parse reads the data of an entry. An error says why the entry does not count.
func Parse(data json.RawMessage) (Selection, error) {
	var fields map[string]json.RawMessage
	if len(data) == 0 || json.Unmarshal(data, &fields) != nil || fields == nil {
		return Selection{}, errors.New("its data is no object")
	}
	var v float64
	if json.Unmarshal(fields["version"], &v) != nil || string(fields["version"]) == "null" || v != version {
		return Selection{}, fmt.Errorf("its version is %s, not 1", orMissing(fields["version"]))
	}
	if string(fields["cleared"]) == "true" {
		return Clear(), nil
	}
	raw := fields["tools"]
	var names []any
	if json.Unmarshal(raw, &names) != nil || names == nil {
		return Selection{}, fmt.Errorf("its tools are %s, not a list", orMissing(raw))
	}
	strs := make([]string, 0, len(names))
	for _, n := range names {
		str, ok := n.(string)
		if !ok {
			return Selection{}, fmt.Errorf("its tools hold %v, which is no name", n)
		}
		strs = append(strs, str)
	}
	return Pin(strs...)
}

func orMissing(raw json.RawMessage) string {
	const show = 40
	switch {
	case len(raw) == 0:
		return "missing"
	case len(raw) > show:
		return string(raw[:show]) + "…"
	}
	return string(raw)
}

// Found is the entry that decides a session's selection.
type Found struct {
	Selection Selection
	Entry     session.ID // "" when no entry decides
	Line      int
	Passed    int       // newer entries that do not count
	Skipped   []Skipped // the newest of them, newest first, at most maxSkipped
}

// maxSkipped bounds what is told of entries that do not count.
const maxSkipped = 20

// Skipped is an entry of our type that does not count, with the reason.
type Skipped struct {
	Entry  session.ID `json:"entry"`
	Line   int        `json:"line"`
	Reason string     `json:"reason"`
}

// Source is what Find reads: the entries of a whole file, newest first.
type Source interface {
	Backward() iter.Seq[session.Entry]
	Decode(session.Entry) (session.Payload, error)
}

// Find looks through all entries of a file, of every branch, from the last to
// the first; the first valid one decides. Invalid ones are passed over and
// reported.
func Find(src Source) (Found, error) {
	var all Found
	for e := range src.Backward() {
		if e.Type != session.TypeCustom || e.CustomType != CustomType {
			continue
		}
		f, err := Next(Found{}, src, e)
		if err != nil {
			return Found{}, err
		}
		if f.Entry != "" {
			f.Passed, f.Skipped = all.Passed, all.Skipped
			return f, nil
		}
		all.Passed++
		if len(all.Skipped) < maxSkipped {
			all.Skipped = append(all.Skipped, f.Skipped...)
		}
	}
	return all, nil
}

// Next is what Find says of a file that goes on with a selection entry: found is
// what it says of the file up to there.
func Next(found Found, src interface {
	Decode(session.Entry) (session.Payload, error)
}, e session.Entry) (Found, error) {
	p, err := src.Decode(e)
	if err != nil {
		return Found{}, err
	}
	custom, _ := p.(session.Custom)
	sel, err := Parse(custom.Data)
	if err != nil {
		found.Passed++
		older := found.Skipped[:min(len(found.Skipped), maxSkipped-1)]
		found.Skipped = append([]Skipped{{e.ID, e.Line, err.Error()}}, older...)
		return found, nil
	}
	return Found{Selection: sel, Entry: e.ID, Line: e.Line}, nil
}

// DecodeNames reads a JSON value that a caller sent as a list of tools. It is an
// error for anything but an array of strings; the names are checked by Pin.
func DecodeNames(raw json.RawMessage) ([]string, error) {
	var names []string
	if err := json.Unmarshal(raw, &names); err != nil || names == nil {
		return nil, errors.New("the tools must be an array of strings")
	}
	return names, nil
}
