package memory

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/piweb-go/piweb/internal/durable"
)

// newID is the id of an attachment or a resource: 32 digits.
func newID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

const attachmentsDir = "memory_attachments"

// folder is where one file lies: storage/{user}/{kind}/{id}.
func (s *Service) folder(user, kind, id string) string {
	return filepath.Join(s.o.Dir, "storage", segment(user), kind, id)
}

// save writes one file into a folder of its own, for its owner only, and returns its
// path. What it leaves after an error is removed by discard.
func (s *Service) save(folder, name string, data []byte) (string, error) {
	if err := s.step("folder"); err != nil {
		return "", err
	}
	if err := makeFolder(folder); err != nil {
		return "", err
	}
	if err := s.step("file"); err != nil {
		return "", err
	}
	path := filepath.Join(folder, safeName(name))
	return path, durable.Save(durable.OS{}, path, data, 0o600)
}

// makeFolder makes a folder and those above it. One of these may be removed as empty
// by discard, in another call or another program, before it has what is to lie in it:
// then it is made again.
func makeFolder(folder string) error {
	err := os.MkdirAll(folder, 0o700)
	for try := 0; try < 100 && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist)); try++ {
		err = os.MkdirAll(folder, 0o700)
	}
	return err
}

// fileURI is a path as an address.
func fileURI(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}

// ownPath is the path behind an address of ours, if it lies in the storage.
func (s *Service) ownPath(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return "", false
	}
	path := filepath.FromSlash(u.Path)
	if len(path) > 2 && path[0] == filepath.Separator && path[2] == ':' {
		path = path[1:] // a drive letter
	}
	rel, err := filepath.Rel(filepath.Join(s.o.Dir, "storage"), path)
	return path, err == nil && filepath.IsLocal(rel)
}

// discard removes folders of files, and those above them that are empty then.
func (s *Service) discard(folders ...string) {
	for _, f := range folders {
		if err := os.RemoveAll(f); err != nil {
			s.o.Log.Warn("a file of a memory could not be removed", "error", err.Error())
		}
		for up := filepath.Dir(f); up != s.o.Dir && len(up) > len(s.o.Dir); up = filepath.Dir(up) {
			if os.Remove(up) != nil {
				break // it is not empty
			}
		}
	}
}

// sweep removes folders that a crash has left without a row, and rows that were
// deleted long ago with their files.
func (s *Service) sweep(ctx context.Context) error {
	if err := s.expire(ctx); err != nil {
		return err
	}
	users, err := os.ReadDir(filepath.Join(s.o.Dir, "storage"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, u := range users {
		for _, kind := range []struct{ dir, table string }{{attachmentsDir, "memory_attachments"}, {resourcesDir, "user_resources"}} {
			if err := s.sweepFolder(ctx, filepath.Join(s.o.Dir, "storage", u.Name(), kind.dir), kind.table); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Service) sweepFolder(ctx context.Context, dir, table string) error {
	ids, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, d := range ids {
		info, err := d.Info()
		if err != nil || s.o.Now().Sub(info.ModTime()) < sweepAge {
			continue
		}
		var n int
		if err := s.db.Read().QueryRowContext(ctx, `SELECT count(*) FROM `+table+` WHERE id = ?`, d.Name()).Scan(&n); err != nil {
			return err
		}
		if n == 0 {
			s.discard(filepath.Join(dir, d.Name()))
		}
	}
	return nil
}

// copyTo streams r into a new file and returns its size; more than limit bytes are
// ErrTooLarge.
func copyTo(w io.Writer, r io.Reader, limit int64) (int64, error) {
	n, err := io.Copy(w, io.LimitReader(r, limit+1))
	if err == nil && n > limit {
		err = tooLarge("The file is too large: a resource may have %d MiB at most.", limit>>20)
	}
	return n, err
}
