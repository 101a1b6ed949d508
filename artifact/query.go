package artifact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// A query picks a value out of an output that is JSON, as in .items[0].id. The
// grammar is that of oh-my-pi 13 (spec/omp.md §8.4):
//
//	query = ws [ "." ] { "." | ident | "[" inner "]" } ws
//	ident = letters, digits, "_", "-"
//	inner = '…' or "…" with \ escapes → key · digits → index · anything else → key
//
// The bracket ends at the first "]". Unlike there, a key finds only what the value
// itself has: nothing is inherited, a text has no length, and only an index picks
// from an array, or a key that is its digits.

// token is one step of a query.
type token struct {
	key     string
	index   int // where isIndex
	isIndex bool
}

// parseQuery reads a query. The empty one, or a dot, is the value itself.
func parseQuery(q string) ([]token, error) {
	rest := strings.TrimSpace(q)
	bad := func(what string) error { return fmt.Errorf("%w: query: %s in %s", ErrURL, what, q) }
	var out []token
	for rest != "" {
		switch c := rest[0]; {
		case c == '.':
			rest = rest[1:]
		case identByte(c):
			n := 1
			for n < len(rest) && identByte(rest[n]) {
				n++
			}
			out = append(out, token{key: rest[:n]})
			rest = rest[n:]
		case c == '[':
			inner, after, ok := strings.Cut(rest[1:], "]")
			if !ok {
				return nil, bad("missing ]")
			}
			inner = strings.TrimSpace(inner)
			if inner == "" {
				return nil, bad("empty []")
			}
			out = append(out, bracket(inner))
			rest = after
		default:
			r, _ := utf8.DecodeRuneInString(rest)
			return nil, bad(fmt.Sprintf("unexpected token '%c'", r))
		}
	}
	return out, nil
}

func identByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func bracket(inner string) token {
	if q := inner[0]; len(inner) >= 2 && (q == '\'' || q == '"') && inner[len(inner)-1] == q {
		return token{key: unquote(inner[1 : len(inner)-1])}
	}
	if digits(inner) {
		if n, err := strconv.Atoi(inner); err == nil {
			return token{index: n, isIndex: true}
		}
	}
	return token{key: inner}
}

// unquote undoes \" \' and \\.
func unquote(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(`"'\`, s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// pathToQuery turns the path of a URL into a query (spec/omp.md §8.5).
func pathToQuery(path string) string {
	var b strings.Builder
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" {
			continue
		}
		if decoded, err := url.PathUnescape(segment); err == nil {
			segment = decoded
		}
		switch {
		case digits(segment):
			b.WriteString("[" + segment + "]")
		case strings.IndexFunc(segment, func(r rune) bool { return r >= utf8.RuneSelf || !identByte(byte(r)) }) < 0:
			b.WriteString("." + segment)
		default:
			b.WriteString("['" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(segment) + "']")
		}
	}
	return b.String()
}

// pathTokens are the steps of a path, each a whole segment: unlike a query, which
// ends a bracket at the first "]", a segment may hold anything.
func pathTokens(path string) []token {
	var out []token
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" {
			continue
		}
		if decoded, err := url.PathUnescape(segment); err == nil {
			segment = decoded
		}
		t := token{key: segment}
		if digits(segment) {
			t = bracket(segment)
		}
		out = append(out, t)
	}
	return out
}

// pick finds a value in a JSON text that is valid. A value that is not there is
// null, and found is false.
func pick(data []byte, query []token) (value []byte, found bool) {
	at := gjson.ParseBytes(data)
	for _, t := range query {
		next, ok := child(at, t)
		if !ok {
			return []byte("null"), false
		}
		at = next
	}
	return []byte(at.Raw), true
}

// child is what a value itself has under a key or an index.
func child(v gjson.Result, t token) (out gjson.Result, found bool) {
	switch {
	case v.IsObject() && !t.isIndex:
		v.ForEach(func(key, value gjson.Result) bool {
			if key.String() == t.key {
				out, found = value, true // the last one counts, as in JSON.parse
			}
			return true
		})
	case v.IsArray():
		want := t.index
		if !t.isIndex {
			n, err := strconv.Atoi(t.key)
			if err != nil || strconv.Itoa(n) != t.key {
				return out, false // "01" and "length" are no elements
			}
			want = n
		}
		i := 0
		v.ForEach(func(_, value gjson.Result) bool {
			if i == want {
				out, found = value, true
				return false
			}
			i++
			return true
		})
	}
	return out, found
}

// indent is a JSON value with two spaces per level; keys keep their order and
// numbers their spelling.
func indent(value []byte) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(value), "", "  "); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
