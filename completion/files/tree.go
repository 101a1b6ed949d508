package files

import (
	"slices"
	"strings"
)

// dir is a folder with the files in it. It never changes; a folder that changes
// becomes another value.
type dir struct {
	path   string // below the root with forward slashes; "" for the root
	fold   string // path as it is searched
	names  string // of the files, one behind the other, sorted
	files  []file
	folds  []string // names as they are searched where they are not ASCII, "" where they are; nil where all are
	union  uint64   // of the masks of the files
	mask   uint64   // of the last part of the path
	whole  letters  // of the path
	most   letters  // of the path with each of the files, whatever one of them has
	depth  uint16   // of the files: 1 at the root
	closed bool     // only tracked files are offered here
}

// file is a file of a folder.
type file struct {
	mask  uint64
	end   uint32 // of its name in names
	flags flags
}

type flags uint8

const (
	isTracked flags = 1 << iota
	isLink
	hasUpper // ASCII capitals
)

func (d *dir) name(i int) string {
	start := uint32(0)
	if i > 0 {
		start = d.files[i-1].end
	}
	return d.names[start:d.files[i].end]
}

// first is the first byte of a name.
func (d *dir) first(i int) byte {
	if i == 0 {
		return d.names[0]
	}
	return d.names[d.files[i-1].end]
}

// pathOf is the path of a file below the root.
func (d *dir) pathOf(i int) string {
	if d.path == "" {
		return d.name(i)
	}
	return d.path + "/" + d.name(i)
}

// foldOf is the name of a file as it is searched, in buf where that is needed.
func (d *dir) foldOf(i int, buf []byte) string {
	name := d.name(i)
	if d.folds != nil && d.folds[i] != "" {
		return d.folds[i]
	}
	if d.files[i].flags&hasUpper == 0 {
		return name
	}
	return lowerInto(buf, name)
}

// find gives the place of a file by its name.
func (d *dir) find(name string) (int, bool) {
	i, j := 0, len(d.files)
	for i < j {
		h := (i + j) / 2
		if d.name(h) < name {
			i = h + 1
		} else {
			j = h
		}
	}
	return i, i < len(d.files) && d.name(i) == name
}

// base is the last part of the folder's path.
func (d *dir) base() string { return d.path[strings.LastIndexByte(d.path, '/')+1:] }

func (d *dir) equal(o *dir) bool {
	return o != nil && d.path == o.path && d.names == o.names && d.closed == o.closed &&
		slices.EqualFunc(d.files, o.files, func(a, b file) bool { return a.end == b.end && a.flags == b.flags })
}

// named is a file on its way into a dir.
type named struct {
	name  string
	flags flags
}

// newDir makes a folder of files, which are sorted here.
func newDir(path string, files []named, closed bool) *dir {
	slices.SortFunc(files, func(a, b named) int { return strings.Compare(a.name, b.name) })
	size := 0
	for _, f := range files {
		size += len(f.name)
	}
	var names strings.Builder
	names.Grow(size)
	d := newFolder(path, closed)
	d.files = make([]file, 0, len(files))
	for _, f := range files {
		names.WriteString(f.name)
		d.add(f.name, f.flags, uint32(names.Len()))
	}
	d.names = names.String()
	return d
}

// newFolder is a folder without files.
func newFolder(path string, closed bool) *dir {
	d := &dir{path: path, fold: path, closed: closed, depth: 1}
	if path != "" {
		d.depth = uint16(min(strings.Count(path, "/")+2, 1<<16-1))
		if folded := fold(path); folded != path {
			d.fold = folded
		}
		d.mask = maskOf(d.base())
		d.whole = lettersOf(path)
		d.most = d.whole
	}
	return d
}

// add adds a file whose name ends at a place of names, which may not be there yet.
func (d *dir) add(name string, fl flags, end uint32) {
	var has letters
	ascii := true
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c >= 0x80 {
			ascii = false
			break
		}
		has.add(bits[c])
		if c >= 'A' && c <= 'Z' {
			fl |= hasUpper
		}
	}
	if !ascii {
		folded := fold(name)
		has = lettersOf(folded)
		if d.folds == nil {
			d.folds = make([]string, len(d.files), cap(d.files))
		}
		d.folds = append(d.folds, folded)
	} else if d.folds != nil {
		d.folds = append(d.folds, "")
	}
	d.union |= has[0]
	d.most = d.most.or(d.whole.with(has))
	d.files = append(d.files, file{has[0], end, fl})
}

func lowerInto(buf []byte, s string) string {
	if len(s) > len(buf) {
		return strings.ToLower(s)
	}
	for i := 0; i < len(s); i++ {
		buf[i] = lowered[s[i]]
	}
	return view(buf[:len(s)])
}

// tree is what is known at one moment. It never changes.
type tree struct {
	dirs    []*dir    // sorted by path
	letters []letters // of all that a path in each of them can have, side by side
	files   int
}

var emptyTree = &tree{}

func newTree(dirs map[string]*dir) *tree {
	t := &tree{dirs: make([]*dir, 0, len(dirs))}
	for _, d := range dirs {
		t.dirs = append(t.dirs, d)
		t.files += len(d.files)
	}
	slices.SortFunc(t.dirs, func(a, b *dir) int { return strings.Compare(a.path, b.path) })
	t.letters = make([]letters, len(t.dirs))
	for i, d := range t.dirs {
		t.letters[i] = d.most
	}
	return t
}

// with is the tree with other values of folders that it has.
func (t *tree) with(changed []*dir) *tree {
	next := &tree{dirs: slices.Clone(t.dirs), letters: slices.Clone(t.letters), files: t.files}
	for _, d := range changed {
		if i, ok := next.dir(d.path); ok {
			next.files += len(d.files) - len(next.dirs[i].files)
			next.dirs[i], next.letters[i] = d, d.most
		}
	}
	return next
}

func (t *tree) dir(path string) (int, bool) {
	return slices.BinarySearchFunc(t.dirs, path, func(d *dir, p string) int { return strings.Compare(d.path, p) })
}

// locate finds a file or, with i < 0, a folder by its path.
func (t *tree) locate(path string) (n, i int, ok bool) {
	path = strings.TrimSuffix(path, "/")
	at := strings.LastIndexByte(path, '/')
	if n, ok = t.dir(path[:max(at, 0)]); ok {
		if i, ok = t.dirs[n].find(path[at+1:]); ok {
			return n, i, true
		}
	}
	if n, ok = t.dir(path); ok && path != "" {
		return n, -1, true
	}
	return 0, 0, false
}
