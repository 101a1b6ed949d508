package wrapper

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/resource"
	"github.com/piweb-go/piweb/toolselect"
)

// shelf is a host with skills and templates.
type shelf struct {
	*stage
	res Resources
}

func (h *shelf) Resources(_ context.Context, _ string, loads policy.Loads) (Resources, error) {
	h.loaded.Add(1)
	var res Resources
	if loads.Skills {
		res.Skills = h.res.Skills
	}
	if loads.Templates {
		res.Templates = h.res.Templates
	}
	return res, nil
}

// asked is the text of the last prompt.
func asked(t *testing.T, s *Session) string {
	t.Helper()
	req, err := s.Request(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := len(req.Messages) - 1; i >= 0; i-- {
		if u, ok := req.Messages[i].(*message.User); ok {
			return u.Content.PlainText()
		}
	}
	return ""
}

func newShelf() *shelf {
	return &shelf{stage: &stage{}, res: Resources{
		Skills: []resource.Skill{
			{Name: "pdf", Path: "/s/pdf/SKILL.md", Dir: "/s/pdf", Body: "/fix $1", Description: "d"},
			{Name: "secret", Path: "/s/secret/SKILL.md", Dir: "/s/secret", Body: "x", Description: "d", Hidden: true},
		},
		Templates: []resource.Template{
			{Name: "fix", Body: "Fix ${1:-all}."}, {Name: "loop", Body: "/loop $@ /skill:pdf"}, {Name: "void", Body: "$1"}, {Name: "reload", Body: "never"},
			{Name: "ext", Body: "the template"},
		},
	}}
}

func TestPromptDoorExpandsOnce(t *testing.T) {
	h := newShelf()
	h.factories = []agent.Factory{{Name: "x", New: func(context.Context, agent.Env) (agent.Extension, error) {
		return agent.Extension{Commands: []agent.Command{{Name: "ext", Run: func(context.Context, string) (agent.CommandResult, error) {
			return agent.CommandResult{Prompt: "the extension's"}, nil
		}}}}, nil
	}}}
	r := registry(t, h, Options{})
	s := opened(t, r, file(t, t.TempDir()), OpenOptions{})
	skill := "<skill name=\"pdf\" location=\"/s/pdf/SKILL.md\">\nRelative paths in it start at /s/pdf.\n\n/fix $1\n</skill>"
	for typed, want := range map[string]string{
		"/fix":                       "Fix all.",
		"/fix \"a b\" c":             "Fix a b.",
		"/fix\n/fix":                 "Fix /fix.",
		"/loop /fix":                 "/loop /fix /skill:pdf",
		"/skill:pdf":                 skill,
		"/skill:pdf  read $1 /fix ":  skill + "\n\nread $1 /fix",
		"/skill:secret":              strings.NewReplacer("pdf", "secret", "/fix $1", "x").Replace(skill),
		"/skill:none a":              "/skill:none a",
		"/pdf":                       "/pdf",
		"/fixed":                     "/fixed",
		" /fix":                      " /fix",
		"what is /fix":               "what is /fix",
		"/ext":                       "the extension's",
		"/tmp/a.txt is this a file?": "/tmp/a.txt is this a file?",
		"/reload now":                "never",
	} {
		say(t, s, typed)
		if got := asked(t, s); got != want {
			t.Errorf("%q became %q, want %q", typed, got, want)
		}
	}
	if _, err := s.Prompt(t.Context(), Input{Text: "/void"}); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty template: %v", err)
	}
	if _, err := s.SetTools(t.Context(), toolselect.ChatOnly()); err != nil {
		t.Fatal(err)
	}
	for _, typed := range []string{"/fix", "/skill:pdf", "/ext"} {
		say(t, s, typed)
		if got := asked(t, s); got != typed {
			t.Errorf("Chat Only made %q of %q", got, typed)
		}
	}
	commands, err := s.Commands(t.Context())
	if err != nil || len(commands) != 2 || commands[0].Name != "compact" || commands[1].Name != "reload" {
		t.Errorf("Chat Only knows %v, %v", commands, err)
	}
}

func TestCommandsOfASession(t *testing.T) {
	r := registry(t, newShelf(), Options{})
	s := opened(t, r, file(t, t.TempDir()), OpenOptions{})
	commands, err := s.Commands(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range commands {
		names = append(names, c.Kind+" "+c.Name)
	}
	if got := strings.Join(names, ", "); got != "builtin compact, template ext, template fix, template loop, builtin reload, skill skill:pdf, skill skill:secret, template void" {
		t.Error(got)
	}
}

// TestReloadReadsAnew: a live session keeps what it has until then.
func TestReloadReadsAnew(t *testing.T) {
	h := newShelf()
	r := registry(t, h, Options{})
	path := file(t, t.TempDir())
	s := opened(t, r, path, OpenOptions{})
	say(t, s, "/fix")
	h.res.Templates = []resource.Template{{Name: "fix", Body: "Mend it."}}
	say(t, s, "/fix")
	if got := asked(t, s); got != "Fix all." {
		t.Errorf("before the reload: %q", got)
	}
	before, _ := os.ReadFile(path)
	sub := s.Subscribe(0)
	defer sub.Close()
	turn, err := s.Prompt(t.Context(), Input{Text: "/reload"})
	if err != nil || turn.Entry != "" {
		t.Fatalf("%+v, %v", turn, err)
	}
	swapped := false
	for _, e := range happened(t, sub) {
		swapped = swapped || e.Type == EngineSwapped
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) || !swapped {
		t.Errorf("a reload wrote to the file, or was not told (%v)", swapped)
	}
	say(t, s, "/fix")
	if got := asked(t, s); got != "Mend it." {
		t.Errorf("after the reload: %q", got)
	}
	gate := make(chan struct{})
	h.gate = gate
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	running, err := s.Prompt(t.Context(), Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(t.Context()); !errors.Is(err, ErrRunning) {
		t.Errorf("a reload in a run: %v", err)
	}
	close(gate)
	if err := running.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestSkillsInTheHead(t *testing.T) {
	skills := []resource.Skill{
		{Name: "a&b", Description: `say "<x>" 'y'`, Path: "/s/a/SKILL.md"},
		{Name: "hid", Description: "d", Path: "/s/h/SKILL.md", Hidden: true},
	}
	open, _ := policy.Resolve(policy.Facts{})
	tools := func(names ...string) (out []agent.Tool) {
		for _, n := range names {
			out = append(out, named{name: n})
		}
		return out
	}
	res := Resources{Skills: skills, ContextFiles: []resource.ContextFile{{Path: "/c", Text: "ctx"}}}
	for _, with := range []string{"read", "bash"} {
		head := string(Compose(open, tools("edit", with), res, "/w"))
		want := "<available_skills>\n  <skill>\n    <name>a&amp;b</name>\n    <description>say &quot;&lt;x&gt;&quot; &apos;y&apos;</description>\n    <location>/s/a/SKILL.md</location>\n  </skill>\n</available_skills>\n</skills>\n\n<cwd>\n/w\n</cwd>"
		if !strings.HasSuffix(head, want) || strings.Index(head, "<project_context>") > strings.Index(head, "<skills>") {
			t.Errorf("with %s:\n%s", with, head)
		}
	}
	if head := string(Compose(open, tools("edit", "write"), res, "/w")); strings.Contains(head, "skill") {
		t.Errorf("a session that cannot read is told of skills:\n%s", head)
	}
	if head := string(Compose(open, tools("read"), Resources{Skills: skills[1:]}, "/w")); strings.Contains(head, "<skills>") {
		t.Errorf("only hidden skills, and a section:\n%s", head)
	}
}

// TestExpandByAnySpelling: a name on the disk may keep an accent as a letter of its
// own; who types the name does not know.
func TestExpandByAnySpelling(t *testing.T) {
	h := newShelf()
	h.res.Skills = append(h.res.Skills, resource.Skill{Name: "cafe\u0301", Path: "/s/c/SKILL.md", Dir: "/s/c", Body: "brew", Description: "d"})
	h.res.Templates = append(h.res.Templates, resource.Template{Name: "re\u0301sume\u0301", Body: "Sum up $1."})
	r := registry(t, h, Options{})
	s := opened(t, r, file(t, t.TempDir()), OpenOptions{})
	say(t, s, "/r\u00e9sum\u00e9 it")
	if got := asked(t, s); got != "Sum up it." {
		t.Errorf("the template: %q", got)
	}
	say(t, s, "/skill:caf\u00e9 now")
	if got := asked(t, s); !strings.Contains(got, "brew") || !strings.HasSuffix(got, "now") {
		t.Errorf("the skill: %q", got)
	}
}
