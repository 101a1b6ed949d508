package completion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fake is a provider of a test.
type fake struct {
	id, kind, trigger string
	extract           Extract
	priority          int
	complete          func(ctx context.Context, q Query) (Offer, error)
	resolve           func(r Ref) (Resolution, bool, error)
}

func (f *fake) ID() string      { return or(f.id, "fake") }
func (f *fake) Kind() string    { return or(f.kind, "file") }
func (f *fake) Trigger() string { return f.trigger }
func (f *fake) Priority() int   { return f.priority }
func (f *fake) Extract() Extract {
	return Extract(or(string(f.extract), string(WordTail)))
}
func (f *fake) Complete(ctx context.Context, q Query) (Offer, error) { return f.complete(ctx, q) }
func (f *fake) Resolve(_ context.Context, r Ref) (Resolution, bool, error) {
	if f.resolve == nil {
		return Resolution{}, false, nil
	}
	return f.resolve(r)
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func items(all ...Item) func(context.Context, Query) (Offer, error) {
	return func(context.Context, Query) (Offer, error) { return Offer{Items: all}, nil }
}

func registry(t *testing.T, all ...*fake) *Registry {
	t.Helper()
	r := NewRegistry(nil)
	for i, p := range all {
		if p.trigger == "" {
			p.trigger = "@"
		}
		if p.id == "" {
			p.id = fmt.Sprint("p", i)
		}
		if err := r.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestVectorOrderOfLabels(t *testing.T) {
	var want []string
	if err := json.Unmarshal([]byte(`["_","-",".x","1","10","2","a","A","b","é","Z","中"]`), &want); err != nil {
		t.Fatal(err)
	}
	var all []Item
	for _, label := range want {
		all = append([]Item{{ID: label, Label: label}}, all...)
	}
	var got []string
	for _, item := range registry(t, &fake{complete: items(all...)}).Complete(t.Context(), Query{Trigger: "@"}).Items {
		got = append(got, item.Label)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestVectorMerge(t *testing.T) {
	r := registry(t, &fake{id: "x", kind: "x", complete: items(Item{ID: "1", Label: "l", Score: -1})},
		&fake{id: "y", kind: "y", complete: items(Item{ID: "1", Label: "m"}, Item{ID: "1", Label: "n"})})
	got, err := json.Marshal(r.Complete(t.Context(), Query{Trigger: "＠"}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"items":[{"providerId":"y","kind":"y","id":"1","label":"m"},{"providerId":"x","kind":"x","id":"1","label":"l","score":-1}],"groups":[{"kind":"y","count":1},{"kind":"x","count":1}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestUnknownTriggerIsEmpty(t *testing.T) {
	r := registry(t, &fake{complete: items(Item{ID: "1", Label: "l"})})
	for _, trigger := range []string{"", "%", "@@"} {
		got, _ := json.Marshal(r.Complete(t.Context(), Query{Trigger: trigger}))
		if string(got) != `{"items":[],"groups":[]}` {
			t.Errorf("%q: %s", trigger, got)
		}
	}
}

func TestPriorityGoesFirst(t *testing.T) {
	r := registry(t, &fake{kind: "a", complete: items(Item{ID: "1", Label: "a", Score: 9})},
		&fake{kind: "b", priority: 1, complete: items(Item{ID: "2", Label: "b"})})
	if got := r.Complete(t.Context(), Query{Trigger: "@"}).Items; got[0].ID != "2" {
		t.Errorf("first is %+v", got[0])
	}
}

// Many files do not hide the few attachments (the reference shows at most ten).
func TestEveryKindHasItsShare(t *testing.T) {
	var many []Item
	for i := range 100 {
		many = append(many, Item{ID: fmt.Sprint(i), Label: fmt.Sprintf("%03d", i), Score: 5})
	}
	r := registry(t, &fake{complete: items(many...)}, &fake{kind: "attachment", complete: items(many[:8]...)})
	a := r.Complete(t.Context(), Query{Trigger: "@"})
	a.Items = nil
	want := Answer{Groups: []Group{{"file", MaxItems - 5}, {"attachment", 5}}}
	for i := range many[:8] {
		many[i].Score = 0
	}
	r = registry(t, &fake{complete: items(many[20:]...)}, &fake{kind: "attachment", complete: items(many[:8]...)})
	a = r.Complete(t.Context(), Query{Trigger: "@"})
	a.Items = nil
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A slow, a failing and a panicking provider contribute nothing, and are named.
func TestLateAndBrokenProviders(t *testing.T) {
	stopped := make(chan struct{})
	r := registry(t, &fake{id: "good", complete: items(Item{ID: "1", Label: "l"})},
		&fake{id: "slow", complete: func(ctx context.Context, _ Query) (Offer, error) {
			<-ctx.Done() // told to stop, unlike in the reference
			close(stopped)
			return Offer{}, ctx.Err()
		}},
		&fake{id: "failing", complete: func(context.Context, Query) (Offer, error) { return Offer{}, errors.New("no") }},
		&fake{id: "panicking", complete: func(context.Context, Query) (Offer, error) { panic("no") }})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	a := r.Complete(ctx, Query{Trigger: "@"})
	<-stopped
	if len(a.Items) != 1 || !a.Partial || strings.Join(a.Missing, " ") != "slow failing panicking" {
		t.Errorf("%+v", a)
	}
}

// A provider that never ends does not pile up.
func TestStuckProviderIsBounded(t *testing.T) {
	release := make(chan struct{})
	var calls atomic.Int64
	r := registry(t, &fake{complete: func(context.Context, Query) (Offer, error) {
		calls.Add(1)
		<-release
		return Offer{}, nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 * maxInFlight {
		r.Complete(ctx, Query{Trigger: "@"})
	}
	close(release)
	if n := calls.Load(); n > maxInFlight {
		t.Errorf("%d calls at the same time", n)
	}
	waitFor(t, func() bool { return r.list()[0].running.Load() == 0 })
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come")
		}
	}
}

func TestTriggers(t *testing.T) {
	r := registry(t, &fake{}, &fake{trigger: "／", extract: LineStart}, &fake{trigger: "＠", extract: LineStart}, &fake{trigger: "/"})
	want := []TriggerRule{{"@", WordTail}, {"/", LineStart}}
	if diff := cmp.Diff(want, r.Triggers()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAddReplacesInPlace(t *testing.T) {
	r := registry(t, &fake{id: "a"}, &fake{id: "b", trigger: "#"})
	if err := r.Add(&fake{id: "a", trigger: "$"}); err != nil {
		t.Fatal(err)
	}
	if got := r.Triggers(); got[0].Trigger != "$" || len(got) != 2 {
		t.Errorf("%+v", got)
	}
	for _, bad := range []*fake{{trigger: "@", kind: "File"}, {trigger: "@", kind: "a b"}, {trigger: "@", kind: "1a"}} {
		if err := r.Add(bad); !errors.Is(err, ErrProvider) {
			t.Errorf("%+v was added: %v", bad, err)
		}
	}
}

// files resolves ids that are there.
func files(names ...string) *fake {
	return &fake{resolve: func(r Ref) (Resolution, bool, error) {
		path, lines := r.ID, r.Lines
		for range 2 {
			for _, n := range names {
				if path == n {
					return Resolution{Text: Mention(path, lines), ID: path, Lines: lines}, true, nil
				}
			}
			path, lines = SplitLines(r.ID)
		}
		return Resolution{}, false, nil
	}}
}

func TestVectorSubmit(t *testing.T) {
	overruled := map[string]string{"@file:app.ts,": "@app.ts,", "mail@file:app.ts": "mail@file:app.ts"}
	r := registry(t, files("app.ts", "a.ts", "é.ts"))
	for _, line := range vectors(t, "submit") {
		in, out, ok := strings.Cut(line, " => ")
		var text, want string
		if !ok || json.Unmarshal([]byte(in), &text) != nil || json.Unmarshal([]byte(out), &want) != nil {
			t.Fatal(line)
		}
		if w, ok := overruled[text]; ok {
			want = w
		}
		if got := r.Resolve(t.Context(), Scope{}, text); got.Text != want {
			t.Errorf("%q: %q, want %q", text, got.Text, want)
		}
	}
}

func TestResolveText(t *testing.T) {
	r := registry(t, files("x", "a b.go", "x,", "real.txt", "it's", "a.ts", "a"))
	for text, want := range map[string]string{
		"say (@file:x)":                   "say (@x)",
		"@file:x.":                        "@x.",
		"@file:x,":                        `@"x,"`, // that file exists
		`@file:"a b.go"#L3-9, please`:     `@"a b.go"#L3-9, please`,
		"@x#L3.":                          "@x#L3.",
		"is it @real.txt?":                "is it @real.txt?",
		"@'it's' and @it's":               "@'it's' and @it's",
		"@nope.txt @file:nope @foo:x":     "@nope.txt @file:nope @foo:x",
		"@file:a.ts 与 @file:a":            "@a.ts 与 @a",
		"#file:x":                         "@x",
		`@file:"no such @file:x" @file:x`: `@file:"no such @x" @x`,
		"```\n@file:x\n```\n@file:x":      "```\n@file:x\n```\n@x",
		"~~~~\n@file:x\n~~~\n@file:x\n~~~~\n@file:x": "~~~~\n@file:x\n~~~\n@file:x\n~~~~\n@x",
		"@file:x\n```go\n@file:x":                    "@x\n```go\n@file:x",
		"```not a block``` @file:x":                  "```not a block``` @x",
	} {
		if got := r.Resolve(t.Context(), Scope{}, text); got.Text != want {
			t.Errorf("%q: %q, want %q", text, got.Text, want)
		}
	}
}

// What a provider puts in is not looked at again.
func TestResolvedTextIsNotRescanned(t *testing.T) {
	r := registry(t, &fake{kind: "note", resolve: func(Ref) (Resolution, bool, error) {
		return Resolution{Text: "@file:x and @note:y"}, true, nil
	}}, files("x"))
	if got := r.Resolve(t.Context(), Scope{}, "@note:1 @file:x"); got.Text != "@file:x and @note:y @x" {
		t.Errorf("%q", got.Text)
	}
}

func TestBrokenResolverKeepsTheText(t *testing.T) {
	r := registry(t, &fake{kind: "a", resolve: func(Ref) (Resolution, bool, error) { panic("no") }},
		&fake{kind: "b", resolve: func(Ref) (Resolution, bool, error) { return Resolution{Text: "!"}, true, errors.New("no") }})
	if got := r.Resolve(t.Context(), Scope{}, "@a:1 @b:2"); got.Text != "@a:1 @b:2" || got.Found != nil {
		t.Errorf("%+v", got)
	}
}

// Ten thousand tokens cost no more than MaxResolved questions.
func TestManyTokensAreBounded(t *testing.T) {
	asked := 0
	r := registry(t, &fake{resolve: func(Ref) (Resolution, bool, error) { asked++; return Resolution{Text: "!"}, true, nil }})
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "@file:%d @file:0 ", i)
	}
	got := r.Resolve(t.Context(), Scope{}, text.String())
	if asked != MaxResolved || !strings.Contains(got.Text, "@file:9999 !") {
		t.Errorf("%d questions", asked)
	}
}
