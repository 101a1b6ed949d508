package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func hits(a answer) (list []map[string]any) {
	all, _ := a.json["hits"].([]any)
	for _, h := range all {
		list = append(list, h.(map[string]any))
	}
	return list
}

// TestSearch: words, phrases and CJK substrings in the messages of all sessions;
// what cannot be read hides nothing.
func TestSearch(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	w.sessionFile("--p--", "first", "2026-01-01T00:00:00.000Z", "the scanner keeps 漢字 and other lines")
	w.sessionFile("--p--", "second", "2026-01-02T00:00:00.000Z", "nothing of interest", theirs)
	w.put(".pi/agent/sessions/--p--/broken.jsonl", "no session\n")
	for q, want := range map[string][]string{
		"scanner":       {"first"},
		"SCANNER lines": {"first"},
		`"keeps 漢字"`:    {"first"},
		"字":             {"first"},
		"elsewhere":     {"second"},
		"yes":           {"first", "second"},
		"nobody":        nil,
	} {
		a := w.do(http.StatusOK, "GET", "/api/search?q="+url.QueryEscape(q))
		var got []string
		for _, h := range hits(a) {
			got = append(got, h["sessionId"].(string))
		}
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", q, d)
		}
	}
	// Several hits of a session stand together.
	w.sessionFile("--p--", "third", "2026-01-03T00:00:00.000Z", "quince one",
		`{"type":"message","id":"0000000c","parentId":"0000000b","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"quince two","timestamp":1}}`,
		`{"type":"message","id":"0000000d","parentId":"0000000c","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"quince three","timestamp":1}}`)
	for query, n := range map[string]int{"": 1, "&perSession=2": 2, "&perSession=20": 3} {
		if got := hits(w.do(http.StatusOK, "GET", "/api/search?q=quince"+query)); len(got) != n {
			t.Errorf("quince%s: %d hits", query, len(got))
		}
	}
	w.do(http.StatusBadRequest, "GET", "/api/search?q=quince&perSession=0")
	a := w.do(http.StatusOK, "GET", "/api/search?q="+url.QueryEscape("漢字"))
	h := hits(a)[0]
	if d := cmp.Diff([]any{map[string]any{"text": "the scanner keeps "}, map[string]any{"text": "漢字", "hit": true}, map[string]any{"text": " and other lines"}}, h["snippet"]); d != "" || h["entryId"] != "0000000a" || h["where"] != "user" {
		t.Errorf("%v\n%s", h, d)
	}
	w.do(http.StatusBadRequest, "GET", "/api/search?q=+")
	w.do(http.StatusBadRequest, "GET", "/api/search")
	w.do(http.StatusBadRequest, "GET", "/api/search?q=x&limit=0")
	w.do(http.StatusBadRequest, "GET", "/api/search?q="+url.QueryEscape(fmt.Sprintf("%01001d", 1)))
	if a := w.do(http.StatusOK, "GET", "/api/search?q=yes&limit=1"); len(hits(a)) != 1 || a.json["more"] != true {
		t.Errorf("with a limit: %v", a.json)
	}
}

// TestSearchIsCancelled: a client that goes away is no error of the server.
func TestSearchIsCancelled(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	for i := range 50 {
		w.sessionFile("--p--", fmt.Sprint("s", i), "2026-01-01T00:00:00.000Z", "the scanner")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", w.http.URL+"/api/search?q=scanner", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	if res, err := w.client.Do(req); err == nil {
		res.Body.Close()
		t.Error("it was answered")
	}
	if n := len(hits(w.do(http.StatusOK, "GET", "/api/search?q=scanner&limit=200"))); n != 50 {
		t.Errorf("%d hits afterwards", n)
	}
}
