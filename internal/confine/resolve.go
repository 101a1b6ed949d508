package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	maxHops    = 40 // links followed for one name, as Linux does
	maxRetries = 4  // resolutions of one name while others change the folder
)

// through runs op on rel and, where os.Root refuses, on the link-free path that
// rel leads to. op goes through os.Root again, so a link that appears between
// resolution and op is judged by os.Root, not trusted.
func through[T any](r *Root, rel string, op func(rel string) (T, error)) (T, error) {
	out, err := op(rel)
	for try := 0; err != nil && try < maxRetries; try++ {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrClosed) {
			break
		}
		plain, resolveErr := r.resolve(rel)
		if resolveErr != nil {
			return out, resolveErr
		}
		if out, err = op(plain); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return out, refusal(err)
	}
	return out, nil
}

// refusal gives os.Root's own refusal, which cannot be matched, our name.
// Everything the system says is an error number.
func refusal(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) || errors.Is(err, fs.ErrClosed) {
		return cause(err)
	}
	return ErrOutside
}

// resolve follows the links of rel inside the root and returns a path without
// links. Absolute targets are taken from the top of the root again when they lie
// in it. A missing component is fs.ErrNotExist.
func (r *Root) resolve(rel string) (string, error) {
	todo := components(rel)
	var done []string // without links
	for hops := 0; len(todo) > 0; {
		next := todo[0]
		todo = todo[1:]
		if next == "." || next == ".." {
			// Only a folder has these, so "file/.." leads nowhere.
			if err := r.folder(done); err != nil {
				return "", err
			}
			if next == ".." {
				if len(done) == 0 {
					return "", ErrOutside
				}
				done = done[:len(done)-1]
			}
			continue
		}
		here := filepath.Join(append(slices.Clone(done), next)...)
		info, err := r.dir.Lstat(here)
		if err != nil {
			return "", refusal(err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = append(done, next)
			continue
		}
		if hops++; hops > maxHops {
			return "", ErrLoop
		}
		target, err := r.dir.Readlink(here)
		if err != nil {
			return "", refusal(err)
		}
		if filepath.IsAbs(target) || isRooted(target) {
			// A target that reaches the root by another spelling is refused.
			rest, ok := below(target, r.given, r.real)
			if !ok {
				return "", fmt.Errorf("%w through the link %q", ErrOutside, here)
			}
			done, todo = nil, append(rest, todo...)
			continue
		}
		todo = append(components(target), todo...)
	}
	if len(done) == 0 {
		return ".", nil
	}
	return filepath.Join(done...), nil
}

// folder fails unless the link-free path of parts is a folder.
func (r *Root) folder(parts []string) error {
	if len(parts) == 0 {
		return nil
	}
	info, err := r.dir.Lstat(filepath.Join(parts...))
	if err != nil {
		return refusal(err)
	}
	if !info.IsDir() {
		return syscall.ENOTDIR
	}
	return nil
}

// below returns what follows one of the roots in the target of a link. Unlike a
// name, a target is not cleaned: its dots mean what they mean to the system.
func below(target string, roots ...string) (rest []string, ok bool) {
	for _, root := range roots {
		if filepath.VolumeName(target) != filepath.VolumeName(root) {
			continue
		}
		rest = components(target[len(filepath.VolumeName(target)):])
		ok = true
		for _, want := range components(root[len(filepath.VolumeName(root)):]) {
			for len(rest) > 0 && rest[0] == "." {
				rest = rest[1:]
			}
			if ok = len(rest) > 0 && rest[0] == want; !ok {
				break
			}
			rest = rest[1:]
		}
		if ok {
			return rest, true
		}
	}
	return nil, false
}

// components splits a path and keeps dots, which only a walk can resolve. A
// separator at the end asks for a folder, as a dot does.
func components(path string) []string {
	separator := func(c rune) bool { return c < 0x80 && os.IsPathSeparator(uint8(c)) }
	parts := strings.FieldsFunc(path, separator)
	if path != "" && os.IsPathSeparator(path[len(path)-1]) {
		parts = append(parts, ".")
	}
	return parts
}

func notRegular(mode fs.FileMode) error {
	kind := "special file"
	switch {
	case mode.IsDir():
		kind = "folder"
	case mode&fs.ModeNamedPipe != 0:
		kind = "named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "socket"
	case mode&fs.ModeDevice != 0:
		kind = "device"
	case mode&fs.ModeSymlink != 0:
		kind = "link"
	}
	return fmt.Errorf("%w: it is a %s", ErrNotRegular, kind)
}
