package artifact

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/session"
)

// TestRestoreIsWhole: a session that comes back finds its outputs under their
// numbers or does not come back, and nothing of a folder that is there is replaced.
func TestRestoreIsWhole(t *testing.T) {
	for _, across := range []bool{false, true} {
		var told []string
		c := []session.Companion{Companion{Whole: true, Warn: func(s string) { told = append(told, s) }, OS: &stepping{exdev: across}}}
		_, path, other := home(t)
		if _, err := session.Trash(path, []session.Companion{Companion{}}, session.Options{}); err != nil {
			t.Fatal(err)
		}
		back := New(path, Options{})
		fill(t, back, map[string]string{"0.read.log": "another zero", "9.read.log": "nine"})
		restore := operations(path, other)["restore"]
		if err := restore(c, session.Options{}); !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), "0.bash.log; move that folder away") || len(told) > 0 {
			t.Errorf("onto another number 0: %v, told %q", err, told)
		}
		if got := files(t, back); len(got) != 2 || got["0.read.log"] != "another zero" {
			t.Errorf("it holds %v", got)
		}
		if err := os.Remove(filepath.Join(back.Folder(), "0.read.log")); err != nil {
			t.Fatal(err)
		}
		if err := restore(c, session.Options{}); err != nil || len(told) != 1 || !strings.Contains(told[0], "was there already") {
			t.Errorf("restored: %v, told %q", err, told)
		}
		got := tree(t, back.Folder())
		if got["0.bash.log"] != "zero" || got["9.read.log"] != "nine" || got["0-a.md"] != "answer" || got[filepath.Join("0-a", "0.bash.log")] != "deep" {
			t.Errorf("it holds %v", got)
		}
		if id := save(t, back, "bash", "x"); id != "10" {
			t.Errorf("the next id is %s", id)
		}
	}
}

// TestMoveMergesAcross: a merging move to another file system copies, and takes the
// old ones out of their place.
func TestMoveMergesAcross(t *testing.T) {
	_, path, other := home(t)
	target := filepath.Join(other, filepath.Base(path))
	fill(t, New(target, Options{}), map[string]string{"1.theirs.log": "theirs"})
	var told string
	fs := &stepping{exdev: true}
	c := Companion{OS: fs, Warn: func(s string) { told = s }}
	_, err := session.Move(path, session.MoveOptions{Dir: other, CWD: filepath.Dir(other), Companions: []session.Companion{c}}, session.Options{FS: fs})
	if err != nil || !strings.Contains(told, "1.read.log") {
		t.Fatalf("%v, told %q", err, told)
	}
	got := tree(t, Folder(target))
	if got["0.bash.log"] != "zero" || got["1.theirs.log"] != "theirs" || got["draft.txt"] != "theirs" || got[filepath.Join("0-a", "0.bash.log")] != "deep" {
		t.Errorf("there: %v", got)
	}
	left := tree(t, Folder(path))
	if left["1.read.log"] != "one" {
		t.Errorf("left: %v", left)
	}
	for name := range left {
		if name != "1.read.log" && name != "." && !isMark(name) {
			t.Errorf("%s is in its old place", name)
		}
	}
}

// TestMergeNeverReplaces: a file that takes a name after the look stays what it is.
func TestMergeNeverReplaces(t *testing.T) {
	for _, across := range []bool{false, true} {
		_, path, other := home(t)
		target := filepath.Join(other, filepath.Base(path))
		fill(t, New(target, Options{}), map[string]string{"9.x.log": ""})
		fs := &stepping{exdev: across}
		late := &lateComer{stepping: fs, name: filepath.Join(Folder(target), "0.bash.log")}
		if _, err := (Companion{OS: late}).Move(session.Place{Path: path}, session.Place{Path: target}); err != nil {
			t.Fatal(err)
		}
		if got := tree(t, Folder(target))["0.bash.log"]; got != "late" {
			t.Errorf("across %v: it holds %q", across, got)
		}
		if got := tree(t, Folder(path))["0.bash.log"]; got != "zero" {
			t.Errorf("across %v: its own is %q", across, got)
		}
	}
}

// lateComer makes a file in the moment before it would be linked to.
type lateComer struct {
	*stepping
	name string
}

func (l *lateComer) Link(from, to string) error {
	if to == l.name {
		if err := os.WriteFile(to, []byte("late"), 0o600); err != nil {
			return err
		}
	}
	return l.stepping.Link(from, to)
}
