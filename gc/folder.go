package gc

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/piweb-go/piweb/artifact"
	"github.com/piweb-go/piweb/attachment"
	"github.com/piweb-go/piweb/session"
)

// The prefixes of what is looked for in texts.
const (
	blobPrefix       = "blob:sha256:"
	attachmentPrefix = "att_"
	hashDigits       = 64
	attachmentDigits = 22
)

// The keys of things.
func blobKey(hash string) Key     { return Key("blob:" + strings.ToLower(hash)) }
func attachmentKey(id string) Key { return Key("attachment:" + id) }
func sessionKey(id string) Key    { return Key("session:" + id) }
func outputsKey(dir string) Key   { return Key("outputs:" + filepath.Clean(dir)) }

// Folder is the root of a folder of sessions, and of all folders in it. It names
// the sessions whose files it has, the outputs that belong to them, and whatever is
// referred to in any file, at any place. A link to a folder is not followed; a link
// to a file is read.
type Folder struct {
	Path string
	// Optional says that a folder that is not there names nothing. Else it is an
	// error: it may be on a disk that is not mounted.
	Optional bool
}

// ErrMissing says that a folder that is known to hold sessions is not there.
var ErrMissing = errors.New("a folder that is known to hold sessions is not there")

// Mark reads the folder.
func (f Folder) Mark(ctx context.Context, mark func(Key)) error {
	if info, err := os.Stat(f.Path); errors.Is(err, fs.ErrNotExist) && f.Optional {
		return nil
	} else if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w; mount its disk, or say that it is gone with --forget", f.Path, ErrMissing)
	} else if err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s: it is not a folder", f.Path)
	}
	real, err := filepath.EvalSymlinks(f.Path) // the walk does not follow its own root
	if err != nil {
		return err
	}
	return filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) && path != real {
				return nil // it went meanwhile
			}
			return err
		}
		if d.IsDir() {
			return nil
		}
		markNames(path, mark)
		return markFile(ctx, path, mark)
	})
}

// stemOf is the path of a session file without what follows its name: a backup or
// an archive stands for the session too.
func stemOf(path string) (stem string, ok bool) {
	dir, name := filepath.Split(path)
	stem, _, ok = strings.Cut(name, ".jsonl")
	return filepath.Join(dir, stem), ok && stem != ""
}

// markNames marks what the name of a file and its header say.
func markNames(path string, mark func(Key)) {
	stem, ok := stemOf(path)
	if !ok {
		return
	}
	mark(outputsKey(stem))
	if t, ok := session.TrashedAt(stem + ".jsonl"); ok {
		// A session on its way to the trash or back has its outputs at its old place.
		mark(outputsKey(artifact.Folder(t.Origin)))
	}
	if _, id, ok := strings.Cut(filepath.Base(stem), "_"); ok {
		markSession(id, mark)
	}
	if h, err := session.ReadHeader(path); err == nil && h.ID != "" {
		markSession(h.ID, mark)
	}
}

func markSession(id string, mark func(Key)) {
	mark(sessionKey(id))
	mark(tagKey(attachment.Tag(id)))
}

const (
	scanBlock = 1 << 20                      // bytes read at once
	overlap   = len(blobPrefix) + hashDigits // of two blocks: a reference may lie across
)

// markFile marks what a file refers to.
func markFile(ctx context.Context, path string, mark func(Key)) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a link to nowhere, or gone meanwhile
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return fmt.Errorf("%s: the archive cannot be read: %w", path, err)
		}
		defer z.Close()
		r = z
	}
	if err := markText(ctx, r, mark); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func markText(ctx context.Context, r io.Reader, mark func(Key)) error {
	buf := make([]byte, 0, scanBlock+overlap)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		find(buf, blobPrefix, hashDigits, isHex, func(s string) { mark(blobKey(s)) })
		find(buf, attachmentPrefix, attachmentDigits, isBase64, func(s string) { mark(attachmentKey(attachmentPrefix + s)) })
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
		keep := min(overlap, len(buf))
		buf = buf[:copy(buf, buf[len(buf)-keep:])]
	}
}

// find calls each for what stands behind a prefix and has the right length.
func find(text []byte, prefix string, digits int, is func(byte) bool, each func(string)) {
	for {
		i := bytes.Index(text, []byte(prefix))
		if i < 0 {
			return
		}
		text = text[i+len(prefix):]
		n := 0
		for n < len(text) && n < digits && is(text[n]) {
			n++
		}
		if n == digits {
			each(string(text[:n]))
		}
	}
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func isBase64(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_'
}
