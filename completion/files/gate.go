package files

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/piweb-go/piweb/completion"
	"github.com/piweb-go/piweb/internal/confine"
	"golang.org/x/text/unicode/norm"
)

// The reasons for which a path may not be named; match them with errors.Is. What
// is missing matches fs.ErrNotExist, what leads outside confine.ErrOutside.
var (
	ErrAbsolute = errors.New("is an absolute path; name it from the working folder on")
	ErrGit      = errors.New("lies in git's own folder")
	ErrKind     = errors.New("is neither a file nor a folder")
)

// Named is a path that may be named.
type Named struct {
	Path   string // as the text has it, normalised: from the working folder on, with forward slashes
	Real   string // where its links lead, below the working folder
	Lines  completion.Lines
	Folder bool
	Info   fs.FileInfo
}

// Gate judges a path that somebody has written, by the path that its links lead
// to: only what lies in the root passes. The path may carry a range of lines,
// unless a file is called so. Where nothing has that name, one that differs only
// in its normal form or in the kind of its blanks is taken.
//
// The answer is true when it is given. Whoever reads the file later opens it by
// Real with [confine.Root.OpenPlain], which follows no link at all.
func Gate(root *confine.Root, id string, lines completion.Lines) (Named, error) {
	n, err := judge(root, id)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		n.Lines = lines
		return n, err
	}
	if path, l := completion.SplitLines(id); l != (completion.Lines{}) && lines == (completion.Lines{}) {
		if n, lineErr := judge(root, path); lineErr == nil && !n.Folder {
			n.Lines = l
			return n, nil
		}
	}
	if path, ok := look(root, id); ok {
		n, err = judge(root, path)
		n.Lines = lines
	}
	return n, err
}

func judge(root *confine.Root, id string) (Named, error) {
	if filepath.IsAbs(id) || strings.HasPrefix(id, "/") || strings.HasPrefix(id, `\`) && filepath.Separator == '\\' {
		return Named{}, refuse(id, ErrAbsolute)
	}
	rel, err := root.Rel(id)
	if err != nil {
		return Named{}, err
	}
	real, info, err := root.Resolve(rel)
	if err != nil {
		return Named{}, err
	}
	n := Named{Path: filepath.ToSlash(rel), Real: filepath.ToSlash(real), Folder: info.IsDir(), Info: info}
	switch {
	case InGit(n.Path) || InGit(n.Real):
		return Named{}, refuse(id, ErrGit)
	case !info.IsDir() && !info.Mode().IsRegular():
		return Named{}, refuse(id, ErrKind)
	case n.Folder && strings.HasSuffix(id, "/") && n.Path != ".":
		n.Path += "/"
	case !n.Folder && strings.HasSuffix(id, "/"):
		return Named{}, refuse(id, fs.ErrNotExist)
	}
	return n, nil
}

func refuse(id string, err error) error { return fmt.Errorf("%q %w", id, err) }

// InGit says that a path leads into a folder that is git's own.
func InGit(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if isGit(part) {
			return true
		}
	}
	return false
}

// maxLook is how many names of a folder are compared with one that is not there.
const maxLook = 20_000

// look finds the path that is meant by one of other spelling, name by name.
func look(root *confine.Root, id string) (string, bool) {
	if norm.NFC.IsNormalString(id) && isASCII(id) && !strings.Contains(id, " ") {
		return "", false // nothing to spell otherwise, unless a name has odd blanks
	}
	rel, err := root.Rel(id)
	if err != nil {
		return "", false
	}
	at := "."
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		name, ok := lookIn(root, at, part)
		if !ok {
			return "", false
		}
		at = filepath.Join(at, name)
	}
	return at, true
}

// lookIn finds the one name of a folder that is spelled like another.
func lookIn(root *confine.Root, folder, name string) (found string, ok bool) {
	f, err := root.OpenFolder(folder, false)
	if err != nil {
		return "", false
	}
	defer f.Close()
	names, err := f.Readdirnames(maxLook)
	if err != nil {
		return "", false
	}
	want := spelled(name)
	for _, n := range names {
		switch {
		case n == name:
			return n, true
		case spelled(n) == want:
			if found != "" {
				return "", false // two could be meant
			}
			found = n
		}
	}
	return found, found != ""
}

// spelled is the form in which names are compared that look alike.
func spelled(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\u00a0', '\u202f', '\u2007', '\u2009', '\u3000':
			return ' '
		}
		return r
	}, norm.NFC.String(name))
}
