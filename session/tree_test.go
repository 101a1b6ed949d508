package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestDeepTrees: very deep and very tangled files take time that grows with their size
// alone. A walk that looked at every entry for every entry would not come back from
// these within the time of a test.
func TestDeepTrees(t *testing.T) {
	const n = 100_000
	id := func(i int) string { return fmt.Sprintf("%08x", i) }
	for name, c := range map[string]struct {
		id, parent func(i int) string
		branch     int // entries on the branch of the leaf
		kind       Kind
	}{
		"a chain":                    {id, func(i int) string { return id(i - 1) }, n, ""},
		"every id is the same":       {func(int) string { return "same" }, func(int) string { return "same" }, n, KindCycle},
		"two ids in turn":            {func(i int) string { return id(i % 2) }, func(i int) string { return id((i + 1) % 2) }, n, KindCycle},
		"each its own parent":        {id, id, 1, KindCycle},
		"each on the one behind":     {id, func(i int) string { return id((i + 1) % n) }, n, KindCycle},
		"all on one that is missing": {id, func(int) string { return "missing" }, 1, KindNoParent},
		"all on the first":           {id, func(i int) string { return id(min(i, 1) - 1) }, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString(head3)
			for i := range n {
				parent := `"` + c.parent(i) + `"`
				if i == 0 && (name == "a chain" || name == "all on the first") {
					parent = "null"
				}
				fmt.Fprintf(&b, `{"type":"message","id":%q,"parentId":%s,"message":{"role":"user","content":"x"}}`+"\n", c.id(i), parent)
			}
			s := open(t, putFile(t, b.String()))
			if s.Len() != n {
				t.Fatalf("%d entries", s.Len())
			}
			branch, err := s.Branch(s.Leaf())
			if err != nil || len(branch.Entries) != c.branch {
				t.Fatalf("%d entries on the branch, want %d (%v)", len(branch.Entries), c.branch, err)
			}
			if (c.kind != "") != slices.ContainsFunc(branch.Diagnostics, func(d Diagnostic) bool { return d.Kind == c.kind }) {
				t.Errorf("diagnostics %v, want %q", branch.Diagnostics, c.kind)
			}
			s.Leaves()
			if len(s.Diagnostics()) > n+10 {
				t.Errorf("%d diagnostics", len(s.Diagnostics()))
			}
		})
	}
}

// TestBranchOfAnyTree: whatever hangs on what, a branch ends, begins at a root or says
// why not, holds no entry twice, and goes from each entry to one with its parent's id.
func TestBranchOfAnyTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &Session{twins: map[ID][]int{}, leaf: -1}
		pick := rapid.SampledFrom([]ID{"a", "b", "c", "d", "e", "f", "none", ""})
		for range rapid.IntRange(1, 12).Draw(t, "entries") {
			id := pick.Draw(t, "id")
			if id == "" || id == "none" {
				id = "g"
			}
			s.add(Entry{ID: id, Parent: pick.Draw(t, "parent"), Type: TypeMessage, Role: "user"})
		}
		for _, e := range s.entries {
			b, err := s.Branch(e.ID)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[int]bool{}
			for i, on := range b.Entries {
				if seen[on.pos] {
					t.Fatalf("entry %d of %s twice", on.pos, on.ID)
				}
				seen[on.pos] = true
				if i > 0 && b.Entries[i-1].ID != on.Parent {
					t.Fatalf("%s hangs on %s, and stands behind %s", on.ID, on.Parent, b.Entries[i-1].ID)
				}
			}
			if root := b.Entries[0]; root.Parent != "" && len(b.Diagnostics) != 1 {
				t.Fatalf("it begins with a child of %q, and says %v", root.Parent, b.Diagnostics)
			}
		}
		s.leaf = len(s.entries) - 1
		s.noteLeaves()
	})
}
