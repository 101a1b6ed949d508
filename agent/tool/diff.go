package tool

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// diffContext is how many unchanged lines are shown around a change, in lines.
const diffContext = 4

// editDiff is the details of an edit, in pi's shape.
type editDiff struct {
	Diff             string `json:"diff"`             // for people, with line numbers
	Patch            string `json:"patch"`            // unified
	FirstChangedLine int    `json:"firstChangedLine"` // in the new text, from 1
}

// compareTexts shows how a text with LF line ends changed. The texts differ.
func compareTexts(name, before, after string) editDiff {
	old, new := splitLines(before), splitLines(after)
	changes := changedLines(old, new)
	return editDiff{
		Diff:             numberedDiff(old, new, changes),
		Patch:            unifiedPatch(name, old, new, changes),
		FirstChangedLine: changes[0].newAt + 1,
	}
}

// splitLines returns the lines with their line feeds.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// lineChange says that lines of the old text gave way to lines of the new one.
// Positions count from 0.
type lineChange struct{ oldAt, oldLen, newAt, newLen int }

// changedLines compares what lies between the common beginning and the common
// end, so that the cost follows the size of the change and not of the file. At
// least one line differs.
func changedLines(old, new []string) []lineChange {
	head := 0
	for head < len(old) && head < len(new) && old[head] == new[head] {
		head++
	}
	oldMid, newMid := old[head:], new[head:]
	for len(oldMid) > 0 && len(newMid) > 0 && oldMid[len(oldMid)-1] == newMid[len(newMid)-1] {
		oldMid, newMid = oldMid[:len(oldMid)-1], newMid[:len(newMid)-1]
	}
	if len(oldMid) == 0 || len(newMid) == 0 {
		return []lineChange{{head, len(oldMid), head, len(newMid)}}
	}
	unified := diff.Diff("old", []byte(strings.Join(oldMid, "")), "new", []byte(strings.Join(newMid, "")))
	return parseChanges(string(unified), head)
}

// parseChanges reads the changes out of a unified diff of texts that begin at
// line head.
func parseChanges(unified string, head int) []lineChange {
	var changes []lineChange
	var oldAt, newAt int
	open := false // the last change may grow
	inHunk := false
	for line := range strings.Lines(unified) {
		if from, to, ok := hunkStart(line); ok {
			oldAt, newAt = from+head, to+head
			inHunk, open = true, false
			continue
		}
		if !inHunk {
			continue
		}
		switch line[0] {
		case '-', '+':
			if !open {
				changes = append(changes, lineChange{oldAt: oldAt, newAt: newAt})
				open = true
			}
			c := &changes[len(changes)-1]
			if line[0] == '-' {
				c.oldLen++
				oldAt++
			} else {
				c.newLen++
				newAt++
			}
		case ' ':
			oldAt++
			newAt++
			open = false
		}
	}
	return changes
}

// hunkStart reads "@@ -1,5 +1,6 @@". A side without lines names the line
// before it.
func hunkStart(line string) (old, new int, ok bool) {
	var oldLen, newLen int
	if n, _ := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &old, &oldLen, &new, &newLen); n != 4 {
		return 0, 0, false
	}
	if oldLen > 0 {
		old--
	}
	if newLen > 0 {
		new--
	}
	return old, new, true
}

// hunk is a run of changes whose surroundings touch, with these surroundings.
type hunk struct {
	oldAt, oldEnd int // lines of the old text
	newAt, newEnd int
	changes       []lineChange
}

func hunks(old, new []string, changes []lineChange) []hunk {
	var list []hunk
	for _, c := range changes {
		if len(list) > 0 {
			last := &list[len(list)-1]
			if c.oldAt-diffContext <= last.oldEnd {
				last.changes = append(last.changes, c)
				last.oldEnd = min(len(old), c.oldAt+c.oldLen+diffContext)
				last.newEnd = min(len(new), c.newAt+c.newLen+diffContext)
				continue
			}
		}
		before := min(diffContext, c.oldAt)
		list = append(list, hunk{
			oldAt: c.oldAt - before, oldEnd: min(len(old), c.oldAt+c.oldLen+diffContext),
			newAt: c.newAt - before, newEnd: min(len(new), c.newAt+c.newLen+diffContext),
			changes: []lineChange{c},
		})
	}
	return list
}

// walk calls show for each line of the hunk in the order of a diff, with its
// number in the text it comes from, counted from 0.
func (h hunk) walk(old, new []string, show func(kind byte, number int, line string)) {
	at := h.oldAt
	for _, c := range h.changes {
		for ; at < c.oldAt; at++ {
			show(' ', at, old[at])
		}
		for ; at < c.oldAt+c.oldLen; at++ {
			show('-', at, old[at])
		}
		for i := c.newAt; i < c.newAt+c.newLen; i++ {
			show('+', i, new[i])
		}
	}
	for ; at < h.oldEnd; at++ {
		show(' ', at, old[at])
	}
}

// unifiedPatch writes the patch that applies the changes.
func unifiedPatch(name string, old, new []string, changes []lineChange) string {
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", name, name)
	for _, h := range hunks(old, new, changes) {
		fmt.Fprintf(&out, "@@ -%s +%s @@\n", hunkRange(h.oldAt, h.oldEnd), hunkRange(h.newAt, h.newEnd))
		h.walk(old, new, func(kind byte, _ int, line string) {
			out.WriteByte(kind)
			out.WriteString(line)
			if !strings.HasSuffix(line, "\n") {
				out.WriteString("\n\\ No newline at end of file\n")
			}
		})
	}
	return out.String()
}

// hunkRange spells lines at to end, without end. An empty range names the line
// before it.
func hunkRange(at, end int) string {
	if at == end {
		return fmt.Sprintf("%d,0", at)
	}
	return fmt.Sprintf("%d,%d", at+1, end-at)
}

// numberedDiff writes the changes for people: sign, number and text of each
// line, dots where unchanged lines are left out. Unchanged lines carry the old
// number.
func numberedDiff(old, new []string, changes []lineChange) string {
	// pi's width counts the empty line behind a last line feed.
	width := len(strconv.Itoa(max(piecesOf(old), piecesOf(new))))
	dots := fmt.Sprintf(" %*s ...", width, "")
	var out []string
	end := 0 // of the old lines told of
	for _, h := range hunks(old, new, changes) {
		if h.oldAt > end {
			out = append(out, dots)
		}
		h.walk(old, new, func(kind byte, number int, line string) {
			out = append(out, fmt.Sprintf("%c%*d %s", kind, width, number+1, strings.TrimSuffix(line, "\n")))
		})
		end = h.oldEnd
	}
	if end < len(old) {
		out = append(out, dots)
	}
	return strings.Join(out, "\n")
}

// piecesOf is the number of pieces between line feeds.
func piecesOf(lines []string) int {
	if len(lines) == 0 || strings.HasSuffix(lines[len(lines)-1], "\n") {
		return len(lines) + 1
	}
	return len(lines)
}
