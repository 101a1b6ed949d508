package sources

import (
	"context"
	"strconv"
	"strings"

	"github.com/piweb-go/piweb/completion"
)

// Attachment is a file that belongs to a session.
type Attachment struct {
	ID         string
	Name       string
	MIME       string
	Size       int64  // bytes
	PreviewURL string // of a picture, signed; "" for none
}

// Attachments lists the attachments of a scope's session, and writes the marker of
// one. ok is false for what does not belong to it.
type AttachmentLister interface {
	Attachments(ctx context.Context, s completion.Scope) ([]Attachment, error)
	Marker(ctx context.Context, s completion.Scope, id string) (marker string, ok bool, err error)
}

// Attachments offers a session's attachments behind an @. A token becomes the
// marker of the attachment.
func Attachments(from AttachmentLister) completion.Provider { return attachments{from} }

type attachments struct{ from AttachmentLister }

func (attachments) ID() string      { return "attachment" }
func (attachments) Kind() string    { return "attachment" }
func (attachments) Trigger() string { return "@" }

func (p attachments) Complete(ctx context.Context, q completion.Query) (completion.Offer, error) {
	all, err := p.from.Attachments(ctx, q.Scope)
	if err != nil {
		return completion.Offer{}, err
	}
	var offer completion.Offer
	for _, a := range all {
		score, parts := match(a.Name, q.Text)
		if score == no {
			continue
		}
		item := completion.Item{ID: a.ID, Label: a.Name, Detail: a.MIME + " · " + SizeText(a.Size), InsertText: completion.Format("@", "attachment", a.ID), Matches: parts}
		if strings.HasPrefix(a.MIME, "image/") {
			item.PreviewURL = a.PreviewURL
		}
		offer.Items = append(offer.Items, item)
	}
	return offer, nil
}

func (p attachments) Resolve(ctx context.Context, r completion.Ref) (completion.Resolution, bool, error) {
	marker, ok, err := p.from.Marker(ctx, r.Scope, r.ID)
	if err != nil || !ok {
		return completion.Resolution{}, false, err
	}
	return completion.Resolution{Text: marker, ID: r.ID}, true, nil
}

// SizeText is a number of bytes for people: 1024 to a unit, one decimal place,
// rounded half up.
func SizeText(bytes int64) string {
	size := float64(bytes)
	units := []string{"B", "KB", "MB", "GB", "TB"}
	for size >= 1024 && len(units) > 1 {
		size /= 1024
		units = units[1:]
	}
	text := strconv.FormatFloat(float64(int64(size*10+0.5))/10, 'f', 1, 64)
	return strings.TrimSuffix(text, ".0") + " " + units[0]
}
