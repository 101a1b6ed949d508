package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMCPServe: another agent looks at sessions through a real client, and
// nothing changes.
func TestMCPServe(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("PI_CODING_AGENT_DIR", filepath.Join(home, "agent"))
	project := filepath.Join(home, "proj")
	if err := os.MkdirAll(project, 0o755); err != nil {
		t.Fatal(err)
	}
	if code := run(t.Context(), []string{"run", "--new", "--cwd", project, "--chat-only", "remember the pelican"}, strings.NewReader(""), io.Discard, io.Discard); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	files, _ := filepath.Glob(filepath.Join(home, "agent", "sessions", "*", "*.jsonl"))
	if len(files) != 1 {
		t.Fatalf("%d sessions", len(files))
	}
	before, _ := os.ReadFile(files[0])

	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- run(context.Background(), []string{"mcp", "serve"}, inR, outW, io.Discard)
		outW.Close()
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	call := func(name string, args map[string]any) (string, bool) {
		t.Helper()
		r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, _ := r.Content[0].(*sdk.TextContent)
		return text.Text, r.IsError
	}
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s does not say that it only reads", tool.Name)
		}
	}
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"sessions_list", map[string]any{"folder": project}, files[0]},
		{"sessions_search", map[string]any{"query": "pelican"}, "pelican"},
		{"session_read", map[string]any{"session": files[0]}, "remember the pelican"},
		{"session_explain", map[string]any{"session": files[0]}, `"kind": "chat-only"`},
		{"session_artifacts", map[string]any{"session": files[0]}, `"Artifacts"`},
	} {
		if got, bad := call(c.tool, c.args); bad || !strings.Contains(got, c.want) {
			t.Errorf("%s: %v %.300s", c.tool, bad, got)
		}
	}
	for tool, args := range map[string]map[string]any{
		"session_read": {"session": "nobody"}, "session_artifacts": {"session": files[0], "url": "artifact://../../x"}, "sessions_search": {"query": " "},
	} {
		if got, bad := call(tool, args); !bad {
			t.Errorf("%s %v: %s", tool, args, got)
		}
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	inW.Close()
	<-done
	if after, _ := os.ReadFile(files[0]); string(after) != string(before) {
		t.Error("the session changed")
	}
}
