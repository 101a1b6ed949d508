//go:build !linux

package confine

import (
	"io/fs"
	"os"
	"path/filepath"
)

// openPlainFolder opens a folder from the root down, and looks behind each step
// whether it was one itself or a link to one.
func (r *Root) openPlainFolder(rel string) (*os.File, error) {
	parts := components(rel)
	if len(parts) == 0 {
		return nil, ErrName
	}
	at := r.dir
	for i, name := range parts {
		if name == ".." || name == "." && i > 0 {
			closeBut(at, r.dir)
			return nil, ErrName
		}
		if info, err := at.Lstat(name); err == nil && !info.IsDir() {
			closeBut(at, r.dir)
			if info.Mode()&fs.ModeSymlink != 0 {
				return nil, ErrOutside
			}
			return nil, fs.ErrInvalid
		}
		next, err := plainFolderIn(at, name)
		closeBut(at, r.dir)
		if err != nil {
			return nil, refusal(err)
		}
		at = next
	}
	f, err := at.Open(".")
	closeBut(at, r.dir)
	if err != nil {
		return nil, cause(err)
	}
	return plainFile(f, filepath.Join(r.real, rel))
}

func closeBut(at, top *os.Root) {
	if at != top {
		at.Close()
	}
}
