package files

import (
	"os"
	"slices"
	"unicode"
	"unicode/utf8"
)

// fzf scores how well a text holds the letters of a pattern by filling a table: a row
// for each letter of the pattern, a column for each of the text. It fills it row by
// row. Filled column by column, the table of a folder's path is the beginning of that
// of every file in it, and is filled once for all of them. The scores are the same
// ones; TestPropertyAlignEqualsLibrary holds them against the library.

// fzf's points, of its scheme "path".
const (
	pointsMatch     = 16
	pointsGapStart  = -3
	pointsGapMore   = -1
	bonusBoundary   = pointsMatch / 2
	bonusDelimiter  = bonusBoundary + 1
	bonusHump       = bonusBoundary + pointsGapMore
	bonusTogether   = -(pointsGapStart + pointsGapMore)
	bonusFirstTimes = 2
)

// kind is what fzf tells letters apart by.
type kind uint8

const (
	kindWhite kind = iota
	kindSign
	kindDelimiter
	kindLower
	kindUpper
	kindLetter
	kindNumber
	kinds
)

// kindOf is the kind of a letter.
func kindOf(r rune) kind {
	switch {
	case r < utf8.RuneSelf:
		return asciiKinds[r]
	case unicode.IsLower(r):
		return kindLower
	case unicode.IsUpper(r):
		return kindUpper
	case unicode.IsNumber(r):
		return kindNumber
	case unicode.IsLetter(r):
		return kindLetter
	case unicode.IsSpace(r):
		return kindWhite
	}
	return kindSign
}

var asciiKinds = func() (t [utf8.RuneSelf]kind) {
	for i := range t {
		switch c := byte(i); {
		case c >= 'a' && c <= 'z':
			t[i] = kindLower
		case c >= 'A' && c <= 'Z':
			t[i] = kindUpper
		case c >= '0' && c <= '9':
			t[i] = kindNumber
		case c == ' ' || c >= '\t' && c <= '\r':
			t[i] = kindWhite
		case c == '/' || c == os.PathSeparator:
			t[i] = kindDelimiter
		default:
			t[i] = kindSign
		}
	}
	return t
}()

// bonuses are the points of a letter by the kind before it and its own.
var bonuses = func() (t [kinds][kinds]int16) {
	for before := range kinds {
		for here := range kinds {
			b := int16(0)
			switch {
			case here > kindSign && before <= kindSign:
				b = bonusBoundary
			case here > kindSign && before == kindDelimiter:
				b = bonusDelimiter
			case before == kindLower && here == kindUpper, before != kindNumber && here == kindNumber:
				b = bonusHump
			case here <= kindDelimiter:
				b = bonusBoundary
			}
			t[before][here] = b
		}
	}
	return t
}()

// row is what is known of a letter of the pattern at the last column.
type row struct {
	letter rune
	score  int16
	run    int16 // how many letters stand together up to here
	gap    bool
}

// table is the last column of fzf's table, and what the next one needs of those
// before it.
type table struct {
	rows   []row
	active int     // rows whose letter has been met, each behind the one before
	bonus  []int16 // of every column so far
	last   kind
	best   int16 // of the last row
}

// start empties the table.
func (t *table) start(pattern []rune) {
	t.rows = t.rows[:0]
	for _, r := range pattern {
		t.rows = append(t.rows, row{letter: r})
	}
	t.active, t.bonus, t.last, t.best = 0, t.bonus[:0], kindDelimiter, 0
}

// set makes the table one that was filled before.
func (t *table) set(from *table) {
	t.rows = append(t.rows[:0], from.rows...)
	t.bonus = append(t.bonus[:0], from.bonus...)
	t.active, t.last, t.best = from.active, from.last, from.best
}

// read adds the columns of a text.
func (t *table) read(text string) {
	t.bonus = slices.Grow(t.bonus, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= utf8.RuneSelf {
			for _, r := range text[i:] {
				k := kindOf(r)
				if k == kindUpper {
					r = unicode.ToLower(r)
				}
				t.column(r, k)
			}
			return
		}
		t.column(rune(lowered[c]), asciiKinds[c])
	}
}

// column adds one.
func (t *table) column(r rune, k kind) {
	bonus := bonuses[t.last][k]
	t.bonus, t.last = append(t.bonus, bonus), k
	if t.active < len(t.rows) && t.rows[t.active].letter == r {
		t.active++
	}
	// The lower rows first: each needs the one above as it was a column before.
	rows := t.rows[:t.active]
	for i := len(rows) - 1; i > 0; i-- {
		at := &rows[i]
		left := at.score + pointsGapStart
		if at.gap {
			left = at.score + pointsGapMore
		}
		if at.letter != r {
			at.run, at.gap, at.score = 0, left > 0, max(left, 0)
			continue
		}
		above := &rows[i-1]
		b, run := bonus, above.run+1
		if run > 1 {
			if first := t.bonus[len(t.bonus)-int(run)]; b >= bonusBoundary && b > first {
				run = 1
			} else {
				b = max(b, bonusTogether, first)
			}
		}
		score := above.score + pointsMatch
		if score+b < left {
			score, run = score+bonus, 0
		} else {
			score += b
		}
		at.run, at.gap, at.score = run, score < left, max(score, left, 0)
	}
	if len(rows) > 0 {
		switch at := &rows[0]; {
		case at.letter == r:
			at.run, at.gap, at.score = 1, false, pointsMatch+bonus*bonusFirstTimes
		case at.gap:
			at.run, at.score = 0, max(at.score+pointsGapMore, 0)
		default:
			at.run, at.gap, at.score = 0, true, max(at.score+pointsGapStart, 0)
		}
	}
	if t.active == len(t.rows) {
		t.best = max(t.best, t.rows[len(t.rows)-1].score)
	}
}

// score is fzf's, or -1 where the letters do not occur in order.
func (t *table) score() int {
	if t.active < len(t.rows) {
		return -1
	}
	return int(t.best)
}
