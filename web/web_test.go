package web

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := fs.ReadFile(FS(), name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// own lists the files of the page that are ours.
func own(t *testing.T, ext string) []string {
	t.Helper()
	names, err := fs.Glob(FS(), "*"+ext)
	if err != nil || len(names) == 0 {
		t.Fatalf("no %s files in the page: %v", ext, err)
	}
	return names
}

var importMap = regexp.MustCompile(`(?s)<script type="importmap">(.*?)</script>`)

func readMap(t *testing.T) map[string]string {
	t.Helper()
	found := importMap.FindAllStringSubmatch(read(t, "index.html"), -1)
	if len(found) != 1 {
		t.Fatalf("index.html has %d import maps, not one", len(found))
	}
	var m struct {
		Imports map[string]string `json:"imports"`
	}
	if err := json.Unmarshal([]byte(found[0][1]), &m); err != nil {
		t.Fatal(err)
	}
	return m.Imports
}

func TestImportsExist(t *testing.T) {
	names := readMap(t)
	if len(names) == 0 {
		t.Fatal("the import map is empty")
	}
	used := map[string]bool{}
	imports := regexp.MustCompile(`(?m)^(?:import|export) (?:[^"\n]* from )?"([^"\n]+)";$|\bimport\("([^"]+)"\)`)
	for _, file := range own(t, ".js") {
		for _, m := range imports.FindAllStringSubmatch(read(t, file), -1) {
			spec := m[1] + m[2]
			target := spec
			if !strings.HasPrefix(spec, ".") {
				var ok bool
				if target, ok = names[spec]; !ok {
					t.Errorf("%s imports %q, which the import map does not have", file, spec)
					continue
				}
				used[spec] = true
			}
			if _, err := fs.Stat(FS(), strings.TrimPrefix(path.Join("/", target), "/")); err != nil {
				t.Errorf("%s imports %q: %v", file, spec, err)
			}
		}
	}
	for spec := range names {
		if !used[spec] {
			t.Errorf("the import map has %q, which nothing imports", spec)
		}
	}
}

func TestHighlightLanguages(t *testing.T) {
	code := read(t, "code.js")
	list := regexp.MustCompile(`(?s)new Map\(\s*\((.*?)\)\.split`).FindStringSubmatch(code)
	if list == nil {
		t.Fatal("code.js has no list of languages where the test looks for it")
	}
	for _, lang := range strings.Fields(strings.NewReplacer(`"`, " ", "+", " ").Replace(list[1])) {
		if _, err := fs.Stat(FS(), "vendor/highlight/"+lang+".js"); err != nil {
			t.Error(err)
		}
	}
}

// The policy of the page forbids everything inline but the import map.
func TestNothingInline(t *testing.T) {
	page := importMap.ReplaceAllString(read(t, "index.html"), "")
	for what, pattern := range map[string]string{
		"an inline script":       `(?i)<script(?:\s+type="module")?\s*>`,
		"a style element":        `(?i)<style`,
		"a style attribute":      `(?i)\sstyle\s*=`,
		"an event handler":       `(?i)\son[a-z]+\s*=`,
		"an address of the net":  `(?i)(?:src|href)="(?:https?:)?//`,
		"a javascript: address":  `(?i)javascript:`,
		"a refresh or base rule": `(?i)http-equiv|<base`,
	} {
		if m := regexp.MustCompile(pattern).FindString(page); m != "" {
			t.Errorf("index.html has %s: %s", what, m)
		}
	}
	for _, file := range own(t, ".js") {
		code := read(t, file)
		for what, pattern := range map[string]string{
			"a style attribute in a template": `\sstyle=`,
			"a handler as text":               `\son[a-z]+="`,
			"code from text":                  `\beval\(|new Function\(|document\.write`,
			"markup from text":                `\.(?:inner|outer)HTML\b|insertAdjacentHTML`,
		} {
			if m := regexp.MustCompile(pattern).FindString(code); m != "" {
				t.Errorf("%s has %s: %s", file, what, m)
			}
		}
		if strings.Contains(code, "dangerouslySetInnerHTML") && !slices.Contains([]string{"markdown.js", "code.js"}, file) {
			t.Errorf("%s sets markup: only markdown.js (cleaned) and code.js (escaped by highlight.js) may", file)
		}
	}
	for _, file := range own(t, ".css") {
		if m := regexp.MustCompile(`(?i)@import|url\(`).FindString(read(t, file)); m != "" {
			t.Errorf("%s fetches something: %s", file, m)
		}
	}
}

func TestVendored(t *testing.T) {
	data, err := os.ReadFile("vendor.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Packages map[string]struct {
			Version, License string
			Files            map[string]struct{ From, SHA256 string }
		}
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for name, p := range v.Packages {
		licence := false
		if p.Version == "" || p.License == "" {
			t.Errorf("%s has no version or no licence in vendor.json", name)
		}
		for file, f := range p.Files {
			known[file] = true
			licence = licence || strings.HasPrefix(file, "LICENSE")
			sum := sha256.Sum256([]byte(read(t, "vendor/"+file)))
			if got := hex.EncodeToString(sum[:]); got != f.SHA256 {
				t.Errorf("vendor/%s of %s has the checksum %s, vendor.json says %s", file, name, got, f.SHA256)
			}
		}
		if !licence {
			t.Errorf("%s has no licence file", name)
		}
	}
	err = fs.WalkDir(FS(), "vendor", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !known[strings.TrimPrefix(name, "vendor/")] {
			t.Errorf("%s is not in vendor.json", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A file that does one thing is short.
func TestFilesAreShort(t *testing.T) {
	for _, ext := range []string{".js", ".css", ".html"} {
		for _, file := range own(t, ext) {
			if n := strings.Count(read(t, file), "\n"); n > 800 {
				t.Errorf("%s has %d lines, more than 800", file, n)
			}
		}
	}
}
