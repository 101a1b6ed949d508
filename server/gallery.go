package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/internal/signed"
	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// Pictures of a history stand beside it: the history names them, and a browser
// fetches those that it shows, a small one for a card and the whole one where
// somebody opens it. Their addresses are signed and end, like those of
// attachments; they are made anew with each history.

// inlinePicture is how much base64 of a picture stays in a history, in characters.
const inlinePicture = 8 << 10

// pictureTime is how long an address of a picture is good.
const pictureTime = time.Hour

// smallMark ends the reference to the small one of a picture.
const smallMark = "~small"

// gallery signs the addresses of pictures. Its keys live as long as the program:
// whoever reloads the page gets new addresses.
type gallery struct {
	keys *signed.Keys
	now  func() time.Time
}

// newGallery makes a gallery with a fresh key, which must be a secret.
func newGallery(secret string, now func() time.Time) (*gallery, error) {
	keys, err := signed.NewKeys(secret)
	return &gallery{keys, now}, err
}

// name is what is signed: it cannot be taken for an attachment's.
func (g *gallery) name(session, ref string) string { return "picture:" + session + "/" + ref }

// url is the address of a picture of a session: ref is the entry and the number
// of the block, or the picture's hash.
func (g *gallery) url(session, ref string) string {
	r := g.keys.Sign(g.name(session, ref), signed.End(g.now(), pictureTime))
	return "/api/pictures/" + url.PathEscape(session) + "/" + url.PathEscape(ref) + "?exp=" + url.QueryEscape(r.Expires) + "&sig=" + url.QueryEscape(r.Sig)
}

// pictureBlock is an image block of a history whose data stands elsewhere.
type pictureBlock struct {
	Type         string `json:"type"`
	MimeType     string `json:"mimeType"`
	Data         string `json:"data"` // empty
	URL          string `json:"url"`
	ThumbURL     string `json:"thumbUrl"`
	AttachmentID string `json:"attachmentId,omitempty"`
}

// pictured is a message in which large pictures are addresses.
func (g *gallery) pictured(session string, entry session.ID, m message.Message) message.Message {
	change := func(content message.Content) (out message.Content) {
		for i, b := range content {
			if b.Type != message.TypeImage || len(b.Data) < inlinePicture && !media.IsRef(b.Data) {
				continue
			}
			ref := string(entry) + "." + strconv.Itoa(i)
			raw, err := message.Marshal(pictureBlock{message.TypeImage, b.MimeType, "", g.url(session, ref), g.url(session, ref+smallMark), attachmentOf(b)})
			if err != nil {
				continue
			}
			if out == nil {
				out = slices.Clone(content)
			}
			out[i] = message.Block{Type: message.TypeImage, MimeType: b.MimeType, Raw: raw}
		}
		return out
	}
	switch m := m.(type) {
	case *message.User:
		if c := change(m.Content); c != nil {
			return &message.User{Content: c, Timestamp: m.Timestamp}
		}
	case *message.ToolResult:
		if c := change(m.Content); c != nil {
			out := *m
			out.Content = c
			return &out
		}
	}
	return m
}

// withURL adds the address of the whole picture to the preview of a result.
func (g *gallery) withURL(session string, r *agent.EventResult) *agent.EventResult {
	if r == nil || !bytes.Contains(r.Details, []byte(`"preview"`)) {
		return r
	}
	var details, preview map[string]json.RawMessage
	var sum string
	if json.Unmarshal(r.Details, &details) != nil || json.Unmarshal(details["preview"], &preview) != nil || json.Unmarshal(preview["sha256"], &sum) != nil {
		return r
	}
	preview["url"], _ = message.Marshal(g.url(session, sum))
	details["preview"], _ = message.Marshal(preview)
	data, err := message.Marshal(details)
	if err != nil {
		return r
	}
	return &agent.EventResult{Content: r.Content, Details: data}
}

// picturePath is the session and the reference of a request for a picture, still
// encoded.
func picturePath(r *http.Request) (session, ref string, ok bool) {
	parts := segments(r.URL.EscapedPath())
	if len(parts) != 4 || parts[0] != "api" || parts[1] != "pictures" {
		return "", "", false
	}
	return parts[2], parts[3], true
}

// picture sends a picture of a session. The signature alone admits; it is judged
// before anything is looked up.
func (s *Server) picture(w http.ResponseWriter, r *http.Request, rawSession, rawRef string) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		p := refuse(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "This address does not take "+r.Method+".")
		p.allow = "GET, HEAD"
		return p
	}
	name, err1 := url.PathUnescape(rawSession)
	ref, err2 := url.PathUnescape(rawRef)
	query, err3 := url.ParseQuery(r.URL.RawQuery)
	given := signed.Reference{Name: s.gallery.name(name, ref), Expires: one(query["exp"]), Sig: one(query["sig"])}
	if errors.Join(err1, err2, err3) != nil || s.gallery.keys.Check(given, s.cfg.Now()) != nil {
		return refuse(http.StatusUnauthorized, "INVALID_SIGNATURE", "The address of this picture has ended or is not valid. Reload the page to get a fresh one.")
	}
	return s.reading(r, name, func(_ *target, log *session.Session) error {
		ref, small := strings.CutSuffix(ref, smallMark)
		data, err := s.rt.PictureData(r.Context(), log.Path(), pictureAt(log, ref))
		if err != nil || media.Type(data) == "" {
			return refuse(http.StatusNotFound, "PICTURE_NOT_FOUND", "This picture is not there any more.")
		}
		kind := media.Type(data)
		if small {
			if t, err := s.rt.Thumb(r.Context(), data); err == nil {
				kind, data = t.MIME, t.Data
			}
		}
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("Content-Disposition", "inline")
		h.Set("Content-Security-Policy", rawCSP)
		h.Set("Cache-Control", "private, max-age=3600")
		h.Set("ETag", strconv.Quote(ref+strconv.FormatBool(small)))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
		return nil
	})
}

// pictureAt finds a picture of a session: by entry and number, or by its hash.
func pictureAt(log *session.Session, ref string) message.Block {
	entry, number, found := strings.Cut(ref, ".")
	n, err := strconv.Atoi(number)
	for e := range log.Backward() {
		if found && string(e.ID) != entry || !found && e.Role != string(message.RoleToolResult) {
			continue
		}
		p, derr := log.Decode(e)
		if derr != nil {
			continue
		}
		var content message.Content
		var details json.RawMessage
		switch p := p.(type) {
		case session.MessagePayload:
			content = message.ContentOf(p.Message)
			if t, ok := p.Message.(*message.ToolResult); ok {
				details = t.Details
			}
		case session.CustomMessage:
			content = p.Content
		}
		if found {
			if err != nil || n < 0 || n >= len(content) {
				return message.Block{}
			}
			return content[n]
		}
		if b, ok := hashed(content, details, ref); ok {
			return b
		}
	}
	return message.Block{}
}

// hashed is the picture of a result that its details give this hash.
func hashed(content message.Content, details json.RawMessage, sum string) (message.Block, bool) {
	var d struct {
		Attachments []media.Attachment `json:"attachments"`
	}
	if !bytes.Contains(details, []byte(sum)) || json.Unmarshal(details, &d) != nil {
		return message.Block{}, false
	}
	at := slices.IndexFunc(d.Attachments, func(a media.Attachment) bool { return a.SHA256 == sum })
	for _, b := range content {
		if b.Type != message.TypeImage {
			continue
		}
		if at == 0 {
			return b, true
		}
		at--
	}
	return message.Block{}, false
}

// pictureURL gives the translator of a session the addresses of previews.
func (f *feed) pictureURL(r *agent.EventResult) *agent.EventResult {
	l, ok := f.src.(live)
	if !ok || f.gallery == nil {
		return r
	}
	return f.gallery.withURL(l.s.ID(), r)
}

// openPicture answers a request for a picture as far as the guard lets it.
func (s *Server) openPicture(w http.ResponseWriter, r *http.Request, name, ref string) {
	if p := s.rawAllowed(w, r); p != nil {
		s.fail(w, r, p)
	} else if err := s.picture(w, r, name, ref); err != nil {
		s.fail(w, r, err)
	}
}
