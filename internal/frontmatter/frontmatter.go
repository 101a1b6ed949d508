// Package frontmatter splits a Markdown file into the YAML between its first two
// "---" lines and the text behind it, and reads the YAML with patience.
//
// The files are written by people and by models: descriptions with a colon in
// them, keys that are given twice, tabs. Where the YAML is not valid the lines are
// read one by one as "key: value", and [Document.Problem] says so, so that a
// mistake in one line does not take a whole file away (departure from pi, which
// leaves the file out).
//
// Values are what JSON has: strings, booleans, float64, nil, lists and maps. A
// date stays the string that it is, and yes is no boolean, as in YAML 1.2. The
// package only reads texts that are handed in; what they may hold is bounded.
//
// Source of the rules: pi 1.6.0, "Skills" and "Prompt templates".
package frontmatter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds of the YAML part.
const (
	MaxBytes = 256 << 10
	maxNodes = 10_000 // with everything that aliases repeat
	maxDepth = 64
)

// Document is a file in its two parts.
type Document struct {
	Fields  map[string]any // never nil
	Body    string         // trimmed where there is front matter; line ends are LF
	Present bool           // there is front matter, if only an empty one
	// Problem is what is wrong with the YAML; Fields holds what could be read
	// nevertheless.
	Problem error
}

// Parse reads a file. A byte order mark at its start is passed over.
func Parse(text string) Document {
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	d := Document{Fields: map[string]any{}, Body: text}
	rest, ok := strings.CutPrefix(text, "---")
	if !ok {
		return d
	}
	end := strings.Index(rest, "\n---")
	if end < 0 {
		return d
	}
	head := rest[:end]
	if !strings.HasPrefix(head, "\n") && strings.TrimSpace(head) != "" {
		// "--- a" or "----": a rule of dashes and no front matter.
		if line, _, _ := strings.Cut(head, "\n"); strings.TrimSpace(line) != "" {
			return d
		}
	}
	d.Present = true
	d.Body = strings.TrimSpace(rest[end+len("\n---"):])
	d.Fields, d.Problem = fields(head)
	return d
}

func fields(text string) (map[string]any, error) {
	if strings.TrimSpace(text) == "" {
		return map[string]any{}, nil
	}
	if len(text) > MaxBytes {
		return map[string]any{}, fmt.Errorf("its front matter has more than %d bytes", MaxBytes)
	}
	m, err := strict(text)
	if err == nil {
		return m, nil
	}
	return byLine(text), err
}

// strict reads YAML as YAML.
func strict(text string) (m map[string]any, err error) {
	defer func() {
		if broken := recover(); broken != nil { // the library has panicked on odd input before
			err = fmt.Errorf("its front matter cannot be read: %v", broken)
		}
	}()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text+"\n"), &doc); err != nil {
		return nil, fmt.Errorf("its front matter is not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if doc.Kind == 0 || len(doc.Content) == 0 {
		return map[string]any{}, nil
	}
	c := converter{left: maxNodes}
	v, err := c.value(doc.Content[0], 0)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case map[string]any:
		return v, nil
	case nil:
		return map[string]any{}, nil
	}
	return nil, errors.New("its front matter is no list of \"key: value\" lines")
}

type converter struct{ left int }

var errTooMuch = errors.New("its front matter holds more than can be meant")

func (c *converter) value(n *yaml.Node, depth int) (any, error) {
	if c.left--; c.left < 0 || depth > maxDepth {
		return nil, errTooMuch
	}
	switch n.Kind {
	case yaml.AliasNode:
		return c.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			v, err := c.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode {
				return nil, errors.New("its front matter has a key that is no text")
			}
			if _, twice := m[key.Value]; twice {
				return nil, fmt.Errorf("its front matter has the key %q twice", key.Value)
			}
			v, err := c.value(n.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			m[key.Value] = v
		}
		return m, nil
	}
	return scalar(n), nil
}

func scalar(n *yaml.Node) any {
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return n.Value
	}
	return plain(n.Value)
}

// plain is the value of a scalar without quotes, by the core schema of YAML 1.2.
func plain(s string) any {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	if c := s[0]; c != '-' && c != '+' && c != '.' && (c < '0' || c > '9') {
		return s
	}
	if strings.Trim(s, "0123456789+-.eE") == "" {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return f
		}
	}
	return s
}

// byLine reads "key: value" and "- item" lines. Of a key that is given twice the
// last one counts; lines that are neither go on with the value before them.
func byLine(text string) map[string]any {
	m := map[string]any{}
	key := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\n")
		bare := strings.TrimSpace(line)
		if bare == "" || strings.HasPrefix(bare, "#") {
			continue
		}
		indented := line != strings.TrimLeft(line, " \t")
		if item, ok := strings.CutPrefix(bare, "- "); ok && key != "" {
			list, _ := m[key].([]any)
			if m[key] == nil || list != nil {
				m[key] = append(list, loose(item))
				continue
			}
		}
		name, value, ok := strings.Cut(bare, ":")
		if ok && !indented && isKey(name) && (value == "" || value[0] == ' ' || value[0] == '\t') {
			key = name
			m[key] = loose(value)
			continue
		}
		if before, ok := m[key].(string); ok && key != "" {
			m[key] = before + " " + bare
		}
	}
	return m
}

func isKey(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	return strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// loose is the value of a line: what is quoted without its quotes, "[a, b]" as a
// list.
func loose(s string) any {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	if inner, ok := strings.CutPrefix(s, "["); ok && strings.HasSuffix(inner, "]") {
		list := []any{}
		for item := range strings.SplitSeq(strings.TrimSuffix(inner, "]"), ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, loose(item))
			}
		}
		return list
	}
	return plain(s)
}

// Text is a field that is a string, as it stands.
func (d Document) Text(key string) (string, bool) {
	s, ok := d.Fields[key].(string)
	return s, ok
}
