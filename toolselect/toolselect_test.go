package toolselect

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/piweb-go/piweb/session"
	"pgregory.net/rapid"
)

// list is a file of custom entries for Find.
type list []session.Custom

func (l list) Backward() iter.Seq[session.Entry] {
	return func(yield func(session.Entry) bool) {
		for i := len(l) - 1; i >= 0; i-- {
			if !yield(session.Entry{ID: session.ID(fmt.Sprint(i)), Type: session.TypeCustom, CustomType: l[i].CustomType, Line: i}) {
				return
			}
		}
	}
}

func (l list) Decode(e session.Entry) (session.Payload, error) { return l[e.Line], nil }

func entries(data ...string) list {
	var l list
	for _, d := range data {
		l = append(l, session.Custom{CustomType: CustomType, Data: json.RawMessage(d)})
	}
	return l
}

// TestSessionToolSelection is the table "session-tool-selection".
func TestSessionToolSelection(t *testing.T) {
	other := session.Custom{CustomType: "other", Data: json.RawMessage(`{"version":1,"tools":["read"]}`)}
	mixed := []string{`{"version":1,"tools":["read"]}`, `{"version":2,"tools":["ls"]}`, `{"version":1,"tools":["unknown"]}`, `{"version":1,"tools":["bash","read","bash"]}`}
	for _, c := range []struct {
		name string
		file list
		want string
	}{
		{"STS1 no entries", nil, "unset"},
		{"STS1 another type", list{other}, "unset"},
		{"STS2 empty pin", entries(`{"version":1,"tools":[]}`), "Chat Only"},
		{"STS3 newest valid", entries(mixed...), "pinned: bash, read"},
		{"STS4 no list", entries(append(mixed, `{"version":1,"tools":"read"}`)...), "pinned: bash, read"},
		{"STS8 cleared", entries(`{"version":1,"tools":["read"]}`, `{"version":1,"cleared":true}`), "cleared"},
		{"STS9 pinned again", entries(`{"version":1,"tools":["ls"]}`, `{"version":1,"cleared":true}`, `{"version":1,"tools":["read"]}`), "pinned: read"},
		{"STS10 cleared false", entries(`{"version":1,"tools":["read"]}`, `{"version":1,"cleared":false}`), "pinned: read"},
		{"STS11 version 2 cleared", entries(`{"version":1,"tools":["read"]}`, `{"version":2,"cleared":true}`), "pinned: read"},
		{"cleared beside tools", entries(`{"version":1,"cleared":true,"tools":["read"]}`), "cleared"},
		{"cleared false beside tools", entries(`{"version":1,"cleared":false,"tools":["read"]}`), "pinned: read"},
		{"cleared one is not true", entries(`{"version":1,"cleared":1}`), "unset"},
		{"unknown keys", entries(`{"version":1,"tools":["read"],"by":"x"}`), "pinned: read"},
		{"version 1.0", entries(`{"version":1.0,"tools":["read"]}`), "pinned: read"},
		{"version text", entries(`{"version":"1","tools":["read"]}`), "unset"},
		{"version null", entries(`{"version":null,"tools":["read"]}`), "unset"},
		{"data null", entries(`null`), "unset"},
		{"data list", entries(`["read"]`), "unset"},
		{"no data", entries(``), "unset"},
		{"tools null", entries(`{"version":1,"tools":null}`), "unset"},
		{"case counts", entries(`{"version":1,"tools":["Read"]}`), "unset"},
		{"not trimmed", entries(`{"version":1,"tools":["read "]}`), "unset"},
		{"powershell is never stored", entries(`{"version":1,"tools":["powershell"]}`), "unset"},
		{"a number in the list", entries(`{"version":1,"tools":["read",1]}`), "unset"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := Find(c.file)
			if err != nil {
				t.Fatal(err)
			}
			if f.Selection.String() != c.want {
				t.Errorf("got %s, want %s (skipped %v)", f.Selection, c.want, f.Skipped)
			}
		})
	}
}

func TestSkippedEntriesAreNamed(t *testing.T) {
	f, err := Find(entries(`{"version":1,"tools":["read"]}`, `{"version":1,"tools":["web_search"]}`, `{"version":3}`))
	if err != nil {
		t.Fatal(err)
	}
	if f.Entry != "0" || len(f.Skipped) != 2 || !strings.Contains(f.Skipped[0].Reason, "version is 3") || !strings.Contains(f.Skipped[1].Reason, "web_search") {
		t.Errorf("%+v", f)
	}
}

// TestNextIsFind: reading a file forward and backward comes to the same.
func TestNextIsFind(t *testing.T) {
	datas := []string{`{"version":1,"tools":["read"]}`, `{"version":1,"tools":[]}`, `{"version":1,"cleared":true}`, `{"version":2}`, `{"version":1,"tools":["x"]}`, `null`}
	rapid.Check(t, func(t *rapid.T) {
		l := entries(rapid.SliceOfN(rapid.SampledFrom(datas), 0, 60).Draw(t, "entries")...)
		back, err := Find(l)
		if err != nil {
			t.Fatal(err)
		}
		var forward Found
		for i := range l {
			e := session.Entry{ID: session.ID(fmt.Sprint(i)), Type: session.TypeCustom, CustomType: CustomType, Line: i}
			if forward, err = Next(forward, l, e); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(back, forward, cmp.Comparer(Selection.Equal), cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	})
}

func TestWriteRules(t *testing.T) {
	pin, err := Pin("read", "write", "read")
	if err != nil {
		t.Fatal(err)
	}
	payload := func(s Selection) string {
		p, err := s.Payload()
		if err != nil {
			return err.Error()
		}
		return p.CustomType + " " + string(p.Data)
	}
	for name, c := range map[string]struct{ got, want string }{
		"STS5 validate":        {pin.String(), "pinned: read, write"},
		"STS7 append empty":    {payload(ChatOnly()), CustomType + ` {"version":1,"tools":[]}`},
		"STS13 append clear":   {payload(Clear()), CustomType + ` {"version":1,"cleared":true}`},
		"append pin":           {payload(pin), CustomType + ` {"version":1,"tools":["read","write"]}`},
		"unset is not written": {payload(Selection{}), "toolselect: an unset selection is no entry"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", name, c.got, c.want)
		}
	}
	for name, err := range map[string]error{
		"STS6 extension name": second(Pin("read", "web_search")),
		"powershell":          second(Pin("powershell")),
	} {
		if !errors.Is(err, ErrNames) || !strings.Contains(err.Error(), "built-in tool names") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, raw := range []string{`{"version":1,"cleared":true}`, `"read"`, `[1]`, `null`, ``} { // STS6, STS12
		if _, err := DecodeNames(json.RawMessage(raw)); err == nil || !strings.Contains(err.Error(), "must be an array of strings") {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestPresets is the table "tool-presets".
func TestPresets(t *testing.T) {
	want := map[Preset][]string{ // TP1
		PresetNone: {}, PresetReadOnly: {"read", "grep", "find", "ls"}, PresetDefault: {"read", "bash", "edit", "write"},
		PresetFull: {"bash", "read", "edit", "write", "grep", "find", "ls"},
	}
	for p, tools := range want {
		got, ok := p.Tools()
		if d := cmp.Diff(tools, got); d != "" || !ok {
			t.Errorf("TP1 %s: %s", p, d)
		}
		if back := PresetOf(append(got, "web_search")); p != PresetNone && back != p { // TP2
			t.Errorf("TP2 %s → %s", p, back)
		}
		if len(got) > 0 { // TP3
			got[0] = "changed"
			if again, _ := p.Tools(); again[0] == "changed" {
				t.Errorf("TP3 %s can be changed from outside", p)
			}
		}
	}
	for _, c := range []struct {
		active []string
		want   Preset
	}{
		{[]string{"read", "powershell", "edit", "write"}, PresetDefault},                     // TP4
		{[]string{"powershell", "read", "edit", "write", "grep", "find", "ls"}, PresetFull},  // TP4
		{[]string{"read"}, PresetDefault}, {nil, PresetNone}, {[]string{"x"}, PresetDefault}, // unknown sets
	} {
		if got := PresetOf(c.active); got != c.want {
			t.Errorf("%v is %s, want %s", c.active, got, c.want)
		}
	}
	if _, ok := PresetConfigured.Tools(); ok || PresetConfigured.Selection().State() != Cleared { // TP5
		t.Error("TP5 configured is no list")
	}
	rapid.Check(t, func(t *rapid.T) { // TP6
		if PresetOf(rapid.SliceOf(rapid.String()).Draw(t, "active")) == PresetConfigured {
			t.Fatal("TP6 a set of tools is never configured")
		}
	})
}

// TestShell is PS1 and PS2 of the table "shell".
func TestShell(t *testing.T) {
	for _, c := range []struct {
		goos     string
		defaults []string
		want     bool
	}{
		{"windows", []string{"read", "powershell"}, true}, {"windows", []string{"read", "powershell", "bash"}, false},
		{"windows", []string{"bash"}, false}, {"windows", nil, false}, {"darwin", []string{"read", "powershell"}, false},
	} {
		if got := UsesPowerShell(c.goos, c.defaults); got != c.want {
			t.Errorf("PS1 %s %v: %v", c.goos, c.defaults, got)
		}
	}
	if d := cmp.Diff([]string{"read", "powershell", "edit"}, MapShell([]string{"read", "bash", "edit"}, true)); d != "" {
		t.Error("PS2", d)
	}
	if d := cmp.Diff([]string{"read", "bash", "edit"}, MapShell([]string{"read", "powershell", "bash", "edit"}, false)); d != "" {
		t.Error("PS2", d)
	}
}

// TestCase021 reads the files of case 021 as they are on disk.
func TestCase021(t *testing.T) {
	for file, want := range map[string]string{
		"legacy": "unset", "chat-only": "Chat Only", "picked": "pinned: read, grep",
		"bad-newest": "pinned: read", "all-bad": "unset", "other-branch": "pinned: read",
	} {
		t.Run(file, func(t *testing.T) {
			paths, _ := filepath.Glob("../fixtures/cases/021-*/" + file + ".jsonl")
			if len(paths) != 1 {
				t.Fatal(paths)
			}
			before, _ := os.ReadFile(paths[0])
			s, err := session.Open(paths[0], session.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			f, err := Find(s)
			if err != nil || f.Selection.String() != want {
				t.Errorf("got %s, want %s (%v)", f.Selection, want, err)
			}
			if after, _ := os.ReadFile(paths[0]); string(after) != string(before) {
				t.Error("reading changed the file")
			}
		})
	}
}

// TestRoundTrip: what is written is what is read.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOf(rapid.SampledFrom(Builtins())).Draw(t, "names")
		sel, err := Pin(names...)
		if err != nil {
			t.Fatal(err)
		}
		p, err := sel.Payload()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse(p.Data)
		if err != nil || !back.Equal(sel) {
			t.Fatalf("%v became %v (%v)", sel, back, err)
		}
	})
}
