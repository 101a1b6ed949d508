package files

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/piweb-go/piweb/completion"
	"github.com/piweb-go/piweb/internal/confine"
)

const (
	previewBytes = 8 << 10 // of a file that are shown
	previewLines = 40
)

// Preview is the beginning of a file, for people.
type Preview struct {
	Path   string `json:"path"`
	Text   string `json:"text,omitempty"`
	Size   int64  `json:"size"` // bytes
	More   bool   `json:"more,omitempty"`
	Binary bool   `json:"binary,omitempty"`
	Folder bool   `json:"folder,omitempty"`
}

// PreviewOf shows a file below a folder that may be named there; see [Gate]. Lines
// behind the path choose where it begins.
func PreviewOf(folder, id string) (Preview, error) {
	root, err := confine.OpenRoot(folder)
	if err != nil {
		return Preview{}, err
	}
	defer root.Close()
	n, err := Gate(root, id, completion.Lines{})
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Path: n.Path, Size: n.Info.Size(), Folder: n.Folder}
	if n.Folder {
		p.Size = 0
		return p, nil
	}
	data, err := readNamed(root, n, previewBytes+1)
	if err != nil {
		return Preview{}, err
	}
	p.More = len(data) > previewBytes
	data = data[:min(len(data), previewBytes)]
	for i := 0; p.More && i < utf8.UTFMax && len(data) > 0 && !utf8.Valid(data); i++ {
		data = data[:len(data)-1] // a character that was cut
	}
	if !utf8.Valid(data) || strings.IndexByte(string(data), 0) >= 0 {
		p.Binary, p.More = true, false
		return p, nil
	}
	lines := strings.SplitAfter(string(data), "\n")
	if from := n.Lines.From - 1; from > 0 {
		lines = lines[min(from, len(lines)):]
	}
	if len(lines) > previewLines {
		lines, p.More = lines[:previewLines], true
	}
	p.Text = strings.Join(lines, "")
	return p, nil
}

// Nothing says that an error of [Gate] or [PreviewOf] is about the path and not about
// the machine: nothing is there, nothing that may be named, or the way there was
// changed while it was gone.
func Nothing(err error) bool {
	for _, is := range []error{
		fs.ErrNotExist, fs.ErrPermission, ErrAbsolute, ErrGit, ErrKind, confine.ErrOutside, confine.ErrName, confine.ErrLoop, confine.ErrNotRegular,
		syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.EINVAL,
	} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// readNamed reads the beginning of a file that passed the gate.
func readNamed(root *confine.Root, n Named, limit int64) ([]byte, error) {
	f, _, err := root.OpenPlain(filepath.FromSlash(n.Real))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
