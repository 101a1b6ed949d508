package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/message"
)

// maxMessage bounds a refusal's words, in characters.
const maxMessage = 2000

// Failure turns whatever ended a request into a refusal without secrets.
func (e *Endpoint) Failure(err error) error {
	var refusal *agent.RequestError
	if errors.As(err, &refusal) {
		return refusal
	}
	out := &agent.RequestError{Provider: e.Info.Provider}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // what it says more is the address, with its query
		out.Message = "cannot reach " + e.Base.Host + ": "
	}
	out.Message = e.secrets.clean(clip(out.Message+err.Error(), maxMessage))
	out.Err = e.secrets.cleanError(err)
	return out
}

// refusal reads an answer whose status is no success.
func (e *Endpoint) refusal(res *http.Response) *agent.RequestError {
	body := readRefusal(res)
	text := refusalText(body)
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		text = "redirects to another address; configure that one as the base URL"
		if to, err := res.Location(); err == nil {
			text = "redirects to " + to.Scheme + "://" + to.Host + to.EscapedPath() + "; configure the new base URL"
		}
	}
	if text == "" {
		text = http.StatusText(res.StatusCode)
	}
	return &agent.RequestError{
		Provider: e.Info.Provider, Status: res.StatusCode,
		Message:    e.secrets.clean(clip(text, maxMessage)),
		RetryAfter: e.secrets.clean(retryAfter(res.Header)),
		Body:       e.bodyJSON(body),
	}
}

// noStream reads a success that is no event stream: a page of a portal, or an
// error under status 200.
func (e *Endpoint) noStream(res *http.Response, media string) *agent.RequestError {
	body := readRefusal(res)
	text := "answered with " + media + " instead of an event stream"
	if media == "text/html" {
		text += "; is the base URL right?"
	}
	if gjson.GetBytes(body, "error").Exists() {
		text = refusalText(body)
	}
	return &agent.RequestError{
		Provider: e.Info.Provider, Status: res.StatusCode,
		Message: e.secrets.clean(clip(text, maxMessage)), Body: e.bodyJSON(body),
	}
}

// StreamRefusal reads an error that came as an event of the stream.
func (e *Endpoint) StreamRefusal(event []byte) error {
	status := 0
	for _, path := range []string{"error.status", "error.code", "status", "code"} {
		if n := gjson.GetBytes(event, path).Int(); n >= 400 && n <= 599 {
			status = int(n)
			break
		}
	}
	event = bytes.TrimSpace(event)
	return &agent.RequestError{
		Provider: e.Info.Provider, Status: status,
		Message: e.secrets.clean(clip(refusalText(event), maxMessage)), Body: e.bodyJSON(event),
	}
}

// bodyJSON keeps a body for those who look for codes in it: as it is if it is
// JSON, else nothing.
func (e *Endpoint) bodyJSON(body []byte) json.RawMessage {
	clean := []byte(e.secrets.clean(string(body)))
	if !json.Valid(clean) {
		return nil
	}
	return clean
}

// refusalText finds the provider's words in the shapes that servers use.
func refusalText(body []byte) string {
	if !gjson.ValidBytes(body) {
		return plainText(string(body))
	}
	root := gjson.ParseBytes(body)
	if root.IsArray() {
		root = root.Get("0") // Google's gateway wraps it
	}
	e := root.Get("error")
	var text string
	for _, r := range []gjson.Result{e.Get("message"), e, root.Get("message"), root.Get("detail"), root.Get("msg")} {
		if r.Type == gjson.String && r.Str != "" {
			text = r.Str
			break
		}
	}
	if text == "" {
		text = root.Raw
	}
	for _, r := range []gjson.Result{e.Get("code"), e.Get("type")} {
		if r.Type == gjson.String && r.Str != "" {
			if !strings.Contains(text, r.Str) {
				text += " (" + r.Str + ")"
			}
			break
		}
	}
	if raw := e.Get("metadata.raw"); raw.Type == gjson.String && raw.Str != "" && !strings.Contains(text, raw.Str) {
		text += ": " + raw.Str // what the provider behind a router said
	}
	return printable(text)
}

// plainText makes something short of a body that is not JSON.
func plainText(body string) string {
	if strings.HasPrefix(strings.TrimSpace(body), "<") {
		title := regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`).FindStringSubmatch(body)
		if title == nil {
			return ""
		}
		body = title[1]
	}
	return clip(printable(body), 300)
}

// printable puts a text on one line and takes control characters out.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// retryAfter is the value of the header, or the finer one in whole seconds.
func retryAfter(h http.Header) string {
	if v := h.Get("Retry-After"); v != "" {
		return v
	}
	ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64)
	if err != nil || ms < 0 || ms > 1e12 {
		return ""
	}
	return strconv.FormatFloat(math.Ceil(ms/1000), 'f', 0, 64)
}

func clip(s string, n int) string {
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}

// scrubber takes what must stay secret out of texts: the key, the credentials
// and the query values of the base URL, and the values of the configured
// headers, each also in the spellings in which it may come back.
type scrubber struct{ secrets []string }

// Shorter values are words, not secrets; to replace them would spoil every text.
const (
	minKey   = 4
	minValue = 8 // of headers and of the query
)

func newScrubber(spec model.Spec, base *url.URL, query url.Values) scrubber {
	found := make(map[string]bool)
	add := func(secret string, least int) {
		if len(secret) < least {
			return
		}
		quoted, _ := message.Marshal(secret) // a string always encodes
		for _, spelling := range []string{
			secret, strings.Trim(string(quoted), `"`), url.QueryEscape(secret), url.PathEscape(secret),
			base64.StdEncoding.EncodeToString([]byte(secret)),
		} {
			found[spelling] = true
		}
	}
	add(spec.APIKey, minKey)
	if user := base.User; user != nil {
		password, _ := user.Password()
		add(password, minKey)
		add(user.Username(), minKey)
		add(user.Username()+":"+password, minKey)
	}
	for _, value := range spec.Headers {
		add(value, minValue)
		if _, token, ok := strings.Cut(value, " "); ok {
			add(token, minValue)
		}
	}
	for _, values := range query {
		for _, v := range values {
			add(v, minValue)
		}
	}
	s := scrubber{}
	for secret := range found {
		s.secrets = append(s.secrets, secret)
	}
	sort.Slice(s.secrets, func(i, j int) bool { // the longer first: one may be a part of another
		if len(s.secrets[i]) != len(s.secrets[j]) {
			return len(s.secrets[i]) > len(s.secrets[j])
		}
		return s.secrets[i] < s.secrets[j]
	})
	return s
}

func (s scrubber) clean(text string) string {
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, "[hidden]")
	}
	return text
}

// cleanError keeps an error for errors.Is and errors.As, unless its text holds a
// secret: then only the clean text stays.
func (s scrubber) cleanError(err error) error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if s.clean(e.Error()) != e.Error() {
			return errors.New(s.clean(err.Error()))
		}
	}
	return err
}
