package wrapper

import (
	"context"

	"github.com/piweb-go/piweb/internal/document"
)

// Place says whose text is looked at.
type Place struct {
	SessionID   string
	SessionFile string
	CWD         string
}

// Mentioned is a user's text whose tokens were resolved.
type Mentioned struct {
	Text string
	// Documents go behind what the text becomes.
	Documents []document.Document
	// Attachments are the ids of those that are named: their markers stand in the
	// text already.
	Attachments []string
}

// mentioned resolves the tokens of what the user has typed. It comes before
// templates and skills: what those put in is never looked at. It is called under mu.
func (s *Session) mentioned(ctx context.Context, text string) (string, []document.Document, []string) {
	if s.opts.Mentions == nil {
		return text, nil, nil
	}
	m := s.opts.Mentions(ctx, Place{s.log.ID(), s.log.Path(), s.Folder().Path}, text)
	return m.Text, m.Documents, m.Attachments
}
