package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/piweb-go/piweb/account"
)

const bareCSP = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// types are the content types of a page's files. The system's own table is not
// asked: on some systems it calls scripts text.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".json": "application/json", ".map": "application/json", ".webmanifest": "application/manifest+json",
	".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".ico": "image/x-icon", ".woff2": "font/woff2", ".woff": "font/woff", ".ttf": "font/ttf", ".wasm": "application/wasm",
	".txt": "text/plain; charset=utf-8", ".md": "text/plain; charset=utf-8",
}

// page serves the files of a folder.
type page struct {
	files  fs.FS
	styles string
}

func newPage(files fs.FS, inlineStyles bool) *page {
	p := &page{files: files, styles: "'self'"}
	if inlineStyles {
		p.styles += " 'unsafe-inline'"
	}
	return p
}

// servePage lets a browser in by its link, and gives those who are in the files
// of the page.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	if changes(r) {
		p := refuse(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "The page can only be read.")
		p.allow = "GET, HEAD"
		s.fail(w, r, p)
		return
	}
	if q := r.URL.Query(); q.Has("token") {
		if p, ok := s.tokenOwner(q.Get("token")); ok && s.letIn(w, r, p, q) {
			return
		}
	}
	p, cookie, ok := s.identify(r)
	if !ok || p.role == account.Metrics {
		s.strange(w, r)
		return
	}
	askedOf(r).who = p
	if cookie && s.stale(r) {
		if c, ok := s.cookieFor(r, p); ok {
			http.SetCookie(w, c)
		}
	}
	if err := s.page.serve(w, r); err != nil {
		s.fail(w, r, err)
	}
}

// strange answers those who are not in. A browser without a cookie is no attack;
// one that brings a token which nobody has may be.
func (s *Server) strange(w http.ResponseWriter, r *http.Request) {
	guess := r.URL.Query().Has("token") || r.Header.Get("Authorization") != ""
	if guess {
		if p := s.failed(r); p != nil {
			s.fail(w, r, p)
			return
		}
	}
	s.askToSignIn(w, r, guess)
}

// letIn sets the cookie and sends the browser to the same place without the
// token, so that it stays in no history. The place is always one of this server.
func (s *Server) letIn(w http.ResponseWriter, r *http.Request, p who, q url.Values) bool {
	c, ok := s.cookieFor(r, p)
	if !ok {
		return false
	}
	q.Del("token")
	to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, `/\`), RawQuery: q.Encode()}
	http.SetCookie(w, c)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", to.String())
	w.WriteHeader(http.StatusSeeOther)
	return true
}

// serve answers with a file. A path without an extension is a place inside the
// page, and gets the page.
func (p *page) serve(w http.ResponseWriter, r *http.Request) error {
	missing := notFound("There is nothing at this address.")
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" || path.Ext(name) == "" {
		name = "index.html"
	}
	if p.files == nil || !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00") {
		return missing
	}
	data, err := readFile(p.files, name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, errNoFile) {
		return missing
	}
	if err != nil {
		return &problem{status: http.StatusInternalServerError, code: "INTERNAL", cause: err}
	}
	kind := types[strings.ToLower(path.Ext(name))]
	if kind == "" {
		kind = "application/octet-stream"
	}
	sum := sha256.Sum256(data)
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	h.Set("Content-Security-Policy", p.csp(name, data))
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
	return nil
}

var errNoFile = errors.New("not a file")

// readFile reads a regular file; a folder is none, so nothing is ever listed.
func readFile(files fs.FS, name string) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNoFile
	}
	return io.ReadAll(f)
}

// csp lets the page use what it brings along and nothing else. Scripts inside the
// markup are let through by their hash: a page has its import map there.
func (p *page) csp(name string, data []byte) string {
	scripts := "'self'"
	if path.Ext(name) == ".html" {
		for _, hash := range inlineScripts(data) {
			scripts += " '" + hash + "'"
		}
	}
	return strings.Join([]string{
		"default-src 'none'", "script-src " + scripts, "style-src " + p.styles, "img-src 'self' data: blob:", "connect-src 'self'",
		"font-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}, "; ")
}

var script = regexp.MustCompile(`(?is)<script\b([^>]*)>(.*?)</script\s*>`)

var hasSource = regexp.MustCompile(`(?i)(^|\s)src\s*=`)

// inlineScripts returns the hashes of the scripts that stand in a page's markup.
func inlineScripts(html []byte) []string {
	var hashes []string
	for _, m := range script.FindAllSubmatch(html, -1) {
		if len(bytes.TrimSpace(m[2])) == 0 || hasSource.Match(m[1]) {
			continue
		}
		// A browser hashes what it has parsed, and it parses CR LF to LF.
		text := bytes.ReplaceAll(m[2], []byte("\r\n"), []byte("\n"))
		sum := sha256.Sum256(text)
		hashes = append(hashes, "sha256-"+base64.StdEncoding.EncodeToString(sum[:]))
	}
	slices.Sort(hashes)
	return slices.Compact(hashes)
}
