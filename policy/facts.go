package policy

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/tidwall/gjson"
)

// Facts are everything that a policy is decided from.
type Facts struct {
	Child     ChildFact
	Selection toolselect.Found
	Request   Request
	Declared  Declared
	Settings  Setting
}

// Request is the set of tools that the caller of a start asks for.
type Request struct {
	Given bool
	Tools []string // built-in names, checked by toolselect.Pin; may be empty
}

// Declared are the tools that the transcript declares to the model: by pi's
// system messages, or by an active_tools_change entry of another program.
type Declared struct {
	Counts  bool // there is a declaration that is not our own echo
	Tools   []string
	Unknown []string // declared names that are no built-in tools
	Entry   session.ID
	Ours    bool // there are declarations, but all stand before our last receipt
}

// Setting is the defaultTools setting, the project's already merged in.
type Setting struct {
	Given bool
	Tools []string
	From  string // where it stands, for the trail
	// Default is what holds where nothing is set, and Why is for the trail; nil for
	// pi's built-in default.
	Default []string
	Why     string
}

// ChildFact says whether the session is a subagent's.
type ChildFact struct {
	Is       bool
	Entry    session.ID
	Snapshot Snapshot
	Invalid  string // why the snapshot must not be used, "" if it may
}

// Snapshot is the policy that a child was started with.
type Snapshot struct {
	Append         []string // texts for the system prompt
	Tools          []string
	LoadSkills     bool
	LoadExtensions bool
	Exact          *string // the exact prompt, where there is one
}

// View is what Gather reads of a session.
type View interface {
	Entries() iter.Seq[session.Entry]
	Backward() iter.Seq[session.Entry]
	Decode(session.Entry) (session.Payload, error)
	Branch(leaf session.ID) (session.Branch, error)
	Leaf() session.ID
}

// Custom types that this package reads.
const (
	ReceiptType  = "piweb:receipt"
	SubagentType = "pi-web:subagent"

	typeActiveTools = "active_tools_change"
)

// Gather reads the facts that a file holds: child snapshot, selection, and the
// declarations of the branch. Request and Settings are the caller's to add.
func Gather(v View) (Facts, error) {
	var f Facts
	var err error
	if f.Child, err = findChild(v); err != nil {
		return f, err
	}
	if f.Selection, err = toolselect.Find(v); err != nil {
		return f, err
	}
	f.Declared, err = findDeclared(v)
	return f, err
}

func findChild(v View) (ChildFact, error) {
	for e := range v.Entries() {
		if isChildMeta(e) {
			return childFact(v, e) // the first one counts
		}
	}
	return lostChild(v), nil
}

// lostChild tells a session whose only record of being a subagent is damaged. It was
// limited by what cannot be read any more, so it is nobody's to go on with: as a normal
// session it could do everything.
func lostChild(v View) ChildFact {
	d, ok := v.(interface{ Diagnostics() []session.Diagnostic })
	if !ok {
		return ChildFact{}
	}
	for _, odd := range d.Diagnostics() {
		if odd.CustomType == SubagentType {
			return ChildFact{Is: true, Invalid: fmt.Sprintf("the record on line %d, which says what it may do, is damaged", odd.Line)}
		}
	}
	return ChildFact{}
}

func isChildMeta(e session.Entry) bool {
	return e.Type == session.TypeCustom && e.CustomType == SubagentType
}

func childFact(d decoder, e session.Entry) (ChildFact, error) {
	p, err := d.Decode(e)
	if err != nil {
		return ChildFact{}, err
	}
	custom, _ := p.(session.Custom)
	c := ChildFact{Is: true, Entry: e.ID}
	if c.Snapshot, err = parseSnapshot(custom.Data); err != nil {
		c.Invalid = err.Error()
	}
	return c, nil
}

// parseSnapshot reads the metadata of a child. What it cannot read makes the
// snapshot invalid; it never makes the session a normal one, because that would
// widen what the child may do.
func parseSnapshot(data json.RawMessage) (s Snapshot, err error) {
	if n := last(data, "version"); n.Type != gjson.Number || n.Num != 1 {
		return s, fmt.Errorf("its metadata has version %s, not 1", rawOrMissing(n))
	}
	snap := structure.Get(data, "resourceSnapshot")
	if n := last(snap, "version"); n.Type != gjson.Number || n.Num != 1 {
		return s, fmt.Errorf("its snapshot has version %s, not 1", rawOrMissing(n))
	}
	if s.Append, err = stringList(snap, "appendSystemPrompt"); err != nil {
		return s, err
	}
	names, err := stringList(snap, "tools")
	if err != nil {
		return s, err
	}
	s.LoadSkills, s.LoadExtensions = last(snap, "loadSkills").Type == gjson.True, last(snap, "loadExtensions").Type == gjson.True // nothing else is a yes
	if exact := last(snap, "exactSystemPrompt"); exact.Type == gjson.String {
		if structure.HalfPair([]byte(exact.Raw)) >= 0 {
			return s, fmt.Errorf("its exactSystemPrompt holds half of a surrogate pair, so it cannot be sent as it is")
		}
		text := exact.String()
		s.Exact = &text
	} else if exact.Exists() && exact.Type != gjson.Null {
		return s, fmt.Errorf("its exactSystemPrompt is no string")
	}
	s.Tools = []string{}
	for _, n := range names {
		if n == "powershell" {
			n = "bash" // the canonical name; older children stored the other
		}
		switch {
		case n == "":
			return s, fmt.Errorf("its tools hold an empty name")
		case slices.Contains(reserved[:], n):
			return s, fmt.Errorf("its tools hold the control tool %q", n)
		case !toolselect.IsBuiltin(n) && !s.LoadExtensions:
			return s, fmt.Errorf("its tools hold %q, which is no built-in tool, and its extensions are off", n)
		case !slices.Contains(s.Tools, n):
			s.Tools = append(s.Tools, n)
		}
	}
	return s, nil
}

// last is the value of a key of an object, the last where it repeats: what the
// writer's own JSON.parse would see.
func last(object []byte, key string) gjson.Result {
	return gjson.ParseBytes(structure.Get(object, key))
}

func stringList(object []byte, key string) ([]string, error) {
	list := last(object, key)
	if !list.IsArray() {
		return nil, fmt.Errorf("its %s is %s, not a list", key, rawOrMissing(list))
	}
	out := []string{}
	for _, item := range list.Array() {
		if item.Type != gjson.String {
			return nil, fmt.Errorf("its %s holds %s, which is no string", key, rawOrMissing(item))
		}
		if structure.HalfPair([]byte(item.Raw)) >= 0 {
			return nil, fmt.Errorf("its %s holds half of a surrogate pair, so it cannot be sent as it is", key)
		}
		out = append(out, item.String())
	}
	return out, nil
}

func rawOrMissing(v gjson.Result) string {
	const show = 40
	switch {
	case !v.Exists():
		return "missing"
	case len(v.Raw) > show:
		return v.Raw[:show] + "…"
	}
	return v.Raw
}

// findDeclared replays the declarations of the whole branch, as pi does on
// resume; what a compaction repeats of them says nothing new.
func findDeclared(v View) (Declared, error) {
	if v.Leaf() == "" {
		return Declared{}, nil
	}
	branch, err := v.Branch(v.Leaf())
	if err != nil {
		return Declared{}, err
	}
	var st declState
	for _, e := range branch.Entries {
		if st, err = st.after(v, e); err != nil {
			return Declared{}, err
		}
	}
	return st.declared(), nil
}

// declState is what the declarations of a branch come to at one of its entries.
// It is a value: the states of siblings do not touch each other.
//
// Only another program's declaration decides a policy, and a receipt of ours
// retires it, unless the receipt says that this very declaration decided: it
// stays in force until a newer one, or a selection, takes its place. What we
// write ourselves is an echo of a policy that the file decides without it.
type declState struct {
	replay *message.Replay // never changed after it was set
	counts bool
	ours   bool
	entry  session.ID
}

// decoder reads the body of an entry.
type decoder interface {
	Decode(session.Entry) (session.Payload, error)
}

// after is the state behind an entry.
func (st declState) after(d decoder, e session.Entry) (declState, error) {
	isReceipt := e.Type == session.TypeCustom && e.CustomType == ReceiptType
	if !isReceipt && e.Type != typeActiveTools && !(e.Type == session.TypeMessage && e.Role == "system") {
		return st, nil
	}
	p, err := d.Decode(e)
	if err != nil {
		return st, err
	}
	if custom, ok := p.(session.Custom); ok {
		r, err := ParseReceipt(custom.Data)
		if err == nil && r.Policy.Source == (Source{ByTranscript, st.entry}) && st.counts {
			return st, nil
		}
		st.ours = st.ours || st.counts
		st.counts, st.entry = false, ""
		return st, nil
	}
	return st.declare(p, e.ID), nil
}

// declare folds a declaration in. The first system message of a branch says
// something about tools even without naming one: for pi it declares that there
// are none.
func (st declState) declare(p session.Payload, id session.ID) declState {
	next := message.Replay{}
	if st.replay != nil {
		next = message.Replay{Tools: slices.Clone(st.replay.Tools), Declared: st.replay.Declared}
	}
	says, ours := false, false
	switch p := p.(type) {
	case session.MessagePayload:
		sys, ok := p.Message.(*message.System)
		if !ok {
			return st
		}
		says = !next.Declared || len(sys.ToolsAdded)+len(sys.ToolsRemoved) > 0
		ours = sys.Writer == message.Piweb
		next.Apply(&message.System{ToolsAdded: sys.ToolsAdded, ToolsRemoved: sys.ToolsRemoved})
	case session.Unknown: // active_tools_change
		names := last(p.Raw, "activeToolNames")
		if !names.IsArray() {
			return st
		}
		says, next = true, message.Replay{Declared: true}
		for _, n := range names.Array() {
			if n.Type == gjson.String {
				next.Tools = append(next.Tools, message.ToolDeclaration{Name: n.String()})
			}
		}
	default:
		return st
	}
	st.replay = &next
	switch {
	case says && ours:
		st.ours = true
	case says:
		st.counts, st.entry = true, id
	}
	return st
}

// declared is the fact that a state comes to.
func (st declState) declared() Declared {
	d := Declared{Counts: st.counts, Entry: st.entry, Ours: st.ours && !st.counts}
	if st.replay == nil {
		return d
	}
	for _, name := range st.replay.ToolNames() {
		if name == "powershell" {
			name = "bash"
		}
		if !toolselect.IsBuiltin(name) {
			d.Unknown = append(d.Unknown, name)
		} else if !slices.Contains(d.Tools, name) {
			d.Tools = append(d.Tools, name)
		}
	}
	return d
}
