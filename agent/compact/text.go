package compact

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/piweb-go/piweb/message"
)

// maxResult is how many bytes of a tool's result are told.
const maxResult = 2000

// serialize writes a conversation as text, at most room bytes of it. Where it is
// longer, long messages are cut first; then the oldest are left out.
func serialize(msgs []message.Message, room int) string {
	var lines []string
	for _, limit := range []int{room, 16 << 10, 4 << 10, 1 << 10} {
		lines = lines[:0]
		size := 0
		for _, m := range msgs {
			if line := tell(m, min(limit, max(room, maxResult))); line != "" {
				lines = append(lines, line)
				size += len(line) + 2
			}
		}
		if size <= room {
			return strings.Join(lines, "\n\n")
		}
	}
	size, from := 0, len(lines)
	for from > 0 && size+len(lines[from-1])+2 <= room {
		from--
		size += len(lines[from]) + 2
	}
	note := fmt.Sprintf("(%d earlier messages are left out: they did not fit.)", from)
	return strings.Join(append([]string{note}, lines[from:]...), "\n\n")
}

// tell writes one message, or nothing.
func tell(m message.Message, limit int) string {
	switch m := m.(type) {
	case *message.User:
		return line("User", words(m.Content), limit)
	case *message.Custom:
		return line("User", words(m.Content), limit)
	case *message.BranchSummary:
		return line("Summary of a branch that was left", m.Summary, limit)
	case *message.CompactionSummary:
		return line("Summary of what came before", m.Summary, limit)
	case *message.BashExecution:
		if m.ExcludeFromContext {
			return ""
		}
		return line("User ran a command", m.Command+"\n"+clip(m.Output, maxResult), limit)
	case *message.ToolResult:
		who := "Result of " + m.ToolName
		if m.IsError {
			who = "Failure of " + m.ToolName
		}
		return line(who, words(m.Content), min(limit, maxResult))
	case *message.Assistant:
		return answer(m, limit)
	}
	return ""
}

func line(who, text string, limit int) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return "[" + who + "]: " + clip(text, limit)
}

// answer leaves the thinking out.
func answer(m *message.Assistant, limit int) string {
	var parts []string
	if text := line("Assistant", m.Content.PlainText(), limit); text != "" {
		parts = append(parts, text)
	}
	for _, c := range m.Content.ToolCalls() {
		parts = append(parts, line("Assistant called "+c.Name, string(c.Arguments), min(limit, maxResult)))
	}
	return strings.Join(parts, "\n")
}

// words are the texts of a content; a picture is named.
func words(c message.Content) string {
	var parts []string
	for _, b := range c {
		switch b.Type {
		case message.TypeText:
			parts = append(parts, b.Text)
		case message.TypeImage:
			parts = append(parts, "(a picture)")
		}
	}
	return strings.Join(parts, "\n")
}

// clip cuts a text to about limit bytes, between characters.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	at := max(limit, 0)
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return fmt.Sprintf("%s… (%d more bytes)", text[:at], len(text)-at)
}

// files are the files that a conversation read and changed.
type files struct{ reads, changes map[string]bool }

func filesOf(msgs []message.Message) files {
	f := files{map[string]bool{}, map[string]bool{}}
	for _, m := range msgs {
		a, ok := m.(*message.Assistant)
		if !ok {
			continue
		}
		for _, c := range a.Content.ToolCalls() {
			var args struct {
				Path string `json:"path"`
			}
			if json.Unmarshal(c.Arguments, &args) != nil || args.Path == "" || strings.ContainsAny(args.Path, "\n\r") {
				continue
			}
			switch c.Name {
			case "read":
				f.reads[args.Path] = true
			case "edit", "write":
				f.changes[args.Path] = true
			}
		}
	}
	return f
}

// The lists of files stand at the end of a summary.
const (
	readTag    = "read-files"
	changedTag = "modified-files"
)

// add takes over the lists of an earlier summary.
func (f files) add(summary string) {
	for tag, set := range map[string]map[string]bool{readTag: f.reads, changedTag: f.changes} {
		_, rest, ok := strings.Cut(summary, "<"+tag+">\n")
		list, _, closed := strings.Cut(rest, "\n</"+tag+">")
		if !ok || !closed {
			continue
		}
		for name := range strings.Lines(list) {
			if name = strings.TrimSpace(name); name != "" {
				set[name] = true
			}
		}
	}
}

// withoutFiles is a summary without its lists.
func withoutFiles(summary string) string {
	for _, tag := range []string{readTag, changedTag} {
		before, rest, ok := strings.Cut(summary, "<"+tag+">\n")
		_, after, closed := strings.Cut(rest, "\n</"+tag+">")
		if ok && closed {
			summary = before + after
		}
	}
	return strings.TrimSpace(summary)
}

// read lists the files that were read and not changed.
func (f files) read() []string {
	out := []string{}
	for _, name := range slices.Sorted(maps.Keys(f.reads)) {
		if !f.changes[name] {
			out = append(out, name)
		}
	}
	return out
}

func (f files) modified() []string { return append([]string{}, slices.Sorted(maps.Keys(f.changes))...) }

func (f files) text() string {
	var b strings.Builder
	for _, l := range []struct {
		tag   string
		names []string
	}{{readTag, f.read()}, {changedTag, f.modified()}} {
		if len(l.names) > 0 {
			b.WriteString("\n\n<" + l.tag + ">\n" + strings.Join(l.names, "\n") + "\n</" + l.tag + ">")
		}
	}
	return b.String()
}
