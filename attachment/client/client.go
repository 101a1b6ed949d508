// Package client uploads files to a running piweb and fetches them, for programs:
// the same three calls that the page makes with uploadAttachment. It speaks HTTP
// and imports nothing else of piweb.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// Client talks to one server.
type Client struct {
	Base  string       // where the API begins, such as "http://127.0.0.1:3900/api"
	Token string       // sent as bearer
	HTTP  *http.Client // nil for http.DefaultClient
}

// Attachment is what the server says of an uploaded file.
type Attachment struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	MimeType  string `json:"mimeType"`
	Size      int64  `json:"size"`
	Origin    string `json:"origin"`
	SessionID string `json:"sessionId"`
	CreatedAt string `json:"createdAt"`
	// DisplayURL is a signed address of the bytes. It ends after a while: keep the
	// ID, and ask again with Get.
	DisplayURL string `json:"-"`
}

// Error is an answer that is no success.
type Error struct {
	Status  int
	Code    string
	Message string // for a person
}

func (e *Error) Error() string {
	return fmt.Sprintf("piweb answered %d %s: %s", e.Status, e.Code, e.Message)
}

// Upload sends a file to a session, from r to its end, without holding it in
// memory.
func (c *Client) Upload(ctx context.Context, session, name, mimeType string, r io.Reader) (Attachment, error) {
	body, send := io.Pipe()
	form := multipart.NewWriter(send)
	go func() {
		h := textproto.MIMEHeader{}
		quoted := strings.NewReplacer("\r", "%0D", "\n", "%0A", `"`, "%22").Replace(name) // as browsers do
		h.Set("Content-Disposition", `form-data; name="file"; filename="`+strings.ReplaceAll(quoted, `\`, `\\`)+`"`)
		h.Set("Content-Type", mimeType)
		part, err := form.CreatePart(h)
		if err == nil {
			_, err = io.Copy(part, r)
		}
		if err == nil {
			err = form.Close()
		}
		send.CloseWithError(err) // nil ends the body
	}()
	defer body.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.session(session), body)
	if err != nil {
		return Attachment{}, err
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	return c.one(req)
}

// Get describes an attachment, with a fresh address.
func (c *Client) Get(ctx context.Context, session, id string) (Attachment, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.session(session)+"/"+url.PathEscape(id), nil)
	if err != nil {
		return Attachment{}, err
	}
	return c.one(req)
}

// Fetch opens the bytes of an attachment; the caller closes them.
func (c *Client) Fetch(ctx context.Context, a Attachment) (io.ReadCloser, error) {
	base, err := url.Parse(c.Base)
	if err != nil {
		return nil, err
	}
	at, err := base.Parse(a.DisplayURL)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	res, err := c.http().Do(req) // without the token: the address admits
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		return nil, problem(res)
	}
	return res.Body, nil
}

func (c *Client) session(id string) string {
	return strings.TrimRight(c.Base, "/") + "/sessions/" + url.PathEscape(id) + "/attachments"
}

func (c *Client) http() *http.Client {
	if c.HTTP == nil {
		return http.DefaultClient
	}
	return c.HTTP
}

// one sends a request that is answered by one attachment.
func (c *Client) one(req *http.Request) (Attachment, error) {
	req.Header.Set("Authorization", "Bearer "+c.Token)
	res, err := c.http().Do(req)
	if err != nil {
		return Attachment{}, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return Attachment{}, problem(res)
	}
	var out struct {
		Attachment Attachment `json:"attachment"`
		DisplayURL string     `json:"displayUrl"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&out); err != nil {
		return Attachment{}, fmt.Errorf("piweb's answer cannot be read: %w", err)
	}
	if out.Attachment.ID == "" {
		return Attachment{}, errors.New("piweb's answer names no attachment")
	}
	out.Attachment.DisplayURL = out.DisplayURL
	return out.Attachment, nil
}

func problem(res *http.Response) error {
	e := &Error{Status: res.StatusCode, Message: res.Status}
	var body struct{ Code, Message string }
	if json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&body) == nil && body.Code != "" {
		e.Code, e.Message = body.Code, body.Message
	}
	return e
}
