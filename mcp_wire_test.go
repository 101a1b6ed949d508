package piweb_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/completion"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/toolselect"
)

// noteServer is a real MCP server over HTTP with two tools and a resource.
func noteServer(t *testing.T) string {
	s := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object"}`)
	say := func(text string) sdk.ToolHandler {
		return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
		}
	}
	s.AddTool(&sdk.Tool{Name: "look", Description: "Look at a note", InputSchema: schema, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, say("LOOKED"))
	s.AddTool(&sdk.Tool{Name: "keep", Description: "Keep a note", InputSchema: schema}, say("KEPT"))
	s.AddResource(&sdk.Resource{URI: "note://one", Name: "first note"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "THE NOTE"}}}, nil
	})
	hs := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(hs.Close)
	return hs.URL
}

// TestMCPToolsOfASession: the tools of a server are offered, declared in the file,
// named by the receipt and by explain; a session that only reads has those that
// only read; Chat Only has none, and no resource.
func TestMCPToolsOfASession(t *testing.T) {
	url := noteServer(t)
	w := newWorld(t, &offline.Script{Steps: []offline.Step{{Repeat: true, Text: "fine"}}})
	w.put(".pi/agent/mcp.json", `{"mcpServers":{"n":{"url":"`+url+`"}}}`)
	s, err := w.rt.Create(t.Context(), w.project, piweb.OpenOptions{Tools: &[]string{"read"}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.rt.Close()
	offered := func() []string {
		t.Helper()
		req, err := s.Request(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, d := range req.Tools {
			names = append(names, d.Name)
		}
		return names
	}
	until(t, "the tool that only reads", func() bool { return slices.Equal(offered(), []string{"read", "mcp__n__look"}) })
	pin, _ := toolselect.Pin("read", "bash")
	if _, err := s.SetTools(t.Context(), pin); err != nil {
		t.Fatal(err)
	}
	if got := offered(); !slices.Equal(got, []string{"read", "bash", "mcp__n__look", "mcp__n__keep"}) && !slices.Equal(got, []string{"read", "bash", "mcp__n__keep", "mcp__n__look"}) {
		t.Errorf("with bash: %v", got)
	}
	typed := "see @mcp:" + `"n/note://one"` + " please"
	if got := promptSeen(t, s, typed); got != "see <mcp_resource server=\"n\" uri=\"note://one\">\nTHE NOTE\n</mcp_resource> please" {
		t.Errorf("the resource became %q", got)
	}
	if got := promptSeen(t, s, `see @mcp:"n/note://none"`); got != `see @mcp:"n/note://none"` {
		t.Errorf("one that is not there became %q", got)
	}
	scope := completion.Scope{SessionFile: s.Log().Path(), CWD: w.project}
	offers := func() (out []string) {
		for _, i := range w.rt.Completion().Complete(t.Context(), completion.Query{Scope: scope, Trigger: "@", Text: "first", Limit: 50}).Items {
			if i.Kind == "mcp" {
				out = append(out, i.InsertText)
			}
		}
		return out
	}
	if got := offers(); len(got) != 1 || !strings.Contains(got[0], "note://one") {
		t.Errorf("completion offers %v", got)
	}
	x, err := w.rt.ExplainLive(t.Context(), s, piweb.ExplainOptions{})
	if err != nil || !x.Record.OK() || len(x.Record.Receipts) == 0 {
		t.Fatalf("receipts: %+v, %v", x.Record, err)
	}
	last := x.Record.Receipts[len(x.Record.Receipts)-1].Receipt
	for _, list := range [][]string{x.Ask.Tools, toolNames(last.Tools)} {
		if !slices.Contains(list, "mcp__n__look") || !slices.Contains(list, "mcp__n__keep") {
			t.Errorf("explain and the receipt name %v", list)
		}
	}
	if _, err := s.SetTools(t.Context(), toolselect.ChatOnly()); err != nil {
		t.Fatal(err)
	}
	if got := promptSeen(t, s, typed); got != typed {
		t.Errorf("Chat Only made %q of it", got)
	}
	if got := append(offered(), offers()...); len(got) != 0 {
		t.Errorf("Chat Only offers %v", got)
	}
}

func toolNames(hashes []policy.ToolHash) (out []string) {
	for _, h := range hashes {
		out = append(out, h.Name)
	}
	return out
}

// promptSeen sends a prompt and returns the user message that the model gets for it.
func promptSeen(t *testing.T, s *piweb.Session, text string) string {
	t.Helper()
	turn, err := s.Prompt(t.Context(), piweb.Input{Text: text})
	if err == nil {
		err = turn.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	req, err := s.Request(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range slices.Backward(req.Messages) {
		if u, ok := m.(*message.User); ok {
			return u.Content.PlainText()
		}
	}
	return ""
}
