package piweb_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/piweb-go/piweb/wrapper"
)

// until polls for something that comes by itself.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}

// TestNewerTextIsToldAndNotTaken: a live session keeps what it has read, says that
// newer text exists, and takes it at a reload.
func TestNewerTextIsToldAndNotTaken(t *testing.T) {
	w := newWorld(t, &offline.Script{})
	s, err := w.rt.Create(t.Context(), w.project, piweb.OpenOptions{Tools: &[]string{"read"}})
	if err != nil {
		t.Fatal(err)
	}
	head := func() string {
		t.Helper()
		req, err := s.Request(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return string(req.Head)
	}
	before := head()
	sub := s.Subscribe(0)
	defer sub.Close()
	newer := func(want ...string) {
		t.Helper()
		until(t, strings.Join(want, ", "), func() bool {
			got := s.Newer()
			return len(got) == len(want) && !slices.ContainsFunc(want, func(w string) bool {
				return !slices.ContainsFunc(got, func(g string) bool { return strings.HasSuffix(g, w) })
			})
		})
	}
	w.put("my project 漢/AGENTS.md", "EDITED")
	newer("AGENTS.md (changed)")
	w.put(".pi/agent/skills/deep/in/folders/SKILL.md", "---\ndescription: d\n---\nx")
	newer("AGENTS.md (changed)", "folders/SKILL.md (new)")
	w.put(".pi/agent/skills/deep/in/folders/SKILL.md", "---\ndescription: other\n---\nx")
	w.put(".pi/agent/prompts/p.md", "template")
	newer("AGENTS.md (changed)", "folders/SKILL.md (new)", "p.md (new)")
	if got := head(); got != before {
		t.Errorf("the head changed without a reload:\n%s", got)
	}
	told := 0
	for told == 0 {
		e, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == wrapper.NewerText && strings.Contains(e.Reason, "/reload") {
			told++
		}
	}
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := head(); !strings.Contains(got, "EDITED") || !strings.Contains(got, "<description>other</description>") {
		t.Errorf("after the reload:\n%s", got)
	}
	if got := s.Newer(); len(got) != 0 {
		t.Errorf("after the reload there is still newer text: %v", got)
	}
	w.put("my project 漢/AGENTS.md", "AGAIN")
	newer("AGENTS.md (changed)")
	w.put("my project 漢/AGENTS.md", "EDITED") // and back
	newer()

	// Chat Only cares for its context files alone.
	if _, err := s.SetTools(t.Context(), toolselect.ChatOnly()); err != nil {
		t.Fatal(err)
	}
	w.put(".pi/agent/prompts/p2.md", "template")
	w.put(".pi/agent/AGENTS.md", "GLOBAL EDITED")
	newer("agent/AGENTS.md (changed)")
}

func TestWhatIsLoaded(t *testing.T) {
	w := newWorld(t, &offline.Script{})
	w.put("my project 漢/.pi/skills/ps/SKILL.md", "---\nname: ps\ndescription: d\n---\nx")
	w.put(".pi/agent/prompts/ut.md", "---\ndescription: u\nargument-hint: <x>\n---\n$1")
	w.put(".pi/agent/mcp.json", `{"mcpServers":{"off":{"command":"x","enabled":false},"bad":{}}}`)
	look := func() piweb.Loaded {
		t.Helper()
		l, err := w.rt.LookAt(t.Context(), w.project)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := look()
	if l.Trust.Trusted || !l.Trust.Ask || len(l.Trust.Brings) != 1 || len(l.Skills) != 0 || len(l.Templates) != 1 || l.Templates[0].Hint != "<x>" {
		t.Errorf("before trust: %+v", l)
	}
	if len(l.Servers) != 1 || l.Servers[0].State != "disabled" {
		t.Errorf("servers %+v", l.Servers)
	}
	yes := true
	if tr, err := w.rt.SetTrust(w.project, &yes); err != nil || !tr.Trusted || tr.Ask {
		t.Errorf("%+v, %v", tr, err)
	}
	if l = look(); len(l.Skills) != 1 || l.Skills[0].Scope != "project" || !slices.ContainsFunc(l.Commands, func(c piweb.LoadedCommand) bool { return c.Name == "skill:ps" }) {
		t.Errorf("after trust: %+v", l)
	}
	s, err := w.rt.Create(t.Context(), w.project, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	live, err := w.rt.Loaded(t.Context(), s)
	if err != nil || len(live.Skills) != 1 || len(live.Files) != 2 || len(live.Tools) != 4 || !live.Tools[0].Builtin {
		t.Errorf("live: %+v, %v", live, err)
	}
	for _, want := range []string{`MCP server "off"`, `MCP server "bad"`} {
		if !slices.ContainsFunc(live.Left, func(o piweb.Left) bool { return strings.HasPrefix(o.Path, want) }) {
			t.Errorf("%s is not told: %v", want, live.Left)
		}
	}
}
