package sources

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/completion"
)

// owner is the owner of everything, for the session "mine".
type owner struct{ err error }

func (o owner) Commands(context.Context, completion.Scope) ([]Command, error) {
	return []Command{{"fix", "Fix it\nnow", "[what]", "template"}, {"skill:pdf", "Read PDFs", "", "skill"}}, o.err
}

func (o owner) Sessions(context.Context, completion.Scope) ([]SessionInfo, error) {
	return []SessionInfo{{"a1", "Login \"fails\"\nagain", "/else", "/s/a1.jsonl"}, {"b2", "The login form", "/here", "/s/b2.jsonl"}, {"me", "login", "/here", "/s/me.jsonl"}, {"c3", "", "/here", "/s/c3.jsonl"}}, o.err
}

func (o owner) Attachments(_ context.Context, s completion.Scope) ([]Attachment, error) {
	if s.SessionID != "mine" {
		return nil, o.err
	}
	return []Attachment{{"att_1", "photo of Ada.png", "image/png", 1536, "/api/x"}, {"att_2", "notes.pdf", "application/pdf", 10, "/api/y"}}, o.err
}

func (o owner) Marker(_ context.Context, s completion.Scope, id string) (string, bool, error) {
	return "[marker " + id + "]", s.SessionID == "mine" && id == "att_1", o.err
}

func (o owner) Profiles(context.Context, completion.Scope) ([]Profile, error) {
	return []Profile{{"reviewer", "Reads changes"}, {"tester", ""}}, o.err
}

func offers(t *testing.T, p completion.Provider, s completion.Scope, text string) []string {
	t.Helper()
	r := completion.NewRegistry(nil)
	if err := r.Add(p); err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, i := range r.Complete(t.Context(), completion.Query{Scope: s, Trigger: p.Trigger(), Text: text}).Items {
		out = append(out, strings.Join([]string{i.Kind, i.ID, i.Label, i.Detail, i.InsertText, i.PreviewURL}, "|"))
	}
	return out
}

func TestOffers(t *testing.T) {
	mine := completion.Scope{SessionID: "mine", CWD: "/here"}
	for _, c := range []struct {
		name  string
		p     completion.Provider
		scope completion.Scope
		text  string
		want  []string
	}{
		{"commands", Commands(owner{}), mine, "", []string{"template|fix|/fix|[what] · Fix it now|/fix|", "skill|skill:pdf|/skill:pdf|Read PDFs|/skill:pdf|"}},
		{"a word in a command", Commands(owner{}), mine, "PDF", []string{"skill|skill:pdf|/skill:pdf|Read PDFs|/skill:pdf|"}},
		{"no command", Commands(owner{}), mine, "zz", []string{}},
		{"commands of a broken owner", Commands(owner{errors.New("no")}), mine, "", []string{}},
		{"sessions, those of the folder first", Sessions(owner{}), completion.Scope{SessionID: "me", CWD: "/here"}, "login",
			[]string{"session|a1|Login \"fails\" again|/else|#session:a1|", "session|b2|The login form|/here|#session:b2|"}},
		{"a session by its id", Sessions(owner{}), mine, "c3", []string{"session|c3|c3|/here|#session:c3|"}},
		{"attachments", Attachments(owner{}), mine, "", []string{"attachment|att_2|notes.pdf|application/pdf · 10 B|@attachment:att_2|", "attachment|att_1|photo of Ada.png|image/png · 1.5 KB|@attachment:att_1|/api/x"}},
		{"attachments by letters", Attachments(owner{}), mine, "phada", []string{"attachment|att_1|photo of Ada.png|image/png · 1.5 KB|@attachment:att_1|/api/x"}},
		{"attachments of another session", Attachments(owner{}), completion.Scope{SessionID: "other"}, "", []string{}},
		{"profiles", Profiles(owner{}), mine, "rev", []string{"profile|reviewer|reviewer|Reads changes|@profile:reviewer|"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, offers(t, c.p, c.scope, c.text)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestResolved(t *testing.T) {
	r := completion.NewRegistry(nil)
	for _, p := range []completion.Provider{Commands(owner{}), Sessions(owner{}), Attachments(owner{}), Profiles(owner{})} {
		if err := r.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]string{
		"see #session:a1":                "see the session \"Login \\\"fails\\\" again\" (/s/a1.jsonl)",
		"#session:zz":                    "#session:zz",
		"@attachment:att_1 and":          "[marker att_1] and",
		"@attachment:att_2":              "@attachment:att_2",
		"@attachment:../att_1":           "@attachment:../att_1",
		"ask @profile:reviewer.":         "ask the subagent profile reviewer.",
		"@profile:nobody":                "@profile:nobody",
		"/skill:pdf x":                   "/skill:pdf x", // the door's, not a token
		"/command:fix":                   "/command:fix",
		"@session:a1 (any trigger does)": "the session \"Login \\\"fails\\\" again\" (/s/a1.jsonl) (any trigger does)",
	} {
		if got := r.Resolve(t.Context(), completion.Scope{SessionID: "mine"}, text); got.Text != want {
			t.Errorf("%q: %q, want %q", text, got.Text, want)
		}
	}
	if got := r.Resolve(t.Context(), completion.Scope{SessionID: "other"}, "@attachment:att_1"); got.Text != "@attachment:att_1" {
		t.Errorf("another session's attachment became %q", got.Text)
	}
}

func TestVectorSizes(t *testing.T) {
	data, err := os.ReadFile("../../fixtures/completion/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "a/b · ") {
			want = strings.Split(strings.TrimSpace(line), " | ")
		}
	}
	sizes := []int64{0, 1, 42, 1023, 1024, 1025, 1536, 10240, 131072, 1048575, 1048576, 1572864, 26214400, 1 << 30, 1 << 40, 1 << 50}
	if len(want) != len(sizes) {
		t.Fatalf("%d sizes in the fixture", len(want))
	}
	for i, n := range sizes {
		if got := "a/b · " + SizeText(n); got != want[i] {
			t.Errorf("%d: %s, want %s", n, got, want[i])
		}
	}
}

func TestMatchedParts(t *testing.T) {
	for _, c := range []struct {
		label, typed string
		score        int
		parts        [][2]int
	}{
		{"abc", "AB", begins, [][2]int{{0, 2}}},
		{"x abc", "ab", word, [][2]int{{2, 4}}},
		{"xabc", "ab", holds, [][2]int{{1, 3}}},
		{"axb", "ab", letters, nil},
		{"x", "ab", no, nil},
		{"🙂 abc", "ab", word, [][2]int{{3, 5}}},
		{"ａｂｃ", "ab", begins, nil},
		{"中文", "文", holds, [][2]int{{1, 2}}},
	} {
		score, parts := match(c.label, c.typed)
		if score != c.score || !cmp.Equal(parts, c.parts) {
			t.Errorf("%q in %q: %d %v", c.typed, c.label, score, parts)
		}
	}
}
