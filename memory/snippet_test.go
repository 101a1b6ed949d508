package memory

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// marked shows a snippet with its hits in brackets.
func marked(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Hit {
			b.WriteString("[" + p.Text + "]")
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func TestSnippet(t *testing.T) {
	long := strings.Repeat("before ", 100)
	for _, c := range []struct{ name, text, query, want string }{
		{"words", "The gateway keeps memory", "memory GATEWAY", "The [gateway] keeps [memory]"},
		{"two characters", "内存网关已重启", "网关", "内存[网关]已重启"},
		{"glued to Han", "第3步重启build-agent后清理了悬空引用", "agent 悬空", "第3步重启build-[agent]后清理了[悬空]引用"},
		{"a query of two scripts", "重启了build agent", "重启build", "[重启]了[build] agent"},
		{"marks", "la sesión de hoy", "sesion", "la [sesión] de hoy"},
		{"marks of their own", "la sesio\u0301n de hoy", "sesión", "la [sesio\u0301n] de hoy"},
		{"width", "ｍｅｍｏｒｙ of 網関", "memory", "[ｍｅｍｏｒｙ] of 網関"},
		{"an identifier", "see memory_gateway.go", "memory_gateway.go", "see [memory_gateway.go]"},
		{"part of an identifier", "see memory_gateway.go", "gateway", "see memory_[gateway].go"},
		{"inside of a word", "needle_file.go", "eedle", "n[eedle]_file.go"},
		{"a short word is none of a longer one", "long ago we go", "go", "long ago we [go]"},
		{"overlapping", "banana bandana", "banana nana", "[banana] bandana"},
		{"emoji", "a 🐙 swims", "🐙", "a [🐙] swims"},
		{"syntax of indexes", `say "NEAR(a OR b*"`, `"NEAR(`, `say ["NEAR(]a OR b*"`},
		{"nothing of it", "found by its files", "picture.png", "found by its files"},
		{"a mark alone", "la sesión", "\u0301", "la sesión"},
		{"no text", "", "x", ""},
	} {
		if got := marked(snippet(c.text, c.query)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	got := marked(snippet(long+"needle "+long, "needle"))
	if !strings.HasPrefix(got, cutMark) || !strings.HasSuffix(got, cutMark) || !strings.Contains(got, "before [needle] before") || len(got) > 500 {
		t.Errorf("a long text: %q", got)
	}
	if got := marked(snippet(long, "needle")); !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, cutMark) {
		t.Errorf("a long text without a hit: %q", got)
	}
}

// A snippet is valid text, a part of its source, and never long, whatever is asked.
func TestPropertySnippet(t *testing.T) {
	alphabet := rapid.SampledFrom([]string{"a", "B", "é", "e\u0301", "\u0301", "ß", "ﬁ", "İ", "网", "関", "が", "か\u3099", "각", "🐙", " ", "-", "\xff", "ｍ", strings.Repeat("x", 90)})
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(alphabet, 0, 40).Draw(rt, "text"), "")
		query := strings.Join(rapid.SliceOfN(alphabet, 0, 5).Draw(rt, "query"), "")
		var all strings.Builder
		for _, p := range snippet(text, query) {
			if p.Text == "" || !utf8.ValidString(p.Text) {
				rt.Fatalf("part %q of %q", p.Text, text)
			}
			if p.Text != cutMark {
				all.WriteString(p.Text)
			}
		}
		if source := strings.ToValidUTF8(text, "\uFFFD"); !strings.Contains(text, "\xff") && !strings.Contains(source, all.String()) {
			rt.Fatalf("%q is no part of %q", all.String(), source)
		}
		if all.Len() > 3*(snippetBefore+snippetAfter)+600 {
			rt.Fatalf("%d bytes", all.Len())
		}
	})
}
