package server

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// signInStyle is the only style of the page; its hash lets it through.
const signInStyle = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0;display:grid;min-height:100vh;place-items:center}` +
	`main{max-width:26rem;padding:1.5rem}h1{font-size:1.4rem;margin:0 0 1rem}input,button{font:inherit;padding:.5rem .75rem;border:1px solid GrayText;border-radius:.5rem;box-sizing:border-box}` +
	`input{width:100%}button{cursor:pointer}code{font-size:.9em}[role=alert]{border-left:3px solid #c0392b;padding-left:.75rem}`

var signInCSP = sync.OnceValue(func() string {
	sum := sha256.Sum256([]byte(signInStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
})

// askToSignIn is the page of those who are not in.
func (s *Server) askToSignIn(w http.ResponseWriter, r *http.Request, wrong bool) {
	users := s.hasUsers()
	text := signInLanguage(r).page(wrong, s.cfg.Token != "", users)
	h := w.Header()
	h.Set("Vary", "Accept-Language")
	h.Set("Content-Security-Policy", signInCSP())
	if users {
		h.Set("Referrer-Policy", "same-origin") // without one a browser's form names no origin
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusUnauthorized)
	if r.Method != http.MethodHead {
		_, _ = io.WriteString(w, text)
	}
}

// hasUsers tells whether there is anybody who could sign in by a form.
func (s *Server) hasUsers() bool {
	if s.cfg.Users == nil {
		return false
	}
	list, _, _ := s.cfg.Users.List()
	return len(list) > 0
}

// maxForm is how large the form of a sign-in may be, in bytes.
const maxForm = 4 << 10

// signedIn answers the two addresses of the page that change something: the form of
// the sign-in, and the way out. It is false for any other request.
func (s *Server) signedIn(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPost {
		return false
	}
	switch r.URL.Path {
	case "/sign-in":
		s.signIn(w, r)
	case "/sign-out":
		s.signOut(w, r)
	default:
		return false
	}
	return true
}

// signIn lets a browser in by a token that somebody typed. Where the request comes
// from was judged before; a form says so always.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	if p := ownForm(r); p != nil {
		s.fail(w, r, p)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if err != nil {
		s.fail(w, r, refuse(http.StatusBadRequest, "INVALID_REQUEST", "The form did not arrive as a whole, or is too large."))
		return
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		s.fail(w, r, refuse(http.StatusBadRequest, "INVALID_REQUEST", "The form is not valid."))
		return
	}
	p, ok := s.tokenOwner(strings.TrimSpace(one(form["token"])))
	if ok {
		if c, known := s.cookieFor(r, p); known {
			http.SetCookie(w, c)
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("Location", "/")
			w.WriteHeader(http.StatusSeeOther)
			return
		}
	}
	if p := s.failed(r); p != nil {
		s.fail(w, r, p)
		return
	}
	s.askToSignIn(w, r, true)
}

// ownForm wants a form of our own page.
func ownForm(r *http.Request) *problem {
	if r.Header.Get("Origin") == "" {
		return refuse(http.StatusForbidden, "FORBIDDEN_ORIGIN", "A browser must say which page a change comes from.")
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return refuse(http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", "Send the form of the page.")
	}
	return nil
}

// signOut takes the cookie back from a browser.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Origin") == "" {
		s.fail(w, r, refuse(http.StatusForbidden, "FORBIDDEN_ORIGIN", "A browser must say which page a change comes from."))
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Path: "/", MaxAge: -1, HttpOnly: true, Secure: s.secure(r), SameSite: http.SameSiteStrictMode})
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", "/")
	w.WriteHeader(http.StatusSeeOther)
}
