package artifact

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/piweb-go/piweb/internal/confine"
	"github.com/piweb-go/piweb/internal/durable"
)

// sessionSuffix is what a session file's name ends in. A file without it has no
// folder beside it.
const sessionSuffix = ".jsonl"

// Folder is where the outputs of a session file lie; "" where it can have none.
func Folder(sessionFile string) string {
	dir, ok := strings.CutSuffix(sessionFile, sessionSuffix)
	if !ok || filepath.Base(dir) == "" || strings.HasSuffix(dir, string(filepath.Separator)) {
		return ""
	}
	return dir
}

// folder is the open folder of a session. Everything in it is reached through the
// handle, so that neither a name nor a link put there leads out of it.
type folder struct {
	root *os.Root
	fs   durable.FS
	path string
}

// openFolder opens the folder of a session, which must be a real one.
func openFolder(path string, wrap func(durable.FS) durable.FS) (*folder, error) {
	seen, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: nothing was kept for this session so far", path, ErrNoFolder)
	}
	if err != nil {
		return nil, err
	}
	if seen.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s: %w; replace it by a folder", path, ErrLinked)
	}
	if !seen.IsDir() {
		return nil, fmt.Errorf("%s: it is not a folder; whole outputs of the session would lie there: %w", path, ErrTaken)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	if info, err := root.Stat("."); err != nil || !os.SameFile(seen, info) {
		_ = root.Close()
		return nil, fmt.Errorf("%s: it was replaced while it was opened: %w", path, ErrLinked)
	}
	f := &folder{root: root, fs: durable.Under(root), path: path}
	if wrap != nil {
		f.fs = wrap(f.fs)
	}
	return f, nil
}

// makeFolder makes the folder if it is not there, durable, and opens it. The
// folder above must exist: it is the one of the session file.
func makeFolder(path string, wrap func(durable.FS) durable.FS) (*folder, error) {
	f, err := openFolder(path, wrap)
	if !errors.Is(err, ErrNoFolder) {
		return f, err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the folder for whole outputs: %w", err)
	}
	if err := (durable.OS{}).SyncDir(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("sync the folder of %s: %w", path, err)
	}
	return openFolder(path, wrap)
}

func (f *folder) close() { _ = f.root.Close() }

// entries lists the folder, in the order of names.
func (f *folder) entries() ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", f.path, err)
	}
	return list, nil
}

// open opens a regular file of the folder for reading. The name comes from a
// listing or is built from checked parts. A link is refused, also one that takes
// the place of the file between the look and the opening.
func (f *folder) open(name string) (*os.File, fs.FileInfo, error) {
	refuse := func(err error) (*os.File, fs.FileInfo, error) {
		return nil, nil, &confine.Error{Op: "open", Root: f.path, Name: name, Err: err}
	}
	seen, err := f.root.Lstat(name)
	switch {
	case err != nil:
		return refuse(reason(err))
	case seen.Mode()&fs.ModeSymlink != 0:
		return refuse(ErrLinked)
	case !seen.Mode().IsRegular():
		return refuse(confine.ErrNotRegular)
	}
	file, err := f.root.Open(name)
	if err != nil {
		return refuse(reason(err))
	}
	info, err := file.Stat()
	if err == nil && !os.SameFile(seen, info) {
		err = ErrLinked
	}
	if err != nil {
		_ = file.Close()
		return refuse(err)
	}
	return file, info, nil
}

// reason is an error of the file system without the path, which is said anyway.
func reason(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
