package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func mixedText(runes ...rune) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return string(rapid.SliceOfN(rapid.SampledFrom(runes), 0, 40).Draw(t, "runes"))
	})
}

// drawPlan draws replacements of text that do not overlap, in order.
func drawPlan(t *rapid.T, text string) []replacement {
	var plan []replacement
	at := 0
	for range rapid.IntRange(1, 4).Draw(t, "edits") {
		if at > len(text) {
			break
		}
		start := rapid.IntRange(at, len(text)).Draw(t, "start")
		end := rapid.IntRange(start, len(text)).Draw(t, "end")
		plan = append(plan, replacement{start, end, mixedText('N', '\n').Draw(t, "new")})
		at = end + 1
	}
	return plan
}

func TestSpliceEqualsReplacingInLF(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		original := mixedText('a', 'b', '\n', '\r', '\n', 'é').Draw(t, "original")
		plan := drawPlan(t, toLF(original))
		got := splice(original, plan)
		if want := applyPlan(toLF(original), plan); toLF(got) != want {
			t.Fatalf("got %q, in LF %q, want %q", got, toLF(got), want)
		}
	})
}

func TestSpliceKeepsLineEndsOfUntouchedLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Lines that can be told apart, with ends in any mixture.
		var original strings.Builder
		var lines []string
		for i := range rapid.IntRange(1, 12).Draw(t, "lines") {
			line := fmt.Sprintf("line%02d%s", i, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end"))
			lines = append(lines, line)
			original.WriteString(line)
		}
		changed := rapid.IntRange(0, len(lines)-1).Draw(t, "changed")
		name := fmt.Sprintf("line%02d", changed)
		plan, _, err := planEdits(toLF(original.String()), []textEdit{{name, "one\ntwo"}})
		if err != nil {
			t.Fatal(err)
		}
		end := strings.TrimPrefix(lines[changed], name)
		lines[changed] = "one" + end + "two" + end
		if got, want := splice(original.String(), plan), strings.Join(lines, ""); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestExactEditEqualsReplace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := mixedText('a', 'b', 'c', '\n', '“', ' ').Filter(func(s string) bool { return s != "" }).Draw(t, "text")
		runes := []rune(text)
		from := rapid.IntRange(0, len(runes)-1).Draw(t, "from")
		to := rapid.IntRange(from+1, len(runes)).Draw(t, "to")
		old := string(runes[from:to])
		if strings.Count(text, old) != 1 {
			t.Skip("not unique")
		}
		plan, folded, err := planEdits(text, []textEdit{{old, "N\nN"}})
		if err != nil || folded {
			t.Fatalf("folded %v, err %v", folded, err)
		}
		if got, want := applyPlan(text, plan), strings.Replace(text, old, "N\nN", 1); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestLooseEditLeavesOtherLinesAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		odd := mixedText('“', '–', ' ', 'é', '\u00a0', 'x')
		var lines []string
		for range rapid.IntRange(1, 8).Draw(t, "lines") {
			lines = append(lines, odd.Draw(t, "line"))
		}
		at := rapid.IntRange(0, len(lines)).Draw(t, "at")
		lines = append(lines[:at:at], append([]string{"key “here” –  "}, lines[at:]...)...)
		text := strings.Join(lines, "\n")
		plan, folded, err := planEdits(text, []textEdit{{`"here" -`, "N"}})
		if err != nil || !folded {
			t.Fatalf("folded %v, err %v", folded, err)
		}
		lines[at] = "key N"
		if got, want := applyPlan(text, plan), strings.Join(lines, "\n"); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// applyPatch is a strict reader of unified patches.
func applyPatch(t *rapid.T, before, patch string) string {
	old := strings.SplitAfter(before, "\n")
	if old[len(old)-1] == "" {
		old = old[:len(old)-1]
	}
	var out strings.Builder
	at, added := 0, 0 // lines of before consumed, lines written
	lines := strings.SplitAfter(patch, "\n")
	for i, line := range lines {
		text := ""
		if len(line) > 1 {
			text = line[1:]
		}
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "\\") {
			text = strings.TrimSuffix(text, "\n")
		}
		switch {
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"), line == "", line[0] == '\\':
		case strings.HasPrefix(line, "@@"):
			from, to, ok := hunkStart(line)
			if !ok {
				t.Fatalf("hunk %q", line)
			}
			for ; at < from; at++ {
				out.WriteString(old[at])
				added++
			}
			if added != to {
				t.Fatalf("hunk %q begins at line %d of the new text", line, added)
			}
		case line[0] == '+':
			out.WriteString(text)
			added++
		default:
			if at >= len(old) || old[at] != text {
				t.Fatalf("patch line %q does not fit line %d of %q", line, at, before)
			}
			if line[0] == ' ' {
				out.WriteString(text)
				added++
			}
			at++
		}
	}
	for ; at < len(old); at++ {
		out.WriteString(old[at])
	}
	return out.String()
}

func TestPatchAppliesAndTellsTheFirstLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := mixedText('a', 'b', '\n', '\n').Draw(t, "before")
		after := applyPlan(before, drawPlan(t, before))
		if before == after {
			t.Skip("no change")
		}
		d := compareTexts("f", before, after)
		if got := applyPatch(t, before, d.Patch); got != after {
			t.Fatalf("the patch gives %q, want %q\n%s", got, after, d.Patch)
		}
		old, new := splitLines(before), splitLines(after)
		first := 0
		for first < len(old) && first < len(new) && old[first] == new[first] {
			first++
		}
		if d.FirstChangedLine != first+1 {
			t.Fatalf("first changed line %d, want %d", d.FirstChangedLine, first+1)
		}
	})
}

func TestEditKeepsInvalidBytesOfOtherPlaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "latin1.txt")
	writeTestFile(t, path, "caf\xe9\nold\r\n\xff\n")
	r := callTool(t, NewEdit(Options{}), dir, `{"path":"latin1.txt","edits":[{"oldText":"old","newText":"new"}]}`)
	if r.IsError {
		t.Fatal(r.Content.PlainText())
	}
	if got, want := readTestFile(t, path), "caf\xe9\nnew\r\n\xff\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEditOfAHugeFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "huge")
	writeTestFile(t, path, "old")
	if err := os.Truncate(path, editMaxBytes+1); err != nil {
		t.Fatal(err)
	}
	r := callTool(t, NewEdit(Options{}), dir, `{"path":"huge","edits":[{"oldText":"old","newText":"new"}]}`)
	if !r.IsError || !strings.Contains(r.Content.PlainText(), "larger than 64.0MB") {
		t.Errorf("got %s", r.Content.PlainText())
	}
}

func TestEditsOfOneFileDoNotLoseEachOther(t *testing.T) {
	skipOnWindows(t, "links need a privilege")
	dir := t.TempDir()
	const count = 40
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, "<%d>\n", i)
	}
	writeTestFile(t, filepath.Join(dir, "f.txt"), text.String())
	if err := os.Symlink("f.txt", filepath.Join(dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	locks := &Locks{}
	var wg sync.WaitGroup
	for i := range count {
		name := []string{"f.txt", "link.txt", "./f.txt"}[i%3]
		wg.Go(func() {
			// A set of its own, as two sessions would have, with the shared table.
			edit := NewEdit(Options{Locks: locks})
			args := fmt.Sprintf(`{"path":%q,"edits":[{"oldText":"<%d>","newText":"[%d]"}]}`, name, i, i)
			r, err := edit.Run(context.Background(), &Call{CWD: dir, Arguments: json.RawMessage(args)})
			if err != nil || r.IsError {
				t.Errorf("edit %d: %v %s", i, err, r.Content.PlainText())
			}
		})
	}
	wg.Wait()
	want := strings.NewReplacer("<", "[", ">", "]").Replace(text.String())
	if got := readTestFile(t, filepath.Join(dir, "f.txt")); got != want {
		t.Errorf("got %q", got)
	}
	if len(locks.held) != 0 {
		t.Errorf("%d locks are left in the table", len(locks.held))
	}
}

func TestWaitingForALockEndsWithTheCall(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f.txt")
	writeTestFile(t, path, "old")
	locks := &Locks{}
	unlock, err := locks.Lock(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tool := range []Tool{NewEdit(Options{Locks: locks}), NewWrite(Options{Locks: locks})} {
		r, err := tool.Run(ctx, &Call{CWD: dir, Arguments: json.RawMessage(
			`{"path":"f.txt","content":"new","edits":[{"oldText":"old","newText":"new"}]}`)})
		if err != nil || !r.IsError || !strings.Contains(r.Content.PlainText(), "stopped before") {
			t.Errorf("%s: %v %s", tool.Declaration().Name, err, r.Content.PlainText())
		}
	}
	unlock()
	if len(locks.held) != 0 {
		t.Errorf("%d locks are left in the table", len(locks.held))
	}
	if got := readTestFile(t, path); got != "old" {
		t.Errorf("the file changed: %q", got)
	}
}

func TestPreparingTwiceIsPreparingOnce(t *testing.T) {
	for _, tool := range Builtin(Options{}) {
		for _, args := range []string{
			`{"file_path":"a","oldText":"x","newText":"y","edits":"[{\"oldText\":\"1\",\"newText\":\"2\"}]","offset":"3","timeout":null,"limit":"x"}`,
			`{"path":"a","edits":{"oldText":"x","newText":"y"}}`, `[]`, `null`, `{`, ``,
		} {
			once := tool.Prepare(json.RawMessage(args))
			if twice := tool.Prepare(once); string(twice) != string(once) {
				t.Errorf("%s: %s becomes %s, then %s", tool.Declaration().Name, args, once, twice)
			}
		}
	}
}
