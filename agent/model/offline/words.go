package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPiece bounds a piece where a text has no blanks, in characters.
const maxPiece = 24

// Words cuts a text into the pieces in which a model would stream it: a word with
// the blanks behind it, or at most 24 characters where there are no blanks. Put
// together, the pieces are the text; no piece splits a character.
func Words(s string) []string {
	var pieces []string
	start, count, blank := 0, 0, false
	for i, r := range s {
		space := unicode.IsSpace(r)
		if i > start && (blank && !space || count == maxPiece) {
			pieces = append(pieces, s[start:i])
			start, count = i, 0
		}
		blank = space
		count++
	}
	if start < len(s) {
		pieces = append(pieces, s[start:])
	}
	return pieces
}

// Fragments cuts the text of a call's arguments into three pieces, as providers
// do in the middle of words. No piece splits a character.
func Fragments(s string) []string {
	if utf8.RuneCountInString(s) < 4 {
		return []string{s}
	}
	a, b := boundary(s, len(s)/3), boundary(s, 2*len(s)/3)
	var pieces []string
	for _, part := range []string{s[:a], s[a:b], s[b:]} {
		if part != "" {
			pieces = append(pieces, part)
		}
	}
	return pieces
}

// boundary moves i back to the start of a character.
func boundary(s string, i int) int {
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// clip shortens s to n characters.
func clip(s string, n int) string {
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}

// estimate is the number of tokens that a text of so many characters is taken
// for: one for four characters, rounded up.
func estimate(chars int) int64 { return int64(chars+3) / 4 }

// runes counts the characters of a text.
func runes(s string) int { return utf8.RuneCountInString(s) }

// joinNames lists names for people.
func joinNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
