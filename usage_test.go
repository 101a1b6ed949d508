package piweb_test

import (
	"os"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/subagent"
)

// TestTreeUsage: what a session used adds up with the subagents below it, theirs
// included, each counted once, now and by another process; a child's sum is its own.
func TestTreeUsage(t *testing.T) {
	w, s := delegating(t, `{"steps":[
		{"match":"please delegate","toolCalls":[{"name":"Agent","arguments":{"prompt":"first task","description":"First"}}],"usage":{"input":1000,"output":1}},
		{"match":"first task","text":"done","usage":{"input":200,"output":20}},
		{"match":"second task","text":"done","usage":{"input":30,"output":3},"repeat":true},
		{"text":"ok","usage":{"input":1000,"output":1},"repeat":true}]}`)
	w.put(".pi/agent/models.json", `{"providers":{"rec":{"baseUrl":"`+w.provider.URL+`","api":"openai-completions","apiKey":"k","models":[{"id":"m1","cost":{"input":1,"output":10,"cacheRead":0,"cacheWrite":0}}]}}}`)
	deep, err := subagent.Budget{Limits: subagent.Limits{Depth: 2}}.Payload()
	if err != nil {
		t.Fatal(err)
	}
	w.say(s, "hello")
	if err := s.RecordNow(deep); err != nil {
		t.Fatal(err)
	}
	w.say(s, "please delegate")
	m, path := w.rt.Subagents(), s.Log().Path()
	kids, err := m.Children(t.Context(), path)
	if err != nil || len(kids) != 1 {
		t.Fatalf("%+v, %v", kids, err)
	}
	grand, err := m.Start(t.Context(), kids[0].Path, piweb.SubagentSpec{Task: "second task", Description: "Second"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Wait(t.Context(), kids[0].Path, grand.ID); err != nil {
		t.Fatal(err)
	}
	other := w.create("read") // another session, which is none of the tree
	w.say(other, "hello")

	check := func(rt *piweb.Runtime, path string, input, output int64, ids ...string) {
		t.Helper()
		u, err := rt.TreeUsage(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range u.Subagents {
			got = append(got, c.ID)
		}
		dollars := float64(input) + 10*float64(output)
		if cost := u.Total.Cost.Total * 1e6; u.Total.Input != input || u.Total.Output != output || cost < dollars-1e-6 || cost > dollars+1e-6 {
			t.Errorf("%d in, %d out, %v dollars per million; want %d, %d, %v", u.Total.Input, u.Total.Output, cost, input, output, dollars)
		}
		if len(got) != len(ids) || len(got) > 0 && got[0] != ids[0] || len(got) > 1 && got[1] != ids[1] || u.Unread > 0 {
			t.Errorf("subagents %v, %d unread; want %v", got, u.Unread, ids)
		}
	}
	rows := func(rt *piweb.Runtime) {
		t.Helper()
		check(rt, path, 3000+200+30, 3+20+3, kids[0].ID, grand.ID)
		check(rt, kids[0].Path, 200+30, 20+3, grand.ID)
		check(rt, grand.Path, 30, 3)
		check(rt, other.Log().Path(), 1000, 1)
	}
	w.eventually("the children are written", func() bool {
		u, err := w.rt.TreeUsage(t.Context(), path)
		return err == nil && u.Total.Input >= 3230
	})
	if u, err := w.rt.TreeUsage(t.Context(), path); err != nil || u.Subagents[1].Parent != kids[0].ID || u.Subagents[1].Description != "Second" || u.Answers != 5 {
		t.Errorf("%+v, %v", u, err)
	}
	rows(w.rt)
	if err := w.rt.Close(); err != nil {
		t.Fatal(err)
	}
	rt := w.runtime()
	rows(rt)
	// A child that is gone hides no other.
	if err := os.Remove(grand.Path); err != nil {
		t.Fatal(err)
	}
	w.eventually("a look no longer holds", func() bool {
		u, err := rt.TreeUsage(t.Context(), path)
		return err == nil && u.Unread == 0
	})
	check(rt, path, 3000+200, 3+20, kids[0].ID)
}
