package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"iter"
	"os"
	"time"

	"github.com/piweb-go/piweb/internal/durable"
)

// Contents keeps bytes under their own hash in the folder of a Dir, as oh-my-pi
// does: the file is named by the 64 hex digits, beside it may stand sidecars
// "<hash>.<extension>" for programs that go by names. Both programs may use one
// folder at the same time. All methods may be called by many goroutines.
type Contents struct{ dir *Dir }

// NewContents returns the contents kept in a folder.
func NewContents(dir *Dir) *Contents { return &Contents{dir} }

// Root returns the absolute path of the folder.
func (c *Contents) Root() string { return c.dir.Root() }

// Put stores data and returns its reference. Bytes that are there and whole are
// left alone; damaged ones are replaced. ext, with or without its dot, asks for a
// sidecar; "" or one that is no extension asks for none. What Put returned
// survives a power cut.
func (c *Contents) Put(ctx context.Context, data []byte, ext string) (Ref, error) {
	ref := RefOf(data)
	err := c.settle(ctx, ref, int64(len(data)), func() (string, error) {
		return c.dir.temp(func(w io.Writer) error {
			return copyBlocks(w, Meter(ctx, bytes.NewReader(data), PutOptions{}))
		})
	})
	if err == nil {
		err = c.sidecar(ref, ext)
	}
	if err != nil {
		return Ref{}, &Error{Op: "put", Key: ref.Hash(), Err: err}
	}
	return ref, nil
}

// PutFrom is Put for bytes that are not in memory; it returns their number too.
// limit is the largest number taken, inclusive, 0 for any.
func (c *Contents) PutFrom(ctx context.Context, r io.Reader, limit int64, ext string) (Ref, int64, error) {
	sum := sha256.New()
	m := Meter(ctx, r, PutOptions{Limit: limit})
	tmp, err := c.dir.temp(func(w io.Writer) error {
		return copyBlocks(io.MultiWriter(sum, w), m)
	})
	if err != nil {
		return Ref{}, 0, &Error{Op: "put", Key: "content", Err: err}
	}
	ref := refOf(sum)
	used := false
	err = c.settle(ctx, ref, m.Bytes(), func() (string, error) { used = true; return tmp, nil })
	if !used {
		_ = c.dir.fs.Remove(tmp)
	}
	if err == nil {
		err = c.sidecar(ref, ext)
	}
	if err != nil {
		return Ref{}, 0, &Error{Op: "put", Key: ref.Hash(), Err: err}
	}
	return ref, m.Bytes(), nil
}

func refOf(h hash.Hash) (r Ref) {
	h.Sum(r.sum[:0])
	return r
}

// settle makes sure that the blob is there, whole and durable. write makes the
// nameless file that becomes it, and is called only where one is needed.
func (c *Contents) settle(ctx context.Context, ref Ref, size int64, write func() (string, error)) error {
	key := ref.Hash()
	there, whole, err := c.check(ctx, ref, size)
	if err != nil {
		return err
	}
	if whole {
		used, err := c.reuse(key)
		if used || err != nil {
			return err
		}
		there = false // a collection took it away in this moment
	}
	tmp, err := write()
	if err != nil {
		return err
	}
	if there { // damaged: the name gets whole bytes in one step
		err = c.dir.fs.Rename(tmp, c.dir.file(key))
	} else {
		err = c.dir.create(tmp, c.dir.file(key))
	}
	if errors.Is(err, ErrExists) { // another put was quicker
		_ = c.dir.fs.Remove(tmp)
		if _, whole, err = c.check(ctx, ref, size); err == nil && !whole {
			err = ErrCorrupt // written in place by a program that does so
		}
		if err != nil {
			return err
		}
		return c.makeDurable(key)
	}
	if err != nil {
		_ = c.dir.fs.Remove(tmp)
		return err
	}
	return c.dir.fs.SyncDir(c.dir.path)
}

// check looks whether the blob's name is taken, and whether its bytes are right.
func (c *Contents) check(ctx context.Context, ref Ref, size int64) (there, whole bool, err error) {
	if _, err := os.Lstat(c.dir.file(ref.Hash())); err != nil {
		return false, false, nil
	}
	f, info, err := c.dir.open(ctx, ref.Hash())
	if errors.Is(err, ErrNotFound) {
		return true, false, nil // a link or a folder in its place
	}
	if err != nil {
		return true, false, err
	}
	defer f.Close()
	if info.Size != size {
		return true, false, nil
	}
	sum := sha256.New()
	if err := copyBlocks(sum, Meter(ctx, f, PutOptions{})); err != nil {
		return true, false, err
	}
	return true, refOf(sum) == ref, nil
}

// reuse touches a blob that is about to be named again, so that a collection that
// has found it unused leaves it, and makes it durable. It is false if the blob is
// gone.
func (c *Contents) reuse(key string) (bool, error) {
	now := time.Now()
	if err := os.Chtimes(c.dir.file(key), now, now); errors.Is(err, os.ErrNotExist) {
		return false, nil
	} // a file of another user cannot be touched, and not be collected by us either
	if err := c.makeDurable(key); !errors.Is(err, os.ErrNotExist) {
		return err == nil, err
	}
	return false, nil
}

// makeDurable syncs a blob that somebody else wrote, perhaps without a sync: a
// line that names it is about to be written. A file that we may not open for
// writing is left to its owner.
func (c *Contents) makeDurable(key string) error {
	f, err := c.dir.fs.OpenFile(c.dir.file(key), os.O_RDWR, 0)
	if err == nil {
		err = f.Sync()
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
	}
	return c.dir.fs.SyncDir(c.dir.path)
}

// sidecar makes the second name of a blob: a hard link, or a copy where there are
// none. One that is there stays.
func (c *Contents) sidecar(ref Ref, ext string) error {
	if ext = cleanExt(ext); ext == "" {
		return nil
	}
	key := ref.Hash()
	path := c.dir.file(key + "." + ext)
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	err := c.dir.fs.Link(c.dir.file(key), path)
	if err == nil || errors.Is(err, os.ErrExist) {
		return nil
	}
	tmp, err := durable.Temp(c.dir.fs, path, 0o600, func(w io.Writer) error {
		f, err := os.Open(c.dir.file(key))
		if err != nil {
			return err
		}
		defer f.Close()
		return copyBlocks(w, f)
	})
	if err != nil {
		return err
	}
	if err := c.dir.fs.Rename(tmp, path); err != nil {
		_ = c.dir.fs.Remove(tmp)
		return err
	}
	return nil
}

// Read returns the bytes that ref names, checked against it: ErrNotFound where
// there are none, ErrCorrupt where they are not those, ErrTooBig where there are
// more than limit (0 for any).
func (c *Contents) Read(ctx context.Context, ref Ref, limit int64) ([]byte, error) {
	data, err := c.read(ctx, ref, limit)
	if err != nil {
		return nil, &Error{Op: "get", Key: ref.Hash(), Err: err}
	}
	return data, nil
}

func (c *Contents) read(ctx context.Context, ref Ref, limit int64) ([]byte, error) {
	f, info, err := c.dir.open(ctx, ref.Hash())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if limit > 0 && info.Size > limit {
		return nil, ErrTooBig
	}
	data := bytes.NewBuffer(make([]byte, 0, info.Size+bytes.MinRead))
	if _, err := data.ReadFrom(Meter(ctx, f, PutOptions{Limit: limit})); err != nil {
		return nil, err
	}
	if RefOf(data.Bytes()) != ref {
		return nil, ErrCorrupt
	}
	return data.Bytes(), nil
}

// Open streams the bytes that ref names. Where they are not those, the last Read
// fails with ErrCorrupt in place of io.EOF: what was read until then must not be
// used.
func (c *Contents) Open(ctx context.Context, ref Ref) (io.ReadCloser, int64, error) {
	f, info, err := c.dir.open(ctx, ref.Hash())
	if err != nil {
		return nil, 0, &Error{Op: "get", Key: ref.Hash(), Err: err}
	}
	return &checked{f: f, sum: sha256.New(), ref: ref}, info.Size, nil
}

type checked struct {
	f   *os.File
	sum hash.Hash
	ref Ref
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.f.Read(p)
	c.sum.Write(p[:n])
	if err == io.EOF && refOf(c.sum) != c.ref {
		return 0, &Error{Op: "get", Key: c.ref.Hash(), Err: ErrCorrupt}
	}
	return n, err
}

func (c *checked) Close() error { return c.f.Close() }

// Stat returns the size of a blob without reading it.
func (c *Contents) Stat(ctx context.Context, ref Ref) (Info, error) {
	return c.dir.Stat(ctx, ref.Hash())
}

// Delete removes a blob and its sidecars. The caller knows that nobody names it.
func (c *Contents) Delete(ctx context.Context, ref Ref) error {
	if err := c.DeleteSidecars(ctx, ref); err != nil {
		return err
	}
	return c.dir.Delete(ctx, ref.Hash())
}

// DeleteSidecars removes the other names of a blob.
func (c *Contents) DeleteSidecars(ctx context.Context, ref Ref) error {
	for info, err := range c.dir.List(ctx, ref.Hash()+".") {
		if err != nil {
			return err
		}
		if _, _, ok := ParseSidecar(info.Key); ok {
			if err := c.dir.Delete(ctx, info.Key); err != nil {
				return err
			}
		}
	}
	return nil
}

// Content is one blob of a list.
type Content struct {
	Ref  Ref
	Info Info
}

// List yields every blob, sorted by hash. Sidecars and foreign files of the
// folder are passed over. The sequence ends after an error.
func (c *Contents) List(ctx context.Context) iter.Seq2[Content, error] {
	return func(yield func(Content, error) bool) {
		for info, err := range c.dir.List(ctx, "") {
			if err != nil {
				yield(Content{}, err)
				return
			}
			if ref, err := ParseHash(info.Key); err == nil && !yield(Content{ref, info}, nil) {
				return
			}
		}
	}
}
