package files

import (
	"strings"
	"unicode/utf16"

	"github.com/junegunn/fzf/src/algo"
	"github.com/junegunn/fzf/src/util"
)

// show makes an answer of a hit, with the parts that matched.
func (q *query) show(h *hit) Hit {
	out := Hit{Path: h.pathOf()}
	if h.i < 0 {
		out.Folder = true
		out.Path += "/"
	} else {
		out.Link = h.d.files[h.i].flags&isLink != 0
	}
	if q.text == "" {
		return out
	}
	// Where folding keeps the number of characters, places are the same in both.
	path := []rune(strings.TrimSuffix(out.Path, "/"))
	folded := []rune(fold(string(path)))
	if len(folded) != len(path) {
		return out
	}
	at := len(path)
	for at > 0 && path[at-1] != '/' {
		at--
	}
	var marks []int
	pattern, from := q.runes, 0
	if !q.slash && inOrder(string(folded[at:]), q.runes, false) {
		from = at // the name, where it has them all
	}
	if name := string(folded[from:]); strings.Contains(name, string(pattern)) {
		start := len([]rune(name[:strings.Index(name, string(pattern))])) + from
		for i := range pattern {
			marks = append(marks, start+i)
		}
	} else {
		chars := util.RunesToChars(folded[from:])
		if _, places := algo.FuzzyMatchV2(false, false, true, &chars, pattern, true, nil); places != nil {
			for _, p := range *places {
				marks = append(marks, p+from)
			}
		}
	}
	out.Matches = ranges(path, marks)
	return out
}

// ranges turns places of characters into ranges of UTF-16 units.
func ranges(text []rune, marks []int) (all [][2]int) {
	marked := make([]bool, len(text))
	for _, m := range marks {
		marked[m] = true
	}
	unit := 0
	for i, r := range text {
		n := max(utf16.RuneLen(r), 1)
		if marked[i] {
			if k := len(all) - 1; k >= 0 && all[k][1] == unit {
				all[k][1] += n
			} else {
				all = append(all, [2]int{unit, unit + n})
			}
		}
		unit += n
	}
	return all
}
