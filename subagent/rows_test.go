package subagent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/resource"
	"github.com/piweb-go/piweb/session"
)

// file writes a child's file by hand: a header and the data of custom entries.
func (w *world) file(entries ...[2]string) View {
	w.t.Helper()
	log, err := session.Create(session.NewSession{Dir: w.dir, CWD: w.cwd, ParentSession: w.parent.Path()}, session.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { log.Close() })
	for _, e := range entries {
		c, err := session.CustomOf(e[0], json.RawMessage(e[1]))
		if err == nil {
			_, err = log.Append(c)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return log
}

const metaData = `{"version":1,"parentSessionId":"the-parent","parentSessionPath":"/p.jsonl","parentToolCallId":"call","profile":"explore","description":"A look",` +
	`"task":"look","runInBackground":true,"createdAt":"2026-01-01T00:00:00.000Z","resourceSnapshot":{"version":1,"tools":["read"]}}`

// TestSA6 reads metadata and a result as a whole run.
func TestSA6(t *testing.T) {
	w, _ := newWorld(t)
	r, ok, err := ReadRun(w.file([2]string{MetaType, metaData},
		[2]string{ResultType, `{"version":1,"status":"completed","completedAt":"2026-01-01T00:01:00.000Z","result":"found"}`}))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if r.ParentID != "the-parent" || r.ToolCallID != "call" || r.Profile != "explore" || r.Description != "A look" || r.Task != "look" || !r.Background ||
		r.Status != Completed || r.Text != "found" || r.CompletedAt != "2026-01-01T00:01:00.000Z" || r.ChatOnly {
		t.Errorf("%+v", r)
	}
}

// TestKeysOfARunCountToTheLetter: a key of another case is another key, and the last
// of those that repeat counts.
func TestKeysOfARunCountToTheLetter(t *testing.T) {
	w, _ := newWorld(t)
	r, ok, err := ReadRun(w.file([2]string{MetaType, strings.Replace(metaData, `"profile":"explore"`, `"profile":"other","profile":"explore","PROFILE":"bad","ParentSessionId":"bad"`, 1)},
		[2]string{ResultType, `{"version":1,"status":"failed","status":"completed","STATUS":"aborted","completedAt":"2026-01-01T00:01:00.000Z","result":"found","Result":"bad"}`}))
	if err != nil || !ok || r.Profile != "explore" || r.ParentID != "the-parent" || r.Status != Completed || r.Text != "found" {
		t.Errorf("%+v, %v, %v", r, ok, err)
	}
	b, err := ReadBudget(w.file([2]string{BudgetType, `{"version":1,"limits":{"turns":9,"total":9},"limits":{"turns":3},"LIMITS":{"turns":1}}`}).(View))
	if err != nil || b.Limits.Turns != 3 || b.Limits.Total != 0 {
		t.Errorf("%+v, %v", b, err)
	}
}

// TestSA7: a snapshot may name a tool twice and tools of extensions; it counts once,
// and the flags are kept.
func TestSA7(t *testing.T) {
	w, _ := newWorld(t)
	v := w.file([2]string{MetaType, strings.Replace(metaData, `{"version":1,"tools":["read"]}`,
		`{"version":1,"appendSystemPrompt":[],"tools":["read","web_search","read"],"loadSkills":true,"loadExtensions":true}`, 1)})
	facts, err := policy.Gather(v.(policy.View))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := policy.Resolve(facts)
	if strings.Join(p.Tools, " ") != "read web_search" || !p.Loads.Skills || !p.Loads.Extensions || p.Err() != nil {
		t.Errorf("%s, loads %+v (%v)", p, p.Loads, p.Err())
	}
}

// TestSA8: switches that a snapshot does not have are off.
func TestSA8(t *testing.T) {
	w, _ := newWorld(t)
	r, ok, err := ReadRun(w.file([2]string{MetaType, strings.Replace(metaData, `"tools":["read"]`, `"tools":[]`, 1)}))
	if err != nil || !ok || !r.ChatOnly {
		t.Errorf("%+v %v (%v)", r, ok, err)
	}
}

// TestSA18: what a file alone says of a child's state.
func TestSA18(t *testing.T) {
	w, _ := newWorld(t)
	meta, failed := [2]string{MetaType, metaData}, [2]string{ResultType, `{"version":1,"status":"failed","completedAt":"x","error":"no key"}`}
	for _, c := range []struct {
		name    string
		entries [][2]string
		child   bool
		status  Status
		error   string
	}{
		{"meta only", [][2]string{meta}, true, Interrupted, ""},
		{"failed", [][2]string{meta, failed}, true, Failed, "no key"},
		{"failed, then aborted", [][2]string{meta, failed, {ResultType, `{"version":1,"status":"aborted","completedAt":"y"}`}}, true, Aborted, ""},
		{"failed, then queued", [][2]string{meta, failed, {StatusType, `{"version":1,"status":"queued"}`}}, true, Queued, ""},
		{"meta of version 2", [][2]string{{MetaType, strings.Replace(metaData, `"version":1,"parent`, `"version":2,"parent`, 1)}}, false, "", ""},
		{"no meta", [][2]string{failed}, false, "", ""},
		{"a result of no kind", [][2]string{meta, {ResultType, `{"version":1,"status":"splendid"}`}, {ResultType, `{"version":2,"status":"completed"}`}}, true, Interrupted, ""},
	} {
		r, ok, err := ReadRun(w.file(c.entries...))
		if err != nil || ok != c.child || ok && (r.Status != c.status || r.Error != c.error) {
			t.Errorf("%s: %v %s %q (%v)", c.name, ok, r.Status, r.Error, err)
		}
	}
}

// TestSA14: the same name in two scopes is listed twice, and the project's counts.
func TestSA14(t *testing.T) {
	w, m := newWorld(t)
	for scope, prompt := range map[resource.ProfileSource]string{resource.GlobalProfile: "MINE", resource.ProjectProfile: "ITS"} {
		if _, err := m.Save(scope, w.cwd, Draft{Name: "helper", Enabled: true, Prompt: prompt}); err != nil {
			t.Fatal(err)
		}
	}
	all, _ := m.Profiles(w.cwd)
	n := 0
	for _, p := range all {
		if p.Name == "helper" {
			n++
		}
	}
	if p, err := m.Resolve(w.cwd, "HELPER"); err != nil || n != 2 || p.Prompt != "ITS" {
		t.Errorf("%d are listed, and %q counts (%v)", n, p.Prompt, err)
	}
}

// SE4, SE5 and SE13 are about an extension of others, pi-subagents, that pi-web takes
// out of the list of what it loads. piweb loads no code of others: an extension is a
// Go factory, and one that wants a reserved name is refused by the wrapper.
