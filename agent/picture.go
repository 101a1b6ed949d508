package agent

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
)

// eyes is what the model in force can take of pictures.
func (m ModelInfo) eyes() media.Eyes {
	e := media.EyesFor(m.API, m.ID, m.Images, m.ToolPictures)
	e.Budget = e.Budget.With(m.Pictures)
	return e
}

// see puts the pictures of a history where the model in force takes them. What
// comes out exists in the request only.
func (l *Loop) see(ctx context.Context, history []message.Message) ([]message.Message, error) {
	placed, report, err := l.pictures.Place(ctx, history, l.eyes)
	if err != nil {
		return nil, fmt.Errorf("place the pictures of the request: %w", err)
	}
	l.sent = report
	return placed, nil
}

// maxPictures bounds the pictures of one result of a tool.
const maxPictures = 20

// admitPictures is the gate that every result passes: its pictures are admitted
// like any other, named in the details, and the first gets a small one for
// people. A picture that is refused becomes a text that says why.
func (l *Loop) admitPictures(ctx context.Context, call *tool.Call, r tool.Result) (tool.Result, error) {
	var attachments []media.Attachment
	content := r.Content[:0:0]
	n, changed := 0, false
	for _, b := range r.Content {
		if b.Type != message.TypeImage {
			content = append(content, b)
			continue
		}
		n++
		what := fmt.Sprintf("picture %d of %s", n, call.Name)
		p, err := l.admitBlock(ctx, b, n)
		refused, is := errors.AsType[*media.Error](err)
		switch {
		case is:
			content, changed = append(content, message.Text(media.UnfitNote(refused.Error(), what))), true
			continue
		case err != nil:
			content, changed = append(content, message.Text(media.UnfitNote("the run was stopped before it was looked at", what))), true
			continue
		}
		admitted := p.Block()
		changed = changed || admitted.Data != b.Data || admitted.MimeType != b.MimeType
		content, attachments = append(content, admitted), append(attachments, p.Attachment(""))
		if r.Preview == nil {
			r.Preview = l.preview(ctx, p)
		}
	}
	if changed {
		r.Content = content
	}
	if len(attachments) > 0 {
		r.Details = withMember(r.Details, "attachments", attachments)
	}
	return r, nil
}

func (l *Loop) admitBlock(ctx context.Context, b message.Block, n int) (*media.Admitted, error) {
	if n > maxPictures {
		return nil, &media.Error{Problem: media.TooMany}
	}
	data, ok := media.Decode(b.Data)
	if !ok {
		return nil, &media.Error{Problem: media.NotReadable}
	}
	return l.pictures.Admitter.Admit(ctx, data)
}

// preview is what clients get to show with the end of a call: a small picture,
// and by which hash to ask for the whole one.
func (l *Loop) preview(ctx context.Context, p *media.Admitted) json.RawMessage {
	small, err := l.pictures.Admitter.Thumb(ctx, p)
	if err != nil {
		return nil // nothing to show is no failure of the call
	}
	out, _ := message.Marshal(struct {
		MediaType string `json:"media_type"`
		MIME      string `json:"mime"`
		Width     int    `json:"width"`
		Height    int    `json:"height"`
		SHA256    string `json:"sha256"` // of the whole picture
		DataURI   string `json:"data_uri"`
	}{media.Image, small.MIME, small.Width, small.Height, p.SHA256, "data:" + small.MIME + ";base64," + base64.StdEncoding.EncodeToString(small.Data)})
	return out
}

// withMember adds a member to details that are an object and have none of that
// name, or are not there at all; any others stay as they are.
func withMember(details json.RawMessage, name string, value any) json.RawMessage {
	data, err := message.Marshal(value)
	if err != nil {
		return details
	}
	var members map[string]json.RawMessage
	trimmed := bytes.TrimSpace(details)
	if len(trimmed) > 0 && !bytes.Equal(trimmed, []byte("null")) {
		if json.Unmarshal(trimmed, &members) != nil || members[name] != nil {
			return details
		}
		trimmed = bytes.TrimRight(trimmed[:len(trimmed)-1], " \t\r\n")
	} else {
		trimmed = []byte("{")
	}
	out := bytes.Clone(trimmed)
	if len(members) > 0 {
		out = append(out, ',')
	}
	out = append(out, fmt.Sprintf("%q:", name)...)
	return append(append(out, data...), '}')
}

// told is a message as events have it: pictures are named and not carried. Who
// wants one asks for it; events are kept, and go to every client.
func told(m message.Message) message.Message {
	switch m := m.(type) {
	case *message.User:
		if c, ok := withoutPictures(m.Content); ok {
			out := *m
			out.Content = c
			return &out
		}
	case *message.ToolResult:
		if c, ok := withoutPictures(m.Content); ok {
			out := *m
			out.Content = c
			return &out
		}
	}
	return m
}

func toldResult(r tool.Result) *EventResult {
	c, _ := withoutPictures(r.Content)
	details := r.Details
	if r.Preview != nil {
		details = withMember(details, "preview", r.Preview)
	}
	return &EventResult{c, details}
}

// withoutPictures empties the data of picture blocks; ok is false where there
// are none.
func withoutPictures(c message.Content) (out message.Content, ok bool) {
	for i, b := range c {
		if b.Type != message.TypeImage {
			continue
		}
		if !ok {
			out, ok = append(message.Content{}, c...), true
		}
		out[i] = message.Image(b.MimeType, "")
	}
	if !ok {
		return c, false
	}
	return out, true
}

func toldAll(list []message.Message) []message.Message {
	var out []message.Message
	for _, m := range list {
		out = append(out, told(m))
	}
	return out
}
