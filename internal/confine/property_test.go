package confine

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever links a folder holds and whatever name is asked for: what comes out
// is what the system reads at that name, and its real path lies in the root.
func TestPropertyReadsOnlyInside(t *testing.T) {
	base := realTemp(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		top := filepath.Join(base, strconv.Itoa(n))
		root := filepath.Join(top, "root")
		write(t, filepath.Join(root, "f"), "in")
		write(t, filepath.Join(root, "d", "f"), "in")
		write(t, filepath.Join(top, "f"), "OUT")
		word := rapid.SampledFrom([]string{"f", "d", "l0", "l1", "l2", "..", ".", "root", ""})
		path := func(label string) string {
			parts := rapid.SliceOfN(word, 1, 5).Draw(rt, label)
			p := strings.Join(parts, string(filepath.Separator))
			switch rapid.IntRange(0, 3).Draw(rt, label+" kind") {
			case 0:
				p = root + string(filepath.Separator) + p
			case 1:
				p = top + string(filepath.Separator) + p
			}
			return p
		}
		for _, name := range []string{"l0", "l1", "d/l2"} {
			if target := path(name); target != "" {
				link(t, target, filepath.Join(root, filepath.FromSlash(name)))
			}
		}
		r, err := OpenRoot(root)
		if err != nil {
			rt.Fatal(err)
		}
		defer r.Close()
		name := path("name")
		data, err := r.ReadFile(name, 10)
		if err != nil {
			return
		}
		if string(data) != "in" {
			rt.Fatalf("ReadFile(%q) = %q", name, data)
		}
		abs := name
		if !filepath.IsAbs(abs) {
			abs = filepath.Join(root, name)
		}
		if _, ok, err := RealWithin(filepath.Clean(abs), root); !ok || err != nil {
			rt.Fatalf("%q was read but is not inside: %v", name, err)
		}
		if want, err := os.ReadFile(filepath.Clean(abs)); err != nil || string(want) != string(data) {
			rt.Fatalf("%q: the system reads %q, %v", name, want, err)
		}
	})
}
