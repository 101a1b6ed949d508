package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestDocsTellOfCommandsThatExist: every command line in README, docs and the examples
// of the program's own help names commands and flags that there are.
func TestDocsTellOfCommandsThatExist(t *testing.T) {
	n := 0
	for name, text := range documents(t) {
		for _, line := range commandLines(text) {
			n++
			if why := unknownIn(line); why != "" {
				t.Errorf("%s: %q: %s", name, line, why)
			}
		}
	}
	var examples func(c *cobra.Command)
	examples = func(c *cobra.Command) {
		for line := range strings.Lines(c.Example) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "piweb") {
				n++
				if why := unknownIn(line); why != "" {
					t.Errorf("help of %s: %q: %s", c.CommandPath(), line, why)
				}
			}
		}
		for _, sub := range c.Commands() {
			examples(sub)
		}
	}
	examples(commands())
	if n < 100 {
		t.Errorf("only %d command lines were found", n)
	}
	for line, wrong := range map[string]bool{"piweb sessions lost": true, "piweb run --loud x": true, "piweb nothing": true,
		"piweb sessions fork ID [--at ENTRY [--before]]": false, `piweb run "--odd"`: false, "PI=1 piweb run -- --x": false} {
		if (unknownIn(line) != "") != wrong {
			t.Errorf("the check of %q says %q", line, unknownIn(line))
		}
	}
}

// TestDocsLinkToWhatThereIs checks the links between the documents.
func TestDocsLinkToWhatThereIs(t *testing.T) {
	links := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings := regexp.MustCompile(`(?m)^#+ (.+)$`)
	for name, text := range documents(t) {
		for _, m := range links.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			to := filepath.Join(filepath.Dir(name), filepath.FromSlash(file))
			if file == "" {
				to = name
			}
			data, err := os.ReadFile(to)
			if info, serr := os.Stat(to); serr != nil {
				t.Errorf("%s: the link %s leads nowhere", name, m[1])
				continue
			} else if info.IsDir() || anchor == "" {
				continue
			}
			found := err == nil
			if found {
				found = false
				for _, h := range headings.FindAllStringSubmatch(string(data), -1) {
					found = found || slug(h[1]) == anchor
				}
			}
			if !found {
				t.Errorf("%s: %s has no heading for #%s", name, to, anchor)
			}
		}
	}
}

// slug is the anchor that a heading gets.
func slug(heading string) string {
	return strings.ReplaceAll(regexp.MustCompile("[^\\p{L}\\p{N} _-]").ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

func documents(t *testing.T) map[string]string {
	t.Helper()
	found, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range append(found, "../../README.md", "../../CONTRIBUTING.md", "../../ARCHITECTURE.md") {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(data)
	}
	return out
}

var span = regexp.MustCompile("`([^`\n]+)`")

// commandLines are the command lines of piweb in a document: in blocks of code, and
// in code within a line.
func commandLines(text string) (out []string) {
	fenced := false
	for line := range strings.Lines(text) {
		code := strings.TrimSpace(line)
		if strings.HasPrefix(code, "```") {
			fenced = !fenced
			continue
		}
		if fenced || strings.HasPrefix(line, "    ") {
			if code = strings.TrimPrefix(code, "$ "); strings.HasPrefix(code, "piweb ") {
				out = append(out, code)
			}
			continue
		}
		for _, m := range span.FindAllStringSubmatch(line, -1) {
			if strings.HasPrefix(m[1], "piweb ") {
				out = append(out, m[1])
			}
		}
	}
	return out
}

func commands() *cobra.Command {
	a := &app{out: &watched{w: io.Discard}, err: io.Discard}
	root := a.root()
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	return root
}

var word = regexp.MustCompile(`"[^"]*"|'[^']*'|[^\s]+`)

// unknownIn says what a command line names that there is not, or "".
func unknownIn(line string) string {
	_, line, _ = strings.Cut(line, "piweb")
	line, _, _ = strings.Cut(line, " #")
	line, _, _ = strings.Cut(line, " (")
	line, _, _ = strings.Cut(line, " && ")
	line, _, _ = strings.Cut(line, " | ")
	line, _, _ = strings.Cut(line, " > ")
	line, _, _ = strings.Cut(line, "   ") // a column of words about it
	var names, flags []string
	for _, w := range word.FindAllString(line, -1) {
		w = strings.Trim(w, "[]()…,;.")
		if w == "--" {
			break
		}
		switch {
		case strings.HasPrefix(w, "-"):
			for _, f := range strings.Split(w, "|") { // --this|--that
				f, _, _ = strings.Cut(strings.TrimLeft(f, "-"), "=")
				flags = append(flags, f)
			}
		case w != "":
			names = append(names, w)
		}
	}
	cmd := commands()
	for len(names) > 0 {
		var next *cobra.Command
		for _, sub := range cmd.Commands() {
			// a|b: each of them is looked at, the last one goes on.
			for _, name := range strings.Split(names[0], "|") {
				if sub.Name() == name || sub.HasAlias(name) {
					next = sub
				}
			}
		}
		if next == nil {
			break
		}
		cmd, names = next, names[1:]
	}
	if cmd.HasAvailableSubCommands() && len(names) > 0 && !cmd.HasParent() {
		return "there is no command " + names[0]
	}
	if cmd.HasAvailableSubCommands() && len(names) > 0 && cmd.Args != nil && cmd.Args(cmd, names) != nil {
		return cmd.CommandPath() + " has no command " + names[0]
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	for _, name := range flags {
		var f *pflag.Flag
		if f = cmd.Flag(name); f == nil && len(name) == 1 {
			f = cmd.Flags().ShorthandLookup(name)
		}
		if f == nil {
			return cmd.CommandPath() + " has no flag --" + name
		}
	}
	return ""
}
