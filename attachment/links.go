package attachment

import (
	"net/url"
	"strings"
	"time"

	"github.com/piweb-go/piweb/internal/signed"
)

// DefaultLifetime is how long a signed address works. A page asks for a fresh one
// when it uses one, so it may be short.
const DefaultLifetime = time.Hour

// Links makes and checks signed addresses: whoever has one may read one attachment
// for a while, without cookie, token or session.
type Links struct {
	keys *signed.Keys
	base string
	ttl  time.Duration
	now  func() time.Time
}

// NewLinks makes addresses below base, such as "/api" or "https://host/api", that
// work for ttl (0 for DefaultLifetime).
func NewLinks(keys *signed.Keys, base string, ttl time.Duration, now func() time.Time) *Links {
	if ttl <= 0 {
		ttl = DefaultLifetime
	}
	if now == nil {
		now = time.Now
	}
	return &Links{keys, strings.TrimRight(base, "/"), ttl, now}
}

// URL is a fresh address of an attachment. Whether the reader may have it is
// decided before.
func (l *Links) URL(id ID) string { return l.URLFor(id, l.ttl) }

// URLFor is URL with another lifetime.
func (l *Links) URLFor(id ID, ttl time.Duration) string {
	r := l.keys.Sign(id.String(), signed.End(l.now(), ttl))
	return l.base + "/attachments/" + url.PathEscape(r.Name) + "/raw?exp=" + r.Expires + "&sig=" + r.Sig
}

// Check judges the parts of an address. Any fault is ErrSignature, whether the
// attachment exists or not.
func (l *Links) Check(id, exp, sig string) (ID, error) {
	if err := l.keys.Check(signed.Reference{Name: id, Expires: exp, Sig: sig}, l.now()); err != nil {
		return ID{}, err
	}
	return ParseID(id)
}

// rawID is the part of an address of ours that stands for an id. ours is false for
// other texts. The host is not looked at: a server has many names.
func (l *Links) rawID(text string) (id string, ours bool) {
	if !strings.Contains(text, "/raw") || strings.ContainsAny(text, " \t\r\n") {
		return "", false
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", false
	}
	base := l.base
	if b, err := url.Parse(l.base); err == nil {
		base = b.EscapedPath()
	}
	rest, ok := strings.CutPrefix(u.EscapedPath(), base+"/attachments/")
	if !ok {
		return "", false
	}
	rest, ok = strings.CutSuffix(strings.TrimRight(rest, "/"), "/raw")
	if !ok {
		return "", false
	}
	if id, err = url.PathUnescape(rest); err != nil {
		return rest, true
	}
	return id, true
}
