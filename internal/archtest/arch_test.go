package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of ARCHITECTURE.md")

const (
	module   = "github.com/piweb-go/piweb"
	root     = "../.."
	maxLines = 800
)

type pkg struct {
	ImportPath, Doc, Dir string
	GoFiles, Imports     []string
	Module               *struct{ Path string }
}

// list asks the go tool about packages; -deps adds what they import.
func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Doc,Dir,GoFiles,Imports,Module"}, args...)...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func short(importPath string) string {
	if importPath == module {
		return "."
	}
	return strings.TrimPrefix(importPath, module+"/")
}

// TestImportsFollowTheMap: every package is on the map, and imports only what
// the map allows it.
func TestImportsFollowTheMap(t *testing.T) {
	modules := map[string]string{} // package → module, for third parties
	for _, p := range list(t, "-deps", "./...") {
		if p.Module != nil {
			modules[p.ImportPath] = p.Module.Path
		}
	}
	seen := map[string]bool{}
	for _, p := range list(t, "./...") {
		name := short(p.ImportPath)
		seen[name] = true
		i := slices.IndexFunc(rooms, func(r room) bool { return r.path == name })
		if i < 0 {
			if len(p.GoFiles) > 0 {
				t.Errorf("%s is not on the map", name)
			}
			continue
		}
		for _, imp := range p.Imports {
			switch {
			case imp == module || strings.HasPrefix(imp, module+"/"):
				if !slices.Contains(rooms[i].ours, short(imp)) {
					t.Errorf("%s may not import %s", name, short(imp))
				}
			case modules[imp] != "" && !slices.Contains(rooms[i].third, modules[imp]):
				t.Errorf("%s may not import %s (%s)", name, imp, modules[imp])
			}
		}
		if strings.TrimSpace(p.Doc) == "" {
			t.Errorf("%s has no package comment", name)
		}
	}
	for _, r := range rooms {
		if !seen[r.path] {
			t.Errorf("the map names %s, which does not exist", r.path)
		}
	}
}

// TestNoFloorReachesUp: the lists of the map go down only.
func TestNoFloorReachesUp(t *testing.T) {
	place := map[string]int{}
	for i, r := range rooms {
		place[r.path] = i
	}
	for i, r := range rooms {
		for _, o := range r.ours {
			if at, ok := place[o]; !ok || at >= i {
				t.Errorf("%s lists %s, which does not stand before it", r.path, o)
			}
		}
	}
}

func TestFilesStaySmall(t *testing.T) {
	for _, p := range list(t, "./...") {
		files, _ := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(data, []byte("\n")); n > maxLines {
				t.Errorf("%s has %d lines, at most %d are allowed", path.Join(short(p.ImportPath), filepath.Base(f)), n, maxLines)
			}
		}
	}
}

// TestArchitectureTable: the table in ARCHITECTURE.md is this map.
func TestArchitectureTable(t *testing.T) {
	const begin, end = "<!-- rooms: written by go test ./internal/archtest -update -->\n", "<!-- end of rooms -->"
	file := filepath.Join(root, "ARCHITECTURE.md")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(data), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("ARCHITECTURE.md has no place for the table")
	}
	want := head + begin + table() + end + tail
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(data) {
		t.Error("the table of ARCHITECTURE.md is not the map; run go test ./internal/archtest -update")
	}
}

func table() string {
	var b strings.Builder
	b.WriteString("| floor | package | what it is for | imports of ours | third party |\n|---|---|---|---|---|\n")
	last := ""
	for _, r := range rooms {
		floor := r.floor
		if floor == last {
			floor = ""
		}
		last = r.floor
		name := r.path
		if name == "." {
			name = "piweb (module root)"
		}
		ours := strings.Join(r.ours, ", ")
		b.WriteString("| " + strings.Join([]string{floor, "`" + name + "`", r.line, ours, strings.Join(r.third, ", ")}, " | ") + " |\n")
	}
	return b.String()
}
