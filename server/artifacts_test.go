package server

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/artifact"
)

// outputs puts a session with outputs into the world.
func (w *world) outputs(id string) *artifact.Store {
	w.t.Helper()
	path := w.sessionFile("a", id, "2026-01-01T00:00:00.000Z", "x")
	st := artifact.New(path, artifact.Options{})
	for _, text := range []string{strings.Repeat("line of text\n", 2999) + "Needle 名前 <b>\n" + strings.Repeat("x", 20000), "short"} {
		if _, err := st.Save("bash", text); err != nil {
			w.t.Fatal(err)
		}
	}
	agent, err := st.NewAgent("", "anna")
	if err == nil {
		_, err = st.SaveAgent(agent, artifact.AgentOutput{Text: `{"verdict":"pass","items":[{"id":1}]}`})
	}
	if err == nil {
		agent, err = st.NewAgent(agent, "bob")
	}
	if err == nil {
		_, err = st.SaveAgent(agent, artifact.AgentOutput{Text: "in words", Result: []byte(`{"n":[7]}`)})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

func TestOutputs(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	st := w.outputs("s1")
	base := "/api/sessions/s1/artifacts"
	at := func(rest, u string, more ...string) string {
		q := url.Values{"url": {u}}
		for i := 0; i < len(more); i += 2 {
			q.Set(more[i], more[i+1])
		}
		return base + rest + "?" + q.Encode()
	}

	a := w.do(200, "GET", base)
	list, _ := a.json["artifacts"].([]any)
	agents, _ := a.json["agents"].([]any)
	if len(list) != 2 || len(agents) != 2 || list[1].(map[string]any)["url"] != "artifact://1" || agents[1].(map[string]any)["url"] != "agent://0-anna" || agents[0].(map[string]any)["url"] != "agent://0-anna.0-bob" {
		t.Fatalf("list: %s", a.body)
	}

	page := w.do(200, "GET", at("/page", "artifact://0", "offset", "2999", "limit", "3"))
	lines, _ := page.json["lines"].([]any)
	if len(lines) != 3 || page.json["totalLines"] != 3001.0 || lines[1].(map[string]any)["text"] != "Needle 名前 <b>" || lines[1].(map[string]any)["n"] != 3000.0 || lines[2].(map[string]any)["cut"] != true {
		t.Errorf("page: %.600s", page.body)
	}
	if page := w.do(200, "GET", at("/page", "artifact://0", "offset", "9999")); len(page.json["lines"].([]any)) != 0 {
		t.Errorf("behind the end: %.200s", page.body)
	}
	if v := w.do(200, "GET", at("/page", "agent://0-anna?q=.items[0]")); v.json["value"] != "{\n  \"id\": 1\n}" || v.json["extracted"] != ".items[0]" {
		t.Errorf("value: %s", v.body)
	}
	if v := w.do(200, "GET", at("/page", "agent://0-anna.0-bob/n/0")); v.json["value"] != "7" {
		t.Errorf("a value of a structured result below another: %s", v.body)
	}
	if v := w.do(200, "GET", at("/page", "agent://0-anna.0-bob")); !strings.Contains(string(v.body), "in words") {
		t.Errorf("its text: %s", v.body)
	}
	found := w.do(200, "GET", at("/search", "artifact://0", "text", "nEEDLE 名"))
	if hits, _ := found.json["hits"].([]any); len(hits) != 1 || hits[0].(map[string]any)["n"] != 3000.0 {
		t.Errorf("search: %s", found.body)
	}

	raw := w.do(200, "GET", at("/raw", "artifact://0"))
	want, err := os.ReadFile(filepath.Join(st.Folder(), "0.bash.log"))
	if err != nil || string(raw.body) != string(want) {
		t.Errorf("raw: %d bytes, %v", len(raw.body), err)
	}
	for name, want := range map[string]string{"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff", "Content-Disposition": "attachment; filename=0.bash.log.txt"} {
		if got := raw.header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	part := w.send(w.ask("GET", at("/raw", "artifact://0")).with("Range", "bytes=0-3"))
	if part.status != 206 || string(part.body) != "line" {
		t.Errorf("range: %d %q", part.status, part.body)
	}

	for _, c := range []struct {
		path   string
		status int
		code   string
	}{
		{at("/page", "artifact://9"), 404, "ARTIFACT_NOT_FOUND"},
		{at("/page", "agent://nobody"), 404, "ARTIFACT_NOT_FOUND"},
		{at("/page", "agent://..%2F..%2Fs1"), 404, "ARTIFACT_NOT_FOUND"},
		{at("/raw", "artifact://../0"), 400, "VALIDATION_FAILED"},
		{at("/page", "file:///etc/passwd"), 400, "VALIDATION_FAILED"},
		{base + "/page", 400, "VALIDATION_FAILED"},
		{at("/page", "artifact://0", "offset", "0"), 400, "VALIDATION_FAILED"},
		{at("/page", "agent://0-anna/verdict", "limit", "1"), 400, "VALIDATION_FAILED"},
		{at("/raw", "agent://0-anna/verdict"), 400, "VALIDATION_FAILED"},
		{at("/search", "artifact://0", "text", ""), 400, "VALIDATION_FAILED"},
		{at("/search", "agent://0-anna/verdict", "text", "x"), 400, "VALIDATION_FAILED"},
		{"/api/sessions/nobody/artifacts", 404, "SESSION_NOT_FOUND"},
	} {
		if a := w.do(c.status, "GET", c.path); a.code() != c.code {
			t.Errorf("%s: %s", c.path, a.body)
		}
	}
}

// TestOutputsAreTheSessionsOwn: another session's are not found through this one,
// a session without any has an empty list, and a link in the folder is refused.
func TestOutputsAreTheSessionsOwn(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	st := w.outputs("s1")
	w.sessionFile("a", "s2", "2026-01-02T00:00:00.000Z", "y")
	if a := w.do(200, "GET", "/api/sessions/s2/artifacts"); len(a.json["artifacts"].([]any)) != 0 {
		t.Errorf("s2 has %s", a.body)
	}
	if a := w.do(404, "GET", "/api/sessions/s2/artifacts/page?url=artifact://0"); a.code() != "ARTIFACT_NOT_FOUND" {
		t.Errorf("%s", a.body)
	}
	if err := os.Symlink(filepath.Join(w.home, ".pi", "agent", "models.json"), filepath.Join(st.Folder(), "5.bash.log")); err != nil {
		t.Fatal(err)
	}
	for _, rest := range []string{"page", "raw", "search"} {
		if a := w.do(409, "GET", "/api/sessions/s1/artifacts/"+rest+"?text=k&url=artifact://5"); a.code() != "NOT_READABLE" || strings.Contains(string(a.body), "apiKey") {
			t.Errorf("%s: %s", rest, a.body)
		}
	}
	// A session that has no file yet keeps nothing.
	id := w.create("")
	if a := w.do(200, "GET", "/api/sessions/"+id+"/artifacts"); len(a.json["agents"].([]any)) != 0 {
		t.Errorf("%s", a.body)
	}
	w.do(404, "GET", "/api/sessions/"+id+"/artifacts/page?url=artifact://0")
	// Who is not signed in gets nothing.
	if a := w.send(w.ask("GET", "/api/sessions/s1/artifacts").with("Authorization", "")); a.status != 401 {
		t.Errorf("without a token: %d", a.status)
	}
}
