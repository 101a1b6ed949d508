package completion

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Token is a place in a text that names something.
type Token struct {
	Trigger string // @ $ # or /
	Kind    string // "" for a bare path behind @
	ID      string // without quotes and escapes
	Lines   Lines  // what stands behind a closing quote
	Quoted  bool
	Start   int // bytes of the text
	End     int
}

// maxToken bounds a token, in bytes. Paths of the systems that we know are shorter.
const maxToken = 8192

// Next finds the first token at or behind a place of the text.
//
// A token is a trigger (@ $ # /), a kind, a colon and an id, such as @file:a.go;
// an id with blanks stands in double quotes, with \" and \\ for a quote and a
// backslash. A bare path needs no kind behind an @: @a.go, @"a b.go", @'a b.go'. A
// range of lines may stand behind a closing quote: @"a b.go"#L3-9; without quotes
// it is part of the id.
//
// A token begins at the start of a word only, so that an address such as
// me@file:x is none; letters of scripts that put no blanks between words do not
// count as a word that goes on. An id without quotes goes to the next blank: what
// of the punctuation at its end belongs to it, the one who resolves it decides.
func Next(text string, from int) (Token, bool) {
	blank := -1
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '@', '$', '#', '/':
			if !startsWord(text[:i]) {
				continue
			}
			if t, ok := tokenAt(text, i, &blank); ok {
				return t, true
			}
		}
	}
	return Token{}, false
}

// Parse lists the tokens of a text, one behind the other, code blocks included.
func Parse(text string) []Token {
	var all []Token
	for at := 0; ; {
		t, ok := Next(text, at)
		if !ok {
			return all
		}
		all = append(all, t)
		at = t.End
	}
}

// tokenAt reads the token at a trigger. blank is where the next blank behind some
// place stands, if that is known.
func tokenAt(text string, at int, blank *int) (Token, bool) {
	t := Token{Trigger: text[at : at+1], Start: at}
	rest := text[at+1:]
	if n := kindLen(rest); n > 0 {
		t.Kind = rest[:n]
		id := rest[n+1:]
		if t.read(id, at+1+n+1, `"`, true, blank) {
			return t, true
		}
		t.Kind = ""
	}
	if t.Trigger != "@" || !t.read(rest, at+1, `"'`, false, blank) {
		return Token{}, false
	}
	return t, true
}

// kindLen is the length of a kind at the start of a text, where a colon follows.
func kindLen(text string) int {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z':
		case i > 0 && (c >= '0' && c <= '9' || c == '_' || c == '-'):
		case i > 0 && c == ':':
			return i
		default:
			return 0
		}
	}
	return 0
}

func isKind(kind string) bool { return kind != "" && kindLen(kind+":") == len(kind) }

// read takes the id at the start of rest, which begins at byte at of the text.
func (t *Token) read(rest string, at int, quotes string, lines bool, blank *int) bool {
	if rest == "" {
		return false
	}
	if strings.IndexByte(quotes, rest[0]) >= 0 {
		if id, n := quoted(rest, lines); n > 0 && id != "" {
			t.ID, t.Quoted, t.End = id, true, at+n
			if l, n := linesAt(rest[n:]); n > 0 {
				t.Lines = l
				t.End += n
			}
			return true
		}
	}
	if *blank < at { // looked for once: a long text without blanks may hold many triggers
		*blank = at + len(rest)
		if i := strings.IndexFunc(rest, isBlank); i >= 0 {
			*blank = at + i
		}
	}
	n := *blank - at
	if n == 0 || n > maxToken {
		return false
	}
	t.ID, t.End = rest[:n], at+n
	return true
}

// quoted reads a quoted id and says how many bytes it takes; 0 where the quote
// does not end.
func quoted(text string, newlines bool) (id string, n int) {
	var out strings.Builder
	quote := text[0]
	text = text[:min(len(text), maxToken)]
	if strings.IndexByte(text[1:], quote) < 0 { // the usual case, seen without copying
		return "", 0
	}
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote:
			return out.String(), i + 1
		case c == '\n' && !newlines:
			return "", 0
		case c == '\\' && i+1 < len(text) && (text[i+1] == quote || text[i+1] == '\\'):
			i++
			out.WriteByte(text[i])
		default:
			out.WriteByte(c)
		}
	}
	return "", 0
}

// linesAt reads #L3, #L3-9 or #L3-L9 at the start of a text.
func linesAt(text string) (l Lines, n int) {
	if !strings.HasPrefix(text, "#L") {
		return l, 0
	}
	number := func(at int) (v, end int) {
		end = at
		for end < len(text) && end-at < 9 && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		v, _ = strconv.Atoi(text[at:end])
		return v, end
	}
	from, at := number(2)
	if from == 0 {
		return l, 0
	}
	l = Lines{from, from}
	if at < len(text) && text[at] == '-' {
		next := at + 1
		if next < len(text) && text[next] == 'L' {
			next++
		}
		if to, end := number(next); to >= from {
			return Lines{from, to}, end
		}
	}
	return l, at
}

// SplitLines takes a range of lines off the end of a path; the range is zero where
// there is none.
func SplitLines(id string) (path string, l Lines) {
	at := strings.LastIndex(id, "#L")
	if at <= 0 {
		return id, l
	}
	if l, n := linesAt(id[at:]); n == len(id)-at && n > 0 {
		return id[:at], l
	}
	return id, Lines{}
}

// isBlank is what ends an id: the blanks of Unicode, as JavaScript's \s has them.
func isBlank(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' }

// startsWord says whether a word may begin behind a text.
func startsWord(before string) bool {
	r, size := utf8.DecodeLastRuneInString(before)
	for unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r) {
		before = before[:len(before)-size] // a mark is as the letter that it stands on
		r, size = utf8.DecodeLastRuneInString(before)
	}
	switch {
	case before == "":
		return true
	case unicode.In(r, unspaced...):
		return true
	case unicode.IsLetter(r), unicode.IsNumber(r), r == utf8.RuneError && size == 1:
		return false
	}
	return !strings.ContainsRune("_-.+%\\/:@&=~`*", r)
}

// unspaced are scripts whose words stand next to each other.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// trailing is punctuation that may end a sentence rather than an id.
const trailing = ",.;:!?)]}>\"'" + "，。、；：！？）】」』》〉”’…"

// trimmed are the ids that a bare token may mean: the whole, and what is left
// when punctuation at its end is taken for the sentence's.
func (t Token) trimmed() []Token {
	all := []Token{t}
	for i := 0; !t.Quoted && i < 8; i++ {
		r, size := utf8.DecodeLastRuneInString(t.ID)
		if !strings.ContainsRune(trailing, r) || size == len(t.ID) {
			break
		}
		t.ID = t.ID[:len(t.ID)-size]
		t.End -= size
		all = append(all, t)
	}
	return all
}

// Format writes a token so that Next reads the same kind and id again.
func Format(trigger, kind, id string) string { return trigger + kind + ":" + Quote(id) }

// Quote is an id as it stands in a token: as it is, or in double quotes.
func Quote(id string) string {
	if !needsQuotes(id) {
		return id
	}
	var out strings.Builder
	out.WriteByte('"')
	for i := 0; i < len(id); i++ {
		if id[i] == '"' || id[i] == '\\' {
			out.WriteByte('\\')
		}
		out.WriteByte(id[i])
	}
	out.WriteByte('"')
	return out.String()
}

// Mention is a path as the model reads it: @src/a.go, or @"a b.go" where a bare
// one could be misread. The lines are added.
func Mention(path string, l Lines) string { return "@" + Quote(path) + l.String() }

func needsQuotes(id string) bool {
	if id == "" || id[0] == '"' || id[0] == '\'' {
		return true
	}
	for _, r := range id {
		if isBlank(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return true
		}
	}
	if n := kindLen(id); n > 0 && n+1 < len(id) {
		return true // as a bare path it would read as a kind
	}
	if _, l := SplitLines(id); l != (Lines{}) {
		return true
	}
	last, size := utf8.DecodeLastRuneInString(id)
	return strings.ContainsRune(trailing, last) && size < len(id)
}
