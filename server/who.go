package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/account"
	"github.com/piweb-go/piweb/internal/signed"
)

// who is who asks. The zero value is nobody, and sees nothing.
type who struct {
	name string // of a user of the users file; "" for the person at the machine
	role account.Role
}

// machine is the person who started the program: whoever has the link that it
// printed.
var machine = who{role: account.Admin}

// bearerOfSignature is a request that a signature admits. The signature says which
// session it is for, and was given to somebody who may see that session.
var bearerOfSignature = who{role: account.Admin}

func (p who) admin() bool { return p.role == account.Admin }

// sees tells whether the sessions of an owner are shown to who asks. What nobody
// owns is for administrators.
func (p who) sees(owner string) bool {
	return p.admin() || p.role == account.Member && p.name != "" && owner == p.name
}

// log is how who asks is called in the log.
func (p who) log() string {
	if p.name != "" {
		return p.name
	}
	if p.role == "" {
		return "-"
	}
	return "local"
}

// memoryUser is whose memories who asks has.
func (p who) memoryUser() string {
	if p.name == "" {
		return piweb.MemoryUser
	}
	return p.name
}

type whoKey struct{}

// whoOf says who asks. A context that nobody went through the guard with is
// nobody's.
func whoOf(ctx context.Context) who {
	p, _ := ctx.Value(whoKey{}).(who)
	return p
}

func withWho(r *http.Request, p who) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), whoKey{}, p))
}

// tokenOwner is who has a token.
func (s *Server) tokenOwner(token string) (who, bool) {
	if s.cfg.Token != "" && same(token, s.cfg.Token) {
		return machine, true
	}
	if s.cfg.Users != nil {
		if u, ok := s.cfg.Users.Find(token); ok {
			return who{u.Name, u.Role}, true
		}
	}
	return who{}, false
}

// identify says who asks: by a bearer token, or by the cookie of a browser. Where
// there is a bearer token, the cookie does not count.
func (s *Server) identify(r *http.Request) (p who, cookie, ok bool) {
	if auth := r.Header.Get("Authorization"); auth != "" {
		scheme, token, _ := strings.Cut(auth, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return who{}, false, false
		}
		p, ok = s.tokenOwner(token)
		return p, false, ok
	}
	for _, c := range r.CookiesNamed(cookieName(r)) {
		if p, ok := s.cookieOwner(c.Value); ok {
			return p, true, true
		}
	}
	return who{}, false, false
}

// cookieTime is how long a cookie lets a browser in, and cookieFresh how old one may
// be before the page gives another.
const (
	cookieTime  = 30 * 24 * time.Hour
	cookieFresh = 24 * time.Hour
)

// cookieName is the cookie's name at the port where a request came in. Browsers do
// not tell cookies apart by port: with one name, two servers on one machine would
// sign each other's pages out.
func cookieName(r *http.Request) string {
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		if tcp, ok := addr.(*net.TCPAddr); ok {
			return "piweb_" + strconv.Itoa(tcp.Port)
		}
	}
	return "piweb"
}

// ticket is what a cookie signs: the name, and the token that the name has now, so
// that another token signs all browsers of a user out.
func (s *Server) ticket(p who) (string, bool) {
	if p.name == "" {
		return "cookie:", s.cfg.Token != ""
	}
	if s.cfg.Users == nil {
		return "", false
	}
	u, ok := s.cfg.Users.Get(p.name)
	return "cookie:" + u.Name + ":" + hex.EncodeToString(u.Hash[:]), ok
}

// cookieFor is a cookie that lets a browser in as somebody.
func (s *Server) cookieFor(r *http.Request, p who) (*http.Cookie, bool) {
	pass, ok := s.ticket(p)
	if !ok {
		return nil, false
	}
	keys, err := s.cookies()
	if err != nil {
		s.log.Error("no browser can be signed in: the secret of cookies cannot be had", "error", err.Error())
		return nil, false
	}
	ref := keys.Sign(pass, signed.End(s.cfg.Now(), cookieTime))
	value := base64.RawURLEncoding.EncodeToString([]byte(p.name)) + "." + ref.Expires + "." + ref.Sig
	return &http.Cookie{Name: cookieName(r), Value: value, Path: "/", HttpOnly: true, Secure: s.secure(r), SameSite: http.SameSiteStrictMode}, true
}

// cookieOwner is whom a cookie lets in.
func (s *Server) cookieOwner(value string) (who, bool) {
	parts := strings.Split(value, ".")
	if len(parts) != 3 {
		return who{}, false
	}
	name, err := base64.RawURLEncoding.DecodeString(parts[0])
	p := who{name: string(name)}
	pass, ok := s.ticket(p)
	if err != nil || !ok {
		return who{}, false
	}
	keys, err := s.cookies()
	if err != nil || keys.Check(signed.Reference{Name: pass, Expires: parts[1], Sig: parts[2]}, s.cfg.Now()) != nil {
		return who{}, false
	}
	if p.name == "" {
		return machine, true
	}
	u, ok := s.cfg.Users.Get(p.name) // its role as it is now
	p.role = u.Role
	return p, ok
}

// stale tells whether a cookie is due for another.
func (s *Server) stale(r *http.Request) bool {
	for _, c := range r.CookiesNamed(cookieName(r)) {
		if parts := strings.Split(c.Value, "."); len(parts) == 3 {
			if end, ok := signed.ParseTime(parts[1]); ok && end.Sub(s.cfg.Now()) < cookieTime-cookieFresh {
				return true
			}
		}
	}
	return false
}

// cookieKeys are the keys of cookies. Without a secret they live as long as the
// program.
func cookieKeys(from func() (string, error)) (*signed.Keys, error) {
	secret := rand.Text() + rand.Text()
	if from != nil {
		var err error
		if secret, err = from(); err != nil {
			return nil, err
		}
	}
	sum := sha256.Sum256([]byte("piweb cookies\n" + secret)) // whatever else the secret is for
	return signed.NewKeys(hex.EncodeToString(sum[:]))
}

// own notes that a session that was made just now belongs to who asks. What the
// person at the machine makes belongs to nobody.
func (s *Server) own(ctx context.Context, path string) error {
	p := whoOf(ctx)
	if p.name == "" {
		return nil
	}
	return s.rt.Owners().Set(keyOf(path), p.name)
}
