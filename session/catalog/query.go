package catalog

import (
	"errors"
	"strings"
)

// Query is what is searched for.
type Query struct {
	// Words must all occur in a session, each in some message text, custom message,
	// summary, label or name of it; see [ParseWords]. A word may hold spaces: it is
	// a phrase, and must stand in one text.
	Words []string
	CWD   string // only sessions of this working folder, by their headers
	Limit int    // hits in all; 0 for no limit
	// PerSession is how many hits of a session are given, the last ones; 0 for 3.
	PerSession int
}

// perSession is how many hits of one session are given where nobody says.
const perSession = 3

// The bounds of a query.
const (
	maxWords = 16
	maxWord  = 1000 // bytes
)

// Errors of a query, to match with errors.Is.
var (
	ErrNoWords = errors.New("there is nothing to search for")
	ErrQuery   = errors.New("a search has at most 16 words of at most 1000 bytes each")
)

// ParseWords takes a line of words apart as people write it: separated by white
// space, phrases in quotes. A quote that is not closed goes to the end.
func ParseWords(line string) []string {
	var words []string
	for line != "" {
		before, rest, quoted := strings.Cut(line, `"`)
		words = append(words, strings.Fields(before)...)
		if !quoted {
			break
		}
		phrase, after, _ := strings.Cut(rest, `"`)
		if strings.TrimSpace(phrase) != "" {
			words = append(words, phrase)
		}
		line = after
	}
	return words
}

// needle is a word as it is looked for.
type needle struct {
	text  string // folded
	sieve sieve
}

func (q *Query) needles() ([]needle, error) {
	var list []needle
	for _, w := range q.Words {
		if len(w) > maxWord || len(list) == maxWords {
			return nil, ErrQuery
		}
		if strings.TrimSpace(w) == "" {
			continue
		}
		text := fold(w).text
		list = append(list, needle{text, newSieve(text)})
	}
	if len(list) == 0 {
		return nil, ErrNoWords
	}
	return list, nil
}
