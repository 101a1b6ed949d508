package subagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/piweb-go/piweb/internal/confine"
	"github.com/piweb-go/piweb/internal/document"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/resource"
	"github.com/piweb-go/piweb/session"
)

// DefaultProfile is taken where a start names none.
const DefaultProfile = "general-purpose"

// Spec is what whoever delegates asks for.
type Spec struct {
	Profile     string // "" for DefaultProfile
	Task        string
	Description string // a short label; "" for the profile's display name
	InputFiles  []string
	Model       string // "provider/id" or an id; "" for the profile's, else the parent's
	Thinking    string // "" for the profile's, else the parent's
	MaxTurns    *float64
	Inherit     *bool // the parent's conversation goes along
	Background  *bool
	Isolation   string // "worktree", or "" for the profile's
	ToolCallID  string
	// ByModel says that a model asks: input files need the profile's leave then
	// (RULINGS 35).
	ByModel bool
}

// Errors of a start, to match with errors.Is. Each leaves nothing behind.
var (
	ErrOff     = errors.New("subagents are switched off")
	ErrProfile = errors.New("there is no such profile")
	ErrSpec    = errors.New("the subagent cannot be started like this")
	ErrDepth   = errors.New("a subagent may not start subagents here")
)

var levels = []string{"off", "minimal", "low", "medium", "high", "xhigh", "max"}

// plan is a start that was checked and not made.
type plan struct {
	parent   Parent
	profile  Profile
	child    policy.ChildPlan
	meta     Meta
	model    string
	thinking string
	cwd      string
	tree     *tree
	isolate  bool
}

// prepare checks everything about a start that can be checked without making
// anything, in the order of pi-web's start sequence.
func (m *Manager) prepare(ctx context.Context, parentPath string, s Spec) (p plan, err error) {
	set, err := m.settings.Read()
	switch {
	case err != nil:
		return p, err
	case !set.BuiltIn:
		return p, fmt.Errorf("%w: switch them on with `piweb agents enable`, or on the page", ErrOff)
	case strings.TrimSpace(s.Task) == "":
		return p, fmt.Errorf("%w: the task is empty", ErrSpec)
	}
	if p.parent, err = m.host.Parent(ctx, parentPath); err != nil {
		return p, err
	}
	switch p.parent.Kind {
	case policy.ChatOnly:
		if s.ByModel {
			return p, fmt.Errorf("%w: the session is Chat Only", ErrSpec)
		}
	case policy.Refused:
		return p, fmt.Errorf("%w: the session that delegates is refused", ErrSpec)
	}
	if p.profile, err = m.Resolve(p.parent.CWD, s.Profile); err != nil {
		return p, err
	}
	if tool := changing(p.profile.Profile); s.ByModel && p.parent.OnlyReads && tool != "" {
		return p, fmt.Errorf("%w: this session's tools only read, and the profile %s has %s; a person can start it", ErrSpec, p.profile.Name, tool)
	}
	if p.tree, err = m.tree(ctx, p.parent.Path); err != nil {
		return p, err
	}
	if p.tree.depth >= p.tree.limits.Depth {
		return p, fmt.Errorf("%w: the session is at depth %d of at most %d", ErrDepth, p.tree.depth, p.tree.limits.Depth)
	}
	if err := p.tree.mayStart(); err != nil {
		return p, err
	}
	turns, err := maxTurns(s.MaxTurns, p.profile.MaxTurns)
	if err != nil {
		return p, err
	}
	p.thinking = cmp.Or(s.Thinking, p.profile.Thinking, p.parent.Thinking)
	if p.thinking != "" && !slices.Contains(levels, p.thinking) {
		return p, fmt.Errorf("%w: %q is no thinking level; there are %s", ErrSpec, p.thinking, strings.Join(levels, ", "))
	}
	task, err := m.withFiles(p.parent.CWD, p.profile, s)
	if err != nil {
		return p, err
	}
	if p.model = p.parent.Model; s.Model != "" || p.profile.Model != "" {
		if p.model, err = m.host.PickModel(ctx, p.parent.CWD, cmp.Or(s.Model, p.profile.Model)); err != nil {
			return p, fmt.Errorf("%w: %w", ErrSpec, err)
		}
	}
	switch s.Isolation {
	case "", "worktree", "off":
	default:
		return p, fmt.Errorf("%w: isolation is \"worktree\" or \"off\", not %q", ErrSpec, s.Isolation)
	}
	// The profile's "off" wins over the call.
	p.isolate = p.profile.Isolation != "off" && cmp.Or(s.Isolation, p.profile.Isolation) == "worktree"
	inherited := ""
	if orElse(s.Inherit, p.profile.InheritContext) {
		inherited = policy.Inherit(p.parent.Messages)
	}
	p.child = policy.PlanChild(policy.ChildWish{
		Body: p.profile.Prompt, Tools: p.profile.Tools, ExtensionTools: extensionTools(p.profile.Profile, p.parent.ExtensionTools),
		LoadSkills: p.profile.Skills, LoadExtensions: p.profile.Extensions, Replace: p.profile.Replace, Task: task, Inherited: inherited,
	})
	snapshot, err := p.child.Snapshot.MarshalJSON()
	if err != nil {
		return p, err
	}
	description := cmp.Or(strings.TrimSpace(s.Description), p.profile.DisplayName, p.profile.Name)
	p.cwd = p.parent.CWD
	p.meta = Meta{ParentID: p.parent.ID, ParentPath: p.parent.Path, ToolCallID: s.ToolCallID, Profile: p.profile.Name,
		Description: session.CleanName(description), Task: s.Task, Background: orElse(s.Background, p.profile.Background),
		CreatedAt: stamp(m.now()), Snapshot: snapshot, MaxTurns: turns}
	return p, nil
}

// changing is a tool of a profile that does more than read, or "". A session that
// was pinned to reading must not get around it by delegating.
func changing(p resource.Profile) string {
	for _, t := range p.Tools {
		if !policy.IsReader(t) {
			return t
		}
	}
	if p.Extensions {
		return "tools of extensions"
	}
	return ""
}

// withFiles is the task with the documents that go with it.
func (m *Manager) withFiles(cwd string, p Profile, s Spec) (string, error) {
	if len(s.InputFiles) == 0 {
		return s.Task, nil
	}
	if s.ByModel && !p.AllowInputFiles && !p.ChatOnly() {
		return "", fmt.Errorf("%w: the profile %s does not take input_files from a model; its file can say allow_input_files: true", ErrSpec, p.Name)
	}
	root, err := confine.OpenRoot(cwd)
	if err != nil {
		return "", err
	}
	defer root.Close()
	docs, err := document.Read(root, s.InputFiles, document.Limits{})
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrSpec, err)
	}
	return document.Append(s.Task, docs), nil
}

// first entries of a child's file: what it may do must be its second line.
func (p plan) first() ([]session.Payload, error) {
	meta, err := payload(MetaType, p.meta)
	if err != nil {
		return nil, err
	}
	queued, err := statusEntry(Queued)
	if err != nil {
		return nil, err
	}
	return []session.Payload{meta, session.SessionInfo{Name: p.meta.Description}, queued}, nil
}

func maxTurns(asked *float64, profile int) (int, error) {
	if asked == nil || *asked == 0 {
		return profile, nil
	}
	if math.IsNaN(*asked) || math.IsInf(*asked, 0) || *asked < 0 || *asked > math.MaxInt32 {
		return 0, fmt.Errorf("%w: max_turns is a number of turns, not %v", ErrSpec, *asked)
	}
	return int(math.Floor(*asked)), nil
}

// extensionTools are those of the parent's extensions that a profile asks for:
// all where it loads extensions and selects none, else the selected ones
// ("name", "name/*", "name/tool", "*"; case does not count).
func extensionTools(p resource.Profile, have []ExtensionTool) []string {
	if !p.Extensions {
		return nil
	}
	var out []string
	for _, t := range have {
		if len(p.Selectors) == 0 || slices.ContainsFunc(p.Selectors, t.selectedBy) {
			out = append(out, t.Name)
		}
	}
	return out
}

func (t ExtensionTool) selectedBy(selector string) bool {
	from, name, one := strings.Cut(selector, "/")
	if from != "*" && !strings.EqualFold(from, t.From) {
		return false
	}
	return !one || name == "*" || strings.EqualFold(name, t.Name) || strings.EqualFold("mcp__"+t.From+"__"+name, t.Name)
}

func orElse(b *bool, otherwise bool) bool {
	if b != nil {
		return *b
	}
	return otherwise
}
