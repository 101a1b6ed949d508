package ignore

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// config is what of git's configuration bears on ignoring. Later files
// override earlier ones, value by value.
type config struct {
	excludesFile string // core.excludesFile, as written
	excludesSet  bool
	ignoreCase   bool // core.ignorecase
}

const maxIncludes = 10 // files that include one another, as in git

// userConfig reads the configuration of the system and of the user.
func (o *Options) userConfig() config {
	var c config
	if o.Getenv("GIT_CONFIG_NOSYSTEM") == "" && runtime.GOOS != "windows" {
		o.readConfig(&c, "/etc/gitconfig", maxIncludes)
	}
	if file := o.Getenv("GIT_CONFIG_GLOBAL"); file != "" {
		o.readConfig(&c, file, maxIncludes)
		return c
	}
	if dir := o.configHome(); dir != "" {
		o.readConfig(&c, filepath.Join(dir, "config"), maxIncludes)
	}
	if o.Home != "" {
		o.readConfig(&c, filepath.Join(o.Home, ".gitconfig"), maxIncludes)
	}
	return c
}

// configHome is the folder git/ of the user's configuration, or "".
func (o *Options) configHome() string {
	if dir := o.Getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "git")
	}
	if o.Home != "" {
		return filepath.Join(o.Home, ".config", "git")
	}
	return ""
}

// excludesFile is the path of the user's own list, or "". A relative one
// counts from the top of the work tree, where git reads it.
func (o *Options) excludesFile(c config, top string) string {
	if !c.excludesSet {
		if dir := o.configHome(); dir != "" {
			return filepath.Join(dir, "ignore")
		}
		return ""
	}
	return o.expand(c.excludesFile, top)
}

// expand is a path of a configuration file, with a leading ~ and relative to a
// folder.
func (o *Options) expand(path, dir string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && o.Home != "" {
		return filepath.Join(o.Home, filepath.FromSlash(rest))
	}
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, filepath.FromSlash(path))
}

// readConfig reads one configuration file, and the files that it includes.
// Conditional includes are left out.
func (o *Options) readConfig(c *config, file string, depth int) {
	data, err := o.readBounded(file)
	if err != nil || depth == 0 {
		return
	}
	values := configValues(string(data[:min(len(data), MaxFileBytes)]))
	for _, v := range values {
		switch v.key {
		case "core.excludesfile":
			c.excludesFile, c.excludesSet = v.value, true
		case "core.ignorecase":
			c.ignoreCase = isTrue(v)
		case "include.path":
			o.readConfig(c, o.expand(v.value, filepath.Dir(file)), depth-1)
		}
	}
}

type configValue struct {
	key   string // section.name in lower case; empty for a name of a subsection
	value string
	bare  bool // a name without "=", which means true
}

func isTrue(v configValue) bool {
	switch strings.ToLower(v.value) {
	case "true", "yes", "on", "1":
		return true
	}
	return v.bare
}

// configValues reads the syntax of git-config(1) as far as plain sections go.
func configValues(text string) []configValue {
	var values []configValue
	section := ""
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\uFEFF")
	for text != "" {
		text = strings.TrimLeft(text, " \t\n")
		if text == "" {
			break
		}
		if text[0] == '#' || text[0] == ';' {
			_, text, _ = strings.Cut(text, "\n")
			continue
		}
		if text[0] == '[' {
			end := strings.IndexAny(text, "]\n")
			if end < 0 || text[end] != ']' {
				_, text, _ = strings.Cut(text, "\n")
				continue
			}
			section = strings.ToLower(strings.TrimSpace(text[1:end]))
			text = text[end+1:]
			continue
		}
		var v configValue
		var name string
		if end := strings.IndexAny(text, "=\n"); end >= 0 && text[end] == '=' {
			name = text[:end]
			v.value, text = configText(text[end+1:])
		} else {
			name, text, _ = strings.Cut(text, "\n")
			v.bare = true
		}
		v.key = section + "." + strings.ToLower(strings.TrimSpace(name))
		values = append(values, v)
	}
	return values
}

// configText reads a value to the end of its line: quotes, escapes, comments,
// and lines that go on behind a backslash.
func configText(text string) (value, rest string) {
	var out strings.Builder
	kept := 0 // length without the blanks at the end
	quoted := false
	i := 0
	for ; i < len(text) && text[i] != '\n'; i++ {
		c := text[i]
		switch {
		case c == '"':
			quoted = !quoted
			kept = out.Len()
			continue
		case !quoted && (c == '#' || c == ';'):
			_, rest, _ = strings.Cut(text[i:], "\n")
			return out.String()[:kept], rest
		case !quoted && (c == ' ' || c == '\t'):
			if out.Len() > 0 {
				out.WriteByte(c)
			}
			continue
		case c == '\\' && i+1 < len(text):
			i++
			switch text[i] {
			case '\n':
				continue
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			default:
				c = text[i]
			}
		}
		out.WriteByte(c)
		kept = out.Len()
	}
	return out.String()[:kept], text[min(i+1, len(text)):]
}

// readBounded reads a regular file, but no more than one byte over the bound.
func (o *Options) readBounded(path string) ([]byte, error) {
	f, err := o.open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
}

func (o *Options) open(path string) (*os.File, error) {
	if o.OpenFile != nil {
		return o.OpenFile(path)
	}
	// Opening a pipe would wait for a writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errNotRegular}
	}
	return os.Open(path)
}
