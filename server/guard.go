package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/piweb-go/piweb/account"
)

// requestTime is how long an answer that is no stream may take to be written.
const requestTime = time.Minute

// serve judges a request step by step: id, address, host, origin, who asks, body,
// route.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	id := requestIDFor(r)
	r = withRequestID(r, id)
	asked := &asked{}
	r = r.WithContext(context.WithValue(r.Context(), askedKey{}, asked))
	start := s.cfg.Now()
	c := &counter{ResponseWriter: w}
	h := w.Header()
	h.Set("X-Request-Id", id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", bareCSP)
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(requestTime)) // not every writer has deadlines
	if r.ContentLength != 0 {
		// Also for a body that nobody reads: the rest of it is waited for before the
		// answer goes out.
		_ = rc.SetReadDeadline(time.Now().Add(s.times.body))
	}
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
			slog.String("user", asked.who.log()), slog.Int("status", c.status), slog.Int64("bytes", c.bytes), slog.Duration("took", s.cfg.Now().Sub(start)))
		s.metrics.answered(r.Method, asked.route, c.status, s.cfg.Now().Sub(start))
		if broken != nil {
			panic(broken)
		}
	}()
	s.admit(c, r)
}

// asked is what becomes known of a request on its way, for the log and the figures.
type asked struct {
	who   who
	route string // the pattern, never the path
}

type askedKey struct{}

func askedOf(r *http.Request) *asked {
	if a, ok := r.Context().Value(askedKey{}).(*asked); ok {
		return a
	}
	return &asked{}
}

// strictID is a request id that is taken over from a client or a proxy. Anything
// else could write into logs what it wants.
var strictID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$`)

func requestIDFor(r *http.Request) string {
	if id := r.Header.Values("X-Request-Id"); len(id) == 1 && strictID.MatchString(id[0]) {
		return id[0]
	}
	return rand.Text()
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
	if wait, ok := s.byAddress.take(addressKey(s.address(r)), s.cfg.Now()); !ok {
		s.fail(w, r, tooMany("Too many requests come from this address. Wait a moment, then try again.", wait))
		return
	}
	if !s.hostListed(r) {
		s.fail(w, r, refuse(http.StatusForbidden, "FORBIDDEN_HOST", "This server is not reached by this name. Open the link that piweb printed, or start it with the name as an extra host."))
		return
	}
	api := isAPI(r)
	if id, ok := rawPath(r); ok {
		// Neither cookie nor token nor session: its signature admits.
		askedOf(r).route = "attachments/:attachmentId/raw"
		if p := s.rawAllowed(w, r); p != nil {
			s.fail(w, r, p)
		} else if err := s.rawAttachment(w, r, id); err != nil {
			s.fail(w, r, err)
		}
		return
	}
	if name, ref, ok := picturePath(r); ok {
		askedOf(r).route = "pictures/:id/:ref"
		s.openPicture(w, withWho(r, bearerOfSignature), name, ref)
		return
	}
	if p := foreign(r, api); p != nil {
		s.fail(w, r, p)
		return
	}
	switch {
	case r.URL.Path == "/healthz":
		askedOf(r).route = "healthz"
		s.health(w, r)
		return
	case !api && s.signedIn(w, r):
		return
	case !api && r.URL.Path != metricsPath:
		askedOf(r).route = "page"
		s.servePage(w, r)
		return
	}
	p, bad := s.mayAsk(r)
	if bad != nil {
		s.fail(w, r, bad)
		return
	}
	askedOf(r).who = p
	r = withWho(r, p)
	if p.name != "" {
		if wait, ok := s.byUser.take(p.name, s.cfg.Now()); !ok {
			s.fail(w, r, tooMany("You ask more often than this server allows. Wait a moment, then try again.", wait))
			return
		}
	}
	if !api {
		askedOf(r).route = "metrics"
		s.serveMetrics(w, r, p)
		return
	}
	s.dispatch(w, r, p)
}

// dispatch finds the route of a request that may be asked, and follows it.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request, p who) {
	rest := strings.Join(routed(r), "/")
	route, args, wrong := s.routes.find(r.Method, rest)
	if wrong == nil {
		askedOf(r).route = route.pattern()
	}
	if bad := acceptable(r, wrong == nil && route.uploads); bad != nil {
		s.fail(w, r, bad)
		return
	}
	switch {
	case wrong != nil:
	case p.role == account.Metrics, route.access == forAdmins && !p.admin():
		wrong = refuse(http.StatusForbidden, "FORBIDDEN", "Only an administrator of this piweb may do this: it holds for everybody.")
	case route.sends && s.draining.Load():
		wrong = refuse(http.StatusServiceUnavailable, "SHUTTING_DOWN", "The program is shutting down. Start it again, then try again.")
	}
	if wrong != nil {
		s.fail(w, r, wrong)
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

// health says that the program answers; nothing else, for anybody may ask. A
// program that is ending takes no new work, and says so.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	status, text := http.StatusOK, "ok\n"
	if s.draining.Load() {
		status, text = http.StatusServiceUnavailable, "shutting down\n"
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = io.WriteString(w, text)
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
	if name == "localhost" || name == "127.0.0.1" || name == "::1" {
		return true
	}
	// An address, and not a name, is nothing that DNS could point here.
	ip, err := netip.ParseAddr(name)
	at, ok := netip.AddrFromSlice(tcp.IP)
	return err == nil && ok && ip.Unmap() == at.Unmap()
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
func (s *Server) mayAsk(r *http.Request) (who, *problem) {
	p, cookie, ok := s.identify(r)
	switch {
	case !ok:
		if p := s.failed(r); p != nil {
			return who{}, p
		}
		text := "Open the link that piweb printed in its terminal, or send its token as bearer."
		if s.cfg.Token == "" {
			text = "Sign in on the page with your token, or send it as bearer."
		}
		return who{}, refuse(http.StatusUnauthorized, "UNAUTHORIZED", text)
	case cookie && changes(r) && r.Header.Get("Origin") == "":
		return who{}, refuse(http.StatusForbidden, "FORBIDDEN_ORIGIN", "A browser must say which page a change comes from. Programs send the token as bearer instead of the cookie.")
	}
	return p, nil
}

// failed counts a request that lets nobody in. Whoever has a token is not kept out
// by it.
func (s *Server) failed(r *http.Request) *problem {
	s.metrics.unauthorized.Inc()
	if wait, ok := s.byFailure.take(addressKey(s.address(r)), s.cfg.Now()); !ok {
		return tooMany("Too many requests of this address let nobody in. Wait, then try again with a valid token.", wait)
	}
	return nil
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
