package piweb

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/piweb-go/piweb/blob"
	"github.com/piweb-go/piweb/internal/durable"
)

// Converted tells what a conversion of a session file did.
type Converted struct {
	Path    string   `json:"path"`    // the new file
	Blobs   string   `json:"blobs"`   // the folder of the blobs
	Entries int      `json:"entries"` // lines that changed
	Moved   int      `json:"moved"`   // pictures and texts that changed their place
	From    int64    `json:"from"`    // bytes of the source
	To      int64    `json:"to"`      // bytes of the copy
	Missing []string `json:"missing"` // references whose blob is not there or damaged; they stay
}

// ErrThere says that the file to write is there already.
var ErrThere = errors.New("the file is there already")

// Externalize writes a copy of a session file in which large pictures are
// references to blobs, as oh-my-pi has them. The blobs go to the folder that
// belongs to the copy. The source is only read.
func (r *Runtime) Externalize(ctx context.Context, source, target string) (Converted, error) {
	from, to, err := r.blobs(source, target)
	if err != nil {
		return Converted{}, err
	}
	return convert(ctx, source, target, to.Root(), func(line []byte, c *Converted) ([]byte, error) {
		if from.Root() != to.Root() { // what the source refers to goes along
			for _, ref := range blob.Refs(line) {
				data, err := from.Read(ctx, ref, 0)
				if err == nil {
					_, err = to.Put(ctx, data, "")
				}
				if ctx.Err() != nil {
					return nil, context.Cause(ctx)
				}
				if err != nil {
					c.Missing = append(c.Missing, ref.String())
				}
			}
		}
		before := len(blob.Refs(line))
		out, err := to.Externalize(ctx, line)
		if err == nil {
			c.Moved += len(blob.Refs(out)) - before
		}
		return out, err
	})
}

// Inline writes a copy of a session file in which all references are replaced by
// what they name, so that a program without blobs can go on with it. What cannot
// be found stays a reference and is told.
func (r *Runtime) Inline(ctx context.Context, source, target string) (Converted, error) {
	from, _, err := r.blobs(source, target)
	if err != nil {
		return Converted{}, err
	}
	return convert(ctx, source, target, from.Root(), func(line []byte, c *Converted) ([]byte, error) {
		out, missing, err := from.Inline(ctx, line)
		for _, ref := range missing {
			c.Missing = append(c.Missing, ref.String())
		}
		if err == nil {
			c.Moved += len(blob.Refs(line)) - len(missing)
		}
		return out, err
	})
}

func (r *Runtime) blobs(source, target string) (from, to *blob.Contents, err error) {
	open := func(path string) (*blob.Contents, error) {
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		dir, err := blob.NewDir(BlobDir(r.host.agentDir, abs), blob.DirOptions{})
		if err != nil {
			return nil, err
		}
		return blob.NewContents(dir), nil
	}
	if from, err = open(source); err == nil {
		to, err = open(target)
	}
	return from, to, err
}

// convert copies a file line by line. The header and lines that are no JSON stay
// as they are.
func convert(ctx context.Context, source, target, blobs string, change func([]byte, *Converted) ([]byte, error)) (Converted, error) {
	c := Converted{Path: target, Blobs: blobs, Missing: []string{}}
	fail := func(err error) (Converted, error) {
		return Converted{}, fmt.Errorf("convert %s to %s: %w", source, target, err)
	}
	in, err := os.Open(source)
	if err != nil {
		return fail(err)
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return fail(errors.Join(err, errors.New("the source must be a regular file")))
	}
	if _, err := os.Lstat(target); err == nil {
		return fail(ErrThere)
	}
	fs := durable.OS{}
	tmp, err := durable.Temp(fs, target, 0o600, func(w io.Writer) error {
		out := bufio.NewWriterSize(w, 1<<20)
		if err := lines(ctx, bufio.NewReaderSize(in, 1<<20), func(line []byte) error {
			changed, err := c.line(line, change)
			if err != nil {
				return err
			}
			c.From, c.To = c.From+int64(len(line)), c.To+int64(len(changed))
			_, err = out.Write(changed)
			return err
		}); err != nil {
			return err
		}
		return out.Flush()
	})
	if err != nil {
		return fail(err)
	}
	if err := fs.Link(tmp, target); err != nil { // never over another file
		_ = fs.Remove(tmp)
		if errors.Is(err, os.ErrExist) {
			err = ErrThere
		}
		return fail(err)
	}
	_ = fs.Remove(tmp)
	if err := fs.SyncDir(filepath.Dir(target)); err != nil {
		return fail(err)
	}
	return c, nil
}

// line converts one line with its end.
func (c *Converted) line(line []byte, change func([]byte, *Converted) ([]byte, error)) ([]byte, error) {
	body := bytes.TrimRight(line, "\r\n")
	if c.From == 0 || !json.Valid(body) {
		return line, nil
	}
	out, err := change(body, c)
	if err != nil {
		return nil, err
	}
	if len(out) == len(body) && bytes.Equal(out, body) {
		return line, nil
	}
	c.Entries++
	return append(out[:len(out):len(out)], line[len(body):]...), nil
}

// lines calls do with each line of a file, its end included. The slice counts
// only until do returns.
func lines(ctx context.Context, r *bufio.Reader, do func(line []byte) error) error {
	var long []byte
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		part, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, part...)
			continue
		}
		line := part
		if len(long) > 0 {
			long = append(long, part...)
			line = long
		}
		if len(line) > 0 {
			if derr := do(line); derr != nil {
				return derr
			}
		}
		long = long[:0]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
