package tool

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// textEdit asks to put newText where oldText stands. Both have LF line ends.
type textEdit struct{ oldText, newText string }

// replacement puts text in the place of bytes start to end of a text.
type replacement struct {
	start, end int
	text       string
}

// planEdits finds the place of every edit in text, which has LF line ends. All
// of them are looked up in the text as it is. The replacements come back in
// order and do not overlap.
//
// An oldText that occurs exactly once is taken as it stands, whatever else may
// look like it; pi counts look-alikes too and refuses. Only an oldText that
// does not occur is looked for in the folded text, where it must be unique. The
// lines that such an edit touches are then written in folded form, together
// with every other edit on these lines.
func planEdits(text string, edits []textEdit) (plan []replacement, folded bool, err error) {
	var spots []spot
	for i, e := range edits {
		if e.oldText == "" {
			return nil, false, fmt.Errorf("%s is empty. Give the text that is to be replaced", editName(i, edits))
		}
		switch n := strings.Count(text, e.oldText); n {
		case 0:
			spots = append(spots, spot{index: i, loose: true})
			folded = true
		case 1:
			start := strings.Index(text, e.oldText)
			spots = append(spots, spot{index: i, start: start, end: start + len(e.oldText)})
		default:
			return nil, false, notUnique(text, e.oldText, n, editName(i, edits))
		}
	}
	if !folded {
		if err := checkDisjoint(spots, edits); err != nil {
			return nil, false, err
		}
		for _, s := range spots {
			plan = append(plan, replacement{s.start, s.end, edits[s.index].newText})
		}
		return plan, false, nil
	}
	plan, err = planFolded(text, edits, spots)
	return plan, true, err
}

// spot is where an edit was found.
type spot struct {
	index      int  // of the edit
	loose      bool // found in the folded text only
	start, end int  // in the text, or in the folded text if loose
	lines      span // touched; set where lines matter
}

// span is a run of lines, counted from 0, without last.
type span struct{ first, last int }

// planFolded plans edits of which at least one matches only in the folded text.
func planFolded(text string, edits []textEdit, spots []spot) ([]replacement, error) {
	view := foldView(text)
	for i := range spots {
		s := &spots[i]
		if s.loose {
			if err := view.find(s, edits); err != nil {
				return nil, err
			}
			s.lines = span{view.folded.lineAt(s.start), view.folded.lineAt(s.end-1) + 1}
		} else {
			s.lines = span{view.plain.lineAt(s.start), view.plain.lineAt(s.end-1) + 1}
		}
	}
	slices.SortStableFunc(spots, func(a, b spot) int { return cmp.Compare(a.lines.first, b.lines.first) })

	var plan []replacement
	for len(spots) > 0 {
		group, lines := takeGroup(spots)
		spots = spots[len(group):]
		if !slices.ContainsFunc(group, func(s spot) bool { return s.loose }) {
			if err := checkDisjoint(group, edits); err != nil {
				return nil, err
			}
			for _, s := range group {
				plan = append(plan, replacement{s.start, s.end, edits[s.index].newText})
			}
			continue
		}
		r, err := view.rewrite(group, lines, edits)
		if err != nil {
			return nil, err
		}
		plan = append(plan, r)
	}
	return plan, nil
}

// takeGroup takes from spots, sorted by line, the first ones that share lines
// with each other.
func takeGroup(spots []spot) (group []spot, lines span) {
	lines = spots[0].lines
	n := 1
	for n < len(spots) && spots[n].lines.first < lines.last {
		lines.last = max(lines.last, spots[n].lines.last)
		n++
	}
	return spots[:n], lines
}

// foldedView is a text beside its folded form, which has the same lines.
type foldedView struct {
	plain, folded lineIndex
}

func foldView(text string) foldedView {
	return foldedView{plain: indexLines(text), folded: indexLines(fold(text))}
}

// find looks for a loose edit in the folded text.
func (v foldedView) find(s *spot, edits []textEdit) error {
	oldText, name := edits[s.index].oldText, editName(s.index, edits)
	switch want, n := countFolded(v.folded.text, oldText); n {
	case 0:
		return notFound(v, oldText, name)
	case 1:
		s.start = strings.Index(v.folded.text, want)
		s.end = s.start + len(want)
		return nil
	default:
		return notUnique(v.folded.text, want, n, name)
	}
}

// countFolded counts oldText in a folded text: as it is, which keeps a blank at
// its end, and only if there is none in folded form. want is the form counted.
func countFolded(folded, oldText string) (want string, n int) {
	if n = strings.Count(folded, oldText); n > 0 {
		return oldText, n
	}
	if want = fold(oldText); want == "" { // blanks only: no place to speak of
		return want, 0
	}
	return want, strings.Count(folded, want)
}

// rewrite makes one replacement of whole lines, in folded form, out of the
// edits that touch them.
func (v foldedView) rewrite(group []spot, lines span, edits []textEdit) (replacement, error) {
	for i := range group {
		s := &group[i]
		if s.loose {
			continue
		}
		// This one matched exactly, but shares lines with one that did not:
		// find it again in the folded form of its own lines.
		from, to := v.folded.start(s.lines.first), v.folded.start(s.lines.last)
		want, n := countFolded(v.folded.text[from:to], edits[s.index].oldText)
		if n != 1 {
			return replacement{}, fmt.Errorf("%s lies on the same line as another edit whose oldText differs from the file in blanks, quotes or dashes. Merge the two into one edit with the text as the file has it",
				editName(s.index, edits))
		}
		s.start = from + strings.Index(v.folded.text[from:to], want)
		s.end = s.start + len(want)
	}
	if err := checkDisjoint(group, edits); err != nil {
		return replacement{}, err
	}
	at, end := v.folded.start(lines.first), v.folded.start(lines.last)
	var out strings.Builder
	for _, s := range group {
		out.WriteString(v.folded.text[at:s.start])
		out.WriteString(edits[s.index].newText)
		at = s.end
	}
	out.WriteString(v.folded.text[at:end])
	return replacement{v.plain.start(lines.first), v.plain.start(lines.last), out.String()}, nil
}

// checkDisjoint sorts spots of one text by their start and fails where two
// overlap.
func checkDisjoint(spots []spot, edits []textEdit) error {
	slices.SortStableFunc(spots, func(a, b spot) int { return cmp.Compare(a.start, b.start) })
	for i := 1; i < len(spots); i++ {
		if spots[i-1].end > spots[i].start {
			return fmt.Errorf("%s and %s overlap. Merge them into one edit, or choose texts that do not touch",
				editName(spots[i-1].index, edits), editName(spots[i].index, edits))
		}
	}
	return nil
}

// lineIndex is a text with the starts of its lines. A line ends with its line
// feed; an empty rest is no line, but the rest after the last line feed is one,
// also if folding left nothing of it.
type lineIndex struct {
	text   string
	starts []int
}

func indexLines(text string) lineIndex {
	ix := lineIndex{text: text, starts: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			ix.starts = append(ix.starts, i+1)
		}
	}
	return ix
}

// lineAt is the line that holds the byte at offset.
func (ix lineIndex) lineAt(offset int) int {
	return sort.Search(len(ix.starts), func(i int) bool { return ix.starts[i] > offset }) - 1
}

// start is the offset at which a line begins; for the line after the last one
// it is the end of the text.
func (ix lineIndex) start(line int) int {
	if line >= len(ix.starts) {
		return len(ix.text)
	}
	return ix.starts[line]
}

// editName is how an error names an edit: by its place if there are several.
func editName(i int, edits []textEdit) string {
	if len(edits) == 1 {
		return "oldText"
	}
	return fmt.Sprintf("edits[%d].oldText", i)
}

// maxLinesNamed is how many lines an error lists.
const maxLinesNamed = 5

func notUnique(text, oldText string, n int, name string) error {
	var at []int
	for from := 0; len(at) < maxLinesNamed; {
		i := strings.Index(text[from:], oldText)
		if i < 0 {
			break
		}
		at = append(at, 1+strings.Count(text[:from+i], "\n"))
		from += i + len(oldText)
	}
	return fmt.Errorf("%s occurs %d times, at %s. Add lines around it until it is unique", name, n, lineList(at, n))
}

// notFound helps with the line that the model may have meant.
func notFound(v foldedView, oldText, name string) error {
	hint := "Show the file with read and copy the text as it stands, blanks and line breaks included"
	for line := range strings.Lines(oldText) {
		first := strings.TrimSpace(foldLine(strings.TrimSuffix(line, "\n")))
		if first == "" {
			continue
		}
		var at []int
		n := 0
		for i, l := range strings.Split(v.folded.text, "\n") {
			if strings.TrimSpace(l) == first {
				if n++; n <= maxLinesNamed {
					at = append(at, i+1)
				}
			}
		}
		if n > 0 {
			return fmt.Errorf("%s does not occur in the file. Its first line does, at %s; what follows there differs. %s", name, lineList(at, n), hint)
		}
		break
	}
	return fmt.Errorf("%s does not occur in the file. %s", name, hint)
}

// lineList names lines: "line 3", "lines 3, 9 and 12", or "lines 1, 2, …" when
// there are more than listed.
func lineList(at []int, total int) string {
	if len(at) == 1 && total == 1 {
		return "line " + strconv.Itoa(at[0])
	}
	words := make([]string, len(at))
	for i, n := range at {
		words[i] = strconv.Itoa(n)
	}
	if total > len(at) {
		return "lines " + strings.Join(words, ", ") + ", …"
	}
	last := len(words) - 1
	return "lines " + strings.Join(words[:last], ", ") + " and " + words[last]
}
