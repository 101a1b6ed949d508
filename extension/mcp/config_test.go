package mcp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestServers(t *testing.T) {
	for _, c := range []struct {
		name, user, project string
		untrusted           bool
		want                string // name transport on|off of each
		left                string // part of what is told; "" for nothing
	}{
		{"nothing", "", "", false, "", ""},
		{"empty file", " ", "", false, "", ""},
		{"BOM", "\ufeff{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}", "", false, "a stdio on", ""},
		{"order of the file", `{"mcpServers":{"b":{"command":"x"},"a":{"url":"https://h/mcp"}}}`, "", false, "b stdio on, a http on", ""},
		{"no JSON", `{"mcpServers":{"a":{"command":"x"},}}`, "", false, "", "not valid JSON"},
		{"mcpServers is a list", `{"mcpServers":[]}`, "", false, "", "no object"},
		{"one bad entry", `{"mcpServers":{"a":{"command":"x"},"b":{},"c":[],"d e":{"command":"x"}}}`, "", false, "a stdio on", `MCP server "b"`},
		{"off", `{"mcpServers":{"a":{"command":"x","enabled":false}}}`, "", false, "a stdio off", ""},
		{"types", `{"mcpServers":{"a":{"type":"stdio","command":"x"},"b":{"type":"http","url":"https://h"},"c":{"type":"streamable-http","url":"https://h"}}}`, "", false, "a stdio on, b http on, c http on", ""},
		{"sse", `{"mcpServers":{"a":{"type":"sse","url":"https://h/sse"}}}`, "", false, "", "streamable HTTP at /mcp"},
		{"another type", `{"mcpServers":{"a":{"type":"carrier","url":"https://h"}}}`, "", false, "", `"carrier"`},
		{"both", `{"mcpServers":{"a":{"command":"x","url":"https://h"}}}`, "", false, "", "only one can be meant"},
		{"http to the world", `{"mcpServers":{"a":{"url":"http://example.com/mcp"}}}`, "", false, "", "begin with https"},
		{"http to this machine", `{"mcpServers":{"a":{"url":"http://localhost:3/mcp"},"b":{"url":"http://127.0.0.1/mcp"},"c":{"url":"http://10.0.0.3/mcp"}}}`, "", false, "a http on, b http on, c http on", ""},
		{"no address", `{"mcpServers":{"a":{"url":"ftp://h"}}}`, "", false, "", "no http address"},
		{"args", `{"mcpServers":{"a":{"command":"x","args":"-y"}}}`, "", false, "", "its args is no list"},
		{"env", `{"mcpServers":{"a":{"command":"x","env":{"A":1}}}}`, "", false, "", "its env.A is no string"},
		{"auth", `{"mcpServers":{"a":{"url":"https://h","auth":{"provider":"x"}}}}`, "", false, "", "put it into headers"},
		{"names that differ in signs only", `{"mcpServers":{"a-b":{"command":"x"},"a_b":{"command":"y"}}}`, "", false, "a-b stdio on", `only in "-" and "_"`},

		{"project", "", `{"mcpServers":{"p":{"command":"x"}}}`, false, "p stdio on", ""},
		{"project without trust", "", `{"mcpServers":{"p":{"command":"x"}}}`, true, "", ""},
		{"project replaces", `{"mcpServers":{"a":{"command":"x"},"b":{"command":"x"}}}`, `{"mcpServers":{"a":{"url":"https://h"}}}`, false, "a http on, b stdio on", ""},
		{"project switches off", `{"mcpServers":{"a":{"command":"x","env":{"K":"${S}"}}}}`, `{"mcpServers":{"a":{"enabled":false,"env":{"K":"mine"}}}}`, false, "a stdio off", ""},
		{"project without trust switches nothing off", `{"mcpServers":{"a":{"command":"x"}}}`, `{"mcpServers":{"a":{"enabled":false}}}`, true, "a stdio on", ""},
		{"project names no server", "", `{"mcpServers":{"a":{"enabled":false}}}`, false, "", "needs a command"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			p := Place{AgentDir: filepath.Join(dir, "agent"), Cwd: filepath.Join(dir, "proj"), Home: "/h", Trusted: !c.untrusted}
			for path, text := range map[string]string{filepath.Join(p.AgentDir, "mcp.json"): c.user, filepath.Join(p.Cwd, ".pi", "mcp.json"): c.project} {
				if text != "" {
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			servers, left := Servers(p)
			var got, why []string
			for _, s := range servers {
				state := "on"
				if !s.Enabled {
					state = "off"
				}
				got = append(got, s.Name+" "+s.Transport()+" "+state)
				if s.Override != "" && s.Env["K"] != "${S}" {
					t.Error("an override changed what a server is given")
				}
			}
			for _, l := range left {
				why = append(why, l.What+": "+l.Why)
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("servers %v, want %s", got, c.want)
			}
			said := strings.Join(why, "\n")
			if c.left == "" && said != "" || !strings.Contains(said, c.left) {
				t.Errorf("left out: %q, want %q", said, c.left)
			}
		})
	}
}

func TestServerFields(t *testing.T) {
	dir := t.TempDir()
	text := `{"mcpServers":{"a":{"command":"~/bin/x","args":["~/y","-z","~"],"cwd":"~/w","timeout":2.5,"description":"d","exposure":"hidden","toolExposure":{"get_*":"direct","get_all":"hidden","*_b":"deferred"}},
		"b":{"command":"x","toolExposure":{"del_*":"hidden"},"timeout":1e9}}}`
	if err := os.WriteFile(filepath.Join(dir, "mcp.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	servers, left := Servers(Place{AgentDir: dir, Home: "/h"})
	if len(servers) != 2 || len(left) != 0 {
		t.Fatalf("%v %v", servers, left)
	}
	a := servers[0]
	if a.Command != "/h/bin/x" || strings.Join(a.Args, " ") != "/h/y -z ~" || a.Dir != "/h/w" || a.Timeout != 2500*time.Millisecond || a.Description != "d" {
		t.Errorf("%+v", a)
	}
	for tool, hidden := range map[string]bool{"x": true, "get_one": false, "get_all": true, "a_b": false} {
		if a.hidden(tool) != hidden {
			t.Errorf("a: %s hidden %v", tool, !hidden)
		}
	}
	for tool, hidden := range map[string]bool{"x": false, "del_x": true} {
		if servers[1].hidden(tool) != hidden {
			t.Errorf("b: %s hidden %v", tool, !hidden)
		}
	}
	if servers[1].Timeout != maxTimeout {
		t.Errorf("timeout %v", servers[1].Timeout)
	}
}

func TestValues(t *testing.T) {
	look := func(name string) (string, bool) {
		v, ok := map[string]string{"A": "va", "EMPTY": "", "NL": "x\r\nEvil: 1"}[name]
		return v, ok
	}
	for _, c := range []struct{ field, in, want, err string }{
		{"env.X", "plain $A $5 {A}", "plain $A $5 {A}", ""},
		{"env.X", "${A}-${A}", "va-va", ""},
		{"env.X", "${NONE}", "", "environment variable NONE, not set or empty"},
		{"env.X", "${EMPTY}", "", "EMPTY"},
		{"headers.X", "${NL}", "", "line break"},
		{"env.X", "!printf ' out '", "out", ""},
		{"env.X", "!exit 3", "", "the command for its env.X failed"},
		{"env.X", "!true", "", "printed nothing"},
	} {
		got, err := value(t.Context(), c.field, c.in, look)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %q, %v", c.in, got, err)
		}
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 80)
	in := []source{{"s", "tool"}, {"s", "a-b"}, {"s", "a.b"}, {"a", "b__c"}, {"a__b", "c"}, {"s", long}, {"s", long + "y"}, {"s", "日"}}
	got := names(in)
	seen := map[string]bool{}
	for i, n := range got {
		if seen[n] || len(n) > maxName || strings.Trim(n, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			t.Errorf("%v is %q", in[i], n)
		}
		seen[n] = true
	}
	if got[0] != "mcp__s__tool" || got[7] != "mcp__s___" {
		t.Errorf("%q", got)
	}
	for i, n := range names(in) {
		if n != got[i] {
			t.Errorf("another name at the second start: %q and %q", got[i], n)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\u202eb\x00\xff", 10)
	f.Add("日本🙂", 4)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = min(max(limit, 0), 1000)
		got := clean(s, limit)
		if len(got) > limit+len("…") {
			t.Errorf("%d bytes, limit %d", len(got), limit)
		}
		if again := clean(got, limit+len("…")); again != strings.TrimSpace(got) {
			t.Errorf("%q is not clean: %q", got, again)
		}
	})
}
