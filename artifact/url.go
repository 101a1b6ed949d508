package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// URL is a parsed internal URL: scheme://host[/path][?query][#hash]. The hash
// means nothing.
type URL struct {
	Scheme string // in lower case
	Host   string // percent-decoded once, its case kept
	Path   string // encoded, "." and ".." folded; "" without one
	Query  string // the first q
	HasQ   bool
}

var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://`)

// ParseURL reads an internal URL (spec/omp.md §8.1). Broken percent-encodings stay
// as they are.
func ParseURL(s string) (URL, error) {
	m := scheme.FindStringSubmatch(s)
	if m == nil {
		return URL{}, fmt.Errorf("%w: %s; write it as artifact://<id> or agent://<id>", ErrURL, s)
	}
	u := URL{Scheme: strings.ToLower(m[1])}
	rest, _, _ := strings.Cut(s[len(m[0]):], "#")
	rest, query, _ := strings.Cut(rest, "?")
	host, p, hasPath := strings.Cut(rest, "/")
	u.Host = host
	if decoded, err := url.PathUnescape(host); err == nil {
		u.Host = decoded
	}
	if hasPath {
		u.Path = foldDots("/" + p)
	}
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if n, err := url.QueryUnescape(name); err == nil && n == "q" {
			u.HasQ = true
			if u.Query, err = url.QueryUnescape(value); err != nil {
				u.Query = value
			}
			break
		}
	}
	return u, nil
}

// foldDots removes "." and ".." from a path as a URL parser does, and leaves empty
// segments alone.
func foldDots(p string) string {
	if !strings.Contains(p, "/.") {
		return p
	}
	var out []string
	segments := strings.Split(p[1:], "/")
	for i, s := range segments {
		switch s {
		case ".", "..":
			if s == ".." && len(out) > 0 {
				out = out[:len(out)-1]
			}
			if i == len(segments)-1 {
				out = append(out, "")
			}
		default:
			out = append(out, s)
		}
	}
	return "/" + strings.Join(out, "/")
}

// The schemes that are opened here.
const (
	schemeArtifact = "artifact"
	schemeAgent    = "agent"
)

// Handles tells whether a name is a URL of ours, by its letters alone.
func (s *Store) Handles(name string) bool {
	m := scheme.FindStringSubmatch(name)
	if m == nil {
		return false
	}
	l := strings.ToLower(m[1])
	return l == schemeArtifact || l == schemeAgent
}

// Resource is what a URL stands for.
type Resource struct {
	Body io.ReadCloser
	Size int64 // bytes
	Type string
	Path string // of the file
	// Extracted is the query that the body was taken out with, "." for all of it;
	// "" for a file as it is.
	Extracted string
}

// maxExtract bounds an output that a value is taken out of, in bytes: it is held in
// memory as a whole.
const maxExtract = 64 << 20

// Resolve opens what a URL names. artifact://<id> is an artifact; its path and
// query mean nothing. agent://<id> is the answer of a subagent, and with a path or
// ?q= a value of it. Only what this session has is found.
func (s *Store) Resolve(_ context.Context, raw string) (*Resource, error) {
	u, err := ParseURL(raw)
	if err != nil {
		return nil, err
	}
	switch u.Scheme {
	case schemeArtifact:
		return s.resolveArtifact(u)
	case schemeAgent:
		return s.resolveAgent(u)
	}
	return nil, fmt.Errorf("%w: %s:// is not known; there are artifact:// and agent://", ErrURL, u.Scheme)
}

// OpenURL is Resolve for a reader that wants no more than the text.
func (s *Store) OpenURL(ctx context.Context, raw string) (body io.ReadCloser, extracted bool, err error) {
	r, err := s.Resolve(ctx, raw)
	if err != nil {
		return nil, false, err
	}
	return r.Body, r.Extracted != "", nil
}

func (s *Store) resolveArtifact(u URL) (*Resource, error) {
	if s.path == "" {
		return nil, fmt.Errorf("no artifacts: %w", s.noSession())
	}
	id, err := ParseID(u.Host)
	if err != nil {
		return nil, err
	}
	f, err := s.Open(id)
	if err != nil {
		return nil, err
	}
	return &Resource{Body: f, Size: f.Info.Size, Type: "text/plain", Path: path.Join(s.path, f.Info.Name)}, nil
}

func (s *Store) resolveAgent(u URL) (*Resource, error) {
	var query []token
	extracted := ""
	byPath := strings.Trim(u.Path, "/") != ""
	switch byQuery := u.Query != ""; {
	case byPath && byQuery:
		return nil, fmt.Errorf("%w: agent:// cannot combine a path with ?q=; use one of them", ErrURL)
	case byPath:
		query, extracted = pathTokens(u.Path), pathToQuery(u.Path)
	case byQuery:
		var err error
		if query, err = parseQuery(u.Query); err != nil {
			return nil, err
		}
		extracted = u.Query
	}
	if s.path == "" {
		return nil, fmt.Errorf("no outputs of subagents: %w", s.noSession())
	}
	if extracted == "" {
		f, err := s.openOutput(u.Host, false)
		if err != nil {
			return nil, err
		}
		return &Resource{Body: f, Size: f.Info.Size, Type: "text/markdown", Path: path.Join(s.path, f.Info.Name)}, nil
	}
	data, name, err := s.readJSON(u.Host)
	if err != nil {
		return nil, err
	}
	value, _ := pick(data, query)
	if value, err = indent(value); err != nil {
		return nil, err
	}
	return &Resource{Body: io.NopCloser(bytes.NewReader(value)), Size: int64(len(value)), Type: "application/json",
		Path: path.Join(s.path, name), Extracted: extracted}, nil
}

// readJSON reads an output as JSON: its structured result where that is there and
// whole, else the text.
func (s *Store) readJSON(id string) (data []byte, name string, err error) {
	var text []byte
	for _, structured := range []bool{true, false} {
		f, err := s.openOutput(id, structured)
		if err != nil {
			if structured && !isLinked(err) {
				continue
			}
			return nil, "", err
		}
		if f.Info.Size > maxExtract {
			_ = f.Close()
			return nil, "", fmt.Errorf("output %s has %s; a value can be taken out of at most %s. Read it by lines, without a path or ?q=", id, Size(f.Info.Size), Size(maxExtract))
		}
		text, err = io.ReadAll(io.LimitReader(f, maxExtract))
		_ = f.Close()
		if err != nil {
			return nil, "", err
		}
		if json.Valid(text) {
			return text, f.Info.Name, nil
		}
	}
	var v any
	err = json.Unmarshal(text, &v)
	return nil, "", fmt.Errorf("output %s is not valid JSON: %w; read it without a path or ?q=", id, err)
}

// IsRequest tells errors of whoever asks from those of the machine.
func IsRequest(err error) bool {
	for _, e := range []error{ErrURL, ErrNoSession, ErrNoFolder, ErrNotFound, ErrAmbiguous} {
		if errors.Is(err, e) {
			return true
		}
	}
	return isLinked(err)
}
