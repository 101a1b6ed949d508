package policy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
	"pgregory.net/rapid"
)

func pin(names ...string) toolselect.Found {
	s, err := toolselect.Pin(names...)
	if err != nil {
		panic(err)
	}
	return toolselect.Found{Selection: s, Entry: "pin", Line: 3}
}

func ask(names ...string) Request { return Request{Given: true, Tools: names} }

// TestPrecedence walks DESIGN's order from the strongest rule to the weakest.
func TestPrecedence(t *testing.T) {
	declared := Declared{Counts: true, Tools: []string{"ls"}, Entry: "d"}
	none := Declared{Counts: true, Tools: nil, Entry: "d"}
	settings := Setting{Given: true, Tools: []string{"read", "powershell", "unheard_of"}}
	child := ChildFact{Is: true, Entry: "c", Snapshot: Snapshot{Tools: []string{"read"}}}
	for _, c := range []struct {
		name string
		f    Facts
		want string
	}{
		{"snapshot over pin", Facts{Child: child, Selection: pin("bash"), Request: ask("bash")}, "child by snapshot c: read"},
		{"pin over all", Facts{Selection: pin("read"), Declared: declared, Settings: settings}, "pinned by selection pin: read"},
		{"empty pin", Facts{Selection: pin(), Declared: declared, Settings: settings}, "chat-only by selection pin: no built-in tools"},
		{"cleared jumps to settings", Facts{Selection: toolselect.Found{Selection: toolselect.Clear(), Entry: "x"}, Declared: declared, Settings: settings}, "open by settings: read, bash"},
		{"cleared without settings", Facts{Selection: toolselect.Found{Selection: toolselect.Clear()}, Declared: declared}, "open by default: read, bash, edit, write"},
		{"request", Facts{Request: ask("bash"), Declared: declared, Settings: settings}, "pinned by request: bash"},
		{"empty request", Facts{Request: ask(), Declared: declared}, "chat-only by request: no built-in tools"},
		{"transcript", Facts{Declared: declared, Settings: settings}, "open by transcript d: ls"},
		{"zero tools by transcript is not Chat Only", Facts{Declared: none}, "open by transcript d: no built-in tools"},
		{"our own echo does not count", Facts{Declared: Declared{Tools: []string{"ls"}, Ours: true}, Settings: settings}, "open by settings: read, bash"},
		{"settings", Facts{Settings: settings}, "open by settings: read, bash"},
		{"empty settings are not Chat Only", Facts{Settings: Setting{Given: true}}, "open by settings: no built-in tools"},
		{"default", Facts{}, "open by default: read, bash, edit, write"},
		{"default of this program", Facts{Settings: Setting{Default: []string{"read", "ls"}, Why: "confined"}}, "open by default: read, ls"},
		{"settings over the default of this program", Facts{Settings: Setting{Given: true, Tools: []string{"bash"}, Default: []string{"read"}}}, "open by settings: bash"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, trail := Resolve(c.f)
			if got, _, _ := strings.Cut(p.String(), ";"); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if err := p.Err(); err != nil {
				t.Error(err)
			}
			decided := 0
			for _, s := range trail {
				if s.Decided {
					decided++
				}
			}
			if decided != 1 {
				t.Errorf("%d rules decided:\n%s", decided, trail)
			}
		})
	}
}

func TestWhatAPolicyLoads(t *testing.T) {
	chat, _ := Resolve(Facts{Selection: pin()})
	if chat.Loads != (Loads{ContextFiles: true}) || !chat.Prompt.IsContextFiles() || !chat.Prompt.Exact() {
		t.Errorf("Chat Only loads %+v, prompt %s", chat.Loads, chat.Prompt)
	}
	none, _ := Resolve(Facts{Declared: Declared{Counts: true}})
	if none.Loads != everything || none.Prompt.Exact() {
		t.Errorf("no tools by transcript loads %+v, prompt %s", none.Loads, none.Prompt)
	}
	exact := "body"
	for name, c := range map[string]struct {
		s     Snapshot
		exact bool
		text  string
	}{
		"chat-only child":            {Snapshot{Exact: &exact}, true, "body"},
		"older chat-only child":      {Snapshot{Append: []string{"first", "second"}}, true, "first"},
		"child with tools":           {Snapshot{Tools: []string{"read"}, Append: []string{"a", "b"}}, false, "a\n\nb"},
		"child with extensions only": {Snapshot{LoadExtensions: true, Append: []string{"a"}}, false, "a"},
	} {
		p, _ := Resolve(Facts{Child: ChildFact{Is: true, Snapshot: c.s}})
		if p.Prompt.Exact() != c.exact || p.Prompt.Text() != c.text || p.Loads != (Loads{SystemPrompt: !c.exact, Extensions: c.s.LoadExtensions, MCP: c.s.LoadExtensions}) {
			t.Errorf("%s: %s, loads %+v", name, p, p.Loads)
		}
	}
}

// TestRequestOverruled: a requested set that the file does not grant is an error
// that names the command to change it; nothing is taken silently.
func TestRequestOverruled(t *testing.T) {
	for _, c := range []struct {
		name string
		f    Facts
		ok   bool
	}{
		{"another pin", Facts{Selection: pin("read"), Request: ask("bash")}, false},
		{"Chat Only", Facts{Selection: pin(), Request: ask("bash")}, false},
		{"cleared", Facts{Selection: toolselect.Found{Selection: toolselect.Clear()}, Request: ask("bash")}, false},
		{"the same", Facts{Selection: pin("read", "ls"), Request: ask("read", "ls")}, true},
		{"the same empty", Facts{Selection: pin(), Request: ask()}, true},
	} {
		p, _ := Resolve(c.f)
		err := p.Err()
		if c.ok != (err == nil) || !c.ok && (!errors.Is(err, ErrOverruled) || !strings.Contains(err.Error(), "piweb tools")) {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.f.Selection.Selection.State() == toolselect.Pinned && len(p.Tools) != len(c.f.Selection.Selection.Tools()) {
			t.Errorf("%s: the request changed the policy: %s", c.name, p)
		}
	}
}

func TestAdmits(t *testing.T) {
	read := Tool{Name: "read", Builtin: true}
	bash := Tool{Name: "bash", Builtin: true}
	web := Tool{Name: "web_search"}
	spawn := Tool{Name: "Agent"}
	chat, _ := Resolve(Facts{Selection: pin()})
	pinned, _ := Resolve(Facts{Selection: pin("read")})
	child, _ := Resolve(Facts{Child: ChildFact{Is: true, Snapshot: Snapshot{Tools: []string{"read", "web_search", "mcp__a__c"}, LoadExtensions: true}}})
	late := Tool{Name: "appeared_later"}
	plain, _ := Resolve(Facts{Child: ChildFact{Is: true, Snapshot: Snapshot{Tools: []string{"read"}}}})
	refused, _ := Resolve(Facts{Child: ChildFact{Is: true, Invalid: "broken"}})
	writer, _ := Resolve(Facts{Selection: pin("read", "bash")})
	byDefault, _ := Resolve(Facts{Settings: Setting{Given: true, Tools: []string{"read"}}})
	server := Tool{Name: "mcp__a__b", MCP: true}
	looks := Tool{Name: "mcp__a__c", MCP: true, OnlyReads: true}
	keep := Tool{Name: "remember", Changes: true}
	noMCP := pinned
	noMCP.Loads.MCP = false
	for _, c := range []struct {
		p    Policy
		t    Tool
		want bool
	}{
		{chat, read, false}, {chat, web, false},
		{pinned, read, true}, {pinned, bash, false}, {pinned, web, true}, {pinned, spawn, true},
		{child, read, true}, {child, bash, false}, {child, web, true}, {child, spawn, false}, {child, late, false},
		{plain, web, false}, {plain, read, true},
		{refused, read, false}, {refused, web, false},
		{chat, looks, false}, {pinned, server, false}, {pinned, looks, true}, {writer, server, true}, {byDefault, server, true},
		{child, server, false}, {child, looks, true}, {plain, looks, false}, {noMCP, looks, false}, {noMCP, web, true},
		{pinned, keep, false}, {writer, keep, true}, {byDefault, keep, true}, {chat, keep, false}, {child, keep, false},
	} {
		ok, why := c.p.Admits(c.t)
		if ok != c.want || !ok && why == "" {
			t.Errorf("%s, %s: %v %q", c.p.Kind, c.t.Name, ok, why)
		}
	}
	if err := refused.Err(); !errors.Is(err, ErrSnapshot) {
		t.Errorf("a refused child: %v", err)
	}
}

// file writes a session of the given lines below a header and opens it.
func file(t *testing.T, lines ...string) *session.Session {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	text := `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}` + "\n"
	parent := "null"
	for i, l := range lines {
		text += fmt.Sprintf(`{"type":%s,"id":"e%d","parentId":%s,"timestamp":"2026-01-01T00:00:00.000Z"}`+"\n", l, i, parent)
		parent = fmt.Sprintf(`"e%d"`, i)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(path, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

const receiptLine = `"custom","customType":"piweb:receipt","data":{"version":1,"system":{"sha256":"x","bytes":0}}`

func system(added, removed string) string {
	return `"message","message":{"role":"system","content":"","toolsAdded":[` + added + `],"toolsRemoved":[` + removed + `]}`
}

func decl(name string) string { return `{"name":"` + name + `","description":"d","parameters":{}}` }

func TestDeclaredByTheTranscript(t *testing.T) {
	for _, c := range []struct {
		name   string
		lines  []string
		counts bool
		tools  string
	}{
		{"nothing", nil, false, ""},
		{"system message", []string{system(decl("read")+","+decl("ls"), "")}, true, "read ls"},
		{"added and removed", []string{system(decl("read")+","+decl("bash"), ""), system(decl("edit"), `{"name":"bash"}`)}, true, "read edit"},
		{"one without tools declares none", []string{`"message","message":{"role":"system","content":"text"}`}, true, ""},
		{"older than our receipt", []string{system(decl("read"), ""), receiptLine}, false, "read"},
		{"our own, not answered for yet", []string{`"message","message":{"role":"system","content":"","writer":"piweb","toolsAdded":[` + decl("read") + `]}`}, false, "read"},
		{"another's on top of our own", []string{`"message","message":{"role":"system","content":"","writer":"piweb","toolsAdded":[` + decl("read") + `]}`, system(decl("ls"), "")}, true, "read ls"},
		{"a receipt that it decided", []string{system(decl("read"), ""), strings.Replace(receiptLine, `"version":1,`, `"version":1,"policy":{"kind":"open","source":{"by":"transcript","entry":"e0"}},`, 1)}, true, "read"},
		{"a receipt that another one decided", []string{system(decl("read"), ""), strings.Replace(receiptLine, `"version":1,`, `"version":1,"policy":{"kind":"open","source":{"by":"transcript","entry":"e9"}},`, 1)}, false, "read"},
		{"newer than our receipt", []string{system(decl("read"), ""), receiptLine, system(decl("ls"), "")}, true, "read ls"},
		{"only text after our receipt", []string{system(decl("read"), ""), receiptLine, `"message","message":{"role":"system","content":"x"}`}, false, "read"},
		{"active_tools_change", []string{system(decl("read"), ""), `"active_tools_change","activeToolNames":["bash","web_search"]`}, true, "bash"},
		{"a compaction says nothing new", []string{system(decl("read"), ""), `"compaction","summary":"s","firstKeptEntryId":"x","tokensBefore":1,"systemMessage":{"role":"system","content":"","toolsAdded":[` + decl("ls") + `]}`}, true, "read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := Gather(file(t, c.lines...))
			if err != nil {
				t.Fatal(err)
			}
			if d := f.Declared; d.Counts != c.counts || strings.Join(d.Tools, " ") != c.tools {
				t.Errorf("%+v", d)
			}
		})
	}
	f, _ := Gather(file(t, `"active_tools_change","activeToolNames":["web_search","read"]`))
	if d := cmp.Diff([]string{"web_search"}, f.Declared.Unknown); d != "" {
		t.Errorf("unknown names are not reported: %s", d)
	}
}

// TestChildWithABrokenSnapshotIsRefused is defect D2 of a peer: it reopened such
// a child as a normal session with every tool.
func TestChildWithABrokenSnapshotIsRefused(t *testing.T) {
	child := func(snapshot string) string {
		return `"custom","customType":"pi-web:subagent","data":{"version":1,"parentSessionId":"p","resourceSnapshot":` + snapshot + `}`
	}
	for name, c := range map[string]struct {
		line string
		ok   bool
	}{
		"good":                     {child(`{"version":1,"appendSystemPrompt":["x"],"tools":["read"]}`), true},
		"powershell (D3)":          {child(`{"version":1,"appendSystemPrompt":[],"tools":["powershell"]}`), true},
		"extension tools":          {child(`{"version":1,"appendSystemPrompt":[],"tools":["web"],"loadExtensions":true}`), true},
		"version 2":                {child(`{"version":2,"appendSystemPrompt":[],"tools":["read"]}`), false},
		"no snapshot":              {child(`null`), false},
		"a word for extensions":    {child(`{"version":1,"appendSystemPrompt":[],"tools":["web_search"],"loadExtensions":"true"}`), false},
		"a number for extensions":  {child(`{"version":1,"appendSystemPrompt":[],"tools":["web_search"],"loadExtensions":1}`), false},
		"no tools":                 {child(`{"version":1,"appendSystemPrompt":[]}`), false},
		"unknown tool":             {child(`{"version":1,"appendSystemPrompt":[],"tools":["web"]}`), false},
		"control tool":             {child(`{"version":1,"appendSystemPrompt":[],"tools":["Agent"],"loadExtensions":true}`), false},
		"prompt is no list":        {child(`{"version":1,"appendSystemPrompt":"x","tools":["read"]}`), false},
		"a pair of surrogates":     {child(`{"version":1,"appendSystemPrompt":["x \ud83d\ude00 y"],"tools":["read"],"exactSystemPrompt":"\ud83d\ude00\\ud800 \n"}`), true},
		"half a pair, exact":       {child(`{"version":1,"appendSystemPrompt":["x"],"tools":[],"exactSystemPrompt":"a\ud83db"}`), false},
		"half a pair, at the end":  {child(`{"version":1,"appendSystemPrompt":["x"],"tools":[],"exactSystemPrompt":"a\ud83d"}`), false},
		"the other half, appended": {child(`{"version":1,"appendSystemPrompt":["\udc00"],"tools":["read"]}`), false},
		"two first halves":         {child(`{"version":1,"appendSystemPrompt":["\ud83d\ud83d\ude00"],"tools":["read"]}`), false},
		"metadata of the next":     {`"custom","customType":"pi-web:subagent","data":{"version":2}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			pinLine := `"custom","customType":"pi-web:tool-selection","data":{"version":1,"tools":["bash"]}`
			f, err := Gather(file(t, c.line, pinLine))
			if err != nil {
				t.Fatal(err)
			}
			p, _ := Resolve(f)
			if c.ok != (p.Err() == nil) || p.Kind == Pinned || p.Kind == Open {
				t.Errorf("%s (%v)", p, p.Err())
			}
		})
	}
}

// TestKeysOfASnapshotCountToTheLetter: what decides is what the writer's JSON.parse
// would see: the last of keys that repeat, and none of another case.
func TestKeysOfASnapshotCountToTheLetter(t *testing.T) {
	const read = `{"version":1,"appendSystemPrompt":[],"tools":["read"]}`
	for data, want := range map[string]string{
		`{"version":1,"resourceSnapshot":{"version":1,"appendSystemPrompt":[],"tools":["bash","read","edit","write"]},"resourceSnapshot":` + read + `}`:        "read",
		`{"version":1,"resourceSnapshot":{"version":1,"appendSystemPrompt":[],"tools":["bash"],"tools":["read"]}}`:                                             "read",
		`{"version":1,"resourceSnapshot":{"version":1,"appendSystemPrompt":[],"tools":["read"],"TOOLS":["bash"],"LoadExtensions":true,"loadextensions":true}}`: "read",
		`{"version":1,"resourceSnapshot":{"version":1,"appendSystemPrompt":[],"tools":["read"],"loadExtensions":true,"loadExtensions":false}}`:                 "read",
		`{"version":1,"resourceSnapshot":` + read + `,"ResourceSnapshot":{"version":1,"appendSystemPrompt":[],"tools":["bash"]}}`:                              "read",
		`{"version":2,"version":1,"resourceSnapshot":` + read + `}`:                                                                                            "read",
		`{"version":1,"version":2,"resourceSnapshot":` + read + `}`:                                                                                            "invalid",
		`{"version":1,"ResourceSnapshot":` + read + `}`:                                                                                                        "invalid",
		`{"VERSION":1,"resourceSnapshot":` + read + `}`:                                                                                                        "invalid",
		`{"version":1,"resourceSnapshot":` + read + `,"resourceSnapshot":null}`:                                                                                "invalid",
	} {
		f, err := Gather(file(t, `"custom","customType":"pi-web:subagent","data":`+data))
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(f.Child.Snapshot.Tools, " ")
		if f.Child.Invalid != "" {
			got = "invalid"
		}
		if got != want || f.Child.Snapshot.LoadExtensions {
			t.Errorf("%s: %s, extensions %v; want %s", data, got, f.Child.Snapshot.LoadExtensions, want)
		}
	}
	f, err := Gather(file(t, `"active_tools_change","activeToolNames":["bash"],"ActiveToolNames":["edit"],"activeToolNames":["read"]`))
	if d := cmp.Diff([]string{"read"}, f.Declared.Tools); err != nil || d != "" {
		t.Errorf("declared (%v): %s", err, d)
	}
	r, err := ParseReceipt([]byte(`{"version":1,"system":{"sha256":"a","bytes":1},"system":{"sha256":"b"},"System":{"sha256":"c"},"POLICY":{"kind":"open"}}`))
	if err != nil || r.System.SHA256 != "b" || r.System.Bytes != 0 || r.Policy.Kind != "" {
		t.Errorf("receipt %+v, %v", r, err)
	}
}

// TestSamePolicyInEveryProcess: Resolve is a function of its facts.
func TestSamePolicyInEveryProcess(t *testing.T) {
	names := rapid.SliceOf(rapid.SampledFrom(toolselect.Builtins()))
	rapid.Check(t, func(t *rapid.T) {
		f := Facts{Declared: Declared{Counts: rapid.Bool().Draw(t, "counts"), Tools: names.Draw(t, "declared")},
			Settings: Setting{Given: rapid.Bool().Draw(t, "given"), Tools: names.Draw(t, "settings")}}
		if rapid.Bool().Draw(t, "pinned") {
			f.Selection = pin(names.Draw(t, "pin")...)
		}
		a, _ := Resolve(f)
		b, _ := Resolve(f)
		if !a.Equal(b) {
			t.Fatalf("%s and %s", a, b)
		}
		if (a.Kind == ChatOnly) != f.Selection.Selection.IsChatOnly() {
			t.Fatalf("Chat Only without an empty pin: %s", a)
		}
		for _, tool := range toolselect.Builtins() {
			ok, _ := a.Admits(Tool{Name: tool, Builtin: true})
			want := false
			for _, n := range a.Tools {
				want = want || n == tool
			}
			if ok != want {
				t.Fatalf("%s admits %s: %v", a, tool, ok)
			}
		}
	})
}

func TestReceiptsAndVerify(t *testing.T) {
	dir := t.TempDir()
	s, err := session.Create(session.NewSession{Dir: dir, CWD: dir}, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, _ := ReadLedger(s)
	add := func(p ...session.Payload) {
		t.Helper()
		if _, err := s.Append(p...); err != nil {
			t.Fatal(err)
		}
	}
	choose := func(sel toolselect.Selection) {
		t.Helper()
		p, err := sel.Payload()
		if err != nil {
			t.Fatal(err)
		}
		add(p)
	}
	record := func(head string, tools ...string) (recorded bool, text bool) {
		t.Helper()
		facts, err := Gather(s)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := Resolve(facts)
		var decls []message.ToolDeclaration
		for _, n := range tools {
			decls = append(decls, message.ToolDeclaration{Name: n})
		}
		r, err := NewReceipt(p, []byte(head), nil, decls, "p/m")
		if err != nil {
			t.Fatal(err)
		}
		e, ok, err := l.Next(r)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			add(e)
			l.Recorded(r)
		}
		return ok, strings.Contains(string(e.Data), `"text"`)
	}
	add(session.Message(&message.User{Content: message.Content{message.Text("q")}}))
	choose(pin("read").Selection)
	if ok, text := record("head A", "read"); !ok || !text {
		t.Error("the first receipt is not recorded with its text")
	}
	if ok, _ := record("head A", "read"); ok {
		t.Error("the same receipt is recorded again")
	}
	choose(toolselect.ChatOnly())
	if ok, text := record(""); !ok || !text {
		t.Error("an empty head is a head")
	}
	choose(pin("read").Selection)
	if ok, text := record("head A", "read"); !ok || text {
		t.Error("a known text is recorded again")
	}
	again, err := session.Open(s.Path(), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	l, _ = ReadLedger(again) // a new process knows the last receipt
	if ok, _ := record("head A", "read"); ok {
		t.Error("after reopening the same receipt is recorded again")
	}
	checks, err := Verify(again)
	if err != nil || len(checks) != 3 {
		t.Fatalf("%d checks, %v", len(checks), err)
	}
	for _, c := range checks {
		if !c.OK() {
			t.Errorf("line %d: %v", c.Line, c.Differences)
		}
	}
	for name, change := range map[string]func(string) string{
		"another text": func(f string) string { return strings.ReplaceAll(f, "head A", "head B") },
		"a wider tool": func(f string) string {
			return strings.Replace(f, `"tools":[{"name":"read"`, `"tools":[{"name":"bash"`, 1)
		},
		"another pin": func(f string) string {
			return strings.Replace(f, `{"version":1,"tools":["read"]}`, `{"version":1,"tools":["ls"]}`, 1)
		},
		"another kind":  func(f string) string { return strings.Replace(f, `"kind":"chat-only"`, `"kind":"open"`, 1) },
		"a lost source": func(f string) string { return strings.Replace(f, `"entry":"`, `"entry":"x`, 1) },
		"no text":       func(f string) string { return strings.Replace(f, `,"text":"head A"`, "", 1) },
	} {
		data, _ := os.ReadFile(s.Path())
		path := filepath.Join(t.TempDir(), "x.jsonl")
		if err := os.WriteFile(path, []byte(change(string(data))), 0o644); err != nil {
			t.Fatal(err)
		}
		x, err := session.Open(path, session.Options{})
		if err != nil {
			t.Fatal(err)
		}
		checks, err := Verify(x)
		x.Close()
		if err != nil {
			t.Fatal(err)
		}
		bad := 0
		for _, c := range checks {
			if !c.OK() {
				bad++
			}
		}
		if bad == 0 {
			t.Errorf("%s is not noticed", name)
		}
	}
}

// TestVerifyWithALostParent: a damaged line costs only itself, not the verdicts.
func TestVerifyWithALostParent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	receipt := `{"type":"custom","customType":"piweb:receipt","data":{"version":1,"policy":{"kind":"open","source":{"by":"default"}},"system":{"sha256":"` + Hash(nil) + `","bytes":0,"text":""},"sources":[],"tools":[],"model":"m"},"id":"r","parentId":"lost"}`
	text := `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}` + "\n{damaged\n" + receipt + "\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(path, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	checks, err := Verify(s)
	if err != nil || len(checks) != 1 || !checks[0].OK() || !strings.Contains(strings.Join(checks[0].Notes, " "), "lost") {
		t.Errorf("%+v, %v", checks, err)
	}
}

// TestVerifyAFork: a receipt whose deciding entry stood on a branch that the fork
// does not have is not held against it; one that the file contradicts is.
func TestVerifyAFork(t *testing.T) {
	open := func(header, entry string) []Check {
		t.Helper()
		path := filepath.Join(t.TempDir(), "s.jsonl")
		text := header + "\n" + `{"type":"custom","customType":"pi-web:tool-selection","data":{"version":1,"tools":["ls"]},"id":"here","parentId":null}` + "\n" +
			`{"type":"custom","customType":"piweb:receipt","data":{"version":1,"policy":{"kind":"pinned","source":{"by":"selection","entry":"` + entry + `"}},"system":{"sha256":"` + Hash(nil) + `","bytes":0,"text":""},"sources":[],"tools":[{"name":"read"}],"model":"m"},"id":"r","parentId":"here"}` + "\n"
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := session.Open(path, session.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		checks, err := Verify(s)
		if err != nil || len(checks) != 1 {
			t.Fatal(checks, err)
		}
		return checks
	}
	plain := `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}`
	fork := strings.TrimSuffix(plain, "}") + `,"parentSession":"/w/old.jsonl"}`
	if c := open(fork, "elsewhere")[0]; !c.OK() || len(c.Notes) != 1 {
		t.Errorf("in a fork, decided elsewhere: %+v", c)
	}
	if c := open(fork, "here")[0]; c.OK() {
		t.Error("in a fork, against an entry that is there: it holds")
	}
	if c := open(plain, "elsewhere")[0]; c.OK() {
		t.Error("in a session that is no fork: it holds")
	}
}

// BenchmarkVerify: the time per receipt must not grow with their number.
func BenchmarkVerify(b *testing.B) {
	for _, n := range []int{1000, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "s.jsonl")
			var f strings.Builder
			f.WriteString(`{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}` + "\n")
			parent := "null"
			for i := range n {
				fmt.Fprintf(&f, `{"type":"message","id":"m%d","parentId":%s,"message":{"role":"system","content":"","toolsAdded":[{"name":"ls","parameters":{}}]}}`+"\n", i, parent)
				fmt.Fprintf(&f, `{"type":"custom","customType":"pi-web:tool-selection","data":{"version":9},"id":"p%d","parentId":"m%d"}`+"\n", i, i)
				fmt.Fprintf(&f, `{"type":"custom","customType":"piweb:receipt","data":{"version":1,"policy":{"kind":"open","source":{"by":"transcript","entry":"m%d"}},"system":{"sha256":%q,"bytes":0,"text":""},"tools":[{"name":"ls"}]},"id":"r%d","parentId":"p%d"}`+"\n", i, Hash(nil), i, i)
				parent = fmt.Sprintf("\"r%d\"", i)
			}
			if err := os.WriteFile(path, []byte(f.String()), 0o644); err != nil {
				b.Fatal(err)
			}
			s, err := session.Open(path, session.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			for b.Loop() {
				if checks, err := Verify(s); err != nil || len(checks) != n || !checks[n-1].OK() {
					b.Fatal(len(checks), err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/receipt")
		})
	}
}
