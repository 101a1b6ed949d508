package catalog

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A snippet shows so many bytes in front of the first place and so many behind
// it, cut between characters.
const (
	snippetBefore = 60
	snippetAfter  = 140
	maxSpans      = 32
)

// snippet cuts the surroundings of the first place out of a text, and tells where
// the words are in it. Places that overlap become one.
func snippet(text string, f *folded, needles []needle) (string, [][2]int) {
	var places [][2]int // in text
	first := len(f.text)
	for i := range needles {
		if at := strings.Index(f.text, needles[i].text); at >= 0 {
			first = min(first, at)
		}
	}
	for i := range needles {
		for from, n := first, 0; n < maxSpans; n++ {
			at := strings.Index(f.text[from:], needles[i].text)
			if at < 0 || at > snippetAfter {
				break
			}
			from += at
			start, stop := f.source(from, from+len(needles[i].text))
			places = append(places, [2]int{start, stop})
			from += len(needles[i].text)
		}
	}
	slices.SortFunc(places, func(a, b [2]int) int { return a[0] - b[0] })
	from, to := window(text, places[0])
	spans := [][2]int{}
	for _, p := range places {
		start, stop := p[0]-from, min(p[1], to)-from
		if p[0] >= to {
			break
		}
		if n := len(spans); n > 0 && start < spans[n-1][1] {
			spans[n-1][1] = max(spans[n-1][1], stop)
			continue
		}
		spans = append(spans, [2]int{start, stop})
	}
	return mended(text[from:to], spans)
}

// window is what a snippet shows of a text around its first place.
func window(text string, place [2]int) (from, to int) {
	from = max(0, place[0]-snippetBefore)
	for from > 0 && from < place[0] && !utf8.RuneStart(text[from]) {
		from++
	}
	to = min(len(text), max(place[1], place[0]+snippetAfter))
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	return from, to
}

// mended makes a snippet valid UTF-8 where the text was not: a replacement
// character is longer than the byte that it stands for, and moves what is behind.
func mended(s string, spans [][2]int) (string, [][2]int) {
	if utf8.ValidString(s) {
		return strings.Clone(s), spans
	}
	var out strings.Builder
	moved := make([]int, len(s)+1)
	for i, r := range s {
		moved[i] = out.Len()
		out.WriteRune(r)
	}
	moved[len(s)] = out.Len()
	for i := range spans {
		spans[i] = [2]int{moved[spans[i][0]], moved[spans[i][1]]}
	}
	return out.String(), spans
}
