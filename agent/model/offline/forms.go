package offline

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/piweb-go/piweb/message"
)

// Form is one way of asking the echo model for a tool.
type Form struct {
	Tool    string // the tool that it calls; "" where the form names it
	Usage   string // the form with its blanks in capitals
	Example string // a line that works
}

// Forms lists the forms in the order in which help should print them. The caller
// owns the slice.
func Forms() []Form {
	return []Form{
		{Tool: "read", Usage: "read FILE", Example: "read go.mod"},
		{Tool: "ls", Usage: "list [FOLDER]", Example: "list src"},
		{Tool: "ls", Usage: "ls [FOLDER]", Example: "ls src"},
		{Tool: "bash", Usage: "run `COMMAND`", Example: "run `go version`"},
		{Tool: "write", Usage: "write FILE: TEXT", Example: "write notes.txt: some text"},
		{Tool: "edit", Usage: "replace `OLD` with `NEW` in FILE", Example: "replace `old` with `new` in notes.txt"},
		{Tool: "grep", Usage: "search for `TEXT` [in FOLDER]", Example: "search for `TODO` in src"},
		{Tool: "find", Usage: "find `PATTERN` [in FOLDER]", Example: "find `*.go` in src"},
		{Tool: "", Usage: "call TOOL {JSON}", Example: `call read {"path": "go.mod"}`},
	}
}

// maxAsks bounds the calls of one message.
const maxAsks = 8

// ask is a line of the user that has one of the forms.
type ask struct {
	tool      string
	about     string // the object of the call, for people
	arguments json.RawMessage
}

// parseAsks finds the requests in a message. more counts those beyond the limit.
func parseAsks(text string) (asks []ask, more int) {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		if fence := fenceOf(lines[i]); fence != "" {
			i = skipFence(lines, i, fence)
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(lines[i]), "<document") {
			i = skipDocument(lines, i)
			continue
		}
		a, last, ok := parseLine(lines, i)
		if !ok {
			continue
		}
		i = last
		if len(asks) == maxAsks {
			more++
			continue
		}
		asks = append(asks, a)
	}
	return asks, more
}

// parseLine reads the request that begins at line i; last is its last line.
func parseLine(lines []string, i int) (a ask, last int, ok bool) {
	s := &scan{rest: stripPrefix(lines[i])}
	switch {
	case s.word("read"):
		s.word("the")
		s.word("file")
		a, ok = s.read()
	case s.word("list"), s.word("ls"):
		a, ok = s.list()
	case s.word("run"):
		a, ok = s.run()
	case s.word("write"):
		return s.write(lines, i)
	case s.word("replace"):
		a, ok = s.replace()
	case s.word("search"):
		s.word("for")
		a, ok = s.search()
	case s.word("find"):
		a, ok = s.find()
	case s.word("call"):
		a, ok = s.call()
	}
	return a, i, ok
}

func (s *scan) read() (ask, bool) {
	path, ok := s.last()
	return newAsk("read", path, field{"path", path}), ok
}

func (s *scan) list() (ask, bool) {
	// Not end: the dots of "ls .." are no punctuation.
	if rest := strings.TrimSpace(s.rest); rest == "" || strings.EqualFold(rest, "please") {
		return newAsk("ls", "."), true
	}
	path, ok := s.last()
	return newAsk("ls", path, field{"path", path}), ok
}

func (s *scan) run() (ask, bool) {
	command, ok := s.quoted()
	return newAsk("bash", command, field{"command", command}), ok && s.end()
}

func (s *scan) replace() (ask, bool) {
	oldText, ok := s.quoted()
	if !ok || oldText == "" || !s.word("with") {
		return ask{}, false
	}
	newText, ok := s.quoted()
	if !ok || !s.word("in") {
		return ask{}, false
	}
	path, ok := s.last()
	type edit struct {
		OldText string `json:"oldText"`
		NewText string `json:"newText"`
	}
	return newAsk("edit", path, field{"path", path}, field{"edits", []edit{{oldText, newText}}}), ok
}

func (s *scan) search() (ask, bool) { return s.patternIn("grep") }

func (s *scan) find() (ask, bool) { return s.patternIn("find") }

// patternIn reads `PATTERN` [in FOLDER].
func (s *scan) patternIn(tool string) (ask, bool) {
	pattern, ok := s.quoted()
	if !ok || pattern == "" {
		return ask{}, false
	}
	if s.end() {
		return newAsk(tool, pattern, field{"pattern", pattern}), true
	}
	if !s.word("in") {
		return ask{}, false
	}
	path, ok := s.last()
	return newAsk(tool, pattern, field{"pattern", pattern}, field{"path", path}), ok
}

// call reads TOOL {JSON}; the JSON goes out as it was typed.
func (s *scan) call() (ask, bool) {
	s.blanks()
	name, rest, _ := strings.Cut(s.rest, " ")
	rest = strings.TrimSpace(rest)
	var object map[string]json.RawMessage
	if name == "" || json.Unmarshal([]byte(rest), &object) != nil || object == nil {
		return ask{}, false
	}
	return ask{tool: name, about: clip(rest, 60), arguments: json.RawMessage(rest)}, true
}

// write reads FILE: TEXT, where the text may be a fenced block on the next lines.
func (s *scan) write(lines []string, i int) (a ask, last int, ok bool) {
	path, ok := s.quoted()
	if ok {
		ok = s.colon()
	} else {
		path, ok = s.beforeColon()
	}
	if !ok || path == "" {
		return ask{}, i, false
	}
	text := strings.TrimSpace(s.rest)
	if text == "" {
		if text, last, ok = fencedText(lines, i+1); !ok {
			return ask{}, i, false
		}
		i = last
	}
	return newAsk("write", path, field{"path", path}, field{"content", text}), i, true
}

// field is one argument; a list of them keeps its order.
type field struct {
	name  string
	value any
}

func newAsk(tool, about string, fields ...field) ask {
	var b strings.Builder
	b.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := message.Marshal(f.name)   // strings and slices of strings
		value, _ := message.Marshal(f.value) // always encode
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return ask{tool: tool, about: about, arguments: json.RawMessage(b.String())}
}

// fenceOf returns the fence that a line opens or closes, or "".
func fenceOf(line string) string {
	line = strings.TrimSpace(line)
	for _, c := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, c))
		if n >= 3 && !strings.Contains(line[n:], c) {
			return line[:n]
		}
	}
	return ""
}

// closes says whether a line ends the block that fence began.
func closes(line, fence string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= len(fence) && strings.Trim(line, fence[:1]) == ""
}

// skipFence returns the line that closes the block begun at line i, or the last
// line where nothing closes it.
func skipFence(lines []string, i int, fence string) int {
	for i++; i < len(lines); i++ {
		if closes(lines[i], fence) {
			return i
		}
	}
	return len(lines)
}

// skipDocument returns the line that ends the documents begun at line i.
func skipDocument(lines []string, i int) int {
	end := "</document"
	if strings.HasPrefix(strings.TrimSpace(lines[i]), "<documents") {
		end = "</documents"
	}
	for ; i < len(lines); i++ {
		if strings.Contains(lines[i], end) {
			return i
		}
	}
	return len(lines)
}

// fencedText returns the inside of the fenced block that begins at line i, each
// line with its line feed.
func fencedText(lines []string, i int) (text string, last int, ok bool) {
	if i >= len(lines) {
		return "", i, false
	}
	fence := fenceOf(lines[i])
	if fence == "" {
		return "", i, false
	}
	last = skipFence(lines, i, fence)
	if last == len(lines) {
		return "", i, false
	}
	if inside := lines[i+1 : last]; len(inside) > 0 {
		text = strings.Join(inside, "\n") + "\n"
	}
	return text, last, true
}

// stripPrefix takes bullets, numbers and small words off the front of a line.
func stripPrefix(line string) string {
	line = strings.TrimSpace(line)
	for _, bullet := range []string{"- ", "* ", "• ", "· "} {
		line = strings.TrimPrefix(line, bullet)
	}
	if digits := strings.TrimLeft(line, "0123456789"); digits != line && digits != "" && strings.ContainsRune(".)", rune(digits[0])) {
		line = strings.TrimLeftFunc(digits[1:], unicode.IsSpace)
	}
	s := &scan{rest: line}
	for s.word("please") || s.word("and") || s.word("then") || s.word("now") {
		s.rest = strings.TrimLeft(s.rest, ", ")
	}
	return strings.TrimSpace(s.rest)
}
