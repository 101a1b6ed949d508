package completion

import "strings"

// span is a part of a text, in bytes.
type span struct{ from, to int }

// fences finds the code blocks of a Markdown text, their fences included. One that
// is not closed goes to the end, as in CommonMark.
func fences(text string) []span {
	var all []span
	var mark byte // of the open block; 0 outside
	var size, start int
	for at := 0; at < len(text); {
		end := len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		line := strings.TrimRight(text[at:end], "\r\n")
		c, n, rest := fence(line)
		switch {
		case mark == 0 && n >= 3 && !(c == '`' && strings.IndexByte(rest, '`') >= 0):
			mark, size, start = c, n, at
		case mark != 0 && c == mark && n >= size && strings.TrimLeft(rest, " \t") == "":
			all = append(all, span{start, end})
			mark = 0
		}
		at = end
	}
	if mark != 0 {
		all = append(all, span{start, len(text)})
	}
	return all
}

// fence reads the run of backticks or tildes that a line begins with.
func fence(line string) (mark byte, n int, rest string) {
	text := strings.TrimLeft(line, " ")
	if len(line)-len(text) > 3 || text == "" || text[0] != '`' && text[0] != '~' {
		return 0, 0, ""
	}
	for n < len(text) && text[n] == text[0] {
		n++
	}
	return text[0], n, text[n:]
}
