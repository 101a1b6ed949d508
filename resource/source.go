package resource

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"

	"github.com/piweb-go/piweb/internal/confine"
)

// Place is where a session runs. All paths are absolute.
type Place struct {
	Cwd      string // working folder of the session
	AgentDir string // the user's agent directory
	Home     string // the user's home; "" where there is none
	Trusted  bool   // the project may bring more than context files

	Skills    Lists // the setting "skills"
	Templates Lists // the setting "prompts"
	Packages  Packages
}

// ContextFile is a file whose text goes to the model.
type ContextFile struct {
	Path string // as it was found, with the spelling of the folder it was looked for in
	Real string // links resolved; equal to Path where there are none
	// Text is what the file holds, byte for byte, without one leading byte order
	// mark. Bytes that are not UTF-8 cannot be sent; they are replaced by U+FFFD
	// as a browser or pi does it.
	Text     string
	Replaced bool   // Text differs from the file in such bytes
	SHA256   string // of the bytes of the file, in hex, as sha256sum prints it
}

// Omission is a file that was looked at and left out, with the reason.
type Omission struct {
	Path   string
	Reason string
	Err    error // what went wrong, if it was an error; matches those of package confine and io/fs
}

// maxSize bounds one file, in bytes. It is far beyond what a model reads; pi has
// no bound.
const maxSize = 64 << 20

// reader reads the files of one place.
type reader struct {
	roots     []string // a link may lead into these
	omissions []Omission
}

func newReader(p Place) *reader {
	project := GitRoot(p.Cwd)
	if project == "" {
		project = p.Cwd
	}
	return &reader{roots: []string{p.AgentDir, p.Home, project}}
}

func (r *reader) omit(path, reason string, err error) {
	r.omissions = append(r.omissions, Omission{Path: path, Reason: reason, Err: err})
}

// read returns the file at path. It is false where there is none, and where it
// was left out and reported. A folder of that name is no file and no omission.
func (r *reader) read(path string) (ContextFile, bool) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ContextFile{}, false
	case err != nil:
		r.omit(path, "it cannot be looked at: "+short(err), err)
		return ContextFile{}, false
	case info.IsDir():
		return ContextFile{}, false
	case info.Mode()&fs.ModeSymlink != 0:
		return r.readLink(path)
	}
	f, _, err := confine.OpenUnlinked(path)
	if err != nil {
		r.omit(path, "it cannot be read: "+short(err), err)
		return ContextFile{}, false
	}
	defer f.Close()
	return r.readOpen(path, path, f)
}

// readThroughLink is read for a file in a folder that is itself a link.
func (r *reader) readThroughLink(path string) (ContextFile, bool) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return ContextFile{}, false
	}
	return r.readLink(path)
}

// readLink follows a link into one of the roots.
func (r *reader) readLink(path string) (ContextFile, bool) {
	f, real, err := confine.OpenWithin(path, r.roots...)
	switch {
	case err == nil:
		defer f.Close()
		return r.readOpen(path, real, f)
	case errors.Is(err, confine.ErrOutside):
		r.omit(path, fmt.Sprintf("it is a link to %s, outside the agent directory, the home folder and the project", filepath.ToSlash(real)), err)
	case errors.Is(err, fs.ErrNotExist):
		r.omit(path, "it is a link to a file that does not exist", err)
	case isFolder(path):
		// A folder by way of a link is no file either.
	default:
		r.omit(path, "it is a link that cannot be followed: "+short(err), err)
	}
	return ContextFile{}, false
}

func (r *reader) readOpen(path, real string, f *os.File) (ContextFile, bool) {
	data, err := confine.ReadOpen(f, maxSize)
	if err != nil {
		r.omit(path, "it cannot be read: "+short(err), err)
		return ContextFile{}, false
	}
	sum := sha256.Sum256(data)
	text, replaced := decode(data)
	return ContextFile{Path: path, Real: real, Text: text, Replaced: replaced, SHA256: hex.EncodeToString(sum[:])}, true
}

// decode drops one byte order mark and makes the rest UTF-8.
func decode(data []byte) (text string, replaced bool) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if utf8.Valid(data) {
		return string(data), false
	}
	// One U+FFFD for each maximal part of a broken sequence, where Go's own
	// conversion writes one for each byte.
	repaired, err := unicode.UTF8.NewDecoder().Bytes(data)
	if err != nil {
		repaired = bytes.ToValidUTF8(data, []byte("\ufffd"))
	}
	return string(repaired), true
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// short is the reason within an error, without the path that is shown anyway.
func short(err error) string {
	var ce *confine.Error
	var pe *fs.PathError
	switch {
	case errors.As(err, &ce):
		return ce.Err.Error()
	case errors.As(err, &pe):
		return pe.Err.Error()
	}
	return err.Error()
}
