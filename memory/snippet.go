package memory

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/piweb-go/piweb/internal/sqlite"
	"golang.org/x/text/unicode/norm"
)

// Part is a piece of a snippet. Hit says that it was looked for.
type Part struct {
	Text string `json:"text"`
	Hit  bool   `json:"hit,omitempty"`
}

// A snippet shows so many bytes in front of the first place that was found and so many
// behind it, cut between characters. A text of at most their sum is shown whole.
const (
	snippetBefore = 80
	snippetAfter  = 320
	maxPlaces     = 64
)

// cutMark stands where a snippet is cut.
const cutMark = "…"

// snippet cuts the surroundings of the first place out of a text that a query found.
// Words are found as the indexes find them: without case, marks and width. Where
// nothing of the query stands in the text, the snippet is the beginning of it.
func snippet(text, query string) []Part {
	f := fold(text)
	var places [][2]int
	for _, term := range terms(query) {
		places = append(places, f.places(term)...)
	}
	slices.SortFunc(places, func(a, b [2]int) int { return a[0] - b[0] })
	first := 0
	if len(places) > 0 {
		first = places[0][0]
	}
	from, to := 0, len(text)
	if len(text) > snippetBefore+snippetAfter {
		from, to = max(0, first-snippetBefore), min(len(text), first+snippetAfter)
		for from > 0 && from < first && !utf8.RuneStart(text[from]) {
			from++
		}
		for to < len(text) && !utf8.RuneStart(text[to]) {
			to++
		}
	}
	var out []Part
	add := func(s string, hit bool) {
		if s != "" {
			out = append(out, Part{strings.ToValidUTF8(s, "\uFFFD"), hit})
		}
	}
	if from > 0 {
		add(cutMark, false)
	}
	at := from
	for _, p := range places {
		if p[0] >= to || p[1] <= at {
			continue
		}
		add(text[at:max(at, p[0])], false)
		add(text[max(at, p[0]):min(p[1], to)], true)
		at = min(p[1], to)
	}
	add(text[at:to], false)
	if to < len(text) {
		add(cutMark, false)
	}
	return out
}

// terms are what a query looks for in a text, folded, the whole before its parts.
func terms(query string) (out []string) {
	for _, m := range sqlite.ParseQuery(query).Marks() {
		if t := fold(m).text; t != "" { // a mark alone leaves nothing
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(out)
}

// folded is a text as it is compared, with the way back.
type folded struct {
	text string
	at   []int // for each byte of text, where its source begins; one more for the end
}

// fold takes case, width, marks and ligatures away.
func fold(s string) folded {
	f := folded{at: make([]int, 0, len(s)+1)}
	var out strings.Builder
	var iter norm.Iter
	iter.InitString(norm.NFKD, s)
	for !iter.Done() {
		from := iter.Pos()
		for _, r := range string(iter.Next()) {
			if !unicode.Is(unicode.Mn, r) {
				out.WriteRune(unicode.ToLower(unicode.ToUpper(r)))
			}
		}
		for len(f.at) < out.Len() {
			f.at = append(f.at, from)
		}
	}
	f.text, f.at = out.String(), append(f.at, len(s))
	return f
}

// places are where a term stands in the source. A word of letters is found at the
// beginning of words alone, so that "go" does not mark "ago".
func (f folded) places(term string) (out [][2]int) {
	first, _ := utf8.DecodeRuneInString(term)
	whole := (unicode.IsLetter(first) || unicode.IsDigit(first)) && !sqlite.Apart(first) && utf8.RuneCountInString(term) < 3
	for from := 0; len(out) < maxPlaces; {
		i := strings.Index(f.text[from:], term)
		if i < 0 {
			break
		}
		start, stop := from+i, from+i+len(term)
		from = stop
		if before, _ := utf8.DecodeLastRuneInString(f.text[:start]); whole && unicode.IsLetter(before) && !sqlite.Apart(before) {
			continue
		}
		// The end is where the source of the next character begins.
		end := f.at[stop]
		for j := stop; j < len(f.at) && f.at[j] == f.at[stop-1]; j++ {
			end = f.at[min(j+1, len(f.at)-1)]
		}
		out = append(out, [2]int{f.at[start], end})
	}
	return out
}
