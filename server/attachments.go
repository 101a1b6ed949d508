package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/piweb-go/piweb/attachment"
	"github.com/piweb-go/piweb/media"
)

const (
	// envelope is how much a multipart body may have around its file, in bytes.
	envelope = 64 << 10
	// maxParts bounds the parts in front of the file.
	maxParts = 32
	// uploadIdle is how long a client may send nothing.
	uploadIdle = 30 * time.Second
	// slowestUpload is the rate at which a body must come on the whole, in bytes per
	// second.
	slowestUpload = 4 << 10
	// slowest is the rate at which a client must take what it fetches, in bytes per
	// second.
	slowest = 16 << 10
)

// attachmentStore is the store, or a refusal where attachments are off.
func (s *Server) attachmentStore() (*attachment.Store, error) {
	store, err := s.rt.Attachments()
	if err == nil && store == nil {
		err = refuse(http.StatusNotFound, "ATTACHMENTS_OFF", "Attachments are switched off here.")
	}
	return store, err
}

type uploaded struct {
	Attachment attachment.Descriptor `json:"attachment"`
	DisplayURL string                `json:"displayUrl"`
}

// uploadAttachment takes one file of a multipart body, as it streams in.
func (s *Server) uploadAttachment(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	store, err := s.attachmentStore()
	if err != nil {
		return err
	}
	owner, err := s.ownerOf(r, args["id"])
	if err != nil {
		return err
	}
	if r.ContentLength > store.Limit()+envelope {
		return fileTooLarge(store)
	}
	body := &patient{rc: http.NewResponseController(w), body: http.MaxBytesReader(w, r.Body, store.Limit()+envelope)}
	defer body.done()
	r.Body = body
	file, err := filePart(r)
	if err != nil {
		return err
	}
	defer file.Close()
	first := bufio.NewReader(file)
	if _, err := first.Peek(1); err == io.EOF {
		return noFile("The file is empty.")
	}
	d, err := store.Put(r.Context(), attachment.New{SessionID: owner, Name: fileName(file), MimeType: fileType(file), Origin: attachment.Upload}, first)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large), errors.Is(err, attachment.ErrTooLarge):
		return fileTooLarge(store)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return noFile("The file did not arrive as a whole.")
	case err != nil:
		return err
	}
	if err := s.noteAttachment(r.Context(), args["id"], d); err != nil {
		s.log.WarnContext(r.Context(), "an attachment is stored and not noted in its session", "id", requestID(r), "error", err.Error())
	}
	write(w, r, http.StatusOK, uploaded{d, store.Links().URL(d.ID)})
	return nil
}

// noteAttachment writes the entry of an attachment into the session's file. Where
// that fails the attachment is there all the same: the store says whose it is.
func (s *Server) noteAttachment(ctx context.Context, name string, d attachment.Descriptor) error {
	entry, err := attachment.Entry(d)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	return s.use(ctx, name, func(st *started) error { return st.s.Record(entry) })
}

// ownerOf is the session's own id, by which the store knows it.
func (s *Server) ownerOf(r *http.Request, name string) (string, error) {
	t, err := s.lookup(r.Context(), name)
	if err != nil {
		return "", err
	}
	if t.live != nil {
		return t.live.ID(), nil
	}
	return t.id, nil
}

func noFile(text string) *problem { return refuse(http.StatusBadRequest, "NO_FILE", text) }

func fileTooLarge(store *attachment.Store) *problem {
	return refuse(http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE", "The file is too large: an attachment may have "+media.Size(store.Limit())+" at most.")
}

// filePart finds the part "file" of a multipart body.
func filePart(r *http.Request) (*multipart.Part, error) {
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, noFile("Send the file as multipart/form-data, in a part named \"file\".")
	}
	for range maxParts {
		p, err := parts.NextRawPart()
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return nil, refuse(http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE", "There is too much in front of the file.")
		}
		if err != nil {
			break
		}
		if p.FormName() != "file" {
			continue
		}
		if _, params, err := mime.ParseMediaType(p.Header.Get("Content-Disposition")); err == nil {
			if _, ok := params["filename"]; ok {
				return p, nil
			}
		}
		break
	}
	return nil, noFile("There is no file in the request: send it in a part named \"file\", with a file name.")
}

// fileName is the name as the browser had it. A browser spells quotes and line
// breaks as %22, %0A and %0D, and leaves percent signs as they are.
func fileName(p *multipart.Part) string {
	_, params, _ := mime.ParseMediaType(p.Header.Get("Content-Disposition"))
	return strings.NewReplacer("%0A", "\n", "%0D", "\r", "%22", `"`).Replace(params["filename"])
}

func fileType(p *multipart.Part) string {
	if t, ok := p.Header["Content-Type"]; ok && len(t) > 0 {
		return t[0]
	}
	return "text/plain"
}

// patient lets a body take as long as it needs, while it comes on: something must
// arrive within uploadIdle, and all of it at slowestUpload or faster.
type patient struct {
	rc    *http.ResponseController
	body  io.ReadCloser
	begun time.Time
	read  int64
	whole bool // all of it has come
}

func (p *patient) Read(b []byte) (int, error) {
	now := time.Now()
	if p.begun.IsZero() {
		p.begun = now
	}
	end := p.begun.Add(2*uploadIdle + time.Duration(p.read/slowestUpload)*time.Second)
	if next := now.Add(uploadIdle); next.Before(end) {
		end = next
	}
	_ = p.rc.SetReadDeadline(end) // not every writer has deadlines
	n, err := p.body.Read(b)
	p.read += int64(n)
	p.whole = p.whole || err == io.EOF
	return n, err
}

func (p *patient) Close() error { return p.body.Close() }

// done ends the time of the body and begins that of the answer. What is left of a
// body that was not read is waited for a little.
func (p *patient) done() {
	var end time.Time
	if !p.whole {
		end = time.Now().Add(uploadIdle)
	}
	_ = p.rc.SetReadDeadline(end)
	_ = p.rc.SetWriteDeadline(time.Now().Add(requestTime))
}

// listAttachments describes what a session may use, with fresh addresses.
func (s *Server) listAttachments(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	store, err := s.attachmentStore()
	if err != nil {
		return err
	}
	owner, err := s.ownerOf(r, args["id"])
	if err != nil {
		return err
	}
	list, err := store.List(r.Context(), owner)
	if err != nil {
		return err
	}
	items := make([]uploaded, len(list))
	for i, d := range list {
		items[i] = uploaded{d, store.Links().URL(d.ID)}
	}
	write(w, r, http.StatusOK, struct {
		Attachments []uploaded `json:"attachments"`
		Limit       int64      `json:"limit"`
	}{items, store.Limit()})
	return nil
}

// ownAttachment finds an attachment that a session may use. Unknown ones and those
// of others are answered alike.
func (s *Server) ownAttachment(r *http.Request, args map[string]string) (*attachment.Store, attachment.Descriptor, string, error) {
	fail := func(err error) (*attachment.Store, attachment.Descriptor, string, error) {
		return nil, attachment.Descriptor{}, "", err
	}
	store, err := s.attachmentStore()
	if err != nil {
		return fail(err)
	}
	owner, err := s.ownerOf(r, args["id"])
	if err != nil {
		return fail(err)
	}
	id, err := attachment.ParseID(args["attachmentId"])
	if err != nil {
		return fail(noAttachment())
	}
	d, err := store.Check(r.Context(), owner, id)
	if errors.Is(err, attachment.ErrUnknown) || errors.Is(err, attachment.ErrForeign) {
		return fail(noAttachment())
	}
	if err != nil {
		return fail(err)
	}
	return store, d, owner, nil
}

func noAttachment() *problem {
	return refuse(http.StatusNotFound, "ATTACHMENT_NOT_FOUND", "There is no such attachment in this session. It may have been deleted.")
}

// getAttachment describes one attachment and signs a fresh address: what a page
// asks for when the one it has has ended.
func (s *Server) getAttachment(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	store, d, _, err := s.ownAttachment(r, args)
	if err != nil {
		return err
	}
	write(w, r, http.StatusOK, uploaded{d, store.Links().URL(d.ID)})
	return nil
}

// deleteAttachment deletes an attachment of the session itself; of one that was
// granted only the grant goes.
func (s *Server) deleteAttachment(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	store, d, owner, err := s.ownAttachment(r, args)
	if err != nil {
		return err
	}
	if d.SessionID == owner {
		err = store.Delete(r.Context(), d.ID)
	} else {
		err = store.Revoke(r.Context(), owner, d.ID)
	}
	if err != nil {
		return err
	}
	write(w, r, http.StatusOK, okay{true})
	return nil
}

// rawPath is the id of a request for an attachment's bytes, still encoded.
func rawPath(r *http.Request) (id string, ok bool) {
	parts := segments(r.URL.EscapedPath())
	if len(parts) != 4 || parts[0] != "api" || parts[1] != "attachments" || parts[3] != "raw" {
		return "", false
	}
	return parts[2], true
}

// rawAllowed judges where a request for bytes may come from: our own page, a
// browser's address line, a program, and the origins that are configured.
func (s *Server) rawAllowed(w http.ResponseWriter, r *http.Request) *problem {
	origin := r.Header.Get("Origin")
	w.Header().Add("Vary", "Origin")
	if origin != "" && slices.Contains(s.cfg.AttachmentOrigins, origin) || slices.Contains(s.cfg.AttachmentOrigins, "*") {
		// Without credentials: the signature is what admits.
		allow := origin
		if slices.Contains(s.cfg.AttachmentOrigins, "*") {
			allow = "*"
		}
		w.Header().Set("Access-Control-Allow-Origin", allow)
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
		return nil
	}
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
	return foreign(r, true)
}

// rawAttachment sends the bytes of an attachment. The signature alone admits; it is
// judged before anything else is looked up, so a guess learns nothing.
func (s *Server) rawAttachment(w http.ResponseWriter, r *http.Request, escaped string) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		p := refuse(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "This address does not take "+r.Method+".")
		p.allow = "GET, HEAD"
		return p
	}
	store, err := s.attachmentStore()
	if err != nil {
		return err
	}
	query, qerr := url.ParseQuery(r.URL.RawQuery)
	name, perr := url.PathUnescape(escaped)
	id, err := store.Links().Check(name, one(query["exp"]), one(query["sig"]))
	if err != nil || qerr != nil || perr != nil {
		return refuse(http.StatusUnauthorized, "INVALID_SIGNATURE", "The address of this file has ended or is not valid. Reload the page to get a fresh one.")
	}
	d, err := store.Head(r.Context(), id)
	if err != nil {
		return rawMissing(err)
	}
	o, err := store.Open(r.Context(), d)
	if err != nil {
		return rawMissing(err)
	}
	defer o.Close()
	h := w.Header()
	inline := showable(d.Kind())
	h.Set("Content-Type", contentType(d))
	h.Set("Content-Disposition", disposition(inline, d.Name))
	h.Set("Content-Security-Policy", rawCSP+strings.Join(append([]string{"; frame-ancestors 'self'"}, s.cfg.AttachmentOrigins...), " "))
	h.Set("Cache-Control", "private, max-age=300")
	h.Set("ETag", etag(d))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(requestTime + time.Duration(d.Size/slowest)*time.Second))
	// The file itself is handed over, so that the system can send it.
	http.ServeContent(w, r, "", time.Time{}, o.ReadSeekCloser)
	return nil
}

func rawMissing(err error) error {
	if errors.Is(err, attachment.ErrUnknown) {
		return refuse(http.StatusNotFound, "ATTACHMENT_NOT_FOUND", "This file is not there any more.")
	}
	return err
}

// one is the only value of a parameter; two of them are none.
func one(values []string) string {
	if len(values) != 1 {
		return ""
	}
	return values[0]
}

// rawCSP keeps whatever a file contains from running: no script, no request, an
// origin of its own. Who may frame it is added: our page, and who is configured.
const rawCSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src 'self'; sandbox"

// showable are the types that a browser may show in place. All others are
// downloaded: a page, a drawing with scripts or a document must not open on our
// address.
func showable(kind string) bool {
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "text/plain":
		return true
	}
	return strings.HasPrefix(kind, "audio/") || strings.HasPrefix(kind, "video/")
}

// contentType is the stored type, if it is one at all.
func contentType(d attachment.Descriptor) string {
	if kind, params, err := mime.ParseMediaType(d.MimeType); err == nil && strings.Contains(kind, "/") {
		if t := mime.FormatMediaType(kind, params); t != "" {
			if kind == "text/plain" && params["charset"] == "" {
				return t + "; charset=utf-8"
			}
			return t
		}
	}
	return "application/octet-stream"
}

func disposition(inline bool, name string) string {
	kind := "attachment"
	if inline {
		kind = "inline"
	}
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || strings.ContainsRune(`"/\:*?<>|`, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	if v := mime.FormatMediaType(kind, map[string]string{"filename": name}); v != "" {
		return v
	}
	return kind
}

func etag(d attachment.Descriptor) string {
	if d.SHA256 != "" {
		return `"` + d.SHA256 + `"`
	}
	return `"` + d.ID.String() + `"` // the bytes of an id never change
}
