package artifact

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piweb-go/piweb/internal/confine"
	"github.com/piweb-go/piweb/session"
)

// vectors are what the running reference (oh-my-pi 13.19.0) answered.
type vectors struct {
	Query       map[string]json.RawMessage
	PathToQuery map[string]string
	Apply       map[string]json.RawMessage
	URLs        map[string]map[string]any
	Artifacts   struct {
		ToolNames [][2]string
	}
	Agent, Artifact map[string]struct {
		Content     string
		ContentType string
		Size        int64
		Notes       []string
		Error       string `json:"$error"`
	}
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors-v13.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// put writes files into the folder of a store; a value that begins with "->" is a
// link, one that ends in "/" a folder.
func fill(t testing.TB, s *Store, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(s.Folder(), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(s.Folder(), name)
		var err error
		if to, link := strings.CutPrefix(text, "->"); link {
			err = os.Symlink(to, path)
		} else if text == "/" {
			err = os.Mkdir(path, 0o700)
		} else {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestQueryVectors(t *testing.T) {
	v := readVectors(t)
	if len(v.Query) < 25 || len(v.PathToQuery) < 15 || len(v.Apply) < 15 {
		t.Fatal("vectors are missing")
	}
	for q, want := range v.Query {
		tokens, err := parseQuery(q)
		if strings.Contains(string(want), "$error") {
			if !errors.Is(err, ErrURL) {
				t.Errorf("query %q: %v, the reference refuses it", q, err)
			}
			continue
		}
		got := []any{}
		for _, tok := range tokens {
			if tok.isIndex {
				got = append(got, tok.index)
			} else {
				got = append(got, tok.key)
			}
		}
		text, _ := json.Marshal(got)
		var a, b any
		if json.Unmarshal(text, &a) != nil || json.Unmarshal(want, &b) != nil || !cmp.Equal(a, b) || err != nil {
			t.Errorf("query %q: %s, %v; want %s", q, text, err, want)
		}
	}
	for path, want := range v.PathToQuery {
		if got := pathToQuery(path); got != want {
			t.Errorf("path %q: %q, want %q", path, got, want)
		}
		if tokens, err := parseQuery(want); err != nil || !slices.Equal(tokens, pathTokens(path)) {
			t.Errorf("path %q: %v, as a query %v, %v", path, pathTokens(path), tokens, err)
		}
	}
}

// TestW17OwnMembersOnly: what a value has itself is found; W17, what it would inherit in
// the reference is not.
func TestW17OwnMembersOnly(t *testing.T) {
	const doc = `{"a":[{"b":1},null,"s"],"o":{"0":"zero","x.y":2},"n":null,"f":false,"s":"str"}`
	departures := map[string]string{ // W17
		".a.length": "inherited", ".constructor": "inherited", ".toString": "inherited", ".__proto__": "inherited",
	}
	for q, want := range readVectors(t).Apply {
		tokens, err := parseQuery(q)
		if err != nil {
			t.Fatal(err)
		}
		got, found := pick([]byte(doc), tokens)
		if string(want) == `"$undefined"` || departures[q] != "" {
			if found || string(got) != "null" {
				t.Errorf("%s: found %s", q, got)
			}
			continue
		}
		var a, b any
		if json.Unmarshal(got, &a) != nil || json.Unmarshal(want, &b) != nil || !cmp.Equal(a, b) || !found {
			t.Errorf("%s: %s, want %s", q, got, want)
		}
	}
}

func TestURLVectors(t *testing.T) {
	v := readVectors(t)
	for raw, want := range v.URLs {
		u, err := ParseURL(raw)
		if want["$error"] != nil {
			if !errors.Is(err, ErrURL) {
				t.Errorf("%s: %v", raw, err)
			}
			continue
		}
		q, _ := want["q"].(string)
		if err != nil || u.Scheme+":" != want["proto"] || u.Host != want["rawHost"] || u.Path != want["pathname"] || u.Query != q || u.HasQ != (want["q"] != nil) {
			t.Errorf("%s: %+v, %v; want %v", raw, u, err, want)
		}
	}
	if _, err := newStore(t, Options{}).Resolve(context.Background(), "skill://plugin:name/docs"); !errors.Is(err, ErrURL) || !strings.Contains(err.Error(), "artifact://") {
		t.Errorf("an unknown scheme: %v", err)
	}
}

// resolve is what a URL gives, or its error.
func resolve(s *Store, url string) (text string, r *Resource, err error) {
	r, err = s.Resolve(context.Background(), url)
	if err != nil {
		return "", nil, err
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	return string(data), r, err
}

func TestAgentVectors(t *testing.T) {
	s := newStore(t, Options{})
	secret := filepath.Join(filepath.Dir(s.Folder()), "secret.md")
	if err := os.WriteFile(secret, []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	fill(t, s, map[string]string{"rep.md": "plain", "js.md": `{"a":[{"b":"text"}],"n":null,"x":{"y":1}}`, "P.md": `{"C":"base"}`, "P.C.md": "child", "link.md": "->../secret.md"})
	refused := map[string]error{ // departures: W5, W6
		"agent://..%2Fsecret": ErrNotFound, "agent://link": ErrLinked,
	}
	wantErr := map[string]error{"agent://miss": ErrNotFound, "agent://all": ErrNotFound, "agent://../secret": ErrNotFound, "agent://": ErrURL,
		"agent://js?q=.a[": ErrURL, "agent://js/x?q=.y": ErrURL}
	for url, want := range readVectors(t).Agent {
		text, r, err := resolve(s, url)
		switch {
		case refused[url] != nil:
			if !errors.Is(err, refused[url]) {
				t.Errorf("%s: %q, %v", url, text, err)
			}
		case want.Error != "":
			if err == nil || wantErr[url] != nil && !errors.Is(err, wantErr[url]) {
				t.Errorf("%s: %q, %v; want %s", url, text, err, want.Error)
			}
		case err != nil || text != want.Content || r.Type != want.ContentType || r.Size != want.Size:
			t.Errorf("%s: %q, %+v, %v; want %+v", url, text, r, err, want)
		case len(want.Notes) > 0 && "Extracted: "+r.Extracted != want.Notes[0]:
			t.Errorf("%s: extracted %s, want %s", url, r.Extracted, want.Notes[0])
		}
	}
	if _, _, err := resolve(s, "agent://miss"); !strings.HasSuffix(err.Error(), "\nAvailable: P.C, P, js, link, rep") {
		t.Errorf("the error lists %v", err)
	}
	if _, _, err := resolve(s, "agent://rep/x"); err == nil || !strings.Contains(err.Error(), "output rep is not valid JSON: ") {
		t.Errorf("%v", err)
	}
}

func TestAgentURLRows(t *testing.T) {
	s := newStore(t, Options{})
	fill(t, s, map[string]string{
		"0-a.md": `{"summary":{"verdict":"pass"},"items":[{"id":1}],"big":12345678901234567890,"o":{"z":1,"a":1.50}}`,
		"1-b.md": "prose", "1-b.json": `{"k":[true]}`, "2-c.md": `{"k":2}`, "2-c.json": `{broken`, "3-d.md": "x", "3-d.json": "->1-b.json",
	})
	for url, want := range map[string]string{
		"agent://0-a/summary/verdict":  `"pass"`,
		"agent://0-a?q=.items[0].id":   "1",
		"AGENT://0-a?q=.big":           "12345678901234567890",
		"agent://0-a/o":                "{\n  \"z\": 1,\n  \"a\": 1.50\n}",
		"agent://1-b/k/0":              "true", // the structured result is preferred
		"agent://1-b":                  "prose",
		"agent://2-c/k":                "2", // a broken one is not
		"agent://0-a/items/9":          "null",
		"agent://0-a?q=.a['it%5C's']#": "null",
	} {
		if text, _, err := resolve(s, url); text != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", url, text, err, want)
		}
	}
	if _, _, err := resolve(s, "agent://3-d/k"); !errors.Is(err, ErrLinked) {
		t.Errorf("a structured result that is a link: %v", err)
	}
}

func TestArtifactVectors(t *testing.T) {
	s := newStore(t, Options{})
	fill(t, s, map[string]string{
		"0.bash.log": "zero", "2.tool.txt": "two", "9.a.log": "A", "9.b.log": "B", "10.bash.log": "ten",
		"33.l.log": "->../secret.md", "77.d.log": "/", "draft.txt": "tolerated", "x.9.log": "tolerated",
	})
	if err := os.WriteFile(filepath.Join(filepath.Dir(s.Folder()), "secret.md"), []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	departures := map[string]error{ // W6, W15
		"artifact://9": ErrAmbiguous, "artifact://33": ErrLinked, "artifact://77": confine.ErrNotRegular,
	}
	for url, want := range readVectors(t).Artifact {
		text, r, err := resolve(s, url)
		switch {
		case departures[url] != nil:
			if !errors.Is(err, departures[url]) {
				t.Errorf("%s: %q, %v", url, text, err)
			}
		case strings.Contains(want.Error, "not found"):
			if !errors.Is(err, ErrNotFound) || !strings.HasSuffix(err.Error(), "Available: 0, 2, 9, 10, 33, 77") {
				t.Errorf("%s: %q, %v", url, text, err)
			}
		case want.Error != "":
			if !errors.Is(err, ErrURL) {
				t.Errorf("%s: %q, %v; want %s", url, text, err, want.Error)
			}
		case err != nil || text != want.Content || r.Type != want.ContentType || r.Size != want.Size:
			t.Errorf("%s: %q, %+v, %v; want %+v", url, text, r, err, want)
		}
	}
}

// TestThreeKindsOfNothing: no session, no folder and no artifact are three errors.
func TestThreeKindsOfNothing(t *testing.T) {
	s := newStore(t, Options{})
	for _, c := range []struct {
		s    *Store
		url  string
		want error
	}{
		{New("", Options{}), "artifact://0", ErrNoSession}, {New("", Options{}), "agent://0-a", ErrNoSession},
		{New("/x/session.txt", Options{}), "artifact://0", ErrNoSession},
		{s, "artifact://0", ErrNoFolder}, {s, "agent://0-a", ErrNoFolder},
		{s, "artifact://abc", ErrURL}, {s, "artifact:///0", ErrURL}, {s, "artifact://１", ErrURL},
	} {
		if _, _, err := resolve(c.s, c.url); !errors.Is(err, c.want) || !IsRequest(err) {
			t.Errorf("%s of %q: %v, want %v", c.url, c.s.session, err, c.want)
		}
	}
	if list, err := s.List(); list != nil || err != nil {
		t.Errorf("a list without a folder: %v, %v", list, err)
	}
}

// hostile are names that lead out of a folder where they are joined to a path.
var hostile = []string{"../secret", "..%2Fsecret", "%2e%2e%2fsecret", "..", ".", "", "a/../../secret", "/etc/passwd", "%2Fetc%2Fpasswd", "\x00", "a\x00b",
	`..\secret`, "link", "dir", "secret\n", "0-a.md/../../secret", strings.Repeat("x", 5000), "..%252Fsecret", ".id-0", "\u202e", "con", "C:"}

// TestW5NothingOutsideIsReached: whatever is asked for, only files of the folder
// answer.
func TestW5NothingOutsideIsReached(t *testing.T) {
	s := newStore(t, Options{})
	fill(t, s, map[string]string{"0-a.md": "inside", "link.md": "->../secret.md", "dir.md": "/", "0.bash.log": "inside"})
	if err := os.WriteFile(filepath.Join(filepath.Dir(s.Folder()), "secret.md"), []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range hostile {
		for _, url := range []string{"agent://" + name, "artifact://" + name, "agent://" + name + "/x", "agent://0-a/" + name, "agent://0-a?q=" + name} {
			if text, _, err := resolve(s, url); strings.Contains(text, "SECRET") || err == nil && text != "inside" && text != "null" {
				t.Errorf("%q: %q, %v", url, text, err)
			}
		}
		if k, err := s.Save(name, "kept"); err != nil || filepath.Dir(k.Path) != s.Folder() {
			t.Errorf("saving for the tool %q: %s, %v", name, k.Path, err)
		}
		if id, err := s.NewAgent("", name); err != nil || id.check() != nil {
			t.Errorf("an agent of the name %q: %q, %v", name, id, err)
		}
		if _, err := s.NewAgent(AgentID(name), "x"); err == nil && name != "" && AgentID(name).check() != nil {
			t.Errorf("below %q", name)
		}
		if AgentID(name).check() == nil && !strings.ContainsAny(name, `/\.`) {
			continue
		}
		if _, err := s.SaveAgent(AgentID(name), AgentOutput{Text: "x"}); err == nil {
			t.Errorf("an answer was written as %q", name)
		}
	}
	if data, _ := os.ReadFile(filepath.Join(filepath.Dir(s.Folder()), "secret.md")); string(data) != "SECRET" {
		t.Error("a file outside was written to")
	}
	if list, _ := os.ReadDir(filepath.Dir(s.Folder())); len(list) != 2 {
		t.Errorf("the folder outside holds %v", list)
	}
}

// FuzzResolve: no URL panics or reaches outside.
func FuzzResolve(f *testing.F) {
	for _, name := range hostile {
		f.Add("agent://" + name)
	}
	f.Add("agent://0-a?q=.a[0]['x']")
	f.Add("artifact://0")
	s := newStore(f, Options{})
	fill(f, s, map[string]string{"0-a.md": `{"a":[{"x":1}]}`, "0.bash.log": "inside", "l.md": "->../secret.md"})
	if err := os.WriteFile(filepath.Join(filepath.Dir(s.Folder()), "secret.md"), []byte("SECRET"), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, url string) {
		if text, _, _ := resolve(s, url); strings.Contains(text, "SECRET") {
			t.Fatalf("%q leads outside", url)
		}
	})
}

// TestProducerRecords: newer oh-my-pi notes beside an artifact which session made it
// (spec/omp.md §13, "provenance"). There one folder serves several sessions; ours
// holds what one session has, so the record decides nothing: it is no artifact and
// uses no number, it goes along in a fork, and what another session has is not
// found, listed or counted.
func TestProducerRecords(t *testing.T) {
	s, other := newStore(t, Options{}), newStore(t, Options{})
	fill(t, other, map[string]string{"4.bash.log": "another session's", ".artifact-4.json": `{"version":1,"producerSessionId":"other"}`})
	fill(t, s, map[string]string{"0.bash.log": "with a record", ".artifact-0.json": `{"version":1,"producerSessionId":"x"}`, "1.bash.log": "older, without", ".artifact-7.json": "{"})
	for url, want := range map[string]string{"artifact://0": "with a record", "artifact://1": "older, without"} {
		if text, _, err := resolve(s, url); text != want || err != nil {
			t.Errorf("%s: %q, %v", url, text, err)
		}
	}
	for _, url := range []string{"artifact://4", "artifact://7"} {
		if text, _, err := resolve(s, url); !errors.Is(err, ErrNotFound) || !strings.HasSuffix(err.Error(), "Available: 0, 1") {
			t.Errorf("%s: %q, %v", url, text, err)
		}
	}
	if list, err := s.List(); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	to := filepath.Join(t.TempDir(), "fork.jsonl")
	if _, err := (Companion{}).Copy(session.Place{Path: s.session}, session.Place{Path: to}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(Folder(to), ".artifact-0.json")); err != nil {
		t.Error(err)
	}
	if id := save(t, s, "bash", "x"); id != "2" {
		t.Errorf("the next id is %s", id)
	}
}
