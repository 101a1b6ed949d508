package tool

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/piweb-go/piweb/message"
)

// proseFiles holds, per tool, NAME.md with the sections description, snippet
// and guidelines, and NAME.schema.json with the parameters. Limits stand there
// as words in braces, so that a number is written down once.
//
//go:embed prose
var proseFiles embed.FS

// describe reads the prose of a tool. The files are part of the binary, so a
// broken one is a defect that the first test meets: it panics.
func describe(name string) described {
	text := readProse(name + ".md")
	sections := proseSections(text)
	var schema bytes.Buffer
	if err := json.Compact(&schema, []byte(readProse(name+".schema.json"))); err != nil {
		panic(fmt.Sprintf("tool: prose/%s.schema.json: %v", name, err))
	}
	if sections["description"] == "" || sections["snippet"] == "" {
		panic(fmt.Sprintf("tool: prose/%s.md: description or snippet is missing", name))
	}
	return described{
		decl: message.ToolDeclaration{
			Name:        name,
			Description: sections["description"],
			Parameters:  schema.Bytes(),
		},
		snippet:    sections["snippet"],
		guidelines: bullets(sections["guidelines"]),
	}
}

func readProse(file string) string {
	data, err := proseFiles.ReadFile("prose/" + file)
	if err != nil {
		panic("tool: " + err.Error())
	}
	return strings.NewReplacer(
		"{lines}", strconv.Itoa(MaxLines),
		"{size}", formatSize(MaxBytes),
		"{entries}", strconv.Itoa(lsDefaultLimit),
		"{matches}", strconv.Itoa(grepDefaultLimit),
		"{results}", strconv.Itoa(findDefaultLimit),
		"{units}", strconv.Itoa(shownUnits),
	).Replace(string(data))
}

// proseSections splits a file at its "# name" lines. Lines of a paragraph are
// joined by a space, so that the files can be wrapped for people; a line that
// begins a list item stays a line.
func proseSections(text string) map[string]string {
	sections := map[string]string{}
	var name string
	var out strings.Builder
	flush := func() {
		if name != "" {
			sections[name] = strings.TrimSpace(out.String())
		}
		out.Reset()
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "# "):
			flush()
			name = strings.TrimPrefix(line, "# ")
		case line == "":
			out.WriteString("\n\n")
		case strings.HasPrefix(line, "- "):
			out.WriteString("\n" + line)
		default:
			if s := out.String(); s != "" && !strings.HasSuffix(s, "\n") {
				out.WriteByte(' ')
			}
			out.WriteString(line)
		}
	}
	flush()
	return sections
}

func bullets(text string) []string {
	var items []string
	for line := range strings.Lines(text) {
		if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			items = append(items, item)
		}
	}
	return items
}
