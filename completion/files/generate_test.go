package files

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// words are what names of a large repository are made of.
var words = strings.Fields(`account action adapter agent api app archive asset attach audit auth backend batch billing blob bridge broker buffer build bundle cache
calendar call cart catalog channel chart chat check client cluster code command common compact config connect console content context control core counter
crypto cursor data debug decode default deploy device diff docs domain driver edit editor email encode engine entity entry error event export extension feature
feed fetch field file filter flow folder form format gateway graph grid group handler hash header helper history hook host http icon image import index input
install integration invoice item job journal json key label layout lease ledger legacy lib limit link list load locale lock log login mail manager map market
media memory menu merge message meta metric migration mock model module monitor network node notify object offer order output package page panel parse patch
path payment permission pipeline player plugin policy pool portal preset price print process product profile project prompt protocol provider proxy query queue
record registry release render replay report request resolve resource response route rule runner sample schedule schema scope script search section secret select
server service session setting shared shell signal snapshot socket source stack state static status storage store stream string style subject sync system table
target task template tenant test text theme thread ticket timer token tool trace track transfer tree trigger type update upload usage user util validate value
vector version view viewer virtual volume wallet watch web widget window worker workflow wrapper writer`)

var extensions = []string{"go", "go", "ts", "ts", "tsx", "js", "md", "json", "css", "py", "yaml", "txt", "sql", "svg", "test.ts", "_test.go"}

// generate names n files as a large repository has them: ten to a folder, folders
// two to seven deep, with paths of about 60 bytes. The same n gives the same names,
// sorted as in git's index.
func generate(n int) []string {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	word := func() string { return words[r.IntN(len(words))] }
	name := func() string {
		switch r.IntN(4) {
		case 0:
			return word()
		case 1:
			return word() + "-" + word()
		case 2:
			return word() + "_" + word()
		default:
			w := word()
			return word() + strings.ToUpper(w[:1]) + w[1:]
		}
	}
	folders := []string{"src", "packages", "internal", "docs", "cmd"}
	for len(folders) < n/10 {
		parent := folders[r.IntN(len(folders))]
		if strings.Count(parent, "/") < 6 {
			folders = append(folders, parent+"/"+name())
		}
	}
	paths := make([]string, 0, n+n/8)
	for len(paths) < n {
		for len(paths) < n+n/8 {
			ext := extensions[r.IntN(len(extensions))]
			dot := "."
			if ext[0] == '_' {
				dot = ""
			}
			paths = append(paths, folders[r.IntN(len(folders))]+"/"+name()+dot+ext)
		}
		slices.Sort(paths)
		paths = slices.Compact(paths)
	}
	r.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	paths = paths[:n]
	slices.Sort(paths)
	return paths
}

// writeTree makes the files, empty, and a repository that tracks all of them
// without a run of git for each.
func writeTree(t testing.TB, dir string, paths []string) {
	t.Helper()
	last := ""
	for _, p := range paths {
		full := filepath.Join(dir, filepath.FromSlash(p))
		if d := filepath.Dir(full); d != last {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
			last = d
		}
		f, err := os.OpenFile(full, os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	put(t, dir, ".git/config", "[core]\n\trepositoryformatversion = 0\n")
	put(t, dir, ".git/HEAD", "ref: refs/heads/main\n")
	put(t, dir, ".git/objects/", "")
	put(t, dir, ".git/refs/", "")
	if err := os.WriteFile(filepath.Join(dir, ".git", "index"), makeIndex(paths), 0o644); err != nil {
		t.Fatal(err)
	}
}

// makeIndex writes a git index of version 2 with paths in git's order.
func makeIndex(paths []string) []byte {
	data := binary.BigEndian.AppendUint32([]byte("DIRC\x00\x00\x00\x02"), uint32(len(paths)))
	for n, p := range paths {
		start := len(data)
		var fixed [62]byte
		binary.BigEndian.PutUint32(fixed[8:], uint32(1_700_000_000+n%100_000))
		binary.BigEndian.PutUint32(fixed[24:], 0o100644)
		binary.BigEndian.PutUint16(fixed[60:], uint16(min(len(p), 0xfff)))
		data = append(append(data, fixed[:]...), p...)
		data = append(data, make([]byte, 8-(len(data)-start)%8)...)
	}
	return append(data, make([]byte, 20)...)
}

// treeOf is the tree of some paths, without a disk.
func treeOf(paths []string) *tree {
	byDir := map[string][]named{}
	for _, p := range paths {
		at := max(strings.LastIndexByte(p, '/'), 0)
		byDir[p[:at]] = append(byDir[p[:at]], named{strings.TrimPrefix(p[at:], "/"), 0})
	}
	t := tracked{dirs: map[string]*dir{}}
	for path, files := range byDir {
		t.dirs[path] = newDir(path, files, false)
	}
	for path := range t.dirs {
		t.above(path)
	}
	return newTree(t.dirs)
}

func TestGenerate(t *testing.T) {
	paths := generate(5000)
	size := 0
	for _, p := range paths {
		size += len(p)
	}
	if len(paths) != 5000 || !slices.IsSorted(paths) || size/len(paths) < 30 || size/len(paths) > 90 {
		t.Fatalf("%d paths of %d bytes", len(paths), size/len(paths))
	}
	if tr := treeOf(paths); tr.files != 5000 {
		t.Fatalf("%d files", tr.files)
	}
	n := 0
	if err := readIndex(makeIndex(paths), 20, func(e indexEntry) {
		if string(e.path) != paths[n] {
			t.Fatalf("entry %d is %s, want %s", n, e.path, paths[n])
		}
		n++
	}); err != nil || n != len(paths) {
		t.Fatalf("%d entries, %v", n, err)
	}
}
