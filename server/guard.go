package server

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
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

// requestTime is how long an answer that is no stream may take to be written.
const requestTime = time.Minute

// serve judges a request step by step: id, host, origin, who asks, body, route.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	id := rand.Text()
	r = withRequestID(r, id)
	start := s.cfg.Now()
	c := &counter{ResponseWriter: w}
	h := w.Header()
	h.Set("X-Request-Id", id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", bareCSP)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(requestTime)) // not every writer has deadlines
	defer func() {
		broken := recover()
		if broken != nil && broken != http.ErrAbortHandler {
			s.log.LogAttrs(r.Context(), slog.LevelError, "panic", slog.String("id", id), slog.String("error", fmt.Sprint(broken)), slog.String("stack", string(debug.Stack())))
			if c.status == 0 {
				s.fail(c, r, refuse(http.StatusInternalServerError, "INTERNAL", ""))
				broken = nil
			} else {
				broken = http.ErrAbortHandler // half an answer: let the client see that it broke off
			}
		}
		s.requests.Add(1)
		// What people wrote, tokens and queries are in none of these.
		s.log.LogAttrs(r.Context(), slog.LevelInfo, "request", slog.String("id", id), slog.String("method", r.Method), slog.String("path", r.URL.EscapedPath()),
			slog.Int("status", c.status), slog.Int64("bytes", c.bytes), slog.Duration("took", s.cfg.Now().Sub(start)))
		if broken != nil {
			panic(broken)
		}
	}()
	s.admit(c, r)
}

// counter notes what was answered.
type counter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (c *counter) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *counter) Write(p []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	n, err := c.ResponseWriter.Write(p)
	c.bytes += int64(n)
	return n, err
}

// ReadFrom lets the system send a file by itself where it can.
func (c *counter) ReadFrom(r io.Reader) (int64, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	n, err := io.Copy(c.ResponseWriter, r)
	c.bytes += n
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (s *Server) admit(w http.ResponseWriter, r *http.Request) {
	if !s.hostListed(r) {
		s.fail(w, r, refuse(http.StatusForbidden, "FORBIDDEN_HOST", "This server is not reached by this name. Open the link that piweb printed, or start it with the name as an extra host."))
		return
	}
	api := isAPI(r)
	if id, ok := rawPath(r); ok {
		// Neither cookie nor token nor session: its signature admits.
		if p := s.rawAllowed(w, r); p != nil {
			s.fail(w, r, p)
		} else if err := s.rawAttachment(w, r, id); err != nil {
			s.fail(w, r, err)
		}
		return
	}
	if name, ref, ok := picturePath(r); ok {
		s.openPicture(w, r, name, ref)
		return
	}
	if p := foreign(r, api); p != nil {
		s.fail(w, r, p)
		return
	}
	if r.URL.Path == "/healthz" {
		s.health(w, r)
		return
	}
	if !api {
		s.servePage(w, r)
		return
	}
	if p := s.mayAsk(r); p != nil {
		s.fail(w, r, p)
		return
	}
	rest := strings.Join(routed(r), "/")
	route, args, p := s.routes.find(r.Method, rest)
	if bad := acceptable(r, p == nil && route.uploads); bad != nil {
		s.fail(w, r, bad)
		return
	}
	if p == nil && route.sends && s.draining.Load() {
		p = refuse(http.StatusServiceUnavailable, "SHUTTING_DOWN", "The program is shutting down. Start it again, then try again.")
	}
	if p != nil {
		s.fail(w, r, p)
		return
	}
	if err := route.handle(w, r, args); err != nil {
		s.fail(w, r, err)
	}
}

func isAPI(r *http.Request) bool {
	first := firstSegment(r)
	return first == "api" || atRoot[first]
}

// routed are the segments by which a route is found, still encoded.
func routed(r *http.Request) []string {
	parts := segments(r.URL.EscapedPath())
	if atRoot[firstSegment(r)] {
		return parts
	}
	return parts[1:]
}

func firstSegment(r *http.Request) string {
	parts := segments(r.URL.EscapedPath())
	if len(parts) == 0 {
		return ""
	}
	first, err := url.PathUnescape(parts[0])
	if err != nil {
		return ""
	}
	return first
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write([]byte("ok\n"))
	}
}

// hostListed tells whether the request names the server by one of its names. A
// name that a stranger's DNS points here is none of them.
func (s *Server) hostListed(r *http.Request) bool {
	host := strings.ToLower(r.Host)
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), "80"
	}
	for _, extra := range s.cfg.Hosts {
		extra = strings.ToLower(extra)
		if host == extra || name == strings.Trim(extra, "[]") {
			return true
		}
	}
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || strconv.Itoa(tcp.Port) != port {
		return false
	}
	return name == "localhost" || name == "127.0.0.1" || name == "::1"
}

func changes(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead
}

// foreign refuses what another site's page has caused. A request without an
// origin passes here; with a cookie it is refused later if it changes something.
func foreign(r *http.Request, api bool) *problem {
	if !api && !changes(r) {
		return nil // a link to the page
	}
	no := refuse(http.StatusForbidden, "FORBIDDEN_ORIGIN", "A page of another address may not use this server. Open the link that piweb printed.")
	if origins := r.Header.Values("Origin"); len(origins) > 0 {
		u, err := url.Parse(origins[0])
		if len(origins) > 1 || err != nil || u.Scheme != "http" && u.Scheme != "https" || !strings.EqualFold(u.Host, r.Host) {
			return no
		}
	}
	if strings.EqualFold(r.Header.Get("Sec-Fetch-Site"), "cross-site") {
		return no
	}
	return nil
}

// mayAsk wants a bearer token or the cookie; with a cookie, what changes
// something must come from our own page.
func (s *Server) mayAsk(r *http.Request) *problem {
	bearer, cookie := s.credentials(r)
	switch {
	case bearer:
		return nil
	case !cookie:
		return refuse(http.StatusUnauthorized, "UNAUTHORIZED", "Open the link that piweb printed in its terminal, or send its token as bearer.")
	case changes(r) && r.Header.Get("Origin") == "":
		return refuse(http.StatusForbidden, "FORBIDDEN_ORIGIN", "A browser must say which page a change comes from. Programs send the token as bearer instead of the cookie.")
	}
	return nil
}

func (s *Server) credentials(r *http.Request) (bearer, cookie bool) {
	if auth := r.Header.Get("Authorization"); auth != "" {
		scheme, token, _ := strings.Cut(auth, " ")
		return strings.EqualFold(scheme, "Bearer") && same(token, s.cfg.Token), false
	}
	for _, c := range r.CookiesNamed(cookieName(r)) {
		cookie = same(c.Value, s.cookie) || cookie
	}
	return false, cookie
}

// same compares in a time that tells nothing, not even the length.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// acceptable looks at version, size and kind of what was sent. A route that takes
// uploads looks at size and kind itself.
func acceptable(r *http.Request, uploads bool) *problem {
	if v := r.Header.Get(versionHeader); v != "" {
		parts := strings.Split(v, ".")
		if len(parts) != 3 || parts[0] != "0" {
			return refuse(http.StatusUpgradeRequired, "PROTOCOL_VERSION_MISMATCH", "This server speaks version 0 of the protocol.")
		}
	}
	if uploads {
		return nil
	}
	if r.ContentLength > maxBody {
		return tooLarge()
	}
	sent := r.Header.Get("Content-Type")
	if !changes(r) || r.ContentLength == 0 && sent == "" {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(sent); err != nil || kind != "application/json" {
		return refuse(http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", "Send JSON, with the content type application/json.")
	}
	return nil
}
