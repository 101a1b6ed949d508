package piweb_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/piweb-go/piweb/agent/model/anthropic"
	"github.com/piweb-go/piweb/fixtures/pictures"
)

// TestPicturesOfMCPServers: what a server calls pictures is admitted like any
// other, goes out on the wire if it is one, and is named in words if it is none or
// if the model takes none.
func TestPicturesOfMCPServers(t *testing.T) {
	g := newGallery(t, `{"steps":[
		{"match":"look","toolCalls":[{"id":"m1","name":"mcp__cam__shot","arguments":{}}]},
		{"match":"look","text":"seen"},
		{"text":"ok","repeat":true}
	]}`)
	server := sdk.NewServer(&sdk.Implementation{Name: "cam", Version: "1"}, nil)
	evil := pictures.Bomb(60_000, 60_000)
	server.AddTool(&sdk.Tool{Name: "shot", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{
				&sdk.TextContent{Text: "two shots"},
				&sdk.ImageContent{Data: g.shots["a.png"], MIMEType: "image/jpeg"}, // it says what it is not
				&sdk.ImageContent{Data: evil, MIMEType: "image/png"},
			}}, nil
		})
	hs := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(hs.Close)
	t.Cleanup(func() { _ = g.rt.Close() })
	g.put(".pi/agent/mcp.json", `{"mcpServers":{"cam":{"url":"`+hs.URL+`"}}}`)
	s := g.start(anthropic.API + "/sees")
	until(t, "the tool of the server", func() bool {
		req, err := s.Request(t.Context())
		return err == nil && len(req.Tools) == 3
	})
	g.say(s, "look")
	g.want("a picture and a bomb", []string{"user: look", "user: result[two shots + <a.png> + [image omitted: the picture is too large: " +
		"it has 60000×60000 pixels, which is more than is decoded] picture 2 of mcp__cam__shot]"})
	if body := string(g.last().Body); strings.Count(body, `"image/png"`) != 1 || strings.Contains(body, "image/jpeg") {
		t.Errorf("the picture has another type on the wire: %.600s", body)
	}
	path := s.Log().Path()
	if err := g.rt.Release(s); err != nil {
		t.Fatal(err)
	}
	g.reopen(path, anthropic.API+"/blind", "say blind")
	if body := string(g.last().Body); strings.Contains(body, `"image/`) || !strings.Contains(body, "[image omitted: current model has no image input]") {
		t.Errorf("a model that takes none got %.800s", body)
	}
}
