package blob

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/piweb-go/piweb/internal/confine"
	"github.com/piweb-go/piweb/internal/durable"
)

// DirOptions are the choices of a Dir. The zero value is the usual one.
type DirOptions struct {
	FS durable.FS // nil for the machine's
}

// Dir is a Store in one flat folder: the key is the name of the file. Other
// files of the folder, folders and links are no objects. Everything is readable
// by the owner alone.
type Dir struct {
	path string
	fs   durable.FS
	// naming keeps conditional creation exclusive inside this process on file
	// systems that have no hard links.
	naming sync.Mutex
}

// NewDir returns the store in a folder, which is a path of ours. The folder is
// created by the first put; until then the store is empty.
func NewDir(path string, opts DirOptions) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, &Error{Op: "open", Key: path, Err: err}
	}
	if opts.FS == nil {
		opts.FS = durable.OS{}
	}
	return &Dir{path: abs, fs: opts.FS}, nil
}

// Root returns the absolute path of the folder.
func (d *Dir) Root() string { return d.path }

func (d *Dir) file(key string) string { return filepath.Join(d.path, key) }

// Put is Store.Put: it streams into a file of another name, syncs it, gives it
// its name in one step and syncs the folder.
func (d *Dir) Put(ctx context.Context, key string, r io.Reader, opts PutOptions) (Info, error) {
	info, err := d.put(ctx, key, r, opts)
	if err != nil {
		return Info{}, &Error{Op: "put", Key: key, Err: err}
	}
	return info, nil
}

func (d *Dir) put(ctx context.Context, key string, r io.Reader, opts PutOptions) (Info, error) {
	if err := CheckKey(key); err != nil {
		return Info{}, err
	}
	if opts.IfAbsent {
		if _, err := os.Lstat(d.file(key)); err == nil {
			return Info{}, ErrExists // before anything is read
		}
	}
	m := Meter(ctx, r, opts)
	tmp, err := d.temp(func(w io.Writer) error { return copyBlocks(w, m) })
	if err != nil {
		return Info{}, err
	}
	if err := context.Cause(ctx); err != nil {
		_ = d.fs.Remove(tmp)
		return Info{}, err
	}
	if opts.IfAbsent {
		err = d.create(tmp, d.file(key))
	} else {
		err = d.fs.Rename(tmp, d.file(key))
	}
	if err != nil {
		_ = d.fs.Remove(tmp)
		return Info{}, err
	}
	if err := d.fs.SyncDir(d.path); err != nil {
		return Info{}, err
	}
	info, err := d.stat(key)
	if errors.Is(err, ErrNotFound) { // deleted by another in between
		return Info{Key: key, Size: m.Bytes(), ModTime: time.Now()}, nil
	}
	return info, err
}

// temp writes and syncs a nameless file, and makes the folder where it is missing.
func (d *Dir) temp(fill func(io.Writer) error) (string, error) {
	if err := d.makeFolder(); err != nil {
		return "", err
	}
	return durable.Temp(d.fs, filepath.Join(d.path, "x"), 0o600, fill)
}

// makeFolder creates the folder and makes its name, and those of the folders
// above that it had to create, survive a power cut.
func (d *Dir) makeFolder() error {
	if _, err := d.fs.Stat(d.path); err == nil {
		return nil
	}
	var fresh []string
	for dir := d.path; ; dir = filepath.Dir(dir) {
		if _, err := d.fs.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		fresh = append(fresh, dir)
	}
	if err := d.fs.MkdirAll(d.path, 0o700); err != nil {
		return err
	}
	for _, dir := range fresh {
		if err := d.fs.SyncDir(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	return nil
}

// create gives tmp the name path where that is free. A hard link decides between
// processes; without links the look and the renaming are two steps, and only this
// process is kept out in between.
func (d *Dir) create(tmp, path string) error {
	err := d.fs.Link(tmp, path)
	if err == nil {
		_ = d.fs.Remove(tmp) // the other name of the same file; swept later at worst
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	d.naming.Lock()
	defer d.naming.Unlock()
	if _, serr := os.Lstat(path); serr == nil {
		return ErrExists
	}
	return d.fs.Rename(tmp, path)
}

// Get is Store.Get. A link, a folder or a device under the key is not followed
// and counts as no object.
func (d *Dir) Get(ctx context.Context, key string) (*Object, error) {
	f, info, err := d.open(ctx, key)
	if err != nil {
		return nil, &Error{Op: "get", Key: key, Err: err}
	}
	return &Object{ReadSeekCloser: f, Info: info}, nil
}

func (d *Dir) open(ctx context.Context, key string) (*os.File, Info, error) {
	if err := CheckKey(key); err != nil {
		return nil, Info{}, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, Info{}, err
	}
	f, info, err := confine.OpenUnlinked(d.file(key))
	// A put that replaced the object between the look and the opening looks like a
	// link that appeared there. One of the next looks meets a file at rest.
	for try := 0; errors.Is(err, confine.ErrOutside) && try < 100; try++ {
		f, info, err = confine.OpenUnlinked(d.file(key))
	}
	if err != nil {
		return nil, Info{}, missing(err)
	}
	return f, Info{Key: key, Size: info.Size(), ModTime: info.ModTime()}, nil
}

// missing turns the ways in which there can be no object into ErrNotFound.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, confine.ErrNotRegular) || errors.Is(err, confine.ErrOutside) {
		return ErrNotFound
	}
	return err
}

// Stat is Store.Stat.
func (d *Dir) Stat(ctx context.Context, key string) (Info, error) {
	err := CheckKey(key)
	if err == nil {
		err = context.Cause(ctx)
	}
	var info Info
	if err == nil {
		info, err = d.stat(key)
	}
	if err != nil {
		return Info{}, &Error{Op: "stat", Key: key, Err: err}
	}
	return info, nil
}

func (d *Dir) stat(key string) (Info, error) {
	info, err := os.Lstat(d.file(key))
	if err != nil {
		return Info{}, missing(err)
	}
	if !info.Mode().IsRegular() {
		return Info{}, ErrNotFound
	}
	return Info{Key: key, Size: info.Size(), ModTime: info.ModTime()}, nil
}

// Delete is Store.Delete.
func (d *Dir) Delete(ctx context.Context, key string) error {
	err := CheckKey(key)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = d.remove(key)
	}
	if err != nil {
		return &Error{Op: "delete", Key: key, Err: err}
	}
	return nil
}

func (d *Dir) remove(key string) error {
	if _, err := d.stat(key); err != nil {
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		return err
	}
	if err := d.fs.Remove(d.file(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return d.fs.SyncDir(d.path)
}

// List is Store.List.
func (d *Dir) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		files, err := os.ReadDir(d.path) // sorted
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			yield(Info{}, &Error{Op: "list", Key: prefix, Err: err})
			return
		}
		for _, f := range files {
			name := f.Name()
			if !strings.HasPrefix(name, prefix) || !f.Type().IsRegular() || CheckKey(name) != nil {
				continue
			}
			if err := context.Cause(ctx); err != nil {
				yield(Info{}, &Error{Op: "list", Key: prefix, Err: err})
				return
			}
			info, err := d.stat(name)
			if errors.Is(err, ErrNotFound) {
				continue // deleted since
			}
			if err != nil {
				yield(Info{}, &Error{Op: "list", Key: prefix, Err: err})
				return
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Names is Namer.Names. It does not look at the files themselves.
func (d *Dir) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		f, err := os.Open(d.path)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				yield("", &Error{Op: "list", Key: prefix, Err: err})
			}
			return
		}
		defer f.Close()
		for {
			if err := context.Cause(ctx); err != nil {
				yield("", &Error{Op: "list", Key: prefix, Err: err})
				return
			}
			names, err := f.Readdirnames(4096)
			for _, name := range names {
				if strings.HasPrefix(name, prefix) && CheckKey(name) == nil && !yield(name, nil) {
					return
				}
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				yield("", &Error{Op: "list", Key: prefix, Err: err})
				return
			}
		}
	}
}

// Changed is Namer.Changed.
func (d *Dir) Changed() (time.Time, error) {
	info, err := d.fs.Stat(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, &Error{Op: "list", Err: err}
	}
	return info.ModTime(), nil
}

// Path is Local.Path.
func (d *Dir) Path(ctx context.Context, key string) (string, error) {
	if _, err := d.Stat(ctx, key); err != nil {
		return "", err
	}
	return d.file(key), nil
}

// Sweep removes what puts that never ended left behind, once it is older than
// age, and returns the number of files. Such files are never objects; they only
// take room.
func (d *Dir) Sweep(ctx context.Context, age time.Duration) (int, error) {
	files, err := os.ReadDir(d.path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		return 0, err
	}
	n := 0
	for _, f := range files {
		if err := context.Cause(ctx); err != nil {
			return n, err
		}
		if !durable.IsTemp(f.Name()) || !f.Type().IsRegular() {
			continue
		}
		info, err := f.Info()
		if err != nil || time.Since(info.ModTime()) < age {
			continue
		}
		if d.fs.Remove(d.file(f.Name())) == nil {
			n++
		}
	}
	return n, nil
}

// block is the unit in which bytes are copied. It is larger than the buffer of
// durable.Temp, which then passes blocks on as they are.
const block = 256 << 10

var blocks = sync.Pool{New: func() any { return new([block]byte) }}

// copyBlocks copies whole blocks, however small the pieces are in which r yields
// them. It ends well only at r's own io.EOF: a connection that broke reports
// io.ErrUnexpectedEOF, which must not look like an end.
func copyBlocks(w io.Writer, r io.Reader) error {
	buf := blocks.Get().(*[block]byte)
	defer blocks.Put(buf)
	for {
		n, err := 0, error(nil)
		for n < block && err == nil {
			var got int
			got, err = r.Read(buf[n:])
			n += got
		}
		if err != nil && err != io.EOF {
			return err
		}
		if n > 0 {
			if _, werr := w.Write(buf[:n]); werr != nil {
				return werr
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}
