package piweb

import (
	"context"
	"fmt"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/resource"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/wrapper"
)

// Explanation says for a session file what a live session would read, decide,
// load, ask and record. It is made without touching the file and without
// talking to anybody.
type Explanation struct {
	Read   ReadStep   `json:"read"`
	Decide DecideStep `json:"decide"`
	Load   LoadStep   `json:"load"`
	Ask    AskStep    `json:"ask"`
	Record RecordStep `json:"record"`
}

// ReadStep is what stands in the file.
type ReadStep struct {
	Path        string               `json:"path"`
	ID          string               `json:"id"`
	Name        string               `json:"name,omitempty"`
	Version     int                  `json:"version"`
	CWD         string               `json:"cwd"` // as the file says
	Entries     int                  `json:"entries"`
	Leaf        session.ID           `json:"leaf"`
	Branch      int                  `json:"branch"`  // entries from root to leaf
	Context     int                  `json:"context"` // messages that compactions and edits leave
	Leaves      int                  `json:"leaves"`
	Diagnostics []session.Diagnostic `json:"diagnostics"`
}

// DecideStep is the policy and why it is.
type DecideStep struct {
	Kind   policy.Kind   `json:"kind"`
	Source policy.Source `json:"source"`
	Tools  []string      `json:"tools"`
	Loads  policy.Loads  `json:"loads"`
	Prompt string        `json:"prompt"`
	Trail  policy.Trail  `json:"trail"`
	Error  string        `json:"error,omitempty"` // why the session is refused
}

// LoadStep is what the policy lets in.
type LoadStep struct {
	Folder  string              `json:"folder"` // where the session would work
	Warning string              `json:"warning,omitempty"`
	Error   string              `json:"error,omitempty"` // why nothing can be loaded
	Head    Head                `json:"head"`
	Sources []policy.SourceHash `json:"sources"`
	Left    []Left              `json:"left"` // files that were looked at and left out
	Tools   []policy.ToolHash   `json:"tools"`
	Missing []string            `json:"missing"` // allowed tools that this program does not have
	// Confined says that the file tools stay in the folder, and that bash is left
	// out for it.
	Confined bool   `json:"confined,omitempty"`
	Trust    string `json:"trust"`
	// Problems are what is wrong in the user's configuration files; what they
	// would have said is left out.
	Problems []string `json:"problems"`
}

// Head is the exact system prompt.
type Head struct {
	SHA256 string `json:"sha256"`
	Bytes  int    `json:"bytes"`
	Text   string `json:"text"`
}

// Left is a file that was left out.
type Left struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// AskStep is the request that the next prompt would lead to, without the prompt.
type AskStep struct {
	SessionModel string   `json:"sessionModel,omitempty"` // last used by the session
	Model        string   `json:"model,omitempty"`
	Notice       string   `json:"notice,omitempty"`
	Error        string   `json:"error,omitempty"`
	Thinking     string   `json:"thinking,omitempty"`
	System       bool     `json:"system"` // a system message is sent
	Messages     int      `json:"messages"`
	Tools        []string `json:"tools"`
}

// RecordStep is what the file says of requests that were sent.
type RecordStep struct {
	Receipts []policy.Check `json:"receipts"`
	// History is all that bears on the policy, from the first line to the last.
	History []policy.Moment `json:"history"`
	// Next says whether the next request would be recorded anew, and why.
	Next string `json:"next"`
	// Edited are sources of the last receipt that read differently today. That is
	// information, not a difference: people edit their files.
	Edited []string `json:"edited"`
}

// OK tells whether every receipt holds.
func (r RecordStep) OK() bool {
	for _, c := range r.Receipts {
		if !c.OK() {
			return false
		}
	}
	return true
}

// ExplainOptions are the wishes of whoever asks.
type ExplainOptions struct {
	CWD   string // stands in for a folder that is gone
	Model string // asked for instead of the session's
}

// Look opens a session file for reading. What it finds in a large one is remembered
// for the next look.
func (r *Runtime) Look(path string) (*session.Session, error) { return session.Open(path, r.session) }

// Explain explains a session file.
func (r *Runtime) Explain(ctx context.Context, path string, o ExplainOptions) (*Explanation, error) {
	s, err := session.Open(path, r.session)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return r.explain(ctx, s, wrapper.WorkingFolder(s.Header().CWD, o.CWD), o)
}

// ExplainLive explains a live session, also one that has no file yet.
func (r *Runtime) ExplainLive(ctx context.Context, s *Session, o ExplainOptions) (*Explanation, error) {
	return r.explain(ctx, s.Log(), s.Folder(), o)
}

func (r *Runtime) explain(ctx context.Context, s *session.Session, folder wrapper.Folder, o ExplainOptions) (*Explanation, error) {
	c, err := s.Outline() // messages are counted, not shown
	if err != nil {
		return nil, err
	}
	x := &Explanation{}
	if x.Read, err = readStep(s, c); err != nil {
		return nil, err
	}
	p, trail, err := r.decide(s, folder.Path)
	if err != nil {
		return nil, err
	}
	x.Decide = DecideStep{p.Kind, p.Source, append([]string{}, p.Tools...), p.Loads, p.Prompt.String(), trail, ""}
	if err := p.Err(); err != nil {
		x.Decide.Error = err.Error()
	}
	l := r.load(ctx, x, p, folder)
	r.ask(ctx, x, c, l, folder.Path, o.Model)
	return x, r.record(x, s, l)
}

func readStep(s *session.Session, c *session.Context) (ReadStep, error) {
	h := s.Header()
	name, err := s.Name()
	if err != nil {
		return ReadStep{}, err
	}
	return ReadStep{
		Path: s.Path(), ID: h.ID, Name: name, Version: h.Version, CWD: h.CWD, Entries: s.Len(), Leaf: s.Leaf(),
		Branch: len(c.Branch), Context: len(c.Messages), Leaves: len(s.Leaves()),
		Diagnostics: append(append([]session.Diagnostic{}, s.Diagnostics()...), c.Diagnostics...),
	}, nil
}

// SentHead is the exact system prompt of a request that a session sent, by the
// SHA-256 that its receipts name; at least the first 8 digits. It is
// policy.ErrHead where the file has no such text.
func (r *Runtime) SentHead(path, sha256 string) (Head, error) {
	s, err := session.Open(path, r.session)
	if err != nil {
		return Head{}, err
	}
	defer s.Close()
	sum, text, err := policy.HeadText(s, sha256)
	return Head{sum, len(text), text}, err
}

// Decide resolves the policy of a session file, without loading anything. cwd
// stands in for a folder that is gone.
func (r *Runtime) Decide(path, cwd string) (policy.Policy, policy.Trail, error) {
	s, err := session.Open(path, r.session)
	if err != nil {
		return policy.Policy{}, nil, err
	}
	defer s.Close()
	return r.decide(s, wrapper.WorkingFolder(s.Header().CWD, cwd).Path)
}

func (r *Runtime) decide(s *session.Session, cwd string) (policy.Policy, policy.Trail, error) {
	facts, err := policy.Gather(s)
	if err != nil {
		return policy.Policy{}, nil, err
	}
	if facts.Settings, err = r.host.Settings(cwd); err != nil {
		return policy.Policy{}, nil, err
	}
	p, trail := policy.Resolve(facts)
	return p, trail, nil
}

func (r *Runtime) load(ctx context.Context, x *Explanation, p policy.Policy, folder wrapper.Folder) wrapper.Loadout {
	x.Load = LoadStep{Folder: folder.Path, Warning: folder.Warning, Sources: []policy.SourceHash{}, Left: []Left{}, Tools: []policy.ToolHash{}, Missing: []string{}, Problems: r.Problems(folder.Path)}
	if folder.Err != nil {
		x.Load.Error = folder.Err.Error()
		return wrapper.Loadout{}
	}
	l, err := wrapper.Load(ctx, r.host, p, r.peekEnv(x.Read, p, folder.Path))
	if err != nil {
		x.Load.Error = err.Error()
		return wrapper.Loadout{}
	}
	defer l.Close()
	receipt, err := policy.NewReceipt(p, l.Head, l.Sources, declarations(l.Tools), "")
	if err != nil {
		x.Load.Error = err.Error()
		return l
	}
	x.Load.Head = Head{receipt.System.SHA256, receipt.System.Bytes, string(l.Head)}
	x.Load.Sources, x.Load.Tools = receipt.Sources, receipt.Tools
	for _, o := range l.Left {
		x.Load.Left = append(x.Load.Left, Left{o.Path, o.Reason})
	}
	have := map[string]bool{}
	for _, t := range receipt.Tools {
		have[t.Name] = true
	}
	for _, name := range p.Tools {
		if !have[name] {
			x.Load.Missing = append(x.Load.Missing, name)
		}
	}
	x.Load.Trust, x.Load.Confined = r.trust(folder.Path), r.host.confine
	return l
}

// peekEnv is what extensions get to know when a session is only looked at.
func (r *Runtime) peekEnv(s ReadStep, p policy.Policy, cwd string) agent.Env {
	return agent.Env{
		SessionID: s.ID, SessionFile: func() string { return s.Path }, CWD: cwd, AgentDir: r.host.agentDir,
		Peek: true, Admits: p.Admits, Notify: func(string) {},
	}
}

// Problems lists what is wrong in the configuration files of a working folder.
func (r *Runtime) Problems(cwd string) []string {
	out := []string{}
	for _, p := range r.host.config(cwd).Problems {
		out = append(out, p.Error())
	}
	return out
}

func (r *Runtime) trust(cwd string) string {
	t := r.host.config(cwd).Trust
	word := "not trusted"
	if t.Trusted {
		word = "trusted"
	}
	return fmt.Sprintf("%s: %s", word, t.Reason)
}

func declarations(tools []agent.Tool) []message.ToolDeclaration {
	var out []message.ToolDeclaration
	for _, t := range tools {
		out = append(out, t.Declaration())
	}
	return out
}

func (r *Runtime) ask(ctx context.Context, x *Explanation, c *session.Context, l wrapper.Loadout, cwd, explicit string) {
	x.Ask = AskStep{SessionModel: sessionModel(c), System: len(l.Head) > 0, Tools: []string{}}
	for _, d := range declarations(l.Tools) {
		x.Ask.Tools = append(x.Ask.Tools, d.Name)
	}
	chosen, err := r.host.pick(ctx, wrapper.ModelWish{CWD: cwd, Explicit: explicit, Session: c.Model, Level: c.ThinkingLevel}, r.host.peek)
	if err != nil {
		x.Ask.Error = err.Error()
	} else {
		x.Ask.Model, x.Ask.Notice, x.Ask.Thinking = chosen.Model.Info().String(), chosen.Notice, chosen.Thinking
	}
	info := agent.ModelInfo{}
	if err == nil {
		info = chosen.Model.Info()
	}
	x.Ask.Messages = len(agent.History(c.Messages, info))
}

func (r *Runtime) record(x *Explanation, s *session.Session, l wrapper.Loadout) error {
	checks, err := policy.Verify(s)
	if err != nil {
		return err
	}
	history, err := policy.History(s)
	if err != nil {
		return err
	}
	x.Record = RecordStep{Receipts: append([]policy.Check{}, checks...), History: append([]policy.Moment{}, history...), Edited: []string{}}
	if x.Load.Error != "" || x.Ask.Error != "" {
		x.Record.Next = "unknown: the request cannot be built"
		return nil
	}
	next, err := policy.NewReceipt(l.Policy, l.Head, l.Sources, declarations(l.Tools), x.Ask.Model)
	if err != nil {
		return err
	}
	if len(checks) == 0 {
		x.Record.Next = "a first receipt is written"
		return nil
	}
	last := checks[len(checks)-1].Receipt
	x.Record.Edited = edited(last.Sources, l.Resources)
	x.Record.Next = next.Changes(last)
	return nil
}

// edited names the sources of a receipt that read differently now.
func edited(old []policy.SourceHash, now wrapper.Resources) []string {
	current := map[string]string{}
	note := func(f *resource.ContextFile) {
		if f != nil {
			current[f.Path] = f.SHA256
		}
	}
	for i := range now.ContextFiles {
		note(&now.ContextFiles[i])
	}
	for _, s := range now.Skills {
		current[s.Path] = s.SHA256
	}
	note(now.System)
	note(now.Append)
	out := []string{}
	for _, s := range old {
		switch hash, ok := current[s.Path]; {
		case !ok:
			out = append(out, s.Path+" (not there any more)")
		case hash != s.SHA256:
			out = append(out, s.Path)
		}
	}
	return out
}
