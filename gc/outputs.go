package gc

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/piweb-go/piweb/artifact"
)

// Outputs are the folders of whole outputs below a folder of sessions, as a store.
// A folder is one of ours if it has the name of a session file, or the name that a
// removal gives.
type Outputs struct{ Path string }

// sessionName is how the name of a session file begins.
var sessionName = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-\d{3}Z_.`)

// List lists the folders, those that are in use as well.
func (o Outputs) List(ctx context.Context) ([]Item, error) {
	real, err := filepath.EvalSymlinks(o.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var items []Item
	err = filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) && path != real {
				return nil
			}
			return err
		}
		name := d.Name()
		if !d.IsDir() || path == real || !sessionName.MatchString(name) && !artifact.IsAside(name) {
			return nil
		}
		if inTrash(path) {
			return nil // the folder that a deleted session has there, which holds its outputs
		}
		item, err := outputsItem(path)
		if err == nil {
			items = append(items, item)
			err = fs.SkipDir
		}
		return err
	})
	return items, err
}

// inTrash tells the folder of one deleted session: it lies in the trash directly.
func inTrash(path string) bool { return filepath.Base(filepath.Dir(path)) == ".trash" }

// outputsItem describes a folder: its size, and when anything in it changed last.
func outputsItem(dir string) (Item, error) {
	item := Item{Key: outputsKey(dir), Label: "outputs " + dir}
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil // gone meanwhile
		}
		if info.Mode().IsRegular() {
			item.Size += info.Size()
		}
		if info.ModTime().After(item.Modified) {
			item.Modified = info.ModTime()
		}
		return nil
	})
	return item, err
}

// Remove takes a folder out of its place, and away if its session has not come back
// and nothing in it has changed.
func (o Outputs) Remove(_ context.Context, item Item) (bool, error) {
	dir := string(item.Key[len("outputs:"):])
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || !info.IsDir() {
		return false, err
	}
	var suffix [8]byte
	if _, err := rand.Read(suffix[:]); err != nil {
		return false, err
	}
	aside := filepath.Join(filepath.Dir(dir), artifact.AsideName(hex.EncodeToString(suffix[:])))
	if err := os.Rename(dir, aside); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil // it was moved along with its session
		}
		return false, err
	}
	now, err := outputsItem(aside)
	if err == nil && now.Modified.Equal(item.Modified) && !hasSession(dir) {
		return true, os.RemoveAll(aside)
	}
	if _, lerr := os.Lstat(dir); lerr == nil {
		return false, errors.Join(err, fmt.Errorf("%s: it came back while it was being removed; what it had is in %s", dir, aside))
	}
	return false, errors.Join(err, os.Rename(aside, dir))
}

// hasSession tells whether there is a session file of any form beside a folder.
func hasSession(dir string) bool {
	list, err := filepath.Glob(escapeGlob(dir) + ".jsonl*")
	return err != nil || len(list) > 0
}

var globMeta = regexp.MustCompile(`[\\*?\[]`)

func escapeGlob(path string) string { return globMeta.ReplaceAllString(path, `\$0`) }

// Leftovers are files that a write did not finish, as a store: they are named by
// nothing, and go when they are old.
type Leftovers struct{ Path string }

var leftoverName = regexp.MustCompile(`^\.piweb-[0-9a-f]{16}\.tmp$`)

// List lists them.
func (l Leftovers) List(ctx context.Context) ([]Item, error) {
	var items []Item
	err := filepath.WalkDir(l.Path, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		if d.Type().IsRegular() && leftoverName.MatchString(d.Name()) {
			if info, err := d.Info(); err == nil {
				items = append(items, Item{Key: Key("leftover:" + path), Label: "unfinished file " + path, Size: info.Size(), Modified: info.ModTime()})
			}
		}
		return nil
	})
	return items, err
}

// Remove removes one that nobody has written to since.
func (l Leftovers) Remove(_ context.Context, item Item) (bool, error) {
	path := string(item.Key[len("leftover:"):])
	return removeUntouched(path, item.Modified)
}

// removeUntouched takes a file out of its place and looks at it again: if it was
// touched since it had the time, it is put back.
func removeUntouched(path string, modified time.Time) (bool, error) {
	// Looked at in its place first: what was touched is not even moved, so that who
	// reads it in this moment finds it.
	if info, err := os.Lstat(path); err != nil || !info.ModTime().Equal(modified) {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	var suffix [8]byte
	if _, err := rand.Read(suffix[:]); err != nil {
		return false, err
	}
	aside := filepath.Join(filepath.Dir(path), ".piweb-"+hex.EncodeToString(suffix[:])+".tmp")
	if err := os.Rename(path, aside); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, err
	}
	info, err := os.Lstat(aside)
	if err == nil && info.ModTime().Equal(modified) {
		return true, os.Remove(aside)
	}
	// Never over one that was written anew: then the old one is not needed.
	if lerr := os.Link(aside, path); lerr != nil && !errors.Is(lerr, fs.ErrExist) {
		return false, errors.Join(err, os.Rename(aside, path))
	}
	return false, errors.Join(err, os.Remove(aside))
}
