package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/piweb-go/piweb/internal/confine"
	"github.com/piweb-go/piweb/internal/ignore"
)

// reach is how a file tool gets at files. Paths are absolute and clean. There are
// two: the machine, with the rights of the process, and a folder that nothing leads
// out of.
type reach interface {
	// exists says whether there is something of that name.
	exists(path string) bool
	stat(path string) (fs.FileInfo, error)
	// open opens a regular file for reading.
	open(path string) (*os.File, error)
	// openFound is open for a file that a walk has met.
	openFound(path string) (*os.File, error)
	// names opens a folder, for reading its entries.
	names(path string) (fs.ReadDirFile, error)
	// walk walks a folder by the ignore rules.
	walk(ctx context.Context, root string, opts ignore.WalkOptions, fn func(ignore.Entry) error) error
	// save makes data the content of a file, see save.go; folders that are missing
	// are made if asked for.
	save(path string, data []byte, folders bool) error
	// split is where a search for a path by its parts begins, and the parts. ok is
	// false if the path is out of reach.
	split(path string) (top, rest string, ok bool)
}

// reach is how far a call reaches.
func (c *Call) reach() reach {
	if c.Root != nil {
		return confined{c.Root}
	}
	return machine{}
}

// machine reaches every file.
type machine struct{}

func (machine) exists(path string) bool                   { return exists(path) }
func (machine) stat(path string) (fs.FileInfo, error)     { return os.Stat(path) }
func (machine) open(path string) (*os.File, error)        { return openForReading(path) }
func (machine) openFound(path string) (*os.File, error)   { return os.Open(path) }
func (machine) names(path string) (fs.ReadDirFile, error) { return os.Open(path) }

func (machine) walk(ctx context.Context, root string, opts ignore.WalkOptions, fn func(ignore.Entry) error) error {
	return ignore.Walk(ctx, root, opts, fn)
}

func (machine) save(path string, data []byte, folders bool) error {
	if folders {
		if err := os.MkdirAll(filepath.Dir(path), newFolderMode); err != nil {
			return &noFolder{filepath.Dir(path), err}
		}
	}
	return saveFile(path, data)
}

func (machine) split(path string) (top, rest string, ok bool) {
	top = filepath.VolumeName(path) + string(filepath.Separator)
	return top, strings.TrimPrefix(path, top), true
}

// confined reaches what lies below an open folder. Whatever is looked up is looked
// up again when it is opened, by the system and from this folder down, so it does not
// matter what others do to the names in between.
type confined struct{ root *confine.Root }

// name is a path as the root takes it. One that reaches the folder by another
// spelling, through a link above it, is put into the root's own; that is a matter of
// names alone.
func (c confined) name(path string) string {
	if _, err := c.root.Rel(path); errors.Is(err, confine.ErrOutside) {
		if real := realPath(path); real != path {
			return real
		}
	}
	return path
}

func (c confined) exists(path string) bool {
	_, err := c.root.Stat(c.name(path))
	return err == nil
}

func (c confined) stat(path string) (fs.FileInfo, error) { return c.root.Stat(c.name(path)) }

func (c confined) open(path string) (*os.File, error) {
	f, err := c.root.Open(c.name(path))
	if errors.Is(err, confine.ErrNotRegular) {
		err = errNotAFile
		if info, statErr := c.stat(path); statErr == nil && info.IsDir() {
			err = errFolder
		}
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (c confined) openFound(path string) (*os.File, error) { return c.root.Open(c.name(path)) }

func (c confined) names(path string) (fs.ReadDirFile, error) {
	rel, _, err := c.root.Resolve(c.name(path))
	if err != nil {
		return nil, err
	}
	f, err := c.root.OpenFolder(rel, false)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// walk reads the folders through the root, and so the ignore files in them. Those
// above it count as ever: what they say is never shown.
func (c confined) walk(ctx context.Context, root string, opts ignore.WalkOptions, fn func(ignore.Entry) error) error {
	rel, _, err := c.root.Resolve(c.name(root))
	if err != nil {
		return err
	}
	opts.OpenFolder = func(sub string) (fs.ReadDirFile, error) {
		f, err := c.root.OpenFolder(filepath.Join(rel, filepath.FromSlash(sub)), true)
		if err != nil {
			return nil, err
		}
		return f, nil
	}
	opts.OpenFile = func(path string) (*os.File, error) {
		if _, err := c.root.Rel(path); err == nil {
			return c.root.Open(path)
		}
		f, _, err := confine.OpenRegular(path)
		return f, err
	}
	return ignore.Walk(ctx, filepath.Join(c.root.Path(), rel), opts, fn)
}

func (c confined) split(path string) (top, rest string, ok bool) {
	rest, err := c.root.Rel(c.name(path))
	return c.root.Path(), rest, err == nil
}

// save writes in a folder that is held open, below the root.
func (c confined) save(path string, data []byte, folders bool) error {
	rel, info, err := c.root.Resolve(c.name(path))
	if err == nil && info.IsDir() {
		return errFolder
	}
	folder, rest := filepath.Dir(rel), []string{filepath.Base(rel)}
	if errors.Is(err, fs.ErrNotExist) {
		folder, rest, err = c.root.Missing(c.name(path))
	}
	if err != nil {
		return err
	}
	in, err := c.root.Folder(folder)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	name := rest[len(rest)-1]
	if above := rest[:len(rest)-1]; len(above) > 0 {
		if !folders {
			return fs.ErrNotExist
		}
		at := filepath.Join(above...)
		made, err := in.Make(at, newFolderMode)
		if err != nil {
			return &noFolder{filepath.Join(c.root.Path(), folder, at), err}
		}
		defer func() { _ = made.Close() }()
		in = made
	}
	return saveIn(in, name, data, keepInside)
}

// noFolder is for a folder that cannot be made.
type noFolder struct {
	path string
	err  error
}

func (e *noFolder) Error() string {
	return fmt.Sprintf("the folder %s cannot be made: %v", e.path, e.err)
}
func (e *noFolder) Unwrap() error { return e.err }

// explainOutside says that a path leads out of the folder of a confined call.
func explainOutside(err error) (text string, ok bool) {
	if !errors.Is(err, confine.ErrOutside) {
		return "", false
	}
	folder := "of this session"
	if refused, ok := errors.AsType[*confine.Error](err); ok {
		folder = refused.Root
	}
	return fmt.Sprintf("it lies outside of the folder %s, to which this session is confined. Choose a path inside it.", folder), true
}
