package resource

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/piweb-go/piweb/internal/frontmatter"
)

// Template is a prompt with places for arguments, typed as /NAME.
type Template struct {
	Name        string // of the file, without .md
	Description string
	Hint        string // what its arguments are, "" where it does not say
	Path        string
	Scope       Scope
	Body        string
	SHA256      string // of the file
	Warnings    []string
}

// Templates finds the prompt templates of a place: those that the project's
// settings name and those of <cwd>/.pi/prompts, if the project is trusted, then
// the user's, then those of installed packages. Of two with one name the first counts.
func Templates(p Place) ([]Template, []Omission) {
	r := newReader(p)
	var out []Template
	taken := map[string]string{}
	for _, f := range r.find(p, "prompts", p.locations("prompts", p.Templates, flatMarkdown)) {
		c, ok := r.text(f)
		if !ok {
			continue
		}
		t := parseTemplate(f, c)
		if at := taken[t.Name]; at != "" {
			r.omit(f.path, fmt.Sprintf("the name %q is taken by %s", "/"+t.Name, at), nil)
			continue
		}
		taken[t.Name] = f.path
		out = append(out, t)
	}
	return out, r.omissions
}

func parseTemplate(f file, c ContextFile) Template {
	d := frontmatter.Parse(c.Text)
	t := Template{Name: strings.TrimSuffix(filepath.Base(f.path), ".md"), Path: f.path, Scope: f.scope, Body: d.Body, SHA256: c.SHA256}
	if d.Problem != nil {
		t.Warnings = append(t.Warnings, d.Problem.Error())
	}
	t.Hint, _ = d.Text("argument-hint")
	if t.Description, _ = d.Text("description"); t.Description != "" {
		return t
	}
	const most = 60
	for line := range strings.Lines(d.Body) {
		if line = strings.TrimSuffix(line, "\n"); strings.TrimSpace(line) == "" {
			continue
		}
		t.Description = line
		if runes := []rune(line); len(runes) > most {
			t.Description = string(runes[:most]) + "..."
		}
		break
	}
	return t
}

// Expand puts arguments into the template, in one pass: what an argument or a
// default holds is not looked at again.
func (t Template) Expand(args string) string { return substitute(t.Body, Arguments(args)) }

// Arguments splits what stands behind a template's name. A quote counts only at
// the start of an argument; a backslash escapes only the open quote; a quote that
// nothing closes is a letter like any other.
func Arguments(s string) []string {
	runes := []rune(s)
	args := []string{}
	var current []rune
	began := false
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case isSpace(c):
			if began {
				args = append(args, string(current))
			}
			current, began = nil, false
		case (c == '"' || c == '\'') && !began:
			began = true
			if text, end, ok := quoted(runes, i); ok {
				current, i = text, end
			} else {
				current = []rune{c}
			}
		default:
			current, began = append(current, c), true
		}
	}
	if began {
		args = append(args, string(current))
	}
	return args
}

// quoted reads from an opening quote to the closing one.
func quoted(runes []rune, at int) (text []rune, end int, ok bool) {
	quote := runes[at]
	for i := at + 1; i < len(runes); i++ {
		switch {
		case runes[i] == '\\' && i+1 < len(runes) && runes[i+1] == quote:
			text = append(text, quote)
			i++
		case runes[i] == quote:
			return text, i, true
		default:
			text = append(text, runes[i])
		}
	}
	return nil, 0, false
}

// isSpace is what JavaScript takes for white space.
func isSpace(r rune) bool { return r == '\ufeff' || unicode.IsSpace(r) && r != '\u0085' }

var placeholder = regexp.MustCompile(`\$\{(\d+|ARGUMENTS|@):-([^}]*)\}|\$\{@:(\d+)(?::(\d+))?\}|\$(ARGUMENTS|@|\d+)`)

func substitute(body string, args []string) string {
	all := strings.Join(args, " ")
	nth := func(digits string) string {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || n > len(args) {
			return ""
		}
		return args[n-1]
	}
	value := func(name string) string {
		if name == "@" || name == "ARGUMENTS" {
			return all
		}
		return nth(name)
	}
	var out strings.Builder
	last := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(body, -1) {
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return body[m[2*i]:m[2*i+1]]
		}
		out.WriteString(body[last:m[0]])
		last = m[1]
		switch {
		case m[2] >= 0: // ${N:-default}
			if v := value(group(1)); v != "" {
				out.WriteString(v)
			} else {
				out.WriteString(group(2))
			}
		case m[6] >= 0: // ${@:N} and ${@:N:L}
			out.WriteString(slice(args, group(3), group(4), m[8] >= 0))
		default:
			out.WriteString(value(group(5)))
		}
	}
	out.WriteString(body[last:])
	return out.String()
}

func slice(args []string, from, length string, bounded bool) string {
	start := max(count(from)-1, 0) // 0 means 1
	if start >= len(args) {
		return ""
	}
	args = args[start:]
	if bounded {
		args = args[:min(count(length), len(args))]
	}
	return strings.Join(args, " ")
}

// count is a number of digits; one that is too large is very large.
func count(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 1 << 30
	}
	return n
}

// Slash splits "/NAME arguments"; ok is false for any other text. The name ends
// at the first white space, the arguments keep what they end with.
func Slash(text string) (name, args string, ok bool) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	if i := strings.IndexFunc(rest, isSpace); i >= 0 {
		name, args = rest[:i], strings.TrimLeftFunc(rest[i:], isSpace)
	} else {
		name = rest
	}
	return name, args, name != ""
}
