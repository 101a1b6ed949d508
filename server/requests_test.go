package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// exchange is a line of fixtures/web/requests.
type exchange struct {
	Name    string            `json:"name"`
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	As      string            `json:"as"`
	Headers map[string]string `json:"headers"`
	Host    string            `json:"host"`
	Body    string            `json:"body"`
	Status  int               `json:"status"`
	Code    string            `json:"code"`
	Fields  []string          `json:"fields"`
	Allow   string            `json:"allow"`
	Answer  json.RawMessage   `json:"answer"`
}

// requestWorld has a session of each kind that the requests name.
func requestWorld(t *testing.T) (*world, *strings.Replacer) {
	t.Helper()
	w := newWorld(t, slowTalk(t), func(c *Config) { c.Hosts = []string{"piweb.example", "OTHER.example:99"} })
	const at = "2026-01-02T03:04:05.000Z"
	pinned := `{"type":"custom","id":"0000000c","parentId":"0000000b","timestamp":"` + at + `","customType":"pi-web:tool-selection","data":{"version":1,"tools":["read"]}}`
	w.sessionFile("a", "stored", at, "one", pinned)
	w.sessionFile("a", "stored2", at, "two")
	one, two := w.sessionFile("a", "twice", at, "three"), w.sessionFile("b", "twice", at, "four")
	broken := w.put(".pi/agent/sessions/a/broken.jsonl", "this is no session\n")
	w.put(".pi/agent/sessions/a/homeless.jsonl", `{"type":"session","version":3,"id":"homeless","timestamp":"`+at+`","cwd":"/no/such/folder"}`+"\n"+
		`{"type":"message","id":"0000000a","parentId":null,"timestamp":"`+at+`","message":{"role":"user","content":"x","timestamp":1}}`+"\n")
	w.sessionFile("a", "child", at, "five", `{"type":"custom","id":"0000000c","parentId":"0000000b","timestamp":"`+at+
		`","customType":"pi-web:subagent","data":{"version":1,"profile":"p","policy":{"appendSystemPrompt":[],"tools":["read"],"loadSkills":false,"loadExtensions":false}}}`)
	u, err := url.Parse(w.http.URL)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{distinguished("twice", keyOf(one)), distinguished("twice", keyOf(two))}
	slices.Sort(names)
	return w, strings.NewReplacer("{origin}", w.http.URL, "{port}", u.Port(), "{session}", w.create(`["read"]`), "{stored}", "stored", "{stored2}", "stored2",
		"{broken}", distinguished("", keyOf(broken)), "{twice1}", names[0], "{twice2}", names[1])
}

// cookie signs a browser in.
func (w *world) cookie() string {
	w.t.Helper()
	a := w.send(w.ask("GET", "/?token="+testToken).with("Authorization", ""))
	res := http.Response{Header: a.header}
	for _, c := range res.Cookies() {
		if strings.HasPrefix(c.Name, "piweb_") {
			return c.Name + "=" + c.Value
		}
	}
	w.t.Fatalf("the link sets no cookie: %d %v", a.status, a.header)
	return ""
}

// TestRequests plays fixtures/web/requests.
func TestRequests(t *testing.T) {
	files, err := filepath.Glob("../fixtures/web/requests/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures (%v)", err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Requests []exchange `json:"requests"`
		}
		if err := json.Unmarshal(data, &file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			w, fill := requestWorld(t)
			cookie := w.cookie()
			for _, x := range file.Requests {
				t.Run(x.Name, func(t *testing.T) { x.play(t, w, fill, cookie) })
			}
		})
	}
}

func (x exchange) play(t *testing.T, w *world, fill *strings.Replacer, cookie string) {
	a := &ask{method: x.Method, path: fill.Replace(x.Path), body: fill.Replace(x.Body), host: fill.Replace(x.Host), header: http.Header{}}
	switch x.As {
	case "bearer":
		a.with("Authorization", "Bearer "+testToken)
	case "cookie":
		a.with("Cookie", cookie)
	case "none":
	default:
		t.Fatalf("nobody is called %q", x.As)
	}
	if x.Body != "" && x.Headers == nil && x.Code != "UNSUPPORTED_MEDIA_TYPE" {
		a.with("Content-Type", "application/json")
	}
	for name, value := range x.Headers {
		a.with(name, fill.Replace(value))
	}
	got := w.send(a)
	if got.status != x.Status || got.code() != x.Code || got.str("error", "code") != x.Code {
		t.Fatalf("answer %d %s %s, want %d %s", got.status, got.code(), got.body, x.Status, x.Code)
	}
	if got.header.Get("X-Request-Id") == "" || got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("headers %v", got.header)
	}
	if x.Code != "" && (got.str("message") == "" || got.str("message") != got.str("error", "message")) {
		t.Errorf("messages %s", got.body)
	}
	if allow := got.header.Get("Allow"); allow != x.Allow {
		t.Errorf("Allow is %q, want %q", allow, x.Allow)
	}
	if x.Method == "HEAD" && len(got.body) > 0 {
		t.Errorf("HEAD is answered with a body")
	}
	if len(x.Answer) > 0 {
		var want any
		if err := json.Unmarshal([]byte(fill.Replace(string(x.Answer))), &want); err != nil {
			t.Fatal(err)
		}
		if why := differs(want, any(got.json), "answer"); why != "" {
			t.Errorf("%s\nin %s", why, got.body)
		}
	}
	var fields []string
	if e, ok := got.json["error"].(map[string]any); ok {
		if list, ok := e["fields"].([]any); ok {
			for _, f := range list {
				fields = append(fields, f.(string))
			}
		}
	}
	var want []string
	for _, f := range x.Fields {
		want = append(want, fill.Replace(f))
	}
	if !slices.Equal(fields, want) {
		t.Errorf("fields %q, want %q", fields, want)
	}
}

// differs says how an answer does not hold what is wanted: the members of each
// object, all items of each list, and any text for "*".
func differs(want, got any, at string) string {
	switch want := want.(type) {
	case map[string]any:
		m, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %v, no object", at, got)
		}
		for key, v := range want {
			if why := differs(v, m[key], at+"."+key); why != "" {
				return why
			}
		}
		return ""
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Sprintf("%s is %v, want %d items", at, got, len(want))
		}
		for i := range want {
			if why := differs(want[i], list[i], fmt.Sprintf("%s.%d", at, i)); why != "" {
				return why
			}
		}
		return ""
	case string:
		if text, ok := got.(string); ok && want == "*" && text != "" {
			return ""
		}
	}
	if want != got {
		return fmt.Sprintf("%s is %v, want %v", at, got, want)
	}
	return ""
}
