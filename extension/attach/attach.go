// Package attach is an extension for normal sessions: the tools edit_image and
// attachment_info, which work on the session's attachments. It is also the example
// of how a tool uses attachments: everything goes through handle.Context, which an
// author of tools can have without the store.
//
// What may be touched here: attachments of the session for which the extension was
// constructed. Chat Only never constructs it. Pictures are admitted by package
// media before they are decoded, so a bomb or a broken file costs an error.
package attach

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/attachment/handle"
	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
)

// Name is the extension's name.
const Name = "attachments"

// Factory makes the extension. open gives the attachments of a session; it may
// answer handle.None. pictures is shared by the program.
func Factory(open func(sessionID string) handle.Context, pictures *media.Admitter) agent.Factory {
	return agent.Factory{Name: Name, New: func(_ context.Context, env agent.Env) (agent.Extension, error) {
		files := func() handle.Context { return open(env.SessionID) }
		return agent.Extension{Tools: []agent.Tool{&editImage{files, pictures}, &info{files, pictures}}}, nil
	}}
}

//go:embed prose/edit_image.md
var editProse string

//go:embed prose/attachment_info.md
var infoProse string

// info is the tool attachment_info.
type info struct {
	files    func() handle.Context
	pictures *media.Admitter
}

// Declaration is what the model is told.
func (*info) Declaration() message.ToolDeclaration {
	return message.ToolDeclaration{Name: "attachment_info", Description: strings.TrimSpace(infoProse), Parameters: json.RawMessage(
		`{"type":"object","properties":{"attachmentId":{"type":"string","description":"The id of one attachment (att_…); all of them without it"}},"additionalProperties":false}`)}
}

// Sequential is false: it only reads.
func (*info) Sequential() bool { return false }

// described is one attachment in the answer of attachment_info.
type described struct {
	handle.Info
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
	Note   string `json:"note,omitempty"`
}

// Run describes attachments.
func (t *info) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var args struct {
		AttachmentID string `json:"attachmentId"`
	}
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return tool.Result{}, err
	}
	files := t.files()
	var list []described
	if args.AttachmentID != "" {
		a, err := files.Resolve(ctx, args.AttachmentID)
		if err != nil {
			return failed(err), nil
		}
		list = append(list, t.describe(ctx, a))
	} else {
		infos, err := files.List(ctx)
		if err != nil {
			return failed(err), nil
		}
		for _, i := range infos {
			list = append(list, described{Info: i})
		}
	}
	if len(list) == 0 {
		return tool.Text("Nothing is attached to this session."), nil
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return tool.Result{}, err
	}
	r := tool.Text(string(text))
	r.Details = json.RawMessage(`{"ok":true}`)
	return r, nil
}

// describe adds what only the bytes tell.
func (t *info) describe(ctx context.Context, a handle.Attachment) described {
	d := described{Info: a.Info()}
	if !strings.HasPrefix(d.MimeType, "image/") {
		return d
	}
	p, err := admit(ctx, t.pictures, a)
	if err != nil {
		d.Note = "it cannot be read as a picture: " + err.Error()
		return d
	}
	d.Width, d.Height = p.Width, p.Height
	return d
}

// admit reads an attachment as a picture.
func admit(ctx context.Context, pictures *media.Admitter, a handle.Attachment) (*media.Admitted, error) {
	r, err := a.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return pictures.AdmitFrom(ctx, r, a.Info().Size)
}

// failed is an answer that the model can act on.
func failed(err error) tool.Result {
	text := err.Error()
	if errors.Is(err, handle.ErrUnavailable) {
		text = "Attachments are not available here, so this tool cannot do anything. Work with files of the project in place of them."
	}
	r := tool.Error(text)
	r.Details, _ = message.Marshal(struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}{false, err.Error()})
	return r
}

// editImage is the tool edit_image.
type editImage struct {
	files    func() handle.Context
	pictures *media.Admitter
}

// Declaration is what the model is told.
func (*editImage) Declaration() message.ToolDeclaration {
	return message.ToolDeclaration{Name: "edit_image", Description: strings.TrimSpace(editProse), Parameters: json.RawMessage(`{"type":"object","properties":{` +
		`"attachmentId":{"type":"string","description":"The id of the picture (att_…)"},` +
		`"crop":{"type":"object","description":"Keep only this part","properties":{"x":{"type":"integer","minimum":0},"y":{"type":"integer","minimum":0},"width":{"type":"integer","minimum":1},"height":{"type":"integer","minimum":1}},"required":["x","y","width","height"],"additionalProperties":false},` +
		`"rotate":{"type":"integer","enum":[0,90,180,270],"description":"Degrees, clockwise"},` +
		`"resize":{"type":"object","description":"Scale to this size; with one of the two the other follows","properties":{"width":{"type":"integer","minimum":1,"maximum":4096},"height":{"type":"integer","minimum":1,"maximum":4096}},"additionalProperties":false},` +
		`"returnImage":{"type":"boolean","description":"Also show the outcome to you; costs tokens"}` +
		`},"required":["attachmentId"],"additionalProperties":false}`)}
}

// Sequential is false: the input is never changed.
func (*editImage) Sequential() bool { return false }

type editArgs struct {
	AttachmentID string `json:"attachmentId"`
	Crop         *rect  `json:"crop"`
	Rotate       int    `json:"rotate"`
	Resize       *size  `json:"resize"`
	ReturnImage  bool   `json:"returnImage"`
}

type editDetails struct {
	handle.Details
	InputAttachmentID string `json:"inputAttachmentId"`
	Width             int    `json:"width"`
	Height            int    `json:"height"`
	KeepInlineImages  bool   `json:"keepInlineImages,omitempty"`
}

// Run edits a picture and stores the outcome.
func (t *editImage) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var args editArgs
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return tool.Result{}, err
	}
	files := t.files()
	in, err := files.Resolve(ctx, args.AttachmentID)
	if err != nil {
		return failed(err), nil
	}
	p, err := admit(ctx, t.pictures, in)
	if err != nil {
		return failed(err), nil
	}
	out, err := edit(ctx, p, args)
	if err != nil {
		return failed(err), nil
	}
	stored, err := files.PutOutput(ctx, outputName(in.Info().Name, out.ext), out.mimeType, bytes.NewReader(out.data))
	if err != nil {
		return failed(fmt.Errorf("the picture was edited, and could not be stored: %w", err)), nil
	}
	r := tool.Text(fmt.Sprintf("Stored the outcome as attachment %s: %d x %d pixels, %s, %s.", stored.AttachmentID, out.width, out.height, out.mimeType, media.Size(int64(len(out.data)))))
	details := editDetails{stored.Details(), in.Info().ID, out.width, out.height, args.ReturnImage}
	if args.ReturnImage {
		shown, err := t.pictures.Admit(ctx, out.data)
		if err != nil {
			return failed(err), nil
		}
		r.Content = append(r.Content, shown.Block())
	}
	r.Details, err = message.Marshal(details)
	return r, err
}

// outputName is the name of an outcome, by that of the input.
func outputName(name, ext string) string {
	name = strings.TrimPrefix(name, "edited-")
	if i := strings.LastIndexByte(name, '.'); i > 0 && len(name)-i <= 6 {
		name = name[:i]
	}
	return "edited-" + name + ext
}
