package subagent

import (
	"slices"
	"strings"

	"github.com/piweb-go/piweb/internal/frontmatter"
)

// page is the text of a profile, taken apart so that one key can be changed and
// everything else stays to the byte: other keys, comments, their order.
type page struct {
	bom    string
	eol    string
	blocks []block // of the front matter
	body   string  // what stands behind it, as it stands
	fields map[string]any
}

// block is a key with the lines that belong to it, or lines that belong to none
// (key "").
type block struct {
	key   string
	lines string
}

// openPage takes a profile's text apart. "" is a new page. A text whose front
// matter is not valid is not touched (ErrMalformed).
func openPage(text string) (*page, error) {
	p := &page{eol: "\n", fields: map[string]any{}}
	if text == "" {
		return p, nil
	}
	d := frontmatter.Parse(text)
	if d.Problem != nil {
		return nil, ErrMalformed
	}
	p.fields = d.Fields
	if rest, ok := strings.CutPrefix(text, "\ufeff"); ok {
		p.bom, text = "\ufeff", rest
	}
	if !d.Present {
		p.body = text
		return p, nil
	}
	lines := strings.SplitAfter(text, "\n")
	if strings.HasSuffix(lines[0], "\r\n") {
		p.eol = "\r\n"
	}
	end := slices.IndexFunc(lines[1:], func(l string) bool { return strings.HasPrefix(l, "---") }) + 1
	if end < 1 {
		return nil, ErrMalformed
	}
	for _, l := range lines[1:end] {
		key := keyOf(l)
		if n := len(p.blocks); key == "" && n > 0 {
			p.blocks[n-1].lines += l
			continue
		}
		p.blocks = append(p.blocks, block{key, l})
	}
	p.body = strings.Join(lines[end+1:], "")
	return p, nil
}

// keyOf is the key that a line begins at the margin, or "".
func keyOf(line string) string {
	name, _, ok := strings.Cut(line, ":")
	if !ok || name == "" || strings.ContainsAny(name[:1], " \t#-\"'{[") {
		return ""
	}
	return strings.TrimSpace(name)
}

func (p *page) at(key string) int {
	return slices.IndexFunc(p.blocks, func(b block) bool { return b.key == key })
}

func (p *page) has(key string) bool { return p.at(key) >= 0 }

// set gives a key a value, in its place where it has one.
func (p *page) set(key, value string) {
	line := key + ": " + value + p.eol
	i := p.at(key)
	if i < 0 {
		p.blocks = append(p.blocks, block{key, line})
		return
	}
	p.blocks[i].lines = line + comments(p.blocks[i].lines)
}

// comments are the whole-line comments and blank lines of a block, which belong to
// nobody's value.
func comments(lines string) string {
	var b strings.Builder
	for i, l := range strings.SplitAfter(lines, "\n") {
		if t := strings.TrimSpace(l); i > 0 && l != "" && (t == "" || strings.HasPrefix(t, "#")) {
			b.WriteString(l)
		}
	}
	return b.String()
}

// orDrop sets a key, or takes it away where the value is "".
func (p *page) orDrop(key, value string) {
	if value != "" {
		p.set(key, value)
		return
	}
	if i := p.at(key); i >= 0 {
		p.blocks = slices.Delete(p.blocks, i, i+1)
	}
}

// alias keeps another program's name of a switch in step: it is written with a new
// file, and changed only while it holds a switch and no list.
func (p *page) alias(key string, on, fresh bool) {
	word := map[bool]string{true: "true", false: "false"}[on]
	if !p.has(key) {
		if fresh {
			p.set(key, word)
		}
		return
	}
	switch v := p.fields[key].(type) {
	case bool:
		p.set(key, word)
	case string:
		if slices.Contains([]string{"none", "all", "true", "false"}, strings.ToLower(strings.TrimSpace(v))) {
			p.set(key, word)
		}
	}
}

// foreignTools are the items of tools that select tools of extensions; they are not
// ours to change.
func (p *page) foreignTools() []string {
	var out []string
	add := func(s string) {
		if s = strings.TrimSpace(s); strings.HasPrefix(s, "ext:") && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	switch v := p.fields["tools"].(type) {
	case string:
		for s := range strings.SplitSeq(v, ",") {
			add(s)
		}
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok {
				add(s)
			}
		}
	}
	return out
}

// text is the page with another body.
func (p *page) text(prompt string) string {
	return p.head() + p.eol + strings.ReplaceAll(prompt, "\n", p.eol) + p.eol
}

// whole is the page with its own body.
func (p *page) whole() string { return p.head() + p.body }

func (p *page) head() string {
	var b strings.Builder
	b.WriteString(p.bom + "---" + p.eol)
	for _, bl := range p.blocks {
		b.WriteString(bl.lines)
		if !strings.HasSuffix(bl.lines, "\n") {
			b.WriteString(p.eol)
		}
	}
	b.WriteString("---" + p.eol)
	return b.String()
}
