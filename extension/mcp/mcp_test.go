//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
)

// world is an agent directory with servers, and a pool.
type world struct {
	t    *testing.T
	dir  string
	pids string
	pool *Pool
	at   Place
}

func newWorld(t *testing.T, o Options) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), pids: t.TempDir()}
	if o.Backoff == 0 {
		o.Backoff = 20 * time.Millisecond
	}
	if o.Grace == 0 {
		o.Grace = 20 * time.Second // tests wait for tools, not for the clock
	}
	w.pool = NewPool(o)
	t.Cleanup(func() { _ = w.pool.Close() })
	w.at = Place{Cwd: w.dir, AgentDir: w.dir}
	return w
}

// stdio is the entry of a server of this binary.
func (w *world) stdio(mode string) map[string]any {
	return map[string]any{"command": os.Args[0], "env": map[string]string{modeVar: mode, "TEST_MCP_PIDS": w.pids}}
}

func (w *world) configure(servers map[string]any) { w.write(filepath.Join(w.dir, "mcp.json"), servers) }

func (w *world) write(path string, servers map[string]any) {
	w.t.Helper()
	data, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// client is a session as far as the extension sees one.
type client struct {
	agent.Extension
	t       *testing.T
	mu      sync.Mutex
	tools   []agent.Tool
	offers  int
	notices []string
}

func (w *world) open() *client { return w.openAs(false) }

func (w *world) openAs(peek bool) *client {
	w.t.Helper()
	c := &client{t: w.t}
	env := agent.Env{CWD: w.dir, Peek: peek,
		Offer: func(tools ...agent.Tool) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.tools, c.offers = tools, c.offers+1
		},
		Notify: func(text string) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.notices = append(c.notices, text)
		},
	}
	x, err := w.pool.Factory(func(string) Place { return w.at }).New(w.t.Context(), env)
	if err != nil {
		w.t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Extension = x
	if c.offers == 0 {
		c.tools = x.Tools
	}
	return c
}

func (c *client) names() (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tools {
		out = append(out, t.Declaration().Name)
	}
	return out
}

func (c *client) tool(name string) agent.Tool {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tools {
		if t.Declaration().Name == name {
			return t
		}
	}
	c.t.Fatalf("there is no tool %s", name)
	return nil
}

func (c *client) call(name, text string) tool.Result {
	c.t.Helper()
	args, _ := json.Marshal(map[string]string{"text": text})
	r, err := c.tool(name).Run(c.t.Context(), &tool.Call{Name: name, Arguments: args})
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

func (c *client) close() {
	if c.Close != nil {
		_ = c.Close()
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}

// noted counts the processes of a kind that were ever started.
func (w *world) noted(what string) (pids []int) {
	entries, _ := os.ReadDir(w.pids)
	for _, e := range entries {
		if kind, pid, ok := strings.Cut(e.Name(), "-"); ok && kind == what {
			n, _ := strconv.Atoi(pid)
			pids = append(pids, n)
		}
	}
	return pids
}

func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	// A zombie that nobody waits for is no process any more.
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func TestBothTransports(t *testing.T) {
	w := newWorld(t, Options{})
	var auth string
	handler := httpHandler("plain")
	hs := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		auth = r.Header.Get("Authorization")
		handler.ServeHTTP(rw, r)
	}))
	defer hs.Close()
	defer w.pool.Close() // takes leave of the server while it is there
	t.Setenv("TEST_TOKEN", "abc")
	w.configure(map[string]any{"local": w.stdio("plain"), "far-away": map[string]any{"url": hs.URL, "headers": map[string]string{"Authorization": "Bearer ${TEST_TOKEN}"}}})
	c := w.open()
	defer c.close()
	for _, prefix := range []string{"mcp__local__", "mcp__far_away__"} {
		if got := c.call(prefix+"say", "hi").Content.PlainText(); got != "said hi" {
			t.Errorf("%s: %q", prefix, got)
		}
	}
	if auth != "Bearer abc" {
		t.Errorf("the header was %q", auth)
	}
	r := c.call("mcp__local__mixed", "")
	if len(r.Content) != 3 || r.Content[1].Type != message.TypeImage || r.Content[1].Data != "UE5HIQ==" || r.Content[2].Data != "UE5HMg==" {
		t.Errorf("pictures: %+v", r.Content)
	}
	if got := r.Content[0].Text; got != "one\ntwo\n[a sound of 3 bytes (audio/wav), which cannot be heard here]\n[a resource: a file:///a]\nembedded\n[3 bytes (application/zip) of x:3, which are no text]" {
		t.Errorf("text: %q", got)
	}
	if string(r.Details) != `{"serverName":"local","mcpToolName":"mixed"}` {
		t.Errorf("details %s", r.Details)
	}
	if r := c.call("mcp__local__fail", ""); !r.IsError || r.Content.PlainText() != "no such city" {
		t.Errorf("%+v", r)
	}
	if p := agent.PolicyTool(c.tool("mcp__local__say")); !p.MCP || !p.OnlyReads || p.Builtin {
		t.Errorf("say: %+v", p)
	}
	if p := agent.PolicyTool(c.tool("mcp__local__write")); !p.MCP || p.OnlyReads {
		t.Errorf("write: %+v", p)
	}
}

// TestReadOnlySelections: the hint is all that such a session goes by.
func TestReadOnlySelections(t *testing.T) {
	w := newWorld(t, Options{})
	w.configure(map[string]any{"a": w.stdio("plain")})
	c := w.open()
	defer c.close()
	p := policy.Policy{Kind: policy.Pinned, Tools: []string{"read", "ls"}, Loads: policy.Loads{Extensions: true, MCP: true}}
	var admitted []string
	for _, tl := range c.tools {
		if ok, _ := p.Admits(agent.PolicyTool(tl)); ok {
			admitted = append(admitted, strings.TrimPrefix(tl.Declaration().Name, "mcp__a__"))
		}
	}
	slices.Sort(admitted)
	if got := strings.Join(admitted, " "); got != "env mixed pid say" {
		t.Errorf("admitted: %s", got)
	}
}

func TestServersDoNotGetOurSecrets(t *testing.T) {
	t.Setenv("PI_WEB_ATTACHMENT_SECRET", "s")
	t.Setenv("PIWEB_TOKEN", "s")
	t.Setenv("ORDINARY", "o")
	w := newWorld(t, Options{})
	w.configure(map[string]any{"a": w.stdio("plain")})
	c := w.open()
	defer c.close()
	for name, want := range map[string]string{"PI_WEB_ATTACHMENT_SECRET": " false", "PIWEB_TOKEN": " false", "ORDINARY": "o true"} {
		if got := c.call("mcp__a__env", name).Content.PlainText(); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// TestSlowAndDeadServersDoNotHoldUpASession: they cost at most the grace, once,
// and the others are there.
func TestSlowAndDeadServersDoNotHoldUpASession(t *testing.T) {
	w := newWorld(t, Options{Grace: 3 * time.Second, CallWait: 200 * time.Millisecond, CacheDir: t.TempDir()})
	w.configure(map[string]any{
		"good": w.stdio("plain"), "silent": w.stdio("silent"), "crash": w.stdio("crash"), "garbage": w.stdio("garbage"),
		"gone": map[string]any{"command": filepath.Join(w.dir, "no such program")}, "closed": map[string]any{"url": "http://127.0.0.1:1/mcp"},
		"unset": map[string]any{"command": "true", "env": map[string]string{"A": "${TEST_NOT_SET}"}},
	})
	c := w.open()
	until(t, "the good one", func() bool { return slices.Contains(c.names(), "mcp__good__say") })
	if got := c.call("mcp__good__say", "x").Content.PlainText(); got != "said x" {
		t.Error(got)
	}
	told := func(want string) func() bool {
		return func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return strings.Contains(strings.Join(c.notices, "\n"), want)
		}
	}
	until(t, "word of the crash, with its last words", told("cannot open the database"))
	until(t, "word of the missing program", told("The MCP server gone is not there: it cannot be started"))
	until(t, "word of the missing variable", told("its env.A needs the environment variable TEST_NOT_SET"))
	c.close()

	// What is remembered is there at once, and nothing waits for the others.
	began := time.Now()
	again := w.open()
	defer again.close()
	if !slices.Contains(again.names(), "mcp__good__say") {
		t.Errorf("remembered: %v", again.names())
	}
	_ = began // no bar on a shared machine: the silent server alone would take 30 s
	r, err := again.Commands[0].Run(t.Context(), "")
	if err != nil || !strings.Contains(r.Notice, "silent (stdio): starting") {
		t.Errorf("/mcp says %q, %v", r.Notice, err)
	}
}

func TestCallsThatGoWrong(t *testing.T) {
	w := newWorld(t, Options{})
	slow := w.stdio("plain")
	slow["timeout"] = 1.5
	w.configure(map[string]any{"a": w.stdio("plain"), "slow": slow})
	c := w.open()
	defer c.close()
	if r := c.call("mcp__slow__hang", ""); !r.IsError || !strings.Contains(r.Content.PlainText(), "did not answer within 1.5s") {
		t.Errorf("a call that hangs: %q", r.Content.PlainText())
	}
	if r := c.call("mcp__slow__busy", ""); r.IsError || r.Content.PlainText() != "done" {
		t.Errorf("a call that shows signs of life for longer than the timeout: %q", r.Content.PlainText())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.tool("mcp__a__hang").Run(ctx, &tool.Call{Arguments: json.RawMessage("{}")}); err == nil {
		t.Error("an aborted call has no error")
	}
	var whole strings.Builder
	r, err := c.tool("mcp__a__huge").Run(t.Context(), &tool.Call{Arguments: json.RawMessage("{}"), Sink: &whole})
	if err != nil {
		t.Fatal(err)
	}
	shown := r.Content.PlainText()
	if len(shown) > maxText+200 || !strings.HasPrefix(shown, "begin") || !strings.HasSuffix(shown, " end") || !strings.Contains(shown, "bytes are left out here") {
		t.Errorf("%d bytes are shown: %.60q", len(shown), shown)
	}
	if whole.Len() != len("begin ")+400_000*len("é日🙂 ")+len(" end") {
		t.Errorf("the whole has %d bytes", whole.Len())
	}
	if r := c.call("mcp__a__flood", ""); !r.IsError {
		t.Error("an answer beyond every bound was taken")
	}
	until(t, "the server after the flood", func() bool { return c.call("mcp__a__say", "still there").Content.PlainText() == "said still there" })
	if r := c.call("mcp__a__die", ""); !r.IsError || !strings.Contains(r.Content.PlainText(), "the MCP server a") {
		t.Errorf("a server that dies in a call: %q", r.Content.PlainText())
	}
	until(t, "the restart", func() bool { return !c.call("mcp__a__say", "back").IsError })
}

// TestRestartsBackOff: a server that ends at once is not started all the time.
func TestRestartsBackOff(t *testing.T) {
	w := newWorld(t, Options{Backoff: time.Millisecond})
	w.configure(map[string]any{"a": w.stdio("crash")})
	c := w.open()
	defer c.close()
	until(t, "all tries", func() bool { return len(w.noted("server")) == maxRestarts+1 })
	for range 40 { // and no more come
		time.Sleep(5 * time.Millisecond)
	}
	if n := len(w.noted("server")); n != maxRestarts+1 {
		t.Errorf("it was started %d times", n)
	}
	var pauses []time.Duration
	for i := range 8 {
		pauses = append(pauses, Options{Backoff: time.Second}.backoff(i+1))
	}
	if got := fmt.Sprint(pauses); got != "[1s 2s 4s 8s 16s 32s 1m0s 1m0s]" {
		t.Error(got)
	}
}

func TestToolsThatChange(t *testing.T) {
	w := newWorld(t, Options{})
	w.configure(map[string]any{"a": w.stdio("plain")})
	one, two := w.open(), w.open()
	defer one.close()
	defer two.close()
	if !slices.Contains(one.names(), "mcp__a__write") || slices.Contains(one.names(), "mcp__a__grown") {
		t.Fatalf("at first: %v", one.names())
	}
	old := one.tool("mcp__a__write")
	one.call("mcp__a__grow", "")
	for _, c := range []*client{one, two} {
		until(t, "the new tool", func() bool {
			return slices.Contains(c.names(), "mcp__a__grown") && !slices.Contains(c.names(), "mcp__a__write")
		})
	}
	if got := two.call("mcp__a__grown", "x").Content.PlainText(); got != "said x" {
		t.Error(got)
	}
	r, err := old.Run(t.Context(), &tool.Call{Arguments: json.RawMessage("{}")})
	if err != nil || !r.IsError {
		t.Errorf("a tool that was taken back: %+v, %v", r, err)
	}
}

func TestWickedNamesAndWords(t *testing.T) {
	w := newWorld(t, Options{})
	w.configure(map[string]any{"w": w.stdio("wicked")})
	c := w.open()
	defer c.close()
	seen := map[string]bool{}
	var spelled []string
	for _, tl := range c.tools {
		d := tl.Declaration()
		if !agent.ValidToolName(d.Name) || !strings.HasPrefix(d.Name, "mcp__w__") || seen[d.Name] {
			t.Errorf("name %q", d.Name)
		}
		seen[d.Name] = true
		spelled = append(spelled, d.Name)
		all := d.Description + string(d.Parameters)
		if strings.ContainsAny(all, "\u200b\u202e\x1b") || strings.ContainsRune(all, 0xE0069) || strings.Contains(all, `\u202e`) || len(d.Description) > maxDescription+3 || len(d.Parameters) > maxSchema || !json.Valid(d.Parameters) {
			t.Errorf("%s: %d bytes of description, %d of schema: %.200q", d.Name, len(d.Description), len(d.Parameters), all)
		}
		if err := tool.Check(d, json.RawMessage(`{"b":{}}`)); err != nil {
			t.Errorf("%s cannot be called: %v", d.Name, err)
		}
	}
	for _, want := range []string{"mcp__w__read", "mcp__w__a_b_", "mcp__w_________", "mcp__w__longlong", "mcp__w__Agent"} {
		if !slices.ContainsFunc(spelled, func(n string) bool { return strings.HasPrefix(n, want) }) {
			t.Errorf("no %s… among %v", want, spelled)
		}
	}
	// Each of the names that are spelled the same reaches its own tool.
	answers := map[string]bool{}
	for _, n := range spelled {
		if strings.HasPrefix(n, "mcp__w__a_b") {
			answers[c.call(n, "").Content.PlainText()] = true
		}
	}
	if len(answers) != 3 {
		t.Errorf("three tools of one spelling answer as %v", answers)
	}
}

// TestOneProcessForFiftySessions: the server is shared, and ends with the last.
func TestOneProcessForFiftySessions(t *testing.T) {
	w := newWorld(t, Options{})
	w.configure(map[string]any{"a": w.stdio("plain"), "b": w.stdio("plain")})
	clients := make([]*client, 50)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() { clients[i] = w.open() })
	}
	wg.Wait()
	pid := clients[0].call("mcp__a__pid", "").Content.PlainText()
	for _, c := range clients {
		if got := c.call("mcp__a__pid", "").Content.PlainText(); got != pid {
			t.Errorf("process %s and process %s", pid, got)
		}
	}
	if st := w.pool.Status(); len(st) != 2 || st[0].Sessions != 50 || st[0].State != Ready {
		t.Errorf("%+v", st)
	}
	if n := len(w.noted("server")); n != 2 {
		t.Fatalf("50 sessions started %d processes for 2 servers", n)
	}
	for i, c := range clients {
		c.close()
		if i < len(clients)-1 && !alive(w.noted("server")[0]) {
			t.Fatalf("ended with session %d", i)
		}
	}
	for _, pid := range w.noted("server") {
		until(t, "the end of the process", func() bool { return !alive(pid) })
	}
	if st := w.pool.Status(); len(st) != 0 {
		t.Errorf("still there: %+v", st)
	}
}

// TestOtherFolderOtherProcess: what differs in folder, trust or configuration is
// not shared.
func TestOtherFolderOtherProcess(t *testing.T) {
	s := Server{Name: "a", Command: "x"}
	keys := map[string]bool{s.key(Place{Cwd: "/a"}): true}
	other := s
	other.Env = map[string]string{"A": "1"}
	hidden := s
	hidden.exposed = []exposure{{"x", "hidden"}}
	for _, k := range []string{s.key(Place{Cwd: "/b"}), s.key(Place{Cwd: "/a", Trusted: true}), other.key(Place{Cwd: "/a"}), hidden.key(Place{Cwd: "/a"})} {
		if keys[k] {
			t.Error("two servers share a key")
		}
		keys[k] = true
	}
}

// TestStubbornServersEnd: one that cares for nothing, and what it started.
func TestStubbornServersEnd(t *testing.T) {
	w := newWorld(t, Options{})
	w.configure(map[string]any{"a": w.stdio("stubborn")})
	c := w.open()
	until(t, "the server's child", func() bool { return len(w.noted("child")) == 1 })
	c.close()
	for _, pid := range append(w.noted("server"), w.noted("child")...) {
		until(t, "the end of it all", func() bool { return !alive(pid) })
	}
}

// TestNoOrphanAfterKill: this program is killed, and its servers end.
func TestNoOrphanAfterKill(t *testing.T) {
	w := newWorld(t, Options{})
	w.configure(map[string]any{"a": w.stdio("stubborn"), "b": w.stdio("plain")})
	host := exec.Command(os.Args[0])
	host.Env = append(os.Environ(), modeVar+"=host", "TEST_MCP_DIR="+w.dir)
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the servers", func() bool { return len(w.noted("server")) == 2 && len(w.noted("child")) == 1 })
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	for _, pid := range append(w.noted("server"), w.noted("child")...) {
		until(t, fmt.Sprintf("the end of %d", pid), func() bool { return !alive(pid) })
	}
}

// TestPeekStartsNothing: `explain` shows what is known.
func TestPeekStartsNothing(t *testing.T) {
	w := newWorld(t, Options{CacheDir: t.TempDir()})
	w.configure(map[string]any{"a": w.stdio("plain")})
	c := w.openAs(true)
	if len(c.tools) != 0 || len(c.Left) != 1 || !strings.Contains(c.Left[0].Why, "has never run") || len(w.noted("server")) != 0 {
		t.Errorf("before: %v %v", c.names(), c.Left)
	}
	live := w.open()
	if got := w.openAs(true); !slices.Equal(got.names(), live.names()) || len(got.Left) != 0 {
		t.Errorf("beside a live one: %v", got.names())
	}
	live.close()
	until(t, "what is remembered", func() bool { return slices.Contains(w.openAs(true).names(), "mcp__a__say") })
	if n := len(w.noted("server")); n != 1 {
		t.Errorf("%d processes", n)
	}
}

func TestPoolThatIsClosedStartsNothing(t *testing.T) {
	w := newWorld(t, Options{Grace: time.Millisecond})
	w.configure(map[string]any{"a": w.stdio("plain")})
	if err := w.pool.Close(); err != nil {
		t.Fatal(err)
	}
	if c := w.open(); len(c.tools) != 0 || len(w.noted("server")) != 0 {
		t.Errorf("%v", c.names())
	}
}
