package sqlite

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of a query.
const (
	maxQuery = 2000 // bytes that are looked at
	maxTerms = 32   // words of a query
	maxTerm  = 200  // bytes of a word
)

// window is how many letters of a script without spaces are looked for together where
// a longer run is not found as a whole.
const window = 2

// Query is what is searched for, in the forms that the indexes take. The zero Query
// finds nothing.
type Query struct {
	terms []term
	plain []string // folded pieces between blanks
}

// term is one word or one run of letters without spaces.
type term struct {
	phrase string   // spread, without quotes
	more   []string // shorter phrases that also count, less
}

// ParseQuery prepares what a person typed. Any text is a query.
func ParseQuery(text string) Query {
	if len(text) > maxQuery {
		text = text[:maxQuery]
	}
	text = norm.NFKC.String(strings.ToValidUTF8(text, " "))
	var q Query
	seen := map[string]bool{}
	for _, piece := range strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r < ' ' || r == 0x7f }) {
		if len(piece) > maxTerm {
			piece = strings.ToValidUTF8(piece[:maxTerm], "")
		}
		folded := strings.TrimSpace(Fold(piece))
		if folded == "" || seen[folded] || len(q.plain) == maxTerms {
			continue
		}
		seen[folded] = true
		q.plain = append(q.plain, folded)
		q.terms = append(q.terms, termsOf(piece)...)
	}
	if len(q.terms) > maxTerms {
		q.terms = q.terms[:maxTerms]
	}
	return q
}

// termsOf makes terms of the runs of a piece.
func termsOf(piece string) (list []term) {
	for _, run := range runs(piece) {
		if t, ok := newTerm(run); ok {
			list = append(list, t)
		}
	}
	return list
}

// runs splits a piece where its script changes. Signs between words of one script
// stay: build-agent is a phrase of two words.
func runs(piece string) (list []string) {
	var run strings.Builder
	last := none
	flush := func() {
		list = append(list, run.String())
		run.Reset()
	}
	for _, r := range piece {
		k := kindOf(r)
		if k != none && k != mark {
			if last != none && (k == alone) != (last == alone) {
				flush()
			}
			last = k
		}
		run.WriteRune(r)
	}
	flush()
	return list
}

func newTerm(run string) (term, bool) {
	var b strings.Builder
	spread(&b, Fold(run))
	t := term{phrase: b.String()}
	var letters []rune
	words := 0
	in := false
	for _, r := range t.phrase {
		k := kindOf(r)
		if k == alone {
			letters = append(letters, r)
		}
		if k != none && !in {
			words++
		}
		in = k != none
	}
	if words == 0 {
		return t, false
	}
	if len(letters) > window {
		for i := 0; i+window <= len(letters) && len(t.more) < maxTerms; i++ {
			t.more = append(t.more, string(letters[i])+" "+string(letters[i+1]))
		}
	}
	if parts := identifierParts(strings.TrimFunc(run, func(r rune) bool { return kindOf(r) == none })); len(parts) > 1 && len(letters) == 0 {
		var p strings.Builder
		spread(&p, Fold(strings.Join(parts, " ")))
		t.more = append(t.more, p.String())
	}
	return t, true
}

// Empty tells whether there is nothing to search for.
func (q Query) Empty() bool { return len(q.plain) == 0 }

// AllWords is the query for an index of words that must have every one of them, or
// "" where there are none.
func (q Query) AllWords() string {
	return q.match(" AND ", func(t term) string {
		if len(t.more) > 0 && !hasAlone(t.phrase) {
			return "(" + quote(t.phrase) + " OR " + quote(t.more[0]) + ")" // an identifier and its parts
		}
		return quote(t.phrase)
	})
}

// AnyWord is the query for an index of words that may have any of them, in whole or
// in part.
func (q Query) AnyWord() string {
	return q.match(" OR ", func(t term) string {
		list := []string{quote(t.phrase)}
		for _, m := range t.more {
			list = append(list, quote(m))
		}
		return strings.Join(list, " OR ")
	})
}

// One tells whether the query is a single term that has no parts, so that all words
// and any word are the same.
func (q Query) One() bool { return len(q.terms) == 1 && len(q.terms[0].more) == 0 }

func (q Query) match(join string, form func(term) string) string {
	var list []string
	for _, t := range q.terms {
		list = append(list, form(t))
	}
	return strings.Join(list, join)
}

func hasAlone(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return kindOf(r) == alone })
}

// Inside is the query for an index of trigrams of folded text: pieces of three
// letters and more, anywhere in a word. It is "" where there are none.
func (q Query) Inside() string {
	var list []string
	for _, p := range q.plain {
		if utf8.RuneCountInString(p) >= 3 {
			list = append(list, quote(p))
		}
	}
	return strings.Join(list, " AND ")
}

// Likes are patterns for LIKE over folded text, with '\' as the escape sign. They
// are for what no index finds; the caller bounds how many rows are looked at.
func (q Query) Likes() (patterns []string) {
	for _, p := range q.plain {
		patterns = append(patterns, "%"+strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(p)+"%")
	}
	return patterns
}

// Marks are the folded pieces, each with its words, for a caller that shows where they
// stand.
func (q Query) Marks() (list []string) {
	for _, p := range q.plain {
		list = append(list, p)
		for _, run := range runs(p) {
			list = append(list, strings.FieldsFunc(run, func(r rune) bool { return kindOf(r) == none })...)
		}
	}
	return list
}

// quote makes a phrase of whatever it is given.
func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
