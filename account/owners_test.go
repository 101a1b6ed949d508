package account

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/session"
)

func owners(t *testing.T) *Owners { return OpenOwners(t.TempDir()) }

func is(t *testing.T, o *Owners, file, want string) {
	t.Helper()
	if got, err := o.Of(file); got != want || err != nil {
		t.Errorf("the owner of %s is %q, %v, and not %q", file, got, err, want)
	}
}

func TestOwners(t *testing.T) {
	o := owners(t)
	is(t, o, "/s/a", "")
	if err := o.Set("/s/a", "alice"); err != nil {
		t.Fatal(err)
	}
	if err := o.Set("/s/b", "bob"); err != nil {
		t.Fatal(err)
	}
	is(t, o, "/s/a", "alice")
	if err := o.Inherit("/s/a", "/s/child"); err != nil {
		t.Fatal(err)
	}
	is(t, o, "/s/child", "alice")
	if err := o.Inherit("/s/nobodys", "/s/orphan"); err != nil {
		t.Fatal(err)
	}
	is(t, o, "/s/orphan", "")
	if err := o.Set("/s/a", "carol"); err != nil {
		t.Fatal(err)
	}
	again := &Owners{path: o.path, fs: o.fs, now: o.now}
	is(t, again, "/s/a", "carol")
	is(t, again, "/s/b", "bob")
	if err := again.Set("/s/a", ""); err != nil {
		t.Fatal(err)
	}
	is(t, o, "/s/a", "")
	if err := o.Set("/s/a", "Not A Name"); !errors.Is(err, ErrName) {
		t.Errorf("a bad name is %v", err)
	}
}

// TestTornOwners: half a line of a program that died gives nothing away, and is not
// fused with the next.
func TestTornOwners(t *testing.T) {
	o := owners(t)
	if err := o.Set("/s/a", "alice"); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(o.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, `{"file":"/s/a","owner":"bo`)
	f.Close()
	is(t, o, "/s/a", "alice")
	if err := o.Set("/s/b", "bob"); err != nil {
		t.Fatal(err)
	}
	for _, seen := range []*Owners{o, {path: o.path, fs: o.fs, now: o.now}} {
		is(t, seen, "/s/a", "alice")
		is(t, seen, "/s/b", "bob")
	}
}

// failing fails the write of a line at some byte.
type failing struct {
	durable.FS
	after int
	full  bool
}

type failingFile struct {
	durable.File
	fs *failing
}

func (f *failing) OpenFile(name string, flag int, perm os.FileMode) (durable.File, error) {
	file, err := f.FS.OpenFile(name, flag, perm)
	return failingFile{file, f}, err
}

func (f failingFile) Write(p []byte) (int, error) {
	if !f.fs.full {
		return f.File.Write(p)
	}
	n, _ := f.File.Write(p[:min(f.fs.after, len(p))])
	return n, errors.New("no space left on device")
}

// TestFullDisk: an owner that could not be noted is an error, and what was known
// before stays, wherever the write broke off.
func TestFullDisk(t *testing.T) {
	for after := range 90 {
		o := owners(t)
		bad := &failing{FS: o.fs, after: after}
		o.fs = bad
		if err := o.Set("/s/a", "alice"); err != nil {
			t.Fatal(err)
		}
		bad.full = true
		if o.Set("/s/a", "bob") == nil {
			t.Fatal("a full disk is no error")
		}
		is(t, o, "/s/a", "alice")
		bad.full = false
		if err := o.Set("/s/b", "carol"); err != nil {
			t.Fatal(err)
		}
		fresh := &Owners{path: o.path, fs: durable.OS{}, now: o.now}
		is(t, fresh, "/s/a", "alice")
		is(t, fresh, "/s/b", "carol")
	}
}

func TestOwnersAtOnce(t *testing.T) {
	o := owners(t)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			mine := &Owners{path: o.path, fs: o.fs, now: o.now}
			for k := range 10 {
				if err := mine.Set(fmt.Sprintf("/s/%d/%d", i, k), "alice"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	known, err := o.All()
	if len(known) != 40 || err != nil {
		t.Errorf("%d are known, %v", len(known), err)
	}
	text, _ := os.ReadFile(o.path)
	if n := strings.Count(string(text), "\n"); n != 40 {
		t.Errorf("the file has %d lines", n)
	}
}

// TestOwnersFollow: what is made of a session belongs to its owner, what moves keeps
// it, and what failed behind is taken back.
func TestOwnersFollow(t *testing.T) {
	o := owners(t)
	c := o.Companion(func(path string) (string, error) { return "/real" + path, nil })
	if err := o.Set("/real/a", "alice"); err != nil {
		t.Fatal(err)
	}
	at := func(path string) session.Place { return session.Place{Path: path, ID: "x"} }
	undo, err := c.Copy(at("/a"), at("/fork"))
	if err != nil {
		t.Fatal(err)
	}
	is(t, o, "/real/fork", "alice")
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	is(t, o, "/real/fork", "")
	is(t, o, "/real/a", "alice")
	if undo, err = c.Move(at("/a"), at("/trash/a")); err != nil {
		t.Fatal(err)
	}
	is(t, o, "/real/a", "")
	is(t, o, "/real/trash/a", "alice")
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	is(t, o, "/real/a", "alice")
	is(t, o, "/real/trash/a", "")
	if _, err = c.Move(at("/a"), at("/trash/a")); err != nil {
		t.Fatal(err)
	}
	if undo, err = c.Remove(at("/trash/a")); err != nil {
		t.Fatal(err)
	}
	is(t, o, "/real/trash/a", "")
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	is(t, o, "/real/trash/a", "alice")
	if undo, err := c.Copy(at("/nobodys"), at("/x")); undo != nil || err != nil {
		t.Errorf("what nobody owns gives %v", err)
	}
}
