package piweb

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/attachment"
	"github.com/piweb-go/piweb/attachment/handle"
	"github.com/piweb-go/piweb/completion"
	"github.com/piweb-go/piweb/completion/sources"
	"github.com/piweb-go/piweb/config"
	"github.com/piweb-go/piweb/extension/attach"
	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/session/catalog"
	"github.com/piweb-go/piweb/subagent"
	"github.com/piweb-go/piweb/wrapper"
)

// AttachmentConfig says where attachments are kept. The zero value is right for
// programs: a folder of the agent directory, and what the variables
// PI_WEB_ATTACHMENT_… say.
type AttachmentConfig struct {
	// Off switches attachments off: uploads are refused, and a call that names an
	// attachment is, too.
	Off bool
	// URLBase is where the addresses of attachments begin; "" for "/api". The
	// variable PI_WEB_ATTACHMENT_URL_BASE goes before it.
	URLBase string
	// Limit is how many bytes one attachment may have, Quota how many those of a
	// session may have together; 0 for 25 MiB and 2 GiB.
	Limit, Quota int64
	// Tools gives normal sessions the tools edit_image and attachment_info, also
	// where the user's setting attachments.tools does not.
	Tools bool
	// Kinds are the kinds of backends that the program links, such as s3.Kind.
	Kinds []attachment.Kind
}

// attachmentSetup says where the store is for an agent directory.
func (h *host) attachmentSetup(cfg AttachmentConfig) attachment.Setup {
	base := cfg.URLBase
	if base == "" {
		base = "/api"
	}
	return attachment.Setup{
		Lookup: h.lookup, Dir: filepath.Join(h.agentDir, "attachments"), SecretFile: filepath.Join(h.agentDir, "piweb-data", "attachment-secret"),
		URLBase: base, Kinds: cfg.Kinds, Limit: cfg.Limit, Quota: cfg.Quota,
	}
}

// attachments is the store as live sessions use it. It is opened when it is first
// needed: looking at a session makes no folder and no secret.
type attachments struct {
	setup    attachment.Setup
	off      bool
	tools    bool
	pictures *media.Admitter

	mu    sync.Mutex
	store *attachment.Store
}

var _ wrapper.Attachments = (*attachments)(nil)

func newAttachments(h *host, cfg AttachmentConfig) *attachments {
	return &attachments{setup: h.attachmentSetup(cfg), off: cfg.Off, tools: cfg.Tools, pictures: h.pictures}
}

// open is the store, or nil where attachments are off.
func (a *attachments) open() (*attachment.Store, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.off || a.store != nil {
		return a.store, nil
	}
	store, err := attachment.OpenSetup(a.setup)
	if err == nil {
		a.store = store
	}
	return store, err
}

// scope is the store as a session sees it. Where there is none, or it cannot be
// opened, it is one in which nothing is available.
func (a *attachments) scope(sessionID string) *attachment.Scope {
	store, err := a.open()
	if err != nil || store == nil {
		return nil
	}
	return store.For(sessionID)
}

// ErrAttachment says that a prompt names attachments that the session does not
// have. The error lists them.
var ErrAttachment = errors.New("not an attachment of this session")

// maxAttached is how many attachments one prompt may have.
const maxAttached = 100

// Attach is wrapper.Attachments.Attach.
func (a *attachments) Attach(ctx context.Context, sessionID, text string, ids, named []string) (message.Content, []string, error) {
	list, err := a.find(ctx, sessionID, ids)
	if err != nil {
		return nil, nil, err
	}
	content := message.Content{message.Text(attachment.Inject(list, text))}
	var notes []string
	for _, d := range append(list, a.others(ctx, sessionID, named, list)...) {
		if !d.IsImage() {
			continue
		}
		block, err := a.picture(ctx, d)
		if err != nil {
			notes = append(notes, fmt.Sprintf("The model does not see %s, only its name: %v", d.Name, err))
			continue
		}
		content = append(content, block)
	}
	return content, notes, nil
}

// others are the named attachments that are not in a list already.
func (a *attachments) others(ctx context.Context, sessionID string, named []string, list []attachment.Descriptor) (out []attachment.Descriptor) {
	for _, name := range named[:min(len(named), maxAttached)] {
		id, err := attachment.ParseID(name)
		if err != nil {
			continue
		}
		same := func(d attachment.Descriptor) bool { return d.ID == id }
		if slices.ContainsFunc(list, same) || slices.ContainsFunc(out, same) {
			continue
		}
		if d, err := a.scope(sessionID).Find(ctx, id); err == nil {
			out = append(out, d)
		}
	}
	return out
}

func (a *attachments) find(ctx context.Context, sessionID string, ids []string) (list []attachment.Descriptor, err error) {
	store, err := a.open()
	if err != nil {
		return nil, err
	}
	if store == nil {
		return nil, wrapper.ErrNoAttachments
	}
	if len(ids) > maxAttached {
		return nil, fmt.Errorf("%w: %d are named, and a prompt has at most %d", ErrAttachment, len(ids), maxAttached)
	}
	var bad []string
	seen := map[string]bool{}
	for _, name := range ids {
		if seen[name] {
			continue
		}
		seen[name] = true
		var d attachment.Descriptor
		id, err := attachment.ParseID(name)
		if err == nil {
			d, err = store.For(sessionID).Find(ctx, id)
		}
		switch {
		case err == nil:
			list = append(list, d)
		case errors.Is(err, attachment.ErrUnknown), errors.Is(err, attachment.ErrForeign):
			if len(name) > 64 {
				name = name[:64] + "…"
			}
			bad = append(bad, fmt.Sprintf("%q", name))
		default:
			return nil, err
		}
	}
	if len(bad) > 0 {
		return nil, fmt.Errorf("%w: %s. Remove it, or attach the file again", ErrAttachment, strings.Join(bad, ", "))
	}
	return list, nil
}

// picture makes the block of a picture for the model. The block names its
// attachment, so that a history shows it once.
func (a *attachments) picture(ctx context.Context, d attachment.Descriptor) (message.Block, error) {
	store, err := a.open()
	if err != nil {
		return message.Block{}, err
	}
	o, err := store.Open(ctx, d)
	if err != nil {
		return message.Block{}, err
	}
	defer o.Close()
	p, err := a.pictures.AdmitFrom(ctx, o, d.Size)
	if err != nil {
		return message.Block{}, err
	}
	b := p.Block()
	b.Raw, err = message.Marshal(struct {
		Type         string `json:"type"`
		Data         string `json:"data"`
		MimeType     string `json:"mimeType"`
		AttachmentID string `json:"attachmentId"`
	}{b.Type, b.Data, b.MimeType, d.ID.String()})
	return b, err
}

// Judge is wrapper.Attachments.Judge.
func (a *attachments) Judge(ctx context.Context, sessionID string, call *tool.Call) string {
	if !attachment.MayName(call.Arguments) {
		return ""
	}
	return a.scope(sessionID).Judge(ctx, call.Arguments)
}

// Strip is wrapper.Attachments.Strip.
func (a *attachments) Strip(ctx context.Context, sessionID string, call *tool.Call, r tool.Result) tool.Result {
	if attachment.MayStrip(r.Content, r.Details) {
		r.Content, r.Details = a.scope(sessionID).Strip(ctx, call.Name, r.Content, r.Details)
	}
	return r
}

// Attachments is the store of attachments, or nil where they are off.
func (r *Runtime) Attachments() (*attachment.Store, error) { return r.attachments.open() }

// HasAttachments tells whether there can be any, without making a place for them.
func (r *Runtime) HasAttachments() bool { return !r.attachments.off && r.attachments.setup.Exists() }

// AttachmentEnv are the variables that let a configured tool program use the
// attachments of a session (attachment.FromEnv). They hold the secret that signs
// addresses: a program that a model can choose must not get them.
func (r *Runtime) AttachmentEnv(sessionID string) ([]string, error) {
	if r.attachments.off {
		return nil, nil
	}
	return r.attachments.setup.Environ(sessionID)
}

// Attachments lists what the session of a scope may use, for completion.
func (a *attachments) Attachments(ctx context.Context, s completion.Scope) (out []sources.Attachment, err error) {
	if !a.setup.Exists() {
		return nil, nil
	}
	store, err := a.open()
	if err != nil || store == nil {
		return nil, err
	}
	list, err := store.List(ctx, s.SessionID)
	for _, d := range list {
		out = append(out, sources.Attachment{ID: d.ID.String(), Name: d.Name, MIME: d.Kind(), Size: d.Size, PreviewURL: store.Links().URL(d.ID)})
	}
	return out, err
}

// Marker is what a token @attachment:… becomes. ok is false for what the session
// may not use.
func (a *attachments) Marker(ctx context.Context, s completion.Scope, name string) (marker string, ok bool, err error) {
	id, err := attachment.ParseID(name)
	if err != nil || !a.setup.Exists() {
		return "", false, nil
	}
	d, err := a.scope(s.SessionID).Find(ctx, id)
	if err != nil {
		return "", false, nil
	}
	return attachment.Marker(d), true, nil
}

// handOver grants a subagent the attachments that its task names, as far as its
// parent may use them itself. Others stay what they are: text. The parent is the
// session that both the header and the record of the child name: it is found among
// its parent's subagents by the record, so a header that names another session is
// forged.
func (a *attachments) handOver(ctx context.Context, child *Session, task string) error {
	ids := attachment.IDsIn(task)
	parent := child.Log().Header().ParentSession
	if len(ids) == 0 || parent == "" || !a.setup.Exists() {
		return nil
	}
	store, err := a.open()
	if err != nil || store == nil {
		return err
	}
	h, err := session.ReadHeader(parent)
	if err != nil {
		return nil // a parent that is gone hands nothing over
	}
	record, ok, err := subagent.ReadRun(child.Log())
	if err != nil || !ok || record.ParentID != h.ID {
		return err
	}
	for _, id := range ids {
		err := store.Grant(ctx, h.ID, child.ID(), id)
		if err != nil && !errors.Is(err, attachment.ErrUnknown) && !errors.Is(err, attachment.ErrForeign) {
			return err
		}
	}
	return nil
}

// companion lets attachments follow sessions; see attachment.Companion. Where
// nothing was ever attached it opens nothing.
type companion struct {
	a      *attachments
	others func(session.Place) bool

	mu sync.Mutex
	c  *attachment.Companion
}

func (c *companion) open() (*attachment.Companion, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.c != nil || !c.a.setup.Exists() {
		return c.c, nil
	}
	store, err := c.a.open()
	if err == nil && store != nil {
		c.c = attachment.NewCompanion(store, c.others)
	}
	return c.c, err
}

// Copy is session.Companion.Copy.
func (c *companion) Copy(from, to session.Place) (session.Undo, error) {
	files, err := c.open()
	if err != nil || files == nil {
		return nil, err
	}
	return files.Copy(from, to)
}

// Move is session.Companion.Move.
func (c *companion) Move(_, _ session.Place) (session.Undo, error) { return nil, nil }

// Remove is session.Companion.Remove.
func (c *companion) Remove(at session.Place) (session.Undo, error) {
	files, err := c.open()
	if err != nil || files == nil {
		return nil, err
	}
	return files.Remove(at)
}

// settle takes away the bytes of what was removed with a session that is gone.
func (c *companion) settle() error {
	files, err := c.open()
	if err != nil || files == nil {
		return err
	}
	if err := files.Settle(context.Background()); err != nil {
		return fmt.Errorf("the session is gone, and files that were attached to it are left: %w", err)
	}
	return nil
}

// attachmentTools are the tools for attachments, where the user or the program wants
// them.
func (h *host) attachmentTools() []agent.Factory {
	if h.files == nil || h.files.off {
		return nil
	}
	if own, _ := config.ReadOwn(h.agentDir); !h.files.tools && !own.Attachments.Tools {
		return nil
	}
	return []agent.Factory{attach.Factory(func(sessionID string) handle.Context { return h.files.scope(sessionID) }, h.pictures)}
}

// sameID tells whether another session file, in the trash or not, has the id of
// one. Where that cannot be found out, it says yes: nothing is taken away then.
func (r *Runtime) sameID(at session.Place) bool {
	ctx := context.Background()
	cwd := ""
	if h, err := session.ReadHeader(at.Path); err == nil {
		cwd = h.CWD
	}
	page, err := r.Catalogue(cwd).List(ctx, catalog.Filter{})
	if err != nil {
		return true
	}
	for _, info := range page.Infos {
		if info.ID == at.ID && info.Path != at.Path {
			return true
		}
	}
	trashed, err := r.Trashed(cwd)
	if err != nil {
		return true
	}
	for _, t := range trashed {
		if t.ID == at.ID && t.Path != at.Path {
			return true
		}
	}
	return false
}
