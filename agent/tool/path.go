package tool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/piweb-go/piweb/internal/confine"
)

// Names come from models, which spell a name as they saw it in a prompt, in a
// listing or in their memory: with the @ of a mention, with a plain space where
// the disk has a no-break one, in another normal form. Two rules keep that
// harmless:
//
//   - The name as given wins wherever it exists, so no file is out of reach and
//     none hides another.
//   - Only reading guesses. Writing takes the name as given, less an @ that
//     marks a mention, because a guess that is wrong would write to the wrong
//     file.

// places says what the names of a call are relative to.
type places struct {
	cwd   string // absolute
	home  string // what ~ stands for, or ""
	reach reach
}

// placesOf is what the names of a call are relative to.
func placesOf(call *Call, home string) places {
	return places{cwd: call.CWD, home: home, reach: call.reach()}
}

// literal is the absolute path of a name, with nothing changed but a leading ~
// that stands for the home directory.
func (p places) literal(name string) string {
	if p.home != "" && strings.HasPrefix(name, "~") {
		rest := name[1:]
		if rest == "" || os.IsPathSeparator(rest[0]) {
			return filepath.Join(p.home, rest)
		}
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(p.cwd, name)
}

// mention returns the name behind the @ that marks a mention.
func mention(name string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(name, "@")
	return rest, ok && rest != ""
}

// forReading is the path of an existing file that name most likely means: the
// name as given, then without the @ of a mention, then with look-alike
// characters exchanged. Without any, it is the path to tell the model of.
func (p places) forReading(name string) string {
	candidates := []string{p.literal(name)}
	if rest, ok := mention(name); ok {
		candidates = append(candidates, p.literal(rest))
	}
	for _, path := range candidates {
		if p.reach.exists(path) {
			return path
		}
	}
	for _, path := range candidates {
		if found, ok := lookAlike(p.reach, path); ok {
			return found
		}
	}
	return candidates[len(candidates)-1]
}

// forWriting is the path that name stands for when it is written to, and the
// name less the @ of a mention. The @ is kept where it is part of the name: the
// file exists under it, or the folder does, as in @types/node.
func (p places) forWriting(name string) (path, plain string) {
	rest, ok := mention(name)
	if !ok || p.reach.exists(p.literal(name)) {
		return p.literal(name), name
	}
	folder := strings.IndexFunc(name, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(byte(r)) })
	if folder > 0 && p.reach.exists(p.literal(name[:folder])) {
		return p.literal(name), name
	}
	return p.literal(rest), rest
}

// exists says whether there is something of that name, be it a link to nowhere.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// lookAlike finds the one existing path that differs from path only in
// characters that look alike. It goes down from the top and lists a folder
// only where the next name is missing; where two names of a folder look like
// the one asked for, neither is taken.
func lookAlike(r reach, path string) (string, bool) {
	at, rest, ok := r.split(path)
	if !ok {
		return "", false
	}
	for name := range strings.SplitSeq(rest, string(filepath.Separator)) {
		next := filepath.Join(at, name)
		if !r.exists(next) {
			found, ok := lookAlikeIn(r, at, name)
			if !ok {
				return "", false
			}
			next = filepath.Join(at, found)
		}
		at = next
	}
	return at, true
}

// lookAlikeIn finds the one name of a folder that looks like another.
func lookAlikeIn(r reach, dir, name string) (found string, ok bool) {
	f, err := r.names(dir)
	if err != nil {
		return "", false
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return "", false
	}
	want := foldName(name)
	for _, e := range entries {
		if foldName(e.Name()) != want {
			continue
		}
		if found != "" {
			return "", false
		}
		found = e.Name()
	}
	return found, found != ""
}

// foldName maps names that look alike to one: composed and decomposed letters,
// the kinds of spaces (macOS puts U+202F before AM and PM), curly and straight
// quotes.
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u2018' || r == '\u2019':
			return '\''
		case r == '\u201C' || r == '\u201D':
			return '"'
		case unicode.Is(unicode.Zs, r):
			return ' '
		}
		return r
	}, norm.NFC.String(name))
}

// realPath follows every link of path, also of a file that does not exist yet
// and of a link to nowhere, so that one file has one name.
func realPath(path string) string {
	const maxLinks = 40 // links followed before a loop is assumed, as in Linux
	for range maxLinks {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
		dest, err := os.Readlink(path)
		if err != nil {
			// Nothing there: follow the links of the folders that are.
			dir := filepath.Dir(path)
			if dir == path {
				return path
			}
			return filepath.Join(realPath(dir), filepath.Base(path))
		}
		if !filepath.IsAbs(dest) {
			dest = filepath.Join(filepath.Dir(path), dest)
		}
		path = dest
	}
	return path
}

// reason is an error of the file system without the path, which the message
// around it names anyway.
func reason(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err.Error()
	}
	if refused, ok := errors.AsType[*confine.Error](err); ok {
		return refused.Err.Error()
	}
	return err.Error()
}
