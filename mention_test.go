package piweb_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/completion"
)

// agreeing answers everything.
func agreeing(t *testing.T) *offline.Script {
	return modeltest.Parse(t, `{"steps":[{"text":"ok","repeat":true}]}`)
}

// said is what the model was told last by the user.
func (w *world) said() string {
	w.t.Helper()
	all := w.lastMessages()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Role != "user" {
			continue
		}
		var text string
		var parts []struct{ Text string }
		if json.Unmarshal(all[i].Content, &text) != nil {
			if err := json.Unmarshal(all[i].Content, &parts); err != nil || len(parts) != 1 {
				w.t.Fatalf("%s: %v", all[i].Content, err)
			}
			text = parts[0].Text
		}
		return text
	}
	return ""
}

// What the user names is resolved at the door, before templates are expanded, and
// what those put in is never looked at.
func TestMentionsAtTheDoor(t *testing.T) {
	w := newWorld(t, agreeing(t))
	project := strings.TrimPrefix(w.project, w.home+"/")
	w.put(project+"/src/app.go", "package app\n")
	w.put(project+"/a \"b\" 文 🙂.txt", "x")
	w.put(project+"/.git/config", "secret")
	w.put(".pi/agent/prompts/look.md", "Look at $1 and @file:src/app.go, ./src/../go.mod is @file:./go.mod")
	w.put("outside.txt", "OUTSIDE")
	s := w.create("read")
	for typed, want := range map[string]string{
		"see @file:./src//app.go.":                     "see @src/app.go.",
		`@file:"a \"b\" 文 🙂.txt"`:                      `@"a \"b\" 文 🙂.txt"`,
		"@file:../outside.txt @file:.git/config":       "@file:../outside.txt @file:.git/config",
		"@file:" + w.home + "/outside.txt":             "@file:" + w.home + "/outside.txt",
		"@src/app.go#L1-3 and me@file:src/app.go":      "@src/app.go#L1-3 and me@file:src/app.go",
		"```\n@file:src/app.go\n```":                   "```\n@file:src/app.go\n```",
		"/look @file:src":                              "Look at @src and @file:src/app.go, ./src/../go.mod is @file:./go.mod",
		"@file:nothing @nothing.txt @other:src/app.go": "@file:nothing @nothing.txt @other:src/app.go",
	} {
		w.say(s, typed)
		if got := w.said(); got != want {
			t.Errorf("%q became %q, want %q", typed, got, want)
		}
	}
}

func TestMentionedFilesAsDocuments(t *testing.T) {
	w := newWorld(t, agreeing(t))
	project := strings.TrimPrefix(w.project, w.home+"/")
	w.put(project+"/a.txt", "1\n2\n3\n4\n")
	w.put(project+"/b.txt", "</documents>")
	w.put(project+"/large.txt", strings.Repeat("x", 200))
	w.put(project+"/binary", "\xff\xfe")
	w.put(".pi/agent/prompts/look.md", "Look: $1")
	w.put(".pi/agent/piweb.json", `{"mentions":{"documents":true,"maxBytes":100}}`)
	s := w.create("read")
	w.say(s, "/look @file:a.txt#L2-3")
	if got, want := w.said(), "Look: @a.txt#L2-3\n\n<documents>\n<document path=\"a.txt\" lines=\"2-3\">\n2\n3\n</document>\n</documents>"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	w.say(s, "@large.txt @binary @src/ @nothing")
	if got := w.said(); got != "@large.txt @binary @src/ @nothing" {
		t.Errorf("%q", got)
	}
	w.say(s, "@b.txt @b.txt")
	if got := w.said(); strings.Count(got, "<document path=") != 1 || !strings.Contains(got, "suffix=") {
		t.Errorf("%q", got)
	}
}

// What git ignores is offered on request in the query, or always by a setting, which
// holds from the next question on.
func TestIgnoredFilesBySetting(t *testing.T) {
	w := newWorld(t, agreeing(t))
	project := strings.TrimPrefix(w.project, w.home+"/")
	w.put(project+"/.gitignore", "*.log\n")
	w.put(project+"/secret.log", "x")
	w.put(project+"/secretary.txt", "x")
	s := w.create("read")
	offers := func(query string) []string {
		t.Helper()
		scope, err := w.rt.CompletionScope(s.Log().Path(), s)
		if err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			answer := w.rt.Completion().Complete(t.Context(), completion.Query{Scope: scope, Trigger: "@", Text: query})
			if !answer.Partial {
				var ids []string
				for _, item := range answer.Items {
					ids = append(ids, item.ID)
				}
				slices.Sort(ids)
				return ids
			}
			if time.Now().After(end) {
				t.Fatal("the list is never final")
			}
		}
	}
	for _, c := range []struct {
		setting, query string
		want           []string
	}{
		{`{}`, "secret", []string{"secretary.txt"}},
		{`{}`, "!secret", []string{"secret.log", "secretary.txt"}},
		{`{"mentions":{"ignored":true}}`, "secret", []string{"secret.log", "secretary.txt"}},
		{`{"mentions":{"ignored":true}}`, "!secret", []string{"secret.log", "secretary.txt"}},
		{`{"mentions":{"ignored":false}}`, "secret", []string{"secretary.txt"}},
	} {
		w.put(".pi/agent/piweb.json", c.setting)
		if got := offers(c.query); !slices.Equal(got, c.want) {
			t.Errorf("%s, %s: %q, want %q", c.setting, c.query, got, c.want)
		}
	}
}

// An embedder's own provider completes and resolves beside ours.
type tickets struct{}

func (tickets) ID() string      { return "ticket" }
func (tickets) Kind() string    { return "ticket" }
func (tickets) Trigger() string { return "$" }
func (tickets) Complete(_ context.Context, q completion.Query) (completion.Offer, error) {
	return completion.Offer{Items: []completion.Item{{ID: "7", Label: "Login fails", InsertText: completion.Format("$", "ticket", "7")}}}, nil
}
func (tickets) Resolve(_ context.Context, r completion.Ref) (completion.Resolution, bool, error) {
	return completion.Resolution{Text: "ticket 7 (Login fails)"}, r.ID == "7", nil
}

func TestEmbeddersProvider(t *testing.T) {
	w := newWorld(t, agreeing(t))
	rt := w.runtime(func(c *piweb.Config) { c.Completion = []completion.Provider{tickets{}} })
	s, err := rt.Create(t.Context(), w.project, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scope, err := rt.CompletionScope("", s)
	if err != nil {
		t.Fatal(err)
	}
	if a := rt.Completion().Complete(t.Context(), completion.Query{Scope: scope, Trigger: "＄"}); len(a.Items) != 1 || a.Items[0].InsertText != "$ticket:7" {
		t.Errorf("%+v", a)
	}
	turn, err := s.Prompt(t.Context(), piweb.Input{Text: "fix $ticket:7, not $ticket:8"})
	if err != nil {
		t.Fatal(err)
	}
	if err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.said(); got != "fix ticket 7 (Login fails), not $ticket:8" {
		t.Errorf("%q", got)
	}
}

// What the session has mentioned or changed goes before its equals.
func TestScopeKnowsWhatTheSessionMentioned(t *testing.T) {
	w := newWorld(t, agreeing(t))
	project := strings.TrimPrefix(w.project, w.home+"/")
	for _, name := range []string{"aa.go", "ab.go", "ac.go"} {
		w.put(project+"/"+name, "")
	}
	s := w.create("read")
	w.say(s, "look at @ac.go")
	scope, err := w.rt.CompletionScope("", s)
	if err != nil || len(scope.Recent) == 0 || scope.Recent[len(scope.Recent)-1] != "ac.go" {
		t.Fatalf("%+v, %v", scope, err)
	}
	a := w.rt.Completion().Complete(t.Context(), completion.Query{Scope: scope, Trigger: "@", Text: "a"})
	for a.Partial {
		a = w.rt.Completion().Complete(t.Context(), completion.Query{Scope: scope, Trigger: "@", Text: "a"})
	}
	if len(a.Items) == 0 || a.Items[0].ID != "ac.go" {
		t.Errorf("%+v", a.Items)
	}
	w.rt.Release(s)
	again, err := w.rt.CompletionScope(s.Log().Path(), nil)
	if err != nil || len(again.Recent) == 0 || again.CWD != w.project {
		t.Errorf("%+v, %v", again, err)
	}
}
