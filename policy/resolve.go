package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/piweb-go/piweb/chatonly"
	"github.com/piweb-go/piweb/toolselect"
)

// Trail says which rules were asked, in order, and what each had to say.
type Trail []Step

// Step is one rule of the trail.
type Step struct {
	By      By     `json:"by"`
	Decided bool   `json:"decided"`
	Text    string `json:"text"`
}

func (t Trail) String() string {
	var b strings.Builder
	for _, s := range t {
		mark := "  "
		if s.Decided {
			mark = "→ "
		}
		fmt.Fprintf(&b, "%s%s: %s\n", mark, s.By, s.Text)
	}
	return b.String()
}

// Resolve decides the policy. Precedence: child snapshot, selection, requested
// tools, tools declared by the transcript, the defaultTools setting, the
// built-in default. A cleared selection goes straight to the settings. Only an
// empty pin is Chat Only: no tools by transcript or by settings is a normal
// session that has none.
func Resolve(f Facts) (Policy, Trail) {
	var t Trail
	if f.Child.Is {
		return resolveChild(f.Child)
	}
	t = append(t, Step{BySnapshot, false, "no subagent"})

	sel := f.Selection
	skipped := ""
	if sel.Passed > 0 {
		skipped = fmt.Sprintf("; %d newer entries do not count (line %d: %s)", sel.Passed, sel.Skipped[0].Line, sel.Skipped[0].Reason)
	}
	switch sel.Selection.State() {
	case toolselect.Pinned:
		p := pinned(sel.Selection.Tools(), Source{BySelection, sel.Entry})
		t = append(t, Step{BySelection, true, fmt.Sprintf("line %d: %s%s", sel.Line, sel.Selection, skipped)})
		return overrule(p, f.Request, t)
	case toolselect.Cleared:
		t = append(t, Step{BySelection, false, fmt.Sprintf("line %d: cleared, so the settings decide%s", sel.Line, skipped)})
		p, t := resolveSettings(f.Settings, t)
		return overrule(p, f.Request, t)
	}
	t = append(t, Step{BySelection, false, "nothing was chosen" + skipped})

	if f.Request.Given {
		t = append(t, Step{ByRequest, true, describeTools(f.Request.Tools) + ", and recorded at once"})
		return pinned(slices.Clone(f.Request.Tools), Source{By: ByRequest}), t
	}
	t = append(t, Step{ByRequest, false, "none"})

	switch d := f.Declared; {
	case d.Counts:
		text := fmt.Sprintf("entry %s declares %s", d.Entry, describeTools(d.Tools))
		if len(d.Unknown) > 0 {
			text += "; not piweb's own: " + strings.Join(d.Unknown, ", ")
		}
		t = append(t, Step{ByTranscript, true, text})
		return open(slices.Clone(d.Tools), Source{ByTranscript, d.Entry}), t
	case d.Ours:
		t = append(t, Step{ByTranscript, false, "what it declares is our own, or was answered for by a receipt"})
	default:
		t = append(t, Step{ByTranscript, false, "it declares nothing"})
	}
	return resolveSettings(f.Settings, t)
}

func resolveSettings(s Setting, t Trail) (Policy, Trail) {
	if !s.Given {
		tools := builtinDefault()
		if s.Default != nil {
			tools = slices.Clone(s.Default)
		}
		text := describeTools(tools)
		if s.Why != "" {
			text += " (" + s.Why + ")"
		}
		t = append(t, Step{BySettings, false, "no defaultTools"}, Step{ByDefault, true, text})
		return open(tools, Source{By: ByDefault}), t
	}
	tools := []string{}
	var unknown []string
	for _, n := range toolselect.MapShell(s.Tools, false) {
		if toolselect.IsBuiltin(n) {
			tools = append(tools, n)
		} else {
			unknown = append(unknown, n)
		}
	}
	text := "defaultTools: " + describeTools(tools)
	if s.From != "" {
		text += " (" + s.From + ")"
	}
	if len(unknown) > 0 {
		text += "; not built-in: " + strings.Join(unknown, ", ")
	}
	return open(tools, Source{By: BySettings}), append(t, Step{BySettings, true, text})
}

// overrule refuses a request that the file's own choice does not grant: a caller
// who asks for tools and silently gets others was not served.
func overrule(p Policy, r Request, t Trail) (Policy, Trail) {
	if !r.Given {
		return p, t
	}
	if slices.Equal(p.Tools, r.Tools) && p.Kind != Open {
		return p, append(t, Step{ByRequest, false, "the same as recorded"})
	}
	p.err = fmt.Errorf("%w: recorded is %s, requested %s; change it with `piweb tools SESSION --set …`, or start without naming tools",
		ErrOverruled, describeTools(p.Tools), describeTools(r.Tools))
	return p, append(t, Step{ByRequest, false, "refused: " + describeTools(r.Tools) + " is not what is recorded"})
}

func resolveChild(c ChildFact) (Policy, Trail) {
	src := Source{BySnapshot, c.Entry}
	if c.Invalid != "" {
		at := ""
		if c.Entry != "" {
			at = fmt.Sprintf(" (entry %s)", c.Entry)
		}
		err := fmt.Errorf("%w%s: %s; start a new subagent, this one is kept as it is", ErrSnapshot, at, c.Invalid)
		return Policy{Kind: Refused, Source: src, err: err}, Trail{{BySnapshot, true, "refused: " + c.Invalid}}
	}
	s := c.Snapshot
	p := Policy{Kind: Child, Source: src, Tools: slices.Clone(s.Tools),
		Loads: Loads{SystemPrompt: true, Skills: s.LoadSkills, Extensions: s.LoadExtensions, MCP: s.LoadExtensions}}
	chat := len(s.Tools) == 0 && !s.LoadSkills && !s.LoadExtensions
	if chat {
		p.Loads = loadsBut(chatonly.OffForChild())
	}
	switch {
	case s.Exact != nil:
		p.Prompt = ExactText(*s.Exact)
	case chat && len(s.Append) > 0:
		p.Prompt = ExactText(s.Append[0]) // what older children have instead
	case chat:
		p.Prompt = ExactText("")
	default:
		p.Prompt = Composed(strings.Join(s.Append, "\n\n"))
	}
	if p.Prompt.Exact() {
		p.Loads.SystemPrompt = false
	}
	return p, Trail{{BySnapshot, true, "a subagent: " + describeTools(p.Tools)}}
}

// loadsBut is everything but what is off.
func loadsBut(off chatonly.Switches) Loads {
	return Loads{
		ContextFiles: !off.NoContextFiles, SystemPrompt: !off.NoSystem, AppendPrompt: !off.NoAppendSystem,
		Skills: !off.NoSkills, Templates: !off.NoTemplates, Extensions: !off.NoExtensions, MCP: !off.NoMCPServers,
	}
}

func pinned(tools []string, src Source) Policy {
	if len(tools) == 0 {
		return Policy{Kind: ChatOnly, Source: src, Tools: []string{}, Loads: loadsBut(chatonly.Off()), Prompt: ContextFiles()}
	}
	return Policy{Kind: Pinned, Source: src, Tools: tools, Loads: everything, Prompt: Composed("")}
}

func open(tools []string, src Source) Policy {
	return Policy{Kind: Open, Source: src, Tools: tools, Loads: everything, Prompt: Composed("")}
}

func describeTools(tools []string) string {
	if len(tools) == 0 {
		return "no tools"
	}
	return strings.Join(tools, ", ")
}
