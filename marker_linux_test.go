package piweb_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/toolselect"
)

// opens counts how often files and folders are opened, as the system tells it.
type opens struct {
	t     *testing.T
	fd    int
	names map[int32]string
}

func watchOpens(t *testing.T, paths ...string) *opens {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	o := &opens{t: t, fd: fd, names: map[int32]string{}}
	for _, p := range paths {
		wd, err := syscall.InotifyAddWatch(fd, p, syscall.IN_OPEN)
		if err != nil {
			t.Fatal(err)
		}
		o.names[int32(wd)] = p
	}
	return o
}

// seen are the watched paths, and entries of watched folders, that were opened
// since the last time.
func (o *opens) seen() (out []string) {
	buf := make([]byte, 1<<16)
	for {
		n, err := syscall.Read(o.fd, buf)
		if err != nil || n <= 0 {
			return out
		}
		for at := 0; at+syscall.SizeofInotifyEvent <= n; {
			e := (*syscall.InotifyEvent)(unsafe.Pointer(&buf[at]))
			name := string(buf[at+syscall.SizeofInotifyEvent : at+syscall.SizeofInotifyEvent+int(e.Len)])
			at += syscall.SizeofInotifyEvent + int(e.Len)
			path := filepath.Join(o.names[e.Wd], strings.TrimRight(name, "\x00"))
			if !slices.Contains(out, path) {
				out = append(out, path)
			}
		}
	}
}

// TestChatOnlyTouchesNothing: everything that a normal session loads leaves a
// mark, or is watched by the system. Chat Only leaves none; leaving it loads each
// once; a project that nobody trusts brings none of its own.
func TestChatOnlyTouchesNothing(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, project := filepath.Join(base, "home"), filepath.Join(base, "project")
	agentDir := filepath.Join(home, ".pi", "agent")
	put := func(path, text string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	mark := func(name string) string { return filepath.Join(base, name) }
	marks := func(name string) int {
		data, _ := os.ReadFile(mark(name))
		return strings.Count(string(data), "x")
	}
	server := func(name string) string {
		config := map[string]any{"mcpServers": map[string]any{name: map[string]any{
			"command": "sh", "args": []string{"-c", "echo x >> " + mark("server-"+name) + "; cat >/dev/null"},
			"env": map[string]string{"V": "!echo x >> " + mark("value-"+name) + "; echo v"}}}}
		data, _ := json.Marshal(config)
		return string(data)
	}
	skill := func(name string) string {
		return "---\nname: " + name + "\ndescription: of " + name + "\n---\nBody of " + name
	}
	userFiles := []string{
		put(agentDir+"/skills/us/SKILL.md", skill("us")), put(agentDir+"/prompts/ut.md", "user template $1"), put(agentDir+"/mcp.json", server("user")),
		put(home+"/.agents/skills/uh/SKILL.md", skill("uh")), put(agentDir+"/SYSTEM.md", "SYSTEM"), put(agentDir+"/APPEND_SYSTEM.md", "APPENDED"),
		put(agentDir+"/agents/up.md", "---\nname: up\n---\nprofile"),
	}
	projectFiles := []string{
		put(project+"/.pi/skills/ps/SKILL.md", skill("ps")), put(project+"/.pi/prompts/pt.md", "project template $1"), put(project+"/.pi/mcp.json", server("project")),
		put(project+"/.agents/skills/pa/SKILL.md", skill("pa")), put(project+"/.pi/agents/pp.md", "---\nname: pp\n---\nprofile"),
		put(project+"/.pi/APPEND_SYSTEM.md", "PROJECT APPENDED"),
	}
	prefix, _ := json.Marshal(map[string]string{"shellCommandPrefix": "echo x >> '" + mark("settings") + "'"})
	put(project+"/.pi/settings.json", string(prefix))
	call := func(name string) string { return "run `echo x >> '" + mark(name) + "'`" } // one call of bash
	put(project+"/AGENTS.md", "CONTEXT")
	var watched []string
	for _, f := range append(slices.Clone(userFiles), projectFiles...) {
		watched = append(watched, f)
		if dir := filepath.Dir(f); dir != agentDir && dir != project+"/.pi" && !slices.Contains(watched, dir) {
			watched = append(watched, dir)
		}
	}
	look := watchOpens(t, watched...)

	var constructed atomic.Int64
	rt, err := piweb.New(piweb.Config{
		Home: home, Lookup: func(string) (string, bool) { return "", false }, Providers: model.Registry{offline.API: offline.New},
		Extensions: []agent.Factory{{Name: "mine", New: func(context.Context, agent.Env) (agent.Extension, error) {
			constructed.Add(1)
			return agent.Extension{}, nil
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Close() })
	trust := func(yes bool) {
		t.Helper()
		data, _ := json.Marshal(map[string]bool{project: yes})
		put(agentDir+"/trust.json", string(data))
	}
	trust(true)
	untouched := func(when string, seen []string) {
		t.Helper()
		for _, m := range []string{"server-user", "value-user", "server-project", "value-project", "settings", "chat"} {
			if marks(m) != 0 {
				t.Errorf("%s: %s left a mark", when, m)
			}
		}
		if len(seen) > 0 || constructed.Load() != 0 {
			t.Errorf("%s: opened %q, constructed %d", when, seen, constructed.Load())
		}
	}

	s, err := rt.Create(t.Context(), project, piweb.OpenOptions{Tools: &[]string{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, typed := range []string{"/ut a", "/pt a", "/skill:us", "hello", call("chat")} {
		if got := promptSeen(t, s, typed); got != typed {
			t.Errorf("Chat Only made %q of %q", got, typed)
		}
	}
	path := s.Log().Path()
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := rt.Release(s); err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Explain(t.Context(), path, piweb.ExplainOptions{}); err != nil {
		t.Fatal(err)
	}
	if s, err = rt.Open(t.Context(), path, piweb.OpenOptions{}); err != nil {
		t.Fatal(err)
	}
	if req, err := s.Request(t.Context()); err != nil || string(req.Head) != "CONTEXT" {
		t.Errorf("head %q, %v", req.Head, err)
	}
	untouched("Chat Only", look.seen())

	// Leaving Chat Only loads each once.
	pin, _ := toolselect.Pin("read", "bash")
	if _, err := s.SetTools(t.Context(), pin); err != nil {
		t.Fatal(err)
	}
	head := func() string {
		req, err := s.Request(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return string(req.Head)
	}
	first := head()
	for _, want := range []string{"SYSTEM", "PROJECT APPENDED", "CONTEXT", "<name>us</name>", "<name>uh</name>", "<name>ps</name>", "<name>pa</name>"} {
		if !strings.Contains(first, want) {
			t.Errorf("the head lacks %q:\n%s", want, first)
		}
	}
	if got := promptSeen(t, s, "/pt a"); got != "project template a" {
		t.Errorf("the project's template: %q", got)
	}
	promptSeen(t, s, "/ut b")
	for end := time.Now().Add(time.Minute); (marks("server-user") == 0 || marks("server-project") == 0) && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	for _, m := range []string{"server-user", "value-user", "server-project", "value-project"} {
		if marks(m) != 1 {
			t.Errorf("%s left %d marks", m, marks(m))
		}
	}
	if constructed.Load() != 1 {
		t.Errorf("the extension was constructed %d times", constructed.Load())
	}
	promptSeen(t, s, call("normal"))
	if marks("normal") != 1 || marks("settings") != 1 {
		t.Errorf("a call of bash left %d marks, the project's settings %d", marks("normal"), marks("settings"))
	}
	look.seen()
	promptSeen(t, s, "once more")
	if seen := look.seen(); len(seen) > 0 {
		t.Errorf("a second prompt read %q again", seen)
	}
	if _, err := s.SetTools(t.Context(), toolselect.ChatOnly()); err != nil {
		t.Fatal(err)
	}
	promptSeen(t, s, "/ut c")
	promptSeen(t, s, call("chat"))
	if marks("chat") != 0 || marks("settings") != 1 {
		t.Errorf("back in Chat Only a call left %d marks, the project's settings %d", marks("chat"), marks("settings"))
	}
	if seen := look.seen(); len(seen) > 0 || constructed.Load() != 1 {
		t.Errorf("back in Chat Only: %q, constructed %d", seen, constructed.Load())
	}
	if err := rt.Release(s); err != nil {
		t.Fatal(err)
	}

	// Without trust the project brings nothing but its context files.
	trust(false)
	for _, m := range []string{"server-user", "value-user", "server-project", "value-project", "settings"} {
		_ = os.Remove(mark(m))
	}
	look.seen()
	if s, err = rt.Create(t.Context(), project, piweb.OpenOptions{Tools: &[]string{"read", "bash"}}); err != nil {
		t.Fatal(err)
	}
	if got := promptSeen(t, s, "/pt a"); got != "/pt a" {
		t.Errorf("a template of an untrusted project: %q", got)
	}
	distrusted := head()
	for _, not := range []string{"PROJECT APPENDED", "<name>ps</name>", "<name>pa</name>"} {
		if strings.Contains(distrusted, not) {
			t.Errorf("without trust the head has %q", not)
		}
	}
	if !strings.Contains(distrusted, "CONTEXT") || !strings.Contains(distrusted, "<name>us</name>") {
		t.Errorf("without trust the head lacks what needs none:\n%s", distrusted)
	}
	promptSeen(t, s, call("distrusted"))
	if marks("distrusted") != 1 {
		t.Errorf("without trust a call of bash left %d marks", marks("distrusted"))
	}
	for end := time.Now().Add(time.Minute); marks("server-user") == 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	if marks("server-project")+marks("value-project")+marks("settings") != 0 || marks("server-user") != 1 {
		t.Errorf("servers of an untrusted project: %d, %d", marks("server-project"), marks("value-project"))
	}
	for _, seen := range look.seen() {
		if strings.HasPrefix(seen, project+"/") {
			t.Errorf("without trust %s was opened", seen)
		}
	}
	x, err := rt.ExplainLive(t.Context(), s, piweb.ExplainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"skills", "prompts", "mcp.json", "settings.json", "APPEND_SYSTEM.md", "agents"} {
		if !slices.ContainsFunc(x.Load.Left, func(l piweb.Left) bool {
			return strings.HasSuffix(l.Path, "/"+want) && strings.Contains(l.Reason, "not trusted")
		}) {
			t.Errorf("explain does not say that %s is left out: %v", want, x.Load.Left)
		}
	}
}
