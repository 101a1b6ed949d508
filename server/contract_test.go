package server

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The document of the API is held against everything that the tests of this package
// ask: each answer that they get must be described, with its status, its code and
// all of its members, and each request that was taken as well. When all tests have
// run, every answer that the document promises must have been seen.

// contract is the document, ready to be held against requests and answers.
type contract struct {
	doc        map[string]any
	operations []*operation
	common     map[string]bool // codes that any address may answer
	strict     *jsonschema.Compiler
	lenient    *jsonschema.Compiler

	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema
	seen     map[string]bool
}

type operation struct {
	method, path string
	segments     []string
	root         bool
	def          map[string]any
}

var theContract = sync.OnceValue(func() *contract {
	c := &contract{common: map[string]bool{}, compiled: map[string]*jsonschema.Schema{}, seen: map[string]bool{}}
	parse := func() map[string]any {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(apiDocument))
		if err != nil {
			panic(err)
		}
		doc, _ := v.(map[string]any)
		return doc
	}
	c.doc = parse()
	closed := parse()
	closeObjects(closed)
	for to, doc := range map[**jsonschema.Compiler]map[string]any{&c.strict: closed, &c.lenient: c.doc} {
		*to = jsonschema.NewCompiler()
		if err := (*to).AddResource("openapi.json", doc); err != nil {
			panic(err)
		}
	}
	for _, code := range dig(c.doc, "components", "responses", "Error", "x-codes").([]any) {
		c.common[code.(string)] = true
	}
	paths, _ := c.doc["paths"].(map[string]any)
	for path, item := range paths {
		for method, def := range item.(map[string]any) {
			if d, ok := def.(map[string]any); ok {
				_, root := item.(map[string]any)["servers"]
				c.operations = append(c.operations, &operation{strings.ToUpper(method), path, segments(path), root, d})
			}
		}
	}
	// Literal segments win, as among the routes.
	slices.SortFunc(c.operations, func(a, b *operation) int { return strings.Count(a.path, "{") - strings.Count(b.path, "{") })
	return c
})

// closeObjects lets every described object have no members but those described.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["properties"].(map[string]any); ok {
			if _, said := v["additionalProperties"]; !said {
				v["additionalProperties"] = false
			}
		}
		for _, m := range v {
			closeObjects(m)
		}
	case []any:
		for _, m := range v {
			closeObjects(m)
		}
	}
}

func dig(v any, keys ...string) any {
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}

// find is the operation of a request, or nil.
func (c *contract) find(method, escaped string) *operation {
	parts := segments(escaped)
	if method == http.MethodHead {
		method = http.MethodGet
	}
	root := len(parts) > 0 && parts[0] != "api"
	if !root && len(parts) > 0 {
		parts = parts[1:]
	}
	for _, o := range c.operations {
		if o.method != method || len(o.segments) != len(parts) || root && !o.root && !atRoot[parts[0]] || !root && o.root {
			continue
		}
		if slices.EqualFunc(o.segments, parts, func(s, part string) bool { return strings.HasPrefix(s, "{") || s == part }) {
			return o
		}
	}
	return nil
}

// pointer names a place of the document.
func (o *operation) pointer(keys ...string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D", "*", "%2A")
	p := "openapi.json#/paths/" + escape.Replace(o.path) + "/" + strings.ToLower(o.method)
	for _, k := range keys {
		p += "/" + escape.Replace(k)
	}
	return p
}

// check validates a value against the schema at a place.
func (c *contract) check(with *jsonschema.Compiler, at string, v any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := fmt.Sprintf("%p %s", with, at)
	s := c.compiled[key]
	if s == nil {
		var err error
		if s, err = with.Compile(at); err != nil {
			return err
		}
		c.compiled[key] = s
	}
	return s.Validate(v)
}

// answered holds an answer, and the request that was taken, against the document.
func (c *contract) answered(req *http.Request, sent []byte, res *http.Response, body []byte) error {
	o := c.find(req.Method, req.URL.EscapedPath())
	var code string
	var answer any
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind == "application/json" && len(body) > 0 {
		var err error
		if answer, err = jsonschema.UnmarshalJSON(bytes.NewReader(body)); err != nil {
			return err
		}
		if m, ok := answer.(map[string]any); ok {
			delete(m, "protocolVersion")
			if res.StatusCode >= 400 {
				code, _ = m["code"].(string)
			}
		}
	}
	if o == nil {
		if res.StatusCode < 300 || !c.common[code] && code != "INVALID_SIGNATURE" {
			return fmt.Errorf("answered %d %s, and the document does not have this address", res.StatusCode, code)
		}
		return nil
	}
	status := fmt.Sprint(res.StatusCode)
	switch res.StatusCode {
	case http.StatusPartialContent, http.StatusNotModified, http.StatusRequestedRangeNotSatisfiable:
		return nil // of what is told with 200
	}
	def, _ := dig(o.def, "responses", status).(map[string]any)
	if res.StatusCode >= 400 {
		codes, _ := def["x-codes"].([]any)
		if !c.common[code] && !slices.Contains(codes, any(code)) && answer != nil && !atRoot[o.segments[0]] {
			return fmt.Errorf("answered %s %s, which the document does not say", status, code)
		}
		if answer != nil {
			return c.check(c.strict, "openapi.json#/components/schemas/Error", answer)
		}
		return nil
	}
	if def == nil {
		return fmt.Errorf("answered %s, which the document does not say", status)
	}
	content, _ := def["content"].(map[string]any)
	_, told := content[kind]
	_, family := content[strings.Split(kind, "/")[0]+"/*"]
	_, any := content["*/*"]
	if !told && !family && !any {
		return fmt.Errorf("answered %s, and the document tells of %v", kind, slices.Sorted(maps.Keys(content)))
	}
	c.mu.Lock()
	c.seen[o.method+" "+o.path+" "+status] = true
	c.mu.Unlock()
	if answer != nil && told && !strings.HasSuffix(o.path, "openapi.json") {
		if err := c.check(c.strict, o.pointer("responses", status, "content", "application/json", "schema"), answer); err != nil {
			return fmt.Errorf("the answer: %w", err)
		}
	}
	if dig(o.def, "requestBody", "content", "application/json") != nil && len(sent) > 0 {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(sent))
		if err != nil {
			return err
		}
		if err := c.check(c.lenient, o.pointer("requestBody", "content", "application/json", "schema"), v); err != nil {
			return fmt.Errorf("the request, which was taken: %w", err)
		}
	}
	return nil
}

// recorder is the transport of the tests' clients.
type recorder struct {
	t    *testing.T
	next *http.Transport
}

func (r *recorder) CloseIdleConnections() { r.next.CloseIdleConnections() }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var sent []byte
	if req.GetBody != nil {
		if b, err := req.GetBody(); err == nil {
			sent, _ = io.ReadAll(io.LimitReader(b, 1<<20))
			_ = b.Close()
		}
	}
	res, err := r.next.RoundTrip(req)
	if err != nil || !isAPI(req) && req.URL.Path != "/healthz" && req.URL.Path != metricsPath {
		return res, err
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	var body []byte
	if kind == "application/json" && res.Header.Get("Content-Encoding") == "" {
		body, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
		res.Body = io.NopCloser(bytes.NewReader(body))
		if err != nil {
			res.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), brokenOff{err}))
			return res, nil
		}
	}
	if err := theContract().answered(req, sent, res, body); err != nil {
		r.t.Errorf("%s %s: openapi.json: %v\nanswer %.600s", req.Method, req.URL.Path, err, body)
	}
	return res, nil
}

type brokenOff struct{ err error }

func (b brokenOff) Read([]byte) (int, error) { return 0, b.err }

// checkFrame holds the data of a stream's event against the document.
func checkFrame(t *testing.T, data string) {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(data))
	if err == nil {
		c := theContract()
		err = c.check(c.strict, "openapi.json#/components/schemas/Frame", v)
	}
	if err != nil {
		t.Errorf("a frame of a stream: openapi.json: %v\nin %.600s", err, data)
	}
}

// unseen are the answers that the document promises and no test has got.
func (c *contract) unseen() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, o := range c.operations {
		responses, _ := o.def["responses"].(map[string]any)
		for status := range responses {
			if key := o.method + " " + o.path + " " + status; strings.HasPrefix(status, "2") && !c.seen[key] {
				out = append(out, key)
			}
		}
	}
	slices.Sort(out)
	return out
}

// wholeRun tells whether all tests were run.
func wholeRun() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return !testing.Short()
}

// endOfTests is called when all tests have passed and nothing is left running.
func endOfTests(code int) {
	if code == 0 && wholeRun() {
		if missing := theContract().unseen(); len(missing) > 0 {
			fmt.Fprintf(os.Stderr, "openapi.json promises what no test has asked for:\n  %s\n", strings.Join(missing, "\n  "))
			code = 1
		}
	}
	os.Exit(code)
}

// besides are addresses that are judged before the table of routes.
var besides = []string{"GET attachments/:attachmentId/raw", "GET pictures/:id/:ref", "GET healthz", "GET metrics", "POST sign-in", "POST sign-out"}

// TestDocumentHasEveryRoute: what is routed is described, and what is described is
// routed.
func TestDocumentHasEveryRoute(t *testing.T) {
	w := newWorld(t, slowTalk(t), func(c *Config) { c.Demo = func(context.Context) (Demo, error) { return Demo{}, nil } })
	routed := map[string]bool{}
	note := func(method string, segs []string) {
		path := ""
		for _, s := range segs {
			if name, ok := strings.CutPrefix(s, ":"); ok {
				s = "{" + name + "}"
			}
			path += "/" + s
		}
		routed[method+" "+path] = true
	}
	for _, r := range w.server.routes.routes {
		note(r.method, r.segments)
	}
	for _, b := range besides {
		method, path, _ := strings.Cut(b, " ")
		note(method, segments(path))
	}
	described := map[string]bool{}
	for _, o := range theContract().operations {
		described[o.method+" "+o.path] = true
	}
	for r := range routed {
		if !described[r] {
			t.Errorf("openapi.json does not have %s, which is routed", r)
		}
	}
	for d := range described {
		if !routed[d] {
			t.Errorf("openapi.json has %s, which is not routed", d)
		}
	}
}

// TestDocumentIsValid: it is OpenAPI 3.1, and its examples are what its schemas say.
func TestDocumentIsValid(t *testing.T) {
	meta := jsonschema.NewCompiler()
	file, err := os.Open("testdata/oas31-schema.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rules, err := jsonschema.UnmarshalJSON(file)
	if err == nil {
		err = meta.AddResource("https://spec.openapis.org/oas/3.1/schema/2022-10-07", rules)
	}
	if err != nil {
		t.Fatal(err)
	}
	valid, err := meta.Compile("https://spec.openapis.org/oas/3.1/schema/2022-10-07")
	if err != nil {
		t.Fatal(err)
	}
	if err := valid.Validate(theContract().doc); err != nil {
		t.Errorf("it is not OpenAPI 3.1: %v", err)
	}
	// The rules leave schemas alone; each of them must be JSON Schema.
	for name := range dig(theContract().doc, "components", "schemas").(map[string]any) {
		if _, err := theContract().lenient.Compile("openapi.json#/components/schemas/" + name); err != nil {
			t.Errorf("the schema %s: %v", name, err)
		}
	}
	c := theContract()
	examples := 0
	ids := map[string]bool{}
	for _, o := range c.operations {
		id, _ := o.def["operationId"].(string)
		if id == "" || ids[id] || o.def["summary"] == "" {
			t.Errorf("%s %s: operationId %q, summary %q", o.method, o.path, id, o.def["summary"])
		}
		ids[id] = true
		try := func(keys ...string) {
			media, _ := dig(o.def, keys...).(map[string]any)
			if example, ok := media["example"]; ok {
				examples++
				if err := c.check(c.strict, o.pointer(append(keys, "schema")...), example); err != nil {
					t.Errorf("%s %s: example: %v", o.method, o.path, err)
				}
			}
		}
		try("requestBody", "content", "application/json")
		responses, _ := o.def["responses"].(map[string]any)
		for status := range responses {
			try("responses", status, "content", "application/json")
		}
		for _, s := range o.segments {
			if name, ok := strings.CutPrefix(s, "{"); ok && !strings.Contains(fmt.Sprint(o.def["parameters"]), "name:"+strings.TrimSuffix(name, "}")) {
				t.Errorf("%s %s: the parameter %s is not described", o.method, o.path, s)
			}
		}
	}
	if examples < 30 {
		t.Errorf("there are %d examples only", examples)
	}
}

// TestDocumentIsServed: the document and its page, which needs nothing from
// anywhere and can be used without a script.
func TestDocumentIsServed(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	a := w.do(200, "GET", "/api/openapi.json")
	if !bytes.Equal(a.body, apiDocument) || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("the document is served as %s", a.header.Get("Content-Type"))
	}
	if again := w.send(w.ask("GET", "/api/openapi.json").with("If-None-Match", a.header.Get("ETag"))); again.status != 304 || len(again.body) > 0 {
		t.Errorf("again: %d", again.status)
	}
	page := w.do(200, "GET", "/api/docs")
	text := string(page.body)
	csp := page.header.Get("Content-Security-Policy")
	if !strings.HasPrefix(csp, "default-src 'none'; style-src 'sha256-") || strings.Contains(csp, "script-src") || strings.Contains(csp, "unsafe") {
		t.Errorf("the page may %s", csp)
	}
	for _, bad := range []string{"<script", "http://", "https://", "src=", "style=", "&lt;no value", "ZgotmplZ"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	for _, o := range theContract().operations {
		if id, _ := o.def["operationId"].(string); !strings.Contains(text, `id="`+id+`"`) {
			t.Errorf("the page does not have %s %s", o.method, o.path)
		}
	}
	for _, ref := range strings.Split(text, `href="#`)[1:] {
		id, _, _ := strings.Cut(ref, `"`)
		if !strings.Contains(text, `id="`+id+`"`) {
			t.Errorf("a link leads to #%s, which is not there", id)
		}
	}
	w.do(200, "GET", "/metrics")
	if a := w.send(w.ask("GET", "/api/docs").with("Authorization", "")); a.status != 401 {
		t.Errorf("without a token: %d", a.status)
	}
}

// TestContractNotices: the checks above can fail.
func TestContractNotices(t *testing.T) {
	c := theContract()
	ask := func(method, path string) *http.Request {
		r, err := http.NewRequest(method, "http://h"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	answer := func(status int) *http.Response {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}}
	}
	for name, err := range map[string]error{
		"another address":    c.answered(ask("GET", "/api/nowhere"), nil, answer(200), []byte(`{}`)),
		"another status":     c.answered(ask("GET", "/api/trash"), nil, answer(201), []byte(`{"sessions":[]}`)),
		"a member too many":  c.answered(ask("GET", "/api/trash"), nil, answer(200), []byte(`{"sessions":[],"more":1}`)),
		"a member too few":   c.answered(ask("GET", "/api/trash"), nil, answer(200), []byte(`{}`)),
		"another type":       c.answered(ask("GET", "/api/trash"), nil, answer(200), []byte(`{"sessions":null}`)),
		"another error code": c.answered(ask("GET", "/api/trash"), nil, answer(418), []byte(`{"error":{"code":"TEAPOT","message":"x"},"code":"TEAPOT","message":"x"}`)),
		"another request":    c.answered(ask("POST", "/api/sessions/x/labels"), nil, answer(200), []byte(`{"ok":true}`)),
		"a request's member": c.answered(ask("POST", "/api/sessions/delete"), []byte(`{"sessionId":1}`), answer(200), []byte(`{"ok":true,"trashed":[]}`)),
	} {
		if err == nil {
			t.Errorf("%s passes", name)
		}
	}
}
