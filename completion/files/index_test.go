package files

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/completion"
	"github.com/piweb-go/piweb/internal/watch"
)

// vectors reads the lines of the fixture with scores: a query, then what is offered.
func vectors(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("../../fixtures/completion/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, `"`) {
			break
		}
		query, rest, _ := strings.Cut(strings.TrimSpace(line)[1:], `"`)
		all[query] = nil
		for part := range strings.SplitSeq(strings.TrimSpace(rest), " | ") {
			if at := strings.LastIndexByte(part, '='); at > 0 {
				all[query] = append(all[query], part[:at])
			}
		}
	}
	if len(all) != 7 {
		t.Fatalf("%d queries", len(all))
	}
	return all
}

// vectorTree is the tree of the vectors.
func vectorTree(t *testing.T) string {
	files := map[string]string{}
	for _, path := range vectors(t)[""] {
		files[path] = ""
	}
	files[".gitignore"] = "*.log\n/rooted\n"
	files["keep.log"], files["rooted/a.txt"], files["dist/out.js"], files["node_modules/x/index.js"], files[".git/config"] = "", "", "", "", ""
	return folder(t, files)
}

// What is offered is what the reference offers; the order is ours, and is its
// order where the vectors have one.
func TestVectorOffers(t *testing.T) {
	x := open(t, vectorTree(t), IndexOptions{}).ready(t)
	for query, want := range vectors(t) {
		got := filesOf(x.paths(t, query))
		if query != "" {
			if diff := cmp.Diff(want, append([]string(nil), got...)); diff != "" {
				t.Errorf("%q: (-want +got)\n%s", query, diff)
			}
			continue
		}
		sorted := slices.Sorted(slices.Values(want))
		slices.Sort(got)
		if diff := cmp.Diff(sorted, got); diff != "" {
			t.Errorf("everything: (-want +got)\n%s", diff)
		}
	}
}

// The globs of further instances, as the reference has them; classes are ours.
func TestVectorGlobs(t *testing.T) {
	data, err := os.ReadFile("../../fixtures/completion/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "glob" {
			continue
		}
		for _, row := range words[2:] {
			at := strings.LastIndexByte(row, ':')
			path, want := row[:at], row[at+1:] == "true"
			if words[1] == "a[b]" {
				want = path == "ab" // a class, not four letters
			}
			n++
			if got := matchGlob(words[1], path); got != want {
				t.Errorf("%s on %s: %v, want %v", words[1], path, got, want)
			}
		}
	}
	if n != 17 {
		t.Errorf("%d answers", n)
	}
	dir := folder(t, map[string]string{"a.ts": "", "b/c.ts": "", "b/d.go": "", "gen/x.ts": ""})
	x := open(t, dir, IndexOptions{Include: []string{"**/*.ts"}, Exclude: []string{"gen/**", "["}}).ready(t)
	if got := filesOf(x.paths(t, "")); !cmp.Equal(got, []string{"a.ts", "b/c.ts"}) {
		t.Errorf("%q", got)
	}
}

// The order of hits, a row for each rule.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		name, query string
		paths       []string // as they must come
		mentioned   string
	}{
		{"a name before a folder", "comp", []string{"z/compose.go", "comp/a.go"}, ""},
		{"the whole name first", "app.ts", []string{"x/y/app.ts", "app.ts.bak", "myapp.ts"}, ""},
		{"the name without extension", "app", []string{"x/app.ts", "apple.ts"}, ""},
		{"a beginning of a word", "man", []string{"x/session_manager.go", "human.go"}, ""},
		{"a hump is a word", "man", []string{"x/sessionManager.go", "human.go"}, ""},
		{"together before apart", "sess", []string{"x/y/asess.go", "s_e_s_s.go"}, ""},
		{"the short name first", "se", []string{"x/session.go", "sessions_of_all.go"}, ""},
		{"the shallow one first", "app", []string{"app.ts", "a/app.ts", "a/b/app.ts"}, ""},
		{"mentioned before its equals", "app", []string{"z/app3.ts", "a/app1.ts", "b/app2.ts"}, "z/app3.ts"},
		{"capitals as typed", "README", []string{"x/README.md", "readme.md"}, ""},
		{"no capitals, no matter", "readme", []string{"readme.md", "x/README.md"}, ""},
		{"a folder that is typed whole", "b/c/x", []string{"b/c/x.go", "a/b/c/x.go", "b/d/c/x.go"}, ""},
		{"what a folder holds", "b/", []string{"b/c.go", "b/a/z.go", "a/b_/x.go"}, ""},
		{"full width", "ａｐｐ", []string{"app.ts"}, ""},
		{"full width in the name", "abc", []string{"ａｂｃ.txt"}, ""},
		{"normal forms", "e\u0301t", []string{"\u00e9t.txt", "e\u0301t2.txt"}, ""},
		{"without the accent", "ete", []string{"été.txt"}, ""},
		{"with the accent only those", "été", []string{"été.txt"}, ""},
		{"Chinese", "件二", []string{"文件 二.md", "件/二.md"}, ""},
		{"half a kana", "ｶﾞ", []string{"ガ.txt"}, ""},
		{"Hangul", "한", []string{"\u1112\u1161\u11ab.txt"}, ""},
		{"blanks", "a b", []string{"x/a b.txt", "x/a_ b.txt"}, ""},
		{"a backslash is a slash", `b\x`, []string{"b/x.go"}, ""},
		{"a dot and a slash", "./x", []string{"x.go", "a/x.go"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			points := map[string]int{}
			if c.mentioned != "" {
				points[c.mentioned] = pointsMentioned
			}
			paths := append([]string{"ete.txt-", "zzz"}, c.paths...)
			hits, _, err := search(t.Context(), treeOf(paths), newQuery(c.query), 100, points, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range hits {
				if p := hits[i].pathOf(); hits[i].i >= 0 && slices.Contains(c.paths, p) {
					got = append(got, p)
				}
			}
			if diff := cmp.Diff(c.paths, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	hits, _, _ := search(t.Context(), treeOf([]string{"ete.txt"}), newQuery("été"), 9, nil, nil)
	if len(hits) != 0 {
		t.Error("an accent that was typed does not count")
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		query, path string
		want        string // with what matched in brackets
	}{
		{"app", "src/app.ts", "src/[app].ts"},
		{"apts", "src/app.ts", "src/[ap]p.[ts]"},
		{"src", "src/app.ts", "[src]/app.ts"},
		{"s/a", "src/app.ts", "[s]rc[/a]pp.ts"},
		{"x", "🙂🙂/x.ts", "🙂🙂/[x].ts"},
		{"APP", "src/App.ts", "src/[App].ts"},
		{"ete", "été.txt", "[été].txt"},
		{"", "a", "a"},
	} {
		q := newQuery(c.query)
		hits, _, _ := search(t.Context(), treeOf([]string{c.path}), q, 9, nil, nil)
		h := q.show(&hits[slices.IndexFunc(hits, func(h hit) bool { return h.i >= 0 })])
		var out strings.Builder
		unit := 0
		for _, r := range h.Path {
			for _, m := range h.Matches {
				if m[0] == unit {
					out.WriteByte('[')
				}
			}
			out.WriteRune(r)
			if unit++; r > 0xffff {
				unit++
			}
			for _, m := range h.Matches {
				if m[1] == unit {
					out.WriteByte(']')
				}
			}
		}
		if out.String() != c.want {
			t.Errorf("%q in %q: %q, want %q", c.query, c.path, out.String(), c.want)
		}
	}
}

// The rows of what users of such programs suffer from.
func TestPains(t *testing.T) {
	t.Run("a file in the last folder of 200 000", func(t *testing.T) {
		paths := append(generate(200_000), "zz/zz/last.txt")
		dir := folder(t, nil)
		put(t, dir, ".git/config", "")
		put(t, dir, ".git/index", string(makeIndex(paths)))
		tr, _, err := readTracked(dir)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		hits, _, err := search(t.Context(), newTree(tr.dirs), newQuery("zzlast"), 30, nil, nil)
		if err != nil || len(hits) == 0 || hits[0].pathOf() != "zz/zz/last.txt" {
			t.Fatalf("%v, %v", shown(hits), err)
		}
		t.Logf("found among %d files in %v", len(paths), time.Since(start))
	})
	t.Run("refining shows what was cut before", func(t *testing.T) {
		var paths []string
		for i := range 500 {
			paths = append(paths, fmt.Sprintf("a/test%03d.go", i))
		}
		x := &Index{refined: map[string]refined{}}
		x.tree.Store(treeOf(append(paths, "z/deep/down/test-zebra.go")))
		x.state.Store(complete)
		for _, query := range []string{"t", "te", "test", "testz"} {
			f, err := x.Search(t.Context(), query, 30, nil)
			if err != nil {
				t.Fatal(err)
			}
			last := f.Hits[0].Path == "z/deep/down/test-zebra.go"
			if last != (query == "testz") {
				t.Errorf("%q: first is %s", query, f.Hits[0].Path)
			}
		}
	})
	t.Run("a new file", func(t *testing.T) {
		dir := repository0(t)
		x := open(t, dir, IndexOptions{}).ready(t)
		until(t, "the folder is watched", func() bool { return !x.blind.Load() })
		for _, name := range []string{"brand_new.go", "src/brand_new.go", "new/folder/in/brand_new.go"} {
			put(t, dir, name, "x")
			took := until(t, name, func() bool { return slices.Contains(x.paths(t, "brandnew"), name) })
			t.Logf("%s completes after %v", name, took)
		}
		if err := os.RemoveAll(filepath.Join(dir, "new")); err != nil {
			t.Fatal(err)
		}
		until(t, "the folder is gone", func() bool { return len(x.paths(t, "newfolderin")) == 0 })
		put(t, dir, ".gitignore", "brand*\n")
		until(t, "new rules count", func() bool { return len(x.paths(t, "brandnew")) == 0 })
		git(t, dir, "add", "-f", "src/brand_new.go")
		until(t, "what is tracked is there again", func() bool { return len(filesOf(x.paths(t, "brandnew"))) == 1 })
	})
	t.Run("the folder itself is ignored", func(t *testing.T) {
		dir := repository0(t)
		put(t, dir, ".gitignore", "out/\n")
		put(t, dir, "out/x/found.txt", "")
		x := open(t, filepath.Join(dir, "out"), IndexOptions{}).ready(t)
		if got := filesOf(x.paths(t, "found")); !slices.Equal(got, []string{"x/found.txt"}) {
			t.Errorf("%q", got)
		}
	})
	t.Run("a folder below the root", func(t *testing.T) {
		dir := repository0(t)
		put(t, dir, "src/untracked.go", "")
		x := open(t, filepath.Join(dir, "src"), IndexOptions{}).ready(t)
		want := []string{"app.go", "deep/er/x.go", "untracked.go"}
		if got := slices.Sorted(slices.Values(filesOf(x.paths(t, "")))); !cmp.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
	t.Run("links", func(t *testing.T) {
		dir := folder(t, map[string]string{"a/x.txt": ""})
		put(t, dir, "../outside/secret.txt", "")
		link(t, "../a", filepath.Join(dir, "a", "loop"))
		link(t, "nowhere", filepath.Join(dir, "dangling"))
		link(t, "self", filepath.Join(dir, "self"))
		link(t, "../outside", filepath.Join(dir, "out"))
		x := open(t, dir, IndexOptions{}).ready(t)
		want := []string{"dangling", "out", "self", "a/loop", "a/x.txt"}
		if got := filesOf(x.paths(t, "")); !cmp.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
	t.Run("git's own folder, nested repositories", func(t *testing.T) {
		dir := repository0(t)
		inner := filepath.Join(dir, "inner")
		put(t, dir, "inner/tracked.log", "")
		put(t, dir, "inner/other.log", "")
		git(t, inner, "init", "-q")
		put(t, dir, "inner/.gitignore", "*.log\n")
		git(t, inner, "add", "-f", "tracked.log")
		x := open(t, dir, IndexOptions{}).ready(t)
		if got := x.paths(t, ".git/"); len(got) != 0 {
			t.Errorf("%q", got)
		}
		if got := filesOf(x.paths(t, "inner/log")); !slices.Equal(got, []string{"inner/tracked.log"}) {
			t.Errorf("%q", got)
		}
		all := open(t, dir, IndexOptions{All: true}).ready(t)
		for _, p := range all.paths(t, "") {
			if InGit(p) {
				t.Errorf("%s is offered", p)
			}
		}
		if got := filesOf(all.paths(t, "inner/log")); len(got) != 2 {
			t.Errorf("all: %q", got)
		}
	})
	t.Run("tracked wherever it is", func(t *testing.T) {
		dir := repository0(t)
		for _, name := range []string{"dist/tracked.js", "node_modules/mine/tracked.js", "build/tracked.o"} {
			put(t, dir, name, "")
			put(t, dir, strings.Replace(name, "tracked", "untracked", 1), "")
		}
		put(t, dir, ".gitignore", "build/\n")
		git(t, dir, "add", "-f", "dist/tracked.js", "node_modules/mine/tracked.js", "build/tracked.o")
		x := open(t, dir, IndexOptions{}).ready(t)
		want := []string{"build/tracked.o", "dist/tracked.js", "node_modules/mine/tracked.js"}
		got := filesOf(x.paths(t, "tracked"))
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
	t.Run("a deleted file that is tracked", func(t *testing.T) {
		dir := repository0(t)
		if err := os.Remove(filepath.Join(dir, "z")); err != nil {
			t.Fatal(err)
		}
		x := open(t, dir, IndexOptions{}).ready(t)
		if slices.Contains(x.paths(t, "z"), "z") {
			t.Error("it is offered")
		}
	})
	t.Run("every name goes into a token and back", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("the names are those of Unix")
		}
		names := []string{"a b.txt", "it's", `say "x"`, `back\slash`, "no\u00a0break", "thin\u202fblank", "e\u0301", "\u00e9", "文件 二.md", "🙂 👩‍💻.txt", "ends.", "#L3", "x#L3-9", "@at", "a:b", "new\nline", "tab\tx", "(1)", "100%25", "-dash", "!bang", "q?", "'q'", "\"q\""}
		files := map[string]string{}
		for _, n := range names {
			files[n] = "x"
		}
		dir := folder(t, files)
		p := New(IndexOptions{})
		defer p.Close()
		r := completion.NewRegistry(nil)
		if err := r.Add(p); err != nil {
			t.Fatal(err)
		}
		scope := completion.Scope{CWD: dir}
		offered := map[string]string{}
		until(t, "the index is complete", func() bool {
			a := r.Complete(t.Context(), completion.Query{Scope: scope, Trigger: "@"})
			for _, i := range a.Items {
				offered[i.ID] = i.InsertText
			}
			return !a.Partial
		})
		for _, n := range names {
			res := r.Resolve(t.Context(), scope, "see "+offered[n]+" now")
			if len(res.Found) != 1 || res.Found[0].ID != n || offered[n] == "" {
				t.Errorf("%q: offered as %s, resolved to %+v", n, offered[n], res)
			}
		}
	})
}

// Where the system gives no watches, or loses what it had to tell, names are looked
// at again when somebody searches.
func TestFallbacks(t *testing.T) {
	for name, o := range map[string]IndexOptions{
		"a limit of watches": {Watch: watch.Options{Limit: 2}, Stale: time.Millisecond},
		"no watching":        {NoWatch: true, Stale: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{"a/b/c/x.txt": "", "d/y.txt": ""})
			x := open(t, dir, o).ready(t)
			until(t, "the index knows that it is blind", func() bool { return x.blind.Load() })
			put(t, dir, "a/b/c/later.txt", "")
			took := until(t, "the new file", func() bool { return len(x.paths(t, "later")) == 1 })
			t.Logf("completes after %v", took)
		})
	}
	t.Run("an overflow", func(t *testing.T) {
		dir := folder(t, map[string]string{"d/x.txt": ""})
		// Whoever is told is kept busy, so that the kernel has to drop events.
		var busy atomic.Bool
		x := open(t, dir, IndexOptions{Watch: watch.Options{Seen: func(string) {
			for busy.Load() {
				time.Sleep(time.Millisecond)
			}
		}}}).ready(t)
		until(t, "the folder is watched", func() bool { return !x.blind.Load() })
		busy.Store(true)
		for i := range 20_000 {
			path := filepath.Join(dir, "d", fmt.Sprint("f", i))
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if i < 19_990 {
				os.Remove(path)
			}
		}
		busy.Store(false)
		took := until(t, "what was made while nobody listened", func() bool {
			return len(filesOf(x.paths(t, "f1999"))) == 10
		})
		t.Logf("completes after %v", took)
	})
}

// A search never waits for the index, and says that there may be more.
func TestNothingWaits(t *testing.T) {
	x := &Index{refined: map[string]refined{}}
	x.tree.Store(emptyTree)
	f, err := x.Search(t.Context(), "a", 30, nil)
	if err != nil || !f.Partial || len(f.Hits) != 0 {
		t.Errorf("%+v, %v", f, err)
	}
}

// A folder that is gone ends its index; the provider starts another.
func TestFolderGoesAndComesBack(t *testing.T) {
	dir := folder(t, map[string]string{"x.txt": ""})
	p := New(IndexOptions{})
	defer p.Close()
	ask := func(query string) int {
		offer, err := p.Complete(t.Context(), completion.Query{Scope: completion.Scope{CWD: dir}, Text: query})
		if err != nil {
			return -1
		}
		return len(offer.Items)
	}
	until(t, "x is offered", func() bool { return ask("x") == 1 })
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	until(t, "nothing is offered", func() bool { return ask("x") <= 0 })
	put(t, dir, "y.txt", "")
	until(t, "y is offered", func() bool { return ask("y") == 1 })
}

func TestIndexesAreBounded(t *testing.T) {
	p := New(IndexOptions{NoWatch: true})
	defer p.Close()
	for range 3 * maxIndexes {
		if _, err := p.index(folder(t, map[string]string{"x": ""}), false); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(p.indexes); n != maxIndexes {
		t.Errorf("%d indexes", n)
	}
}
