package policy

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/toolselect"
	"pgregory.net/rapid"
)

func choice(data string) string {
	return `"custom","customType":"pi-web:tool-selection","data":` + data
}

const userLine = `"message","message":{"role":"user","content":"x","timestamp":1}`

// receiptOf is a receipt as the loop writes it, with the text of its head.
func receiptOf(kind Kind, source Source, head, tool string) string {
	tools := ""
	if tool != "" {
		tools = `{"name":"` + tool + `","sha256":"x"}`
	}
	entry := ""
	if source.Entry != "" {
		entry = `,"entry":"` + string(source.Entry) + `"`
	}
	return fmt.Sprintf(`"custom","customType":"piweb:receipt","data":{"version":1,"policy":{"kind":%q,"source":{"by":%q%s}},"system":{"sha256":%q,"bytes":%d,"text":%q},"sources":[],"tools":[%s],"model":"p/m"}`,
		kind, source.By, entry, Hash([]byte(head)), len(head), head, tools)
}

// TestHistory tells a session's policy from its first message on.
func TestHistory(t *testing.T) {
	s := file(t,
		userLine,
		receiptOf(Open, Source{By: ByDefault}, "composed", "read"),
		system(decl("ls"), ""),
		userLine,
		choice(`{"version":1,"tools":["read"]}`),
		receiptOf(Pinned, Source{BySelection, "e4"}, "composed", "read"),
		userLine,
		choice(`{"version":1,"tools":["unheard_of"]}`),
		choice(`{"version":1,"tools":[]}`),
		receiptOf(ChatOnly, Source{BySelection, "e8"}, "context", ""),
		receiptOf(ChatOnly, Source{BySelection, "e8"}, "context", "bash"),
		choice(`{"version":1,"cleared":true}`),
		`"custom","customType":"another:program","data":{}`,
	)
	moments, err := History(s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range moments {
		holds := ""
		if m.What == WhatReceipt {
			holds = fmt.Sprint(" holds=", m.Holds)
		}
		got = append(got, fmt.Sprintf("line %d after %s: %s counts=%v %s %v%s", m.Line, m.After, m.What, m.Counts, m.Kind, m.Tools, holds))
	}
	want := []string{
		"line 3 after e0: receipt counts=true open [read] holds=true",
		"line 4 after e0: declaration counts=true open [ls]",
		"line 6 after e3: selection counts=true pinned [read]",
		"line 7 after e3: receipt counts=true pinned [read] holds=true",
		"line 9 after e6: selection counts=false pinned [read]",
		"line 10 after e6: selection counts=true chat-only []",
		"line 11 after e6: receipt counts=true chat-only [] holds=true",
		"line 12 after e6: receipt counts=true chat-only [bash] holds=false",
		"line 13 after e6: selection counts=true open []",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if m := moments[len(moments)-1]; m.Tools != nil {
		t.Errorf("the settings of that day are not in the file, and yet: %v", m.Tools)
	}
	if !strings.Contains(moments[4].Text, "unheard_of") {
		t.Errorf("it does not say why the choice does not count: %q", moments[4].Text)
	}
	if !strings.Contains(moments[7].Text, "bash") {
		t.Errorf("it does not say what differs: %q", moments[7].Text)
	}
}

// TestHistoryEndsInTheSelection: the last choice that counts is the one that Find
// finds, whatever the file holds.
func TestHistoryEndsInTheSelection(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{
			userLine, choice(`{"version":1,"tools":["read","ls"]}`), choice(`{"version":1,"tools":[]}`), choice(`{"version":1,"cleared":true}`),
			choice(`{"version":2,"tools":[]}`), choice(`{"version":1,"tools":["x"]}`), choice(`null`), system(decl("ls"), ""), receiptLine,
		}), 0, 12).Draw(rt, "lines")
		s := file(t, lines...)
		found, err := toolselect.Find(s)
		if err != nil {
			rt.Fatal(err)
		}
		moments, err := History(s)
		if err != nil {
			rt.Fatal(err)
		}
		var last Moment
		for _, m := range moments {
			if m.What == WhatSelection && m.Counts {
				last = m
			}
		}
		if last.Entry != found.Entry {
			rt.Fatalf("history ends in %q, the selection stands in %q", last.Entry, found.Entry)
		}
	})
}

func TestHeadText(t *testing.T) {
	const odd = "one\r\n漢 "
	forged := strings.Replace(receiptOf(Open, Source{By: ByDefault}, "true", ""), `"text":"true"`, `"text":"forged"`, 1)
	s := file(t, userLine, receiptOf(Open, Source{By: ByDefault}, odd, ""), receiptOf(Open, Source{By: ByDefault}, "", ""), forged, receiptOf(ChatOnly, Source{By: ByDefault}, odd, ""))
	for _, c := range []struct {
		name, sha, want string
		ok              bool
	}{
		{"sent", Hash([]byte(odd)), odd, true},
		{"by its beginning", Hash([]byte(odd))[:8], odd, true},
		{"empty", Hash(nil), "", true},
		{"never sent", Hash([]byte("two")), "", false},
		{"text that is not of the hash", Hash([]byte("true")), "", false},
		{"too short", Hash([]byte(odd))[:7], "", false},
		{"no hash", "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			sha, got, err := HeadText(s, c.sha)
			if c.ok != (err == nil) || got != c.want || c.ok && sha != Hash([]byte(c.want)) || !c.ok && !errors.Is(err, ErrHead) {
				t.Errorf("%q, %q, %v", sha, got, err)
			}
		})
	}
}
