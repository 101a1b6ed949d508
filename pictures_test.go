package piweb_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/anthropic"
	"github.com/piweb-go/piweb/agent/model/google"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/agent/model/openai"
	"github.com/piweb-go/piweb/fixtures/pictures"
	"github.com/piweb-go/piweb/message"
)

// gallery is a world with pictures in the project, and one model that sees and
// one that does not on each wire.
type gallery struct {
	*world
	shots map[string][]byte
}

func pictureAPIs() []string {
	return []string{openai.API, openai.ResponsesAPI, anthropic.API, google.API}
}

func newGallery(t *testing.T, script string) *gallery {
	g := &gallery{world: newWorld(t, modeltest.Parse(t, script)), shots: map[string][]byte{
		"a.png": pictures.Tiny(1), "图 b.png": pictures.Tiny(2),
	}}
	for name, data := range g.shots {
		g.put("my project 漢/"+name, string(data))
	}
	providers := map[string]any{}
	for _, api := range pictureAPIs() {
		base := g.provider.URL
		if api == anthropic.API {
			base = strings.TrimSuffix(base, "/v1")
		}
		if api == google.API {
			base = strings.TrimSuffix(base, "/v1") + "/v1beta"
		}
		providers[api] = map[string]any{"baseUrl": base, "api": api, "apiKey": "k", "models": []any{
			map[string]any{"id": "sees", "input": []string{"text", "image"}}, map[string]any{"id": "blind"},
			map[string]any{"id": "gemini-3-pro", "input": []string{"text", "image"}},
			map[string]any{"id": "lifts", "input": []string{"text", "image"}, "compat": map[string]any{"supportsToolResultImages": false}},
		}}
	}
	conf, err := json.Marshal(map[string]any{"providers": providers})
	if err != nil {
		t.Fatal(err)
	}
	g.put(".pi/agent/models.json", string(conf))
	g.rt = g.runtime(func(c *piweb.Config) {
		c.Providers = model.Registry{openai.API: openai.New, openai.ResponsesAPI: openai.NewResponses, anthropic.API: anthropic.New, google.API: google.New, offline.API: offline.New}
	})
	return g
}

func (g *gallery) start(ref string) *piweb.Session {
	g.t.Helper()
	tools := []string{"read", "ls"}
	s, err := g.rt.Create(g.t.Context(), g.project, piweb.OpenOptions{Tools: &tools, Model: ref})
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}

// shape is what a body says of pictures, so that all wires can be read the same
// way: who speaks, texts in short, and which picture.
func (g *gallery) shape(body []byte) []string {
	g.t.Helper()
	var b struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		Input []struct {
			Type, Role      string
			Content, Output json.RawMessage
		}
		Contents []struct {
			Role  string
			Parts json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &b); err != nil {
		g.t.Fatal(err)
	}
	var out []string
	add := func(role string, content json.RawMessage) {
		if role != "system" && role != "developer" && role != "assistant" && role != "model" {
			out = append(out, role+": "+g.parts(content))
		}
	}
	for _, m := range b.Messages {
		add(m.Role, m.Content)
	}
	for _, m := range b.Input {
		switch m.Type {
		case "function_call_output":
			add("result", m.Output)
		case "message", "":
			add(m.Role, m.Content)
		}
	}
	for _, m := range b.Contents {
		add(m.Role, m.Parts)
	}
	return out
}

// wirePart is a part of a message on any of the wires.
type wirePart struct {
	Type, Text string
	Content    json.RawMessage
	ImageURL   json.RawMessage `json:"image_url"`
	Source     struct{ Data string }
	InlineData struct{ Data string }
	Response   *struct {
		Response struct{ Output string }
		Parts    json.RawMessage
	} `json:"functionResponse"`
}

func (g *gallery) parts(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return g.short(text)
	}
	var parts []wirePart
	if err := json.Unmarshal(content, &parts); err != nil {
		g.t.Fatalf("%v: %s", err, content)
	}
	var out []string
	for _, p := range parts {
		switch {
		case p.ImageURL != nil:
			var url string
			var nested struct{ URL string }
			if json.Unmarshal(p.ImageURL, &url) != nil && json.Unmarshal(p.ImageURL, &nested) == nil {
				url = nested.URL
			}
			_, data, _ := strings.Cut(url, ",")
			out = append(out, g.which(data))
		case p.Source.Data != "":
			out = append(out, g.which(p.Source.Data))
		case p.InlineData.Data != "":
			out = append(out, g.which(p.InlineData.Data))
		case p.Response != nil:
			said := g.short(p.Response.Response.Output)
			if p.Response.Parts != nil {
				said += " + " + g.parts(p.Response.Parts)
			}
			out = append(out, "result["+said+"]")
		case p.Type == "tool_result":
			out = append(out, "result["+g.parts(p.Content)+"]")
		default:
			out = append(out, g.short(p.Text))
		}
	}
	return strings.Join(out, " + ")
}

func (g *gallery) which(data string) string {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		g.t.Fatal(err)
	}
	for name, shot := range g.shots {
		if bytes.Equal(shot, raw) {
			return "<" + name + ">"
		}
	}
	return "<another picture>"
}

func (g *gallery) short(text string) string {
	var o struct {
		Content   string
		MediaType string `json:"media_type"`
	}
	if json.Unmarshal([]byte(text), &o) == nil && o.Content != "" {
		if o.MediaType == "image" {
			return "read " + strings.Fields(o.Content)[2]
		}
		return strings.TrimRight(strings.SplitN(o.Content, ",", 2)[0], ".")
	}
	return text
}

func (g *gallery) want(name string, want []string) {
	g.t.Helper()
	if diff := cmp.Diff(want, g.shape(g.last().Body)); diff != "" {
		g.t.Errorf("%s: %s", name, diff)
	}
}

const twoAtOnce = `{"steps":[
	{"match":"look","toolCalls":[{"id":"p1","name":"read","arguments":{"path":"a.png"}},{"id":"p2","name":"ls","arguments":{}},{"id":"p3","name":"read","arguments":{"path":"图 b.png"}}]},
	{"match":"look","text":"seen"},
	{"match":"one","toolCalls":[{"id":"q1","name":"read","arguments":{"file_path":"a.png"}}]},
	{"match":"one","text":"seen"},
	{"text":"ok","repeat":true}
]}`

func (g *gallery) reopen(path, ref, text string) {
	g.t.Helper()
	s, err := g.rt.Open(g.t.Context(), path, piweb.OpenOptions{Model: ref})
	if err != nil {
		g.t.Fatal(err)
	}
	g.say(s, text)
	if err := g.rt.Release(s); err != nil {
		g.t.Fatal(err)
	}
}

// T7: the model that called is told at once that it cannot see.
func TestBlindModelIsTold(t *testing.T) {
	for _, api := range pictureAPIs() {
		g := newGallery(t, twoAtOnce)
		s := g.start(api + "/blind")
		g.say(s, "one")
		if text := string(g.last().Body); !strings.Contains(text, "takes no image input") || !strings.Contains(text, "vision model") || strings.Contains(text, "base64") {
			t.Errorf("%s: %s", api, text)
		}
		c, err := s.Log().Context()
		if err != nil {
			t.Fatal(err)
		}
		stored := false // what is kept does not depend on the model
		for _, m := range c.Messages {
			if r, ok := m.(*message.ToolResult); ok {
				stored = len(r.Content) == 2 && r.Content[1].Type == message.TypeImage && !r.IsError && !strings.Contains(string(r.Details), "preview")
			}
		}
		if !stored {
			t.Error("the picture was not kept")
		}
	}
}

// B16: no event carries a picture; the end of a call carries a small one.
func TestEventsCarryNoPicture(t *testing.T) {
	g := newGallery(t, twoAtOnce)
	big := pictures.JPEG(pictures.Photo(900, 700), 95)
	g.put("my project 漢/a.png", string(big)) // a JPEG, whatever its name
	s := g.start(openai.API + "/sees")
	sub := s.Subscribe(0)
	defer sub.Close()
	turn, err := s.Prompt(t.Context(), piweb.Input{Text: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole := base64.StdEncoding.EncodeToString(big)[2000:3000]
	previews := 0
	for {
		e, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), whole) || len(data) > 100<<10 {
			t.Errorf("%s carries the picture (%d bytes)", e.Type, len(data))
		}
		if e.Type == agent.ToolEnd {
			var d struct {
				Preview struct {
					MediaType string `json:"media_type"`
					DataURI   string `json:"data_uri"`
					SHA256    string
				}
			}
			if err := json.Unmarshal(e.Result.Details, &d); err != nil || d.Preview.MediaType != "image" || len(d.Preview.SHA256) != 64 || !strings.HasPrefix(d.Preview.DataURI, "data:image/") {
				t.Errorf("%v: details %.300s", err, e.Result.Details)
			}
			previews++
		}
		if e.Type == agent.AgentSettled {
			break
		}
	}
	if previews != 1 {
		t.Errorf("%d previews", previews)
	}
	if !strings.Contains(string(g.last().Body), whole) {
		t.Error("the picture did not reach the model")
	}
}

// A picture of the user is admitted before it is part of anything: case 014.
func TestUserPictures(t *testing.T) {
	g := newGallery(t, twoAtOnce)
	g.rt = g.runtime(func(c *piweb.Config) { c.Pictures.Input = 4096 })
	s := g.start(openai.API + "/sees")
	ok, err := s.Admit(t.Context(), g.shots["a.png"])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Admit(t.Context(), pictures.Sized(6000)); err == nil || !strings.Contains(err.Error(), "6 KB") || !strings.Contains(err.Error(), "4 KB") {
		t.Errorf("got %v", err)
	}
	turn, err := s.Prompt(t.Context(), piweb.Input{Text: "say", Images: []*piweb.Picture{ok}})
	if err != nil {
		t.Fatal(err)
	}
	if err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.want("with text", []string{"user: say + <a.png>"})
}

// Sessions of other programs that locked them: fixtures/cases 014, 015, 018, 019.
func TestLockedSessions(t *testing.T) {
	for _, name := range []string{"014-image-over-the-limit", "015-image-budget-of-a-request", "018-missing-and-odd-blob-references", "019-invalid-image-data"} {
		t.Run(name, func(t *testing.T) {
			g := newGallery(t, `{"steps":[{"match":"hello","text":"ok","repeat":true}]}`)
			data, err := os.ReadFile(filepath.Join("fixtures", "cases", name, "session.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			g.put("sessions/s.jsonl", string(data))
			blobs, err := filepath.Glob(filepath.Join("fixtures", "cases", name, "blobs", "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range blobs {
				content, err := os.ReadFile(b)
				if err != nil {
					t.Fatal(err)
				}
				g.put("blobs/"+filepath.Base(b), string(content))
			}
			path := filepath.Join(g.home, "sessions", "s.jsonl")
			if name[:3] == "014" {
				g.rt = g.runtime(func(c *piweb.Config) { c.Pictures.Input = 4096 })
			}
			s, err := g.rt.Open(t.Context(), path, piweb.OpenOptions{CWD: g.project, Model: openai.API + "/sees"})
			if err != nil {
				t.Fatal(err)
			}
			g.say(s, "hello")
			body := string(g.last().Body)
			want := map[string]int{"014": 0, "015": 6, "018": 1, "019": 2}[name[:3]]
			if n := strings.Count(body, `"image_url":{`); n != want {
				t.Errorf("%d pictures, want %d", n, want)
			}
			if strings.Contains(body, "blob:sha256") || name[:3] != "015" && !strings.Contains(body, "image omitted") {
				t.Errorf("no note, or a reference: %.2000s", body)
			}
			after, err := os.ReadFile(path)
			if err != nil || !bytes.HasPrefix(after, data) {
				t.Errorf("the file changed (%v)", err)
			}
		})
	}
}

func userText(text string) *message.User {
	return &message.User{Content: message.Content{message.Text(text)}, Timestamp: 1}
}

func userPicture(data string) *message.User {
	return &message.User{Content: message.Content{message.Image("image/png", data)}, Timestamp: 1}
}

// T9, B15: a summary is made of words. A picture that was just read stays.
func TestNoPictureInASummary(t *testing.T) {
	g := newGallery(t, `{"steps":[
		{"match":"first","toolCalls":[{"id":"a1","name":"read","arguments":{"path":"a.png"}}]},
		{"match":"first","text":"seen"},
		{"match":"second","toolCalls":[{"id":"a2","name":"read","arguments":{"path":"图 b.png"}}]},
		{"match":"second","text":"seen, too"},
		{"text":"the summary","repeat":true}]}`)
	g.put(".pi/agent/settings.json", `{"compaction":{"keepRecentTokens":1200}}`)
	s := g.start(openai.API + "/sees")
	g.say(s, "first")
	g.say(s, "second")
	before := g.provider.Count()
	c, err := s.Compact(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Result(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked := g.provider.Requests()[before:]
	if len(asked) == 0 {
		t.Fatal("nothing was summed up")
	}
	for _, r := range asked {
		if body := string(r.Body); strings.Contains(body, "base64") || strings.Contains(body, "image_url") || !strings.Contains(body, "a.png") {
			t.Errorf("the request for a summary: %.1500s", body)
		}
	}
	g.say(s, "go on")
	body := string(g.last().Body)
	if n := strings.Count(body, `"image_url":{`); n != 1 || !strings.Contains(body, base64.StdEncoding.EncodeToString(g.shots["图 b.png"])) {
		t.Errorf("%d pictures after the summary: %.2000s", n, body)
	}
}

// The setting of pi that sends no picture to any model.
func TestBlockedPictures(t *testing.T) {
	g := newGallery(t, twoAtOnce)
	g.put(".pi/agent/settings.json", `{"images":{"blockImages":true}}`)
	g.say(g.start(openai.API+"/sees"), "one")
	if body := string(g.last().Body); strings.Contains(body, "base64") || !strings.Contains(body, "takes no image input") {
		t.Errorf("got %.1500s", body)
	}
}
