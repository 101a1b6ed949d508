// Package recall is an extension for normal sessions: the tools remember and recall,
// which keep something beyond the session and find it again.
//
// What is remembered belongs to the session, and the files that were attached to the
// turn's message belong to it: their names stand in the memory, so that whoever finds
// it gets them. Only attachments that the session may use count, whatever a message
// says.
//
// What may be touched here: the memories of one user, through [Store], and names of
// attachments. Chat Only never constructs the extension, and a selection of tools that
// only read keeps remember out, as it does all that changes something. What recall
// answers is framed as data, because a memory can hold anything.
package recall

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/attachment"
	"github.com/piweb-go/piweb/attachment/handle"
	"github.com/piweb-go/piweb/memory"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
)

// Name is the extension's name.
const Name = "memory"

// The tools.
const (
	RememberTool = "remember"
	RecallTool   = "recall"
)

// Scheme begins the address of an attachment in a memory.
const Scheme = "attachment://"

// Limits of what recall answers.
const (
	defaultTop = 8
	maxTop     = 20
	maxShown   = 2000 // bytes of one memory
)

// Store is what the tools need of memories. *memory.Service is one.
type Store interface {
	Remember(ctx context.Context, s memory.Scope, n memory.Note) (id string, err error)
	Find(ctx context.Context, s memory.Scope, text string, top int) (memory.Found, error)
}

// Options say whose memories these are.
type Options struct {
	// User says whose they are: the owner of the session of a file.
	User func(sessionFile string) (string, error)
	// Open opens the store when it is first used; nil, nil says that there is none.
	Open func() (Store, error)
	// Files gives the attachments of a session; it may answer handle.None.
	Files func(sessionID string) handle.Context
}

// Factory makes the extension.
func Factory(o Options) agent.Factory {
	return agent.Factory{Name: Name, New: func(_ context.Context, env agent.Env) (agent.Extension, error) {
		x := &extension{o: o, session: env.SessionID, file: env.SessionFile}
		return agent.Extension{Tools: []agent.Tool{&remember{x}, &find{x}}, Hooks: agent.Hooks{Message: x.saw}}, nil
	}}
}

// extension is what the tools of one session share.
type extension struct {
	o       Options
	session string
	file    func() string

	mu       sync.Mutex
	attached []string // ids that the last message of the user names
}

// saw notes what a user's message has attached.
func (x *extension) saw(m message.Message) {
	u, ok := m.(*message.User)
	if !ok {
		return
	}
	var ids []string
	for _, b := range u.Content {
		for _, f := range attachment.FindMarkers(b.Text) {
			ids = append(ids, f.ID.String())
		}
	}
	x.mu.Lock()
	x.attached = ids
	x.mu.Unlock()
}

// files are the attachments of the turn that the session may use.
func (x *extension) files(ctx context.Context) (list []memory.NoteFile) {
	x.mu.Lock()
	ids := x.attached
	x.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	files := x.o.Files(x.session)
	for _, id := range ids {
		if a, err := files.Resolve(ctx, id); err == nil {
			info := a.Info()
			list = append(list, memory.NoteFile{Name: info.Name, ContentType: info.MimeType, URI: Scheme + info.ID})
		}
	}
	return list
}

// store opens the memories, or says why there are none.
func (x *extension) store() (Store, error) {
	s, err := x.o.Open()
	if err == nil && s == nil {
		err = errors.New("memory is switched off here; go on without it")
	}
	return s, err
}

//go:embed prose/remember.md
var rememberProse string

//go:embed prose/recall.md
var recallProse string

//go:embed prose/frame.md
var frameProse string

type remember struct{ x *extension }

// Declaration is what the model is told.
func (*remember) Declaration() message.ToolDeclaration {
	return message.ToolDeclaration{Name: RememberTool, Description: strings.TrimSpace(rememberProse), Parameters: json.RawMessage(
		`{"type":"object","properties":{"text":{"type":"string","minLength":1,"description":"What to keep"}},"required":["text"],"additionalProperties":false}`)}
}

// Sequential is false: memories do not depend on each other.
func (*remember) Sequential() bool { return false }

// Traits says that it changes something: a session whose chosen tools only read does not
// get it.
func (*remember) Traits() policy.Tool { return policy.Tool{Name: RememberTool, Changes: true} }

// Run keeps a note.
func (t *remember) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var args struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return tool.Result{}, err
	}
	s, err := t.x.store()
	if err != nil {
		return tool.Error(err.Error()), nil
	}
	user, err := t.x.o.User(t.x.file())
	if err != nil {
		return tool.Error(err.Error()), nil
	}
	files := t.x.files(ctx)
	id, err := s.Remember(ctx, memory.Scope{User: user}, memory.Note{Session: t.x.session, Text: args.Text, Origin: call.ID, Files: files})
	if err != nil {
		return tool.Error("Nothing was kept: " + err.Error()), nil
	}
	said := "Kept."
	if len(files) > 0 {
		var names []string
		for _, f := range files {
			names = append(names, f.Name)
		}
		said = "Kept, with " + strings.Join(names, ", ") + "."
	}
	r := tool.Text(said)
	r.Details, err = message.Marshal(struct {
		MemoryID string `json:"memoryId,omitempty"`
		Files    int    `json:"files"`
	}{id, len(files)})
	return r, err
}

type find struct{ x *extension }

// Declaration is what the model is told.
func (*find) Declaration() message.ToolDeclaration {
	return message.ToolDeclaration{Name: RecallTool, Description: strings.TrimSpace(recallProse), Parameters: json.RawMessage(
		`{"type":"object","properties":{"query":{"type":"string","minLength":1,"description":"Words to look for"},"limit":{"type":"integer","minimum":1,"maximum":20,"description":"How many memories at most; 8 without it"}},"required":["query"],"additionalProperties":false}`)}
}

// Sequential is false: it only reads.
func (*find) Sequential() bool { return false }

// Traits says that it only reads.
func (*find) Traits() policy.Tool { return policy.Tool{Name: RecallTool, OnlyReads: true} }

// Run finds memories.
func (t *find) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var args struct {
		Query string `json:"query"`
		Limit int    `json:"limit"`
	}
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return tool.Result{}, err
	}
	if args.Limit <= 0 {
		args.Limit = defaultTop
	}
	s, err := t.x.store()
	if err != nil {
		return tool.Error(err.Error()), nil
	}
	user, err := t.x.o.User(t.x.file())
	if err != nil {
		return tool.Error(err.Error()), nil
	}
	found, err := s.Find(ctx, memory.Scope{User: user}, args.Query, min(args.Limit, maxTop))
	if err != nil {
		return tool.Error("The search failed: " + err.Error()), nil
	}
	if len(found.Results) == 0 {
		return tool.Text("Nothing was found. Try other words, or fewer."), nil
	}
	return tool.Text(framed(found)), nil
}

// framed shows memories as data. Nothing in one of them can end the frame.
func framed(found memory.Found) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(frameProse) + "\n\n<memories>\n")
	for i, it := range found.Results {
		day, _, _ := strings.Cut(it.Timestamp, "T")
		fmt.Fprintf(&b, "%d. %s", i+1, day)
		if it.SessionID != nil {
			fmt.Fprintf(&b, ", session %s", plain(*it.SessionID))
		}
		b.WriteString("\n" + plain(clip(it.Text)) + "\n")
		for _, f := range it.Attachments {
			fmt.Fprintf(&b, "   file: %s (%s)\n", plain(f.Name), plain(f.URI))
		}
	}
	b.WriteString("</memories>")
	return b.String()
}

func plain(s string) string { return strings.ReplaceAll(s, "</memories", "< /memories") }

func clip(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + " …"
}
