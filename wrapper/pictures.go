package wrapper

import (
	"context"
	"io"
	"strings"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/compact"
	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
)

// Pictures is what live sessions share to handle pictures. The zero value gives
// each session an admitter of its own and opens no references.
type Pictures struct {
	Admitter *media.Admitter
	// Open gives the opener of the references in a session's file; nil opens
	// none, and each picture that is one is told to be missing.
	Open func(path string) media.Opener
}

// placer puts the pictures of one session into requests.
func (p Pictures) placer(path string) media.Placer {
	out := media.Placer{Admitter: p.Admitter}
	if p.Open != nil {
		out.Open = p.Open(path)
	}
	return out
}

// counted makes a compactor count pictures as the model does.
func (p Pictures) counted(c *compact.Compactor, info agent.ModelInfo) *compact.Compactor {
	c.Picture = p.Admitter.Estimate(info.API, info.ID)
	return c
}

// Admit judges a picture that a user attaches, before it is part of anything: a
// refusal costs the picture, and neither the text nor the other pictures.
func (s *Session) Admit(ctx context.Context, data []byte) (*media.Admitted, error) {
	return s.opts.Pictures.Admitter.Admit(ctx, data)
}

// AdmitFrom is Admit for a file of a known size, in bytes. What is larger than the
// limit is not read.
func (s *Session) AdmitFrom(ctx context.Context, r io.Reader, size int64) (*media.Admitted, error) {
	return s.opts.Pictures.Admitter.AdmitFrom(ctx, r, size)
}

// content is the message's content: the text, then the pictures.
func (in Input) content(text string) message.Content {
	content := message.Content{}
	if text != "" {
		content = append(content, message.Text(text))
	}
	for _, p := range in.Images {
		content = append(content, p.Block())
	}
	return content
}

// empty tells whether there is nothing to send.
func (in Input) empty() bool {
	return strings.TrimSpace(in.Text) == "" && len(in.Images)+len(in.Attachments) == 0
}
