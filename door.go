package piweb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/piweb-go/piweb/internal/owner"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/piweb-go/piweb/wrapper"
)

// A session that this program holds for writing is nobody else's to write. Other
// programs of the user ask this one instead, at the door whose address stands in
// the lease's record. What is asked goes through the same methods as a call of this
// program's own.

// What can be asked of who holds a session.
const (
	askPrompt  = "prompt"
	askTools   = "tools"
	askRename  = "rename"
	askMove    = "move"
	askDelete  = "delete"
	askFork    = "fork"
	askImport  = "import"
	askLeaf    = "leaf"
	askLabel   = "label"
	askCompact = "compact"
	askLimits  = "limits"
	askRelease = "release"
)

// question is what another program asks.
type question struct {
	Ask  string          `json:"ask"`
	Path string          `json:"path"` // real path of the session file
	Body json.RawMessage `json:"body"`
}

// word is one line of the answer: an event of a prompt, or the end.
type word struct {
	Event  json.RawMessage `json:"event,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *foreignError   `json:"error,omitempty"`
	Held   *bool           `json:"held,omitempty"` // false: this program does not hold the session
}

// abortWord is what who asked may say while a prompt runs.
const abortWord = "abort"

type (
	toolsBody struct {
		Choice json.RawMessage `json:"choice"`
		CWD    string          `json:"cwd,omitempty"`
	}
	toolsResult struct {
		Appended, Recreated bool
	}
	renameBody struct{ Name string }
	moveBody   struct{ CWD string }
	moveResult struct {
		Path  string
		Notes []string
	}
	leafBody   struct{ Target session.ID }
	importBody struct{ Dir, CWD string }
	labelBody  struct {
		Target session.ID
		Label  string
	}
	forkBody struct {
		ForkOptions
		Clone bool
	}
	forkResult struct {
		session.Forked
		Carried json.RawMessage `json:",omitempty"`
	}
	promptBody struct {
		Input
		Options OpenOptions
	}
)

// openDoor makes this program reachable for others of the user, when it first
// holds a session: a program that only looks leaves nothing on the disk.
func (r *Runtime) openDoor() (address, key string) {
	r.doorMu.Lock()
	defer r.doorMu.Unlock()
	if r.closed || r.doorErr != nil {
		return "", ""
	}
	if r.door == nil {
		if r.door, r.doorErr = owner.Listen(filepath.Join(r.host.agentDir, "piweb", "run"), r.answer); r.doorErr != nil {
			return "", ""
		}
	}
	return r.door.Address(), r.door.Key()
}

func (r *Runtime) closeDoor() error {
	r.doorMu.Lock()
	door := r.door
	r.door, r.closed = nil, true
	r.doorMu.Unlock()
	if door == nil {
		return nil
	}
	return door.Close()
}

// myKey is the key of this program's own door, or "".
func (r *Runtime) myKey() string {
	r.doorMu.Lock()
	defer r.doorMu.Unlock()
	if r.door == nil {
		return ""
	}
	return r.door.Key()
}

// Unreachable says why other programs cannot ask this one although they should be
// able to; nil where they can, or where nobody wanted it.
func (r *Runtime) Unreachable() error {
	r.doorMu.Lock()
	defer r.doorMu.Unlock()
	return r.doorErr
}

// answer is the other end of a conversation.
func (r *Runtime) answer(ctx context.Context, raw json.RawMessage, c *owner.Conn) {
	var q question
	if err := json.Unmarshal(raw, &q); err != nil {
		return
	}
	s, live := r.registry.Live(q.Path)
	if !live || !s.Log().Held() {
		no := false
		_ = c.Send(word{Held: &no})
		return
	}
	result, err := r.asked(ctx, q, s, c)
	if err != nil {
		_ = c.Send(word{Error: toForeign(err)})
		return
	}
	data, err := json.Marshal(result)
	if err != nil {
		_ = c.Send(word{Error: toForeign(err)})
		return
	}
	_ = c.Send(word{Result: data})
}

func (r *Runtime) asked(ctx context.Context, q question, s *Session, c *owner.Conn) (any, error) {
	switch q.Ask {
	case askPrompt:
		return body(q, func(b promptBody) (any, error) { return nil, r.askedPrompt(ctx, q.Path, b, c) })
	case askTools:
		return body(q, func(b toolsBody) (any, error) {
			sel, err := toolselect.Parse(b.Choice)
			if err != nil {
				return nil, err
			}
			changed, err := r.SetTools(ctx, q.Path, sel, OpenOptions{CWD: b.CWD})
			return toolsResult{changed.Appended, changed.Recreated}, err
		})
	case askRename:
		return body(q, func(b renameBody) (any, error) { return nil, r.Rename(ctx, q.Path, b.Name) })
	case askMove:
		return body(q, func(b moveBody) (any, error) {
			to, notes, err := r.MoveNoted(ctx, q.Path, b.CWD)
			return moveResult{to, notes}, err
		})
	case askDelete:
		return r.Delete(ctx, q.Path)
	case askLeaf:
		return body(q, func(b leafBody) (any, error) { return r.MoveLeaf(ctx, q.Path, b.Target) })
	case askLabel:
		return body(q, func(b labelBody) (any, error) { return nil, r.SetLabel(ctx, q.Path, b.Target, b.Label) })
	case askCompact:
		return body(q, func(b compactBody) (any, error) { return r.askedCompact(ctx, q.Path, b, c) })
	case askLimits:
		return body(q, func(b limitsBody) (any, error) { return nil, r.subagents.SetLimits(ctx, q.Path, b.Limits) })
	case askImport:
		return body(q, func(b importBody) (any, error) { return r.importFrom(q.Path, b) })
	case askFork:
		return body(q, func(b forkBody) (any, error) { return r.askedFork(ctx, q.Path, b) })
	case askRelease:
		return nil, r.releaseAtRest(ctx, s)
	}
	return nil, fmt.Errorf("%q: this version of piweb does not know what is asked of it", q.Ask)
}

func body[B any](q question, do func(B) (any, error)) (any, error) {
	var b B
	if err := json.Unmarshal(q.Body, &b); err != nil {
		return nil, fmt.Errorf("read what is asked: %w", err)
	}
	return do(b)
}

func (r *Runtime) askedFork(ctx context.Context, path string, b forkBody) (any, error) {
	do := r.Fork
	if b.Clone {
		do = r.Clone
	}
	f, err := do(ctx, path, b.ForkOptions)
	if err != nil {
		return nil, err
	}
	out := forkResult{Forked: f.Forked}
	if f.Carried.State() != toolselect.Unset {
		p, err := f.Carried.Payload()
		if err != nil {
			return nil, err
		}
		out.Carried = p.Data
	}
	return out, nil
}

// askedPrompt runs a prompt and passes its events on. Who asked may stop it by a
// word; where it only goes away, the prompt runs on, as when a page is closed.
func (r *Runtime) askedPrompt(ctx context.Context, path string, b promptBody, c *owner.Conn) error {
	s, err := r.Open(ctx, path, b.Options)
	if err != nil {
		return err
	}
	sub := s.Subscribe(0)
	defer sub.Close()
	turn, err := s.Prompt(ctx, b.Input)
	if err != nil {
		return err
	}
	go func() {
		var said string
		if c.Receive(&said) == nil && said == abortWord {
			s.Abort()
		}
	}()
	for {
		e, err := sub.Next(ctx)
		if errors.Is(err, wrapper.ErrEnded) {
			break
		}
		if err != nil {
			return err
		}
		data, err := json.Marshal(e)
		if err == nil {
			err = c.Send(word{Event: data})
		}
		if err != nil || e.Type == wrapper.PromptDone {
			break
		}
	}
	return turn.Wait(ctx)
}

// releaseAtRest gives a session back when nothing runs on it any more.
func (r *Runtime) releaseAtRest(ctx context.Context, s *Session) error {
	sub := s.Subscribe(0)
	defer sub.Close()
	for {
		err := r.registry.ReleaseIdle(s)
		if !errors.Is(err, wrapper.ErrRunning) {
			return err
		}
		for {
			e, err := sub.Next(ctx)
			if errors.Is(err, wrapper.ErrEnded) {
				return nil
			}
			if err != nil {
				return err
			}
			if e.Type == wrapper.PromptDone {
				break
			}
		}
	}
}
