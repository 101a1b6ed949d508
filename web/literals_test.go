package web

import (
	"strings"
	"unicode"
)

// literal is a piece of text in a module: a string, or what stands between or in
// the tags of an html template.
type literal struct {
	line int
	// where is "code" for a string, "text" for what stands between tags, else the
	// name of the attribute.
	where string
	text  string
}

// literals reads a module of the page. It knows as much of JavaScript as the
// modules use: comments, strings, templates, html templates, expressions that look
// like a regular expression.
func literals(source string) []literal {
	s := &scanner{src: source, line: 1}
	s.code("code", false)
	return s.out
}

type scanner struct {
	src  string
	at   int
	line int
	out  []literal
}

func (s *scanner) add(line int, where, text string) {
	if strings.TrimSpace(text) != "" {
		s.out = append(s.out, literal{line, where, text})
	}
}

func (s *scanner) next() byte {
	c := s.src[s.at]
	s.at++
	if c == '\n' {
		s.line++
	}
	return c
}

func (s *scanner) has(prefix string) bool { return strings.HasPrefix(s.src[s.at:], prefix) }

// skipTo goes behind the next end.
func (s *scanner) skipTo(end string) {
	n := strings.Index(s.src[s.at:], end)
	if n < 0 {
		n = len(s.src) - s.at - len(end)
	}
	s.line += strings.Count(s.src[s.at:s.at+n+len(end)], "\n")
	s.at += n + len(end)
}

// code reads expressions, those of a template up to its brace.
func (s *scanner) code(where string, nested bool) {
	depth := 0
	before := byte(';') // the last character that is no blank
	for s.at < len(s.src) {
		switch line := s.line; {
		case s.has("//"):
			s.skipTo("\n")
			continue
		case s.has("/*"):
			s.skipTo("*/")
			continue
		case s.has("html`"):
			s.at += len("html`")
			s.html()
			before = '`'
			continue
		default:
			c := s.next()
			switch {
			case c == '"' || c == '\'':
				// What a value is compared with is an id.
				with := s.src[:s.at-1]
				text := s.quoted(c)
				if !strings.HasSuffix(with, "== ") && !strings.HasSuffix(with, "case ") {
					s.add(line, where, text)
				}
			case c == '`':
				s.template(where)
			case c == '/' && strings.IndexByte("(,=:[!&|?{};+>\n", before) >= 0:
				s.regexp()
			case c == '{':
				depth++
			case c == '}':
				if depth--; depth < 0 && nested {
					return
				}
			}
			if !unicode.IsSpace(rune(c)) {
				before = c
			}
		}
	}
}

func (s *scanner) quoted(end byte) string {
	var b strings.Builder
	for s.at < len(s.src) {
		c := s.next()
		if c == '\\' {
			s.next()
			continue
		}
		if c == end {
			break
		}
		b.WriteByte(c)
	}
	return b.String()
}

func (s *scanner) regexp() {
	class := false
	for s.at < len(s.src) {
		switch s.next() {
		case '\\':
			s.next()
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if !class {
				return
			}
		}
	}
}

// template reads a plain template as one text, with its values left out.
func (s *scanner) template(where string) {
	line := s.line
	var b strings.Builder
	for s.at < len(s.src) {
		if s.has("${") {
			s.at += 2
			s.code(where, true)
			b.WriteByte('\x00')
			continue
		}
		c := s.next()
		if c == '\\' {
			s.next()
			continue
		}
		if c == '`' {
			break
		}
		b.WriteByte(c)
	}
	s.add(line, where, b.String())
}

// html reads a template of elements up to its end.
func (s *scanner) html() {
	var text strings.Builder
	line := s.line
	flush := func() {
		s.add(line, "text", text.String())
		text.Reset()
		line = s.line
	}
	for s.at < len(s.src) {
		if s.has("${") {
			flush()
			s.at += 2
			s.code("code", true)
			continue
		}
		switch c := s.next(); c {
		case '`':
			flush()
			return
		case '<':
			flush()
			s.tag()
			line = s.line
		default:
			text.WriteByte(c)
		}
	}
}

// tag reads a tag behind its bracket.
func (s *scanner) tag() {
	name := ""
	for s.at < len(s.src) {
		if s.has("${") {
			s.at += 2
			where := name
			if where == "" || strings.HasPrefix(where, "on") {
				where = "code"
			}
			s.code(where, true)
			name = ""
			continue
		}
		line := s.line
		switch c := s.next(); {
		case c == '>':
			return
		case c == '"':
			s.add(line, name, s.quoted('"'))
			name = ""
		case c == '=':
		case c == '-' || c == ':' || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)):
			name += string(c)
		default:
			name = ""
		}
	}
}
