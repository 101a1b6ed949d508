package durable

import (
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// LeftoverAge is how old an unfinished file must be before Sweep takes it for one
// that a process left behind when it was killed. No write takes as long.
const LeftoverAge = 24 * time.Hour

// tempName is what temp makes, to the letter: a file of somebody else that only looks
// like it stays.
var tempName = regexp.MustCompile(`^\.piweb-[0-9a-f]{16}\.tmp$`)

// Sweep removes from a folder what writes of this package that were killed left in it:
// plain files of this user, with the names that Temp gives, that nobody has written to
// for LeftoverAge. It is called where something was written anyway; what it cannot
// remove is nobody's concern. It returns how many went.
func Sweep(fs FS, dir string, now time.Time) (removed int) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, e := range list {
		if !tempName.MatchString(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !mine(info) || now.Sub(info.ModTime()) < LeftoverAge {
			continue
		}
		if fs.Remove(filepath.Join(dir, e.Name())) == nil {
			removed++
		}
	}
	return removed
}
