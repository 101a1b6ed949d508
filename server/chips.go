package server

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/piweb-go/piweb/attachment"
	"github.com/piweb-go/piweb/message"
)

// shower makes a history show its attachments: the markers in what a user said
// become parts that a client draws as chips, and whatever names an attachment of
// the session gets a fresh address. Attachments of others are left as they are
// written: the history says what was said, and gives no right. The zero shower, of
// a program without attachments, changes nothing but the markers.
type shower struct {
	ctx   context.Context
	open  func() (*attachment.Store, error)
	owner string
	links *attachment.Links                 // when one was found
	known map[string]*attachment.Descriptor // nil: not the session's
}

func (s *Server) newShower(ctx context.Context, owner string) *shower {
	return &shower{ctx: ctx, open: s.rt.Attachments, owner: owner, known: map[string]*attachment.Descriptor{}}
}

// find looks up an attachment of the session, each once.
func (sh *shower) find(name string) *attachment.Descriptor {
	if d, ok := sh.known[name]; ok {
		return d
	}
	sh.known[name] = nil
	id, err := attachment.ParseID(name)
	if err != nil {
		return nil
	}
	// Opened for the first id: a history without attachments makes no place for them.
	store, err := sh.open()
	if err != nil || store == nil {
		return nil
	}
	if d, err := store.Check(sh.ctx, sh.owner, id); err == nil {
		sh.known[name], sh.links = &d, store.Links()
	}
	return sh.known[name]
}

// chip is a part of a user's message that stands for an attachment. Its type is
// "image" for files of every kind: the client goes by mimeType.
type chip struct {
	Type         string `json:"type"`
	AttachmentID string `json:"attachmentId"`
	MimeType     string `json:"mimeType"`
	Name         string `json:"name"`
	Size         int64  `json:"size,omitempty"`
	DisplayURL   string `json:"displayUrl,omitempty"`
}

func (sh *shower) chip(f attachment.Found) chip {
	c := chip{Type: message.TypeImage, AttachmentID: f.ID.String(), MimeType: f.MimeType, Name: f.Name}
	if d := sh.find(c.AttachmentID); d != nil {
		c.MimeType, c.Name, c.Size, c.DisplayURL = d.MimeType, d.Name, d.Size, sh.links.URL(d.ID)
	}
	return c
}

// message is a message as a client gets it.
func (sh *shower) message(m message.Message) message.Message {
	if u, ok := m.(*message.User); ok {
		if content, found := sh.user(u.Content); found {
			return &message.User{Content: content, Timestamp: u.Timestamp}
		}
	}
	return m
}

// user turns the markers of a user's texts into chips, in front of what is left of
// the texts. A picture that went to the model is shown by its chip alone.
func (sh *shower) user(content message.Content) (message.Content, bool) {
	var chips, rest message.Content
	shown := map[string]bool{}
	for _, b := range content {
		if b.Type != message.TypeText {
			rest = append(rest, b)
			continue
		}
		found := attachment.FindMarkers(b.Text)
		if len(found) == 0 {
			rest = append(rest, b)
			continue
		}
		var text strings.Builder
		at := 0
		for _, f := range found {
			text.WriteString(b.Text[at:f.Start])
			at = f.End
			c := sh.chip(f)
			raw, err := message.Marshal(c)
			if err != nil {
				continue
			}
			shown[c.AttachmentID] = true
			chips = append(chips, message.Block{Type: message.TypeImage, Raw: raw})
		}
		text.WriteString(b.Text[at:])
		if left := strings.TrimLeft(text.String(), "\r\n"); left != "" {
			rest = append(rest, message.Text(left))
		}
	}
	if len(chips) == 0 {
		return content, false
	}
	for _, b := range rest {
		if b.Type == message.TypeImage && shown[attachmentOf(b)] {
			continue
		}
		chips = append(chips, b)
	}
	return chips, true
}

// attachmentOf is the attachment that a picture's block names.
func attachmentOf(b message.Block) string {
	var named struct {
		AttachmentID string `json:"attachmentId"`
	}
	if b.Raw == nil || !bytes.Contains(b.Raw[max(0, len(b.Raw)-200):], []byte(`"attachmentId"`)) {
		return "" // written at the end of a block by us: a picture is not parsed for it
	}
	_ = json.Unmarshal(b.Raw, &named)
	return named.AttachmentID
}

// idKeys are the members by which an object names an attachment; the first that is
// there counts.
var idKeys = []string{"attachmentId", "outputAttachmentId", "inputAttachmentId"}

// refresh gives every object of a message that names an attachment of the session
// a fresh displayUrl. Everything else keeps its bytes.
func (sh *shower) refresh(data json.RawMessage) json.RawMessage {
	if !bytes.Contains(data, []byte(`ttachmentId"`)) {
		return data
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || !sh.walk(v, 0) {
		return data
	}
	if fresh, err := message.Marshal(v); err == nil {
		return fresh
	}
	return data
}

// maxWalk is how deep a message is looked at.
const maxWalk = 200

func (sh *shower) walk(v any, depth int) (changed bool) {
	if depth > maxWalk {
		return false
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			changed = sh.walk(e, depth+1) || changed
		}
	case map[string]any:
		for _, e := range v {
			changed = sh.walk(e, depth+1) || changed
		}
		for _, key := range idKeys {
			name, _ := v[key].(string)
			if name == "" {
				continue
			}
			if d := sh.find(name); d != nil {
				v["displayUrl"] = sh.links.URL(d.ID)
				changed = true
			}
			break
		}
	}
	return changed
}
