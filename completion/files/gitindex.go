package files

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/piweb-go/piweb/internal/confine"
)

// The bounds of what is read of git.
const (
	maxIndexBytes = 1 << 30
	maxSmallFile  = 64 << 10
	maxNesting    = 8 // repositories inside one another
	maxTracked    = 5_000_000
)

// errIndex says that an index cannot be read by us: it is damaged, or of a form
// that leaves a part to other files. The walk finds the files then.
var errIndex = errors.New("this git index cannot be read")

// repository is where git keeps things for a work tree.
type repository struct {
	top      string // of the work tree
	index    string
	hashSize int
}

// findRepository looks for the work tree that holds a folder without links.
func findRepository(dir string) (repository, bool) {
	for at := dir; ; at = filepath.Dir(at) {
		if r, ok := openRepository(at); ok {
			return r, true
		}
		if filepath.Dir(at) == at {
			return repository{}, false
		}
	}
}

// openRepository reads .git of a folder: a folder, or a file that names one, as in
// linked work trees and submodules.
func openRepository(top string) (repository, bool) {
	dir := filepath.Join(top, ".git")
	info, err := os.Stat(dir)
	if err != nil {
		return repository{}, false
	}
	if !info.IsDir() {
		data, err := confine.ReadRegular(dir, maxSmallFile)
		named, ok := strings.CutPrefix(string(data), "gitdir:")
		if err != nil || !ok {
			return repository{}, false
		}
		dir = from(top, strings.TrimSpace(named))
	}
	r := repository{top: top, index: filepath.Join(dir, "index"), hashSize: 20}
	common := dir
	if data, err := confine.ReadRegular(filepath.Join(dir, "commondir"), maxSmallFile); err == nil {
		common = from(dir, strings.TrimSpace(string(data)))
	}
	config, err := confine.ReadRegular(filepath.Join(common, "config"), 1<<20)
	if err != nil {
		return repository{}, false // no repository: an empty .git, or none of ours
	}
	for line := range strings.Lines(string(config)) {
		name, value, ok := strings.Cut(strings.ToLower(line), "=")
		if ok && strings.TrimSpace(name) == "objectformat" && strings.TrimSpace(value) == "sha256" {
			r.hashSize = 32
		}
	}
	return r, true
}

func from(dir, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// stamp tells two states of a file apart.
type stamp struct {
	size int64
	mod  time.Time
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime()}
}

// indexEntry is a line of an index. path is valid until the next one.
type indexEntry struct {
	path  []byte
	mode  uint32
	mtime uint32 // Unix seconds
}

const (
	modeType = 0xf000
	modeFile = 0x8000
	modeLink = 0xa000
	modeRepo = 0xe000 // a submodule
	modeTree = 0x4000 // a folder that a sparse index does not list
)

// readIndex calls fn for what an index tracks and has on disk.
//
// Source of the form: gitformat-index(5), versions 2 to 4.
func readIndex(data []byte, hashSize int, fn func(indexEntry)) error {
	if len(data) < 12+hashSize || string(data[:4]) != "DIRC" {
		return fmt.Errorf("%w: it does not begin as one", errIndex)
	}
	version, count := binary.BigEndian.Uint32(data[4:]), int(binary.BigEndian.Uint32(data[8:]))
	if version < 2 || version > 4 || count > maxTracked {
		return fmt.Errorf("%w: version %d, %d entries", errIndex, version, count)
	}
	const fixed = 40 // bytes before the hash
	body := data[:len(data)-hashSize]
	at := 12
	var path, conflict []byte
	for range count {
		start, head := at, at+fixed+hashSize+2
		if head > len(body) {
			return fmt.Errorf("%w: it ends early", errIndex)
		}
		e := indexEntry{mode: binary.BigEndian.Uint32(body[at+24:]), mtime: binary.BigEndian.Uint32(body[at+8:])}
		flags := binary.BigEndian.Uint16(body[head-2:])
		skipped := false
		if flags&0x4000 != 0 {
			if version < 3 || head+2 > len(body) {
				return fmt.Errorf("%w: flags that its version does not have", errIndex)
			}
			skipped = binary.BigEndian.Uint16(body[head:])&0x4000 != 0 // not checked out
			head += 2
		}
		at = head
		if version == 4 {
			cut, n := offsetVarint(body[at:])
			if n == 0 || cut > len(path) {
				return fmt.Errorf("%w: a path refers to nothing", errIndex)
			}
			at += n
			path = path[:len(path)-cut]
		} else {
			path = path[:0]
		}
		end := bytes.IndexByte(body[at:], 0)
		if end < 0 || len(path)+end > 1<<16 {
			return fmt.Errorf("%w: a path does not end", errIndex)
		}
		path = append(path, body[at:at+end]...)
		at += end + 1
		if version < 4 {
			at = start + (at-1-start+8)&^7
		}
		if flags>>12&3 != 0 { // a conflict has its path once for each side
			if bytes.Equal(path, conflict) {
				continue
			}
			conflict = append(conflict[:0], path...)
		}
		if skipped {
			continue
		}
		e.path = path
		fn(e)
	}
	for at+8 <= len(body) { // extensions
		if string(body[at:at+4]) == "link" {
			return fmt.Errorf("%w: a part of it stands in another file", errIndex)
		}
		at += 8 + int(binary.BigEndian.Uint32(body[at+4:]))
	}
	return nil
}

// offsetVarint reads a number as git packs it; n is 0 where there is none.
func offsetVarint(b []byte) (v, n int) {
	for n < len(b) && n < 5 {
		c := b[n]
		n++
		v |= int(c & 0x7f)
		if c < 0x80 {
			return v, n
		}
		v = (v + 1) << 7
	}
	return 0, 0
}

// tracked is what git tracks below a folder.
type tracked struct {
	dirs   map[string]*dir // with all folders above files
	recent []recent        // the files that were changed last, the latest first
}

type recent struct {
	path  string
	mtime uint32
}

const maxRecent = 64

// readTracked reads what git tracks below root, a folder without links. Without a
// repository, or where its index cannot be read, that is nothing.
func readTracked(root string) (*tracked, repository, error) {
	t := &tracked{dirs: map[string]*dir{}}
	repo, ok := findRepository(root)
	if !ok {
		return t, repo, nil
	}
	below, err := filepath.Rel(repo.top, root)
	if err != nil {
		return t, repo, nil
	}
	prefix := ""
	if below != "." {
		prefix = filepath.ToSlash(below) + "/"
	}
	return t, repo, t.read(repo, root, prefix, "", 0)
}

// group gathers the names of a folder.
type group struct {
	path  string
	names []byte
	ends  []uint32
	flags []flags
}

// dir is the folder of a group.
func (g *group) dir(at string) *dir {
	path := at
	if g.path != "" {
		path = join(at, g.path)
	}
	d := newFolder(path, false)
	d.names = string(g.names)
	d.files = make([]file, 0, len(g.ends))
	start := uint32(0)
	for i, end := range g.ends {
		d.add(d.names[start:end], g.flags[i], end)
		start = end
	}
	return d
}

// read adds what an index tracks behind prefix; at is where the prefix lies below
// the root.
func (t *tracked) read(repo repository, root, prefix, at string, nesting int) error {
	data, err := confine.ReadRegular(repo.index, maxIndexBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was ever added
	}
	if err != nil {
		return err
	}
	groups := map[string]*group{}
	var order []*group
	var last *group
	var young newest
	var inner []string
	below := []byte(prefix)
	err = readIndex(data, repo.hashSize, func(e indexEntry) {
		path, ok := bytes.CutPrefix(e.path, below)
		if !ok {
			return
		}
		slash := max(bytes.LastIndexByte(path, '/'), 0)
		folder, name := path[:slash], path[slash:]
		if slash > 0 {
			name = name[1:]
		}
		same := last != nil && string(folder) == last.path
		if !usable(name) || !same && slash > 0 && !usable(folder) {
			return
		}
		var fl flags
		switch e.mode & modeType {
		case modeFile:
			fl = isTracked
		case modeLink:
			fl = isTracked | isLink
		case modeRepo:
			inner = append(inner, string(path))
			return
		default:
			return
		}
		if !same {
			if last = groups[string(folder)]; last == nil {
				last = &group{path: string(folder)}
				groups[last.path] = last
				order = append(order, last)
			}
		}
		last.names = append(last.names, name...)
		last.ends = append(last.ends, uint32(len(last.names)))
		last.flags = append(last.flags, fl)
		if e.mtime > young.least {
			young.add(newestEntry{e.mtime, last.path, last, len(last.ends) - 1})
		}
	})
	if err != nil {
		return err
	}
	t.keep(&young, at)
	made := make([]*dir, len(order))
	var builders sync.WaitGroup
	for w := range runtime.GOMAXPROCS(0) {
		builders.Go(func() {
			for n := w; n < len(order); n += runtime.GOMAXPROCS(0) {
				made[n] = order[n].dir(at)
			}
		})
	}
	builders.Wait()
	for _, d := range made {
		t.dirs[d.path] = d
	}
	for path := range t.dirs {
		t.above(path)
	}
	for _, path := range inner {
		t.inner(root, join(at, path), nesting)
	}
	return nil
}

// above adds the folders on the way to one.
func (t *tracked) above(path string) {
	for path != "" {
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
		if t.dirs[path] != nil {
			return
		}
		t.dirs[path] = newFolder(path, false)
	}
}

// inner adds a repository inside the tree.
func (t *tracked) inner(root, at string, nesting int) {
	top := filepath.Join(root, filepath.FromSlash(at))
	// A link on the way could lead anywhere.
	if real, ok, err := confine.RealWithin(top, root); err != nil || !ok || real != top || nesting >= maxNesting {
		return
	}
	if repo, ok := openRepository(top); ok {
		_ = t.read(repo, root, "", at, nesting+1) // what cannot be read is walked
		t.above(at)
	}
}

// newest gathers the entries that were changed last.
type newest struct {
	found []newestEntry
	least uint32 // mtime of what is of no use
	keys  [16 * maxRecent]uint64
}

type newestEntry struct {
	mtime  uint32
	folder string
	group  *group
	n      int // of the file in its group
}

func (w *newest) add(e newestEntry) {
	if w.found = append(w.found, e); len(w.found) == 16*maxRecent {
		w.cut()
	}
}

// cut leaves the newest; of equals those that came first. What is left stands in
// the order in which it came.
func (w *newest) cut() {
	if len(w.found) <= maxRecent {
		return
	}
	keys := w.keys[:0]
	for i, e := range w.found {
		keys = append(keys, uint64(e.mtime)<<16|uint64(1<<16-1-i))
	}
	slices.Sort(keys)
	keys = keys[len(keys)-maxRecent:]
	w.least = uint32(keys[0] >> 16)
	slices.SortFunc(keys, func(a, b uint64) int { return cmp.Compare(b&(1<<16-1), a&(1<<16-1)) })
	for i, key := range keys { // never to the right of where it stood
		w.found[i] = w.found[1<<16-1-int(key&(1<<16-1))]
	}
	w.found = w.found[:maxRecent]
}

// keep takes the newest into what is tracked.
func (t *tracked) keep(w *newest, at string) {
	w.cut()
	for _, e := range w.found {
		start := uint32(0)
		if e.n > 0 {
			start = e.group.ends[e.n-1]
		}
		name := string(e.group.names[start:e.group.ends[e.n]])
		t.recent = append(t.recent, recent{join(at, join(e.folder, name)), e.mtime})
	}
	slices.SortStableFunc(t.recent, func(a, b recent) int { return cmp.Compare(b.mtime, a.mtime) })
	t.recent = t.recent[:min(len(t.recent), maxRecent)]
}

// usable refuses paths that no index of git's own has, and names that no text can
// carry.
func usable(path []byte) bool {
	if len(path) == 0 || path[0] == '/' || !utf8.Valid(path) {
		return false
	}
	for start, i := 0, 0; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		part := path[start:i]
		if len(part) == 0 || part[0] == '.' && len(part) <= 2 && (len(part) == 1 || part[1] == '.') || isGit(view(part)) {
			return false
		}
		start = i + 1
	}
	return true
}

// isGit says that a name is that of git's own folder, in any case and, where the
// system takes them for the same, in other spellings.
func isGit(name string) bool {
	if len(name) < 4 || name[0] != '.' && name[0] != 'g' && name[0] != 'G' {
		return false
	}
	name = strings.ToLower(name)
	if runtime.GOOS == "windows" {
		name, _, _ = strings.Cut(name, ":")
		name = strings.TrimRight(name, " .")
		return name == ".git" || name == "git~1"
	}
	return name == ".git"
}
