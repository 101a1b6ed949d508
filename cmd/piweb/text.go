package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Whatever stands in a session file was written by somebody else: a name, an id,
// a path, an answer. Before it reaches the terminal it goes through printable, and
// through oneLine where it stands inside a line of ours, so that it can neither
// steer the terminal nor forge a line.

// clean makes the arguments of a print safe. Formats are ours and stay.
func clean(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch x := arg.(type) {
		case string:
			out[i] = printable(x)
		case error:
			out[i] = printable(x.Error())
		case fmt.Stringer:
			out[i] = printable(x.String())
		default:
			out[i] = arg
		}
	}
	return out
}

// printable replaces what a terminal would obey: control characters and marks
// that turn the direction of text around. Line breaks and tabs stay.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return -1
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x2028, r == 0x2029:
			return '\uFFFD'
		}
		return r
	}, s)
}

// oneLine is printable text without line breaks.
func oneLine(s string) string {
	return strings.NewReplacer("\n", "⏎", "\t", " ").Replace(printable(s))
}

// clip makes one short line of a text, without cutting a character.
func clip(s string, n int) string {
	s = strings.Join(strings.Fields(printable(s)), " ")
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// indent puts a text under a heading, at most so many lines of it.
func indent(s string) string {
	const maxLines = 20
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) > maxLines {
		more := len(lines) - maxLines
		lines = append(lines[:maxLines], fmt.Sprintf("… %d more lines (--json prints all)", more))
	}
	return "  " + strings.Join(lines, "\n  ")
}

// watched is an output that remembers that it failed.
type watched struct {
	w      io.Writer
	err    error
	before func() // called before something is written, if not nil
}

func (w *watched) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.before != nil {
		w.before()
	}
	n, err := w.w.Write(p)
	w.err = err
	return n, err
}

func (w *watched) failed() bool { return w.err != nil }
