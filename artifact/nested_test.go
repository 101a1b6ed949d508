package artifact

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestNestedIDs: the index of a subagent's subagent is free in every folder that
// will keep its output, whoever gave one there before.
func TestNestedIDs(t *testing.T) {
	root, child, fork := newStore(t, Options{}), newStore(t, Options{}), newStore(t, Options{})
	give := func(s *Store, above ...*Store) AgentID {
		t.Helper()
		id, err := s.NewAgent("0-a", "b", above...)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	if got := give(child, root); got != "0-a.0-b" {
		t.Errorf("the first: %s", got)
	}
	// A fork of the child, whose parent's folder is the same.
	if got := give(fork, root); got != "0-a.1-b" {
		t.Errorf("of a fork: %s", got)
	}
	if got := give(child, root); got != "0-a.2-b" {
		t.Errorf("behind that of the fork: %s", got)
	}
	// Given while the root was away, and it has come back.
	fill(t, fork, map[string]string{"0-a.7-b.md": ""})
	if got := give(New(fork.session, Options{}), root); got != "0-a.8-b" {
		t.Errorf("above what the own folder has: %s", got)
	}
	if got := give(New(root.session, Options{})); got != "0-a.9-b" {
		t.Errorf("in the root alone: %s", got)
	}
	if (AgentID("0-a")).Levels() != 1 || (AgentID("0-a.3-b.1-c")).Levels() != 3 {
		t.Error("the levels of an id are wrong")
	}
	// At once.
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[AgentID]bool{}
	for _, s := range []*Store{child, fork, New(child.session, Options{}), New(fork.session, Options{})} {
		wg.Go(func() {
			above := New(root.session, Options{})
			for range 10 {
				id, err := s.NewAgent("0-a", "b", above)
				mu.Lock()
				if err != nil || seen[id] {
					t.Errorf("%s twice, %v", id, err)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	// A deep tree has short names, and ends.
	id, n := AgentID(""), 0
	for ; ; n++ {
		next, err := root.NewAgent(id, strings.Repeat("名name", 40))
		if err != nil {
			break
		}
		if next.check() != nil {
			t.Fatalf("%s is no id", next)
		}
		id = next
	}
	if n < 8 {
		t.Errorf("only %d levels have ids", n)
	}
}

func TestStructured(t *testing.T) {
	for _, c := range []struct{ name, answer, want string }{
		{"an object", " {\"a\": 1}\n", `{"a": 1}`},
		{"an array", "[1,2]", `[1,2]`},
		{"prose", "All is well.", ""},
		{"a number is an answer in words", "42", ""},
		{"a quoted text is one too", `"yes"`, ""},
		{"broken", "{\"a\": 1", ""},
		{"two values", "{} {}", ""},
		{"a block", "Found:\n\n```json\n{\"a\": [1]}\n```\nThat is all.", `{"a": [1]}`},
		{"of another spelling", "````JSON title\n[{}]\n````", `[{}]`},
		{"with carriage returns", "```json\r\n{\"a\": 1}\r\n```\r\n", `{"a": 1}`},
		{"indented in a list", "- it:\n  ```json\n  {\"a\": 1}\n  ```\n", `{"a": 1}`},
		{"without an end", "```json\n{\"a\": 1}\n", `{"a": 1}`},
		{"broken in a block", "```json\n{\"a\": }\n```", ""},
		{"two blocks", "```json\n{}\n```\n```json\n[]\n```", ""},
		{"one is broken: nobody knows which is meant", "```json\n{\n```\n```json\n[]\n```", ""},
		{"of another language", "```go\n{}\n```", ""},
		{"inside another block", "````md\n```json\n{}\n```\n````", ""},
		{"beside another block", "```sh\nls\n```\n```json\n{}\n```", `{}`},
		{"no block at all", "a ```json {} ``` b", ""},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Structured(c.answer); string(got) != c.want || (got == nil) != (c.want == "") {
				t.Errorf("%q", got)
			}
		})
	}
}

func FuzzStructured(f *testing.F) {
	f.Add("```json\n{}\n```")
	f.Add("````\n```json\n[\n")
	f.Fuzz(func(t *testing.T, answer string) {
		if got := Structured(answer); got != nil && (!json.Valid(got) || !strings.Contains(answer, string(got))) {
			t.Errorf("%q of %q", got, answer)
		}
	})
}

// TestStructuredIsPreferred: a value is taken out of the structured result beside an
// answer, of the answer where that is broken, and never of another folder's
// (spec/omp.md §13, "nested").
func TestStructuredIsPreferred(t *testing.T) {
	s := newStore(t, Options{})
	if _, err := s.SaveAgent("0-a", AgentOutput{Text: "see\n```json\n{\"v\": 1}\n```", Result: Structured("see\n```json\n{\"v\": 1}\n```")}); err != nil {
		t.Fatal(err)
	}
	value := func(url string) string {
		r, err := s.Resolve(t.Context(), url)
		if err != nil {
			return err.Error()
		}
		defer r.Body.Close()
		var b strings.Builder
		buf := make([]byte, 1024)
		n, _ := r.Body.Read(buf)
		b.Write(buf[:n])
		return b.String() + " of " + filepath.Base(r.Path)
	}
	if got := value("agent://0-a/v"); got != "1 of 0-a.json" {
		t.Error(got)
	}
	if got := value("agent://0-a"); !strings.HasPrefix(got, "see\n") || !strings.HasSuffix(got, " of 0-a.md") {
		t.Error(got)
	}
	fill(t, s, map[string]string{"0-a.json": "{broken", "0-a.md": `{"v": 2}`})
	if got := value("agent://0-a/v"); got != "2 of 0-a.md" {
		t.Error(got)
	}
}
