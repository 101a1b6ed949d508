package files

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// searchSlowly ranks every entry, with no bound and no short cut, and sorts all.
func searchSlowly(t *tree, q *query, limit int, points map[string]int) []hit {
	var hits []hit
	s := newScorer(q)
	for _, d := range t.dirs {
		if d.path != "" {
			if k := s.folder(d, points[d.path], 0); k > 0 {
				hits = append(hits, hit{key: k, d: d, i: -1})
			}
		}
		for i := range d.files {
			if k := s.rank(d, d.path, d.fold, d.name(i), d.foldOf(i, s.buf[:]), q.at(d.fold), false, points[d.pathOf(i)], 0); k > 0 {
				hits = append(hits, hit{key: k, d: d, i: i})
			}
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		if better(&a, &b) {
			return -1
		}
		return 1
	})
	return hits[:min(limit, len(hits))]
}

func shown(hits []hit) []string {
	var out []string
	for i := range hits {
		out = append(out, fmt.Sprintf("%x %s %v", hits[i].key, hits[i].pathOf(), hits[i].i < 0))
	}
	return out
}

// matches says without any of the code that searches whether a path is offered.
func matches(path, query string) bool {
	want := []rune(fold(query))
	for _, r := range fold(path) {
		if len(want) > 0 && r == want[0] {
			want = want[1:]
		}
	}
	return len(want) == 0
}

var pathWords = []string{"a", "b", "A", "ab", "app", "App", "src", "/", "/", "/", ".", ".ts", "_", "-", " ", "é", "e\u0301", "文", "件", "ｆ", "ﬁ", "か", "が", "1", "12", "Z", "👩‍💻"}

func drawPath(t *rapid.T) string {
	p := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pathWords), 1, 7).Draw(t, "path"), "")
	var parts []string
	for part := range strings.SplitSeq(p, "/") {
		if part != "" && part != "." && part != ".." {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/")
}

func drawTree(t *rapid.T) ([]string, *tree) {
	paths := rapid.SliceOfN(rapid.Custom(drawPath), 0, 60).Draw(t, "paths")
	slices.Sort(paths)
	paths = slices.DeleteFunc(slices.Compact(paths), func(p string) bool { return p == "" })
	folders := map[string]bool{}
	for _, p := range paths {
		for at := strings.LastIndexByte(p, '/'); at > 0; at = strings.LastIndexByte(p[:at], '/') {
			folders[p[:at]] = true
		}
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return folders[p] })
	return paths, treeOf(paths)
}

// A search finds what ranking everything finds, in the same order; with what a
// shorter query left, too. What it offers is what holds the letters in order.
func TestPropertyFastEqualsSlow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		paths, tr := drawTree(t)
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pathWords), 0, 4).Draw(t, "query"), "")
		points := map[string]int{}
		if len(paths) > 0 {
			for _, p := range rapid.SliceOfN(rapid.SampledFrom(paths), 0, 5).Draw(t, "points") {
				points[p] = rapid.IntRange(1, 200).Draw(t, "n")
			}
		}
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		q := newQuery(text)
		got, _, err := search(context.Background(), tr, q, limit, points, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := searchSlowly(tr, q, limit, points)
		if diff := cmp.Diff(shown(want), shown(got)); diff != "" {
			t.Fatalf("%q (-slow +fast)\n%s", text, diff)
		}
		var within []int32
		runes := []rune(text)
		for n := range len(runes) + 1 {
			step := newQuery(string(runes[:n]))
			if !strings.HasPrefix(q.text, step.text) || step.text == "" {
				continue
			}
			_, live, err := search(context.Background(), tr, step, limit, points, within)
			if err != nil {
				t.Fatal(err)
			}
			within = append([]int32{}, live...)
		}
		if within != nil {
			narrow, _, _ := search(context.Background(), tr, q, limit, points, within)
			if diff := cmp.Diff(shown(want), shown(narrow)); diff != "" {
				t.Fatalf("%q, narrowed (-slow +fast)\n%s", text, diff)
			}
		}
		if q.accent != "" || strings.HasPrefix(text, "./") {
			return
		}
		offered := map[string]bool{}
		all, _, _ := search(context.Background(), tr, q, 1000, nil, nil)
		for i := range all {
			offered[all[i].pathOf()] = true
		}
		for _, p := range paths {
			if offered[p] != matches(p, text) {
				t.Fatalf("%q offers %q: %v, its letters occur: %v", text, p, offered[p], matches(p, text))
			}
		}
	})
}

// The same on a tree that is large enough for several goroutines.
func TestLargeFastEqualsSlow(t *testing.T) {
	paths := generate(20_000)
	tr := treeOf(paths)
	points := map[string]int{paths[7]: 60, paths[700]: 50, paths[19_999]: 30}
	for _, text := range strings.Fields("s sess sessagent internal src/ src/a i/s/c zz README session.go intsesswrap qqqqq .go test _test.go a/b/c packages/session xyz9 api/") {
		q := newQuery(text)
		got, _, err := search(t.Context(), tr, q, 30, points, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shown(searchSlowly(tr, q, 30, points)), shown(got)); diff != "" {
			t.Errorf("%q (-slow +fast)\n%s", text, diff)
		}
	}
}
