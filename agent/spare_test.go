package agent

import (
	"context"
	"encoding/base64"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/fixtures/pictures"
	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// picky is a model that refuses requests by their pictures and answers the
// others.
type picky struct {
	*played
	info   ModelInfo
	refuse func(pictures []string, req Request) *RequestError
}

func (p *picky) Info() ModelInfo { return p.info }

func (p *picky) Stream(_ context.Context, req Request) iter.Seq2[Delta, error] {
	p.requests = append(p.requests, req)
	return func(yield func(Delta, error) bool) {
		if err := p.refuse(sentPictures(req), req); err != nil {
			yield(nil, err)
			return
		}
		for _, d := range say("fine") {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func sentPictures(req Request) (out []string) {
	for _, m := range req.Messages {
		for _, b := range message.ContentOf(m) {
			if b.Type == message.TypeImage {
				out = append(out, b.Data)
			}
		}
	}
	return out
}

func shot(n int) string { return base64.StdEncoding.EncodeToString(pictures.Tiny(n)) }

func refusal(status int, words string) *RequestError {
	return &RequestError{Provider: "test", Status: status, Message: words}
}

// pickyBench is a session that holds so many pictures of its user, one a message,
// and asks the model about them.
func pickyBench(t *testing.T, n int, api string, refuse func([]string, Request) *RequestError) (*bench, *picky) {
	t.Helper()
	m := &picky{played: &played{}, info: ModelInfo{API: api, Provider: "test", ID: "m", Images: true}, refuse: refuse}
	b := newBench(t, m.played, func(c *Config) { c.Model = m })
	for i := range n {
		p := &message.User{Content: message.Content{message.Text(fmt.Sprint("picture ", i)), message.Image("image/png", shot(i))}, Timestamp: 1}
		if _, err := b.log.Append(session.Message(p)); err != nil {
			t.Fatal(err)
		}
	}
	return b, m
}

// B19, case 6: whatever the words, the one picture that a provider refuses is left
// out, the others stay, and it stays out for every program that opens the file.
func TestRefusedPictureIsLeftOut(t *testing.T) {
	for _, words := range []string{
		"Could not process image", "image does not match the provided media type", "image cannot be empty", "image exceeds 5 MB maximum",
		"At least one of the image dimensions exceed max allowed size", "Invalid PNG image", "Unsupported MIME type: image/png",
	} {
		for n, bad := range map[int]int{1: 0, 3: 1, 6: 0, 12: 11} {
			t.Run(fmt.Sprint(words, " ", bad, " of ", n), func(t *testing.T) {
				b, m := pickyBench(t, n, "openai-completions", func(sent []string, _ Request) *RequestError {
					if slices.Contains(sent, shot(bad)) {
						return refusal(400, words)
					}
					return nil
				})
				if err := b.prompt(t, t.Context(), "what is on them?"); err != nil {
					t.Fatal(err)
				}
				last := sentPictures(m.requests[len(m.requests)-1])
				if len(last) != n-1 || slices.Contains(last, shot(bad)) || len(m.requests) != n-bad+1 {
					t.Errorf("%d pictures in the last of %d requests", len(last), len(m.requests))
				}
				before := len(m.requests)
				if err := b.prompt(t, t.Context(), "and now?"); err != nil || len(m.requests) != before+1 {
					t.Errorf("%v: %d requests for the second prompt", err, len(m.requests)-before)
				}
				again, err := session.Open(b.log.Path(), session.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer again.Close()
				c, err := again.Context()
				if err != nil {
					t.Fatal(err)
				}
				kept, notes := 0, 0
				for _, m := range c.Messages {
					for _, block := range message.ContentOf(m) {
						switch {
						case block.Type == message.TypeImage:
							kept++
						case strings.Contains(block.Text, "the provider refused it"):
							notes++
						}
					}
				}
				if kept != n-1 || notes != 1 {
					t.Errorf("another program sees %d pictures and %d notes", kept, notes)
				}
			})
		}
	}
}

// Several bad ones among many: the session goes on without the suspects.
func TestManyRefusedPictures(t *testing.T) {
	b, m := pickyBench(t, 20, "openai-completions", func(sent []string, _ Request) *RequestError {
		if slices.Contains(sent, shot(3)) || slices.Contains(sent, shot(4)) {
			return refusal(400, "Invalid image data")
		}
		return nil
	})
	if err := b.prompt(t, t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if n := len(m.requests); n != maxSuspects+2 || len(sentPictures(m.requests[n-1])) != 0 {
		t.Errorf("%d requests, %d pictures in the last", n, len(sentPictures(m.requests[n-1])))
	}
	if file := b.file(t); !strings.HasPrefix(file[len(file)-1], "context_edit") {
		t.Errorf("the file ends with %s", file[len(file)-1])
	}
}

// What does not speak of pictures leaves them alone; what is refused without them
// as well is the answer.
func TestOtherRefusalsKeepPictures(t *testing.T) {
	for name, c := range map[string]struct {
		err      *RequestError
		requests int
	}{
		"an unrelated 400":         {refusal(400, "messages: roles must alternate"), 1},
		"no key":                   {refusal(401, "invalid image token"), 1},
		"always a bad image":       {refusal(400, "Could not process image"), 2},
		"too large, whatever goes": {refusal(413, "request too large"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			b, m := pickyBench(t, 1, "openai-completions", func([]string, Request) *RequestError { return c.err })
			if err := b.prompt(t, t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			if len(m.requests) != c.requests {
				t.Errorf("%d requests", len(m.requests))
			}
			file := strings.Join(b.file(t), "\n")
			if !strings.Contains(file, "assistant error") {
				t.Errorf("the failure is not told:\n%s", file)
			}
			ctx, err := b.log.Context()
			if err != nil {
				t.Fatal(err)
			}
			if n := len(sentPictures(Request{Messages: ctx.Messages})); n != 1 {
				t.Errorf("%d pictures are left in the context", n)
			}
		})
	}
}

// Case 9: a model that turns out to be blind is asked without pictures.
func TestModelTurnsOutBlind(t *testing.T) {
	b, m := pickyBench(t, 3, "openai-completions", func(sent []string, _ Request) *RequestError {
		if len(sent) > 0 {
			return refusal(400, "Failed to deserialize the JSON body: unknown variant `image_url`, expected `text`")
		}
		return nil
	})
	for range 2 {
		if err := b.prompt(t, t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
	}
	if len(m.requests) != 3 {
		t.Errorf("%d requests for two prompts", len(m.requests))
	}
	ctx, err := b.log.Context()
	if err != nil || len(sentPictures(Request{Messages: ctx.Messages})) != 3 {
		t.Errorf("%v: a picture was taken out, though another model may see it", err)
	}
}

// Case 11: a server that takes no pictures in results gets them behind.
func TestPicturesAreLiftedAfterARefusal(t *testing.T) {
	looks := fake{name: "ls", run: func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Result{Content: message.Content{message.Text("taken"), message.Image("image/png", shot(1))}}, nil
	}}
	m := &picky{played: &played{}, info: ModelInfo{API: "openai-responses", Provider: "test", ID: "m", Images: true}}
	m.refuse = func(_ []string, req Request) *RequestError {
		for _, msg := range req.Messages {
			if r, ok := msg.(*message.ToolResult); ok && len(sentPictures(Request{Messages: []message.Message{r}})) > 0 {
				return refusal(400, "Invalid type for 'input[2].output': expected a string, but got an array instead")
			}
		}
		return nil
	}
	b := newBench(t, m.played, func(c *Config) { c.Model = m }, looks)
	called := &message.Assistant{API: "x", Provider: "x", Model: "x", StopReason: message.StopToolUse, Content: message.Content{message.ToolCall("c1", "ls", nil)}, Timestamp: 1}
	r, err := looks.run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	result := &message.ToolResult{ToolCallID: "c1", ToolName: "ls", Content: r.Content, Timestamp: 1}
	if _, err := b.log.Append(session.Message(&message.User{Content: message.Content{message.Text("look")}}), session.Message(called), session.Message(result)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := b.prompt(t, t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
	}
	if len(m.requests) != 3 || len(sentPictures(m.requests[2])) != 1 {
		t.Errorf("%d requests for two prompts, %d pictures", len(m.requests), len(sentPictures(m.requests[len(m.requests)-1])))
	}
}

// Case 16: a request that is too large loses its oldest pictures before anything
// is summed up.
func TestTooLargeLosesPictures(t *testing.T) {
	const n = 30
	var datas []string
	for i := range n {
		datas = append(datas, base64.StdEncoding.EncodeToString(pictures.PNG(pictures.Noise(60, 60, uint64(i)))))
	}
	m := &picky{played: &played{}, info: ModelInfo{API: "openai-completions", Provider: "test", ID: "m", Images: true}}
	m.refuse = func(sent []string, _ Request) *RequestError {
		if size := len(strings.Join(sent, "")); size > 8*len(datas[0]) {
			return refusal(413, "")
		}
		return nil
	}
	b := newBench(t, m.played, func(c *Config) { c.Model = m })
	for _, d := range datas {
		if _, err := b.log.Append(session.Message(&message.User{Content: message.Content{message.Image("image/png", d)}, Timestamp: 1})); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.prompt(t, t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	last := sentPictures(m.requests[len(m.requests)-1])
	if len(last) == 0 || last[len(last)-1] != datas[n-1] || len(m.requests) > 4 {
		t.Errorf("%d requests, %d pictures in the last", len(m.requests), len(last))
	}
	for _, e := range b.events {
		if e.Type == CompactionStart {
			t.Error("it was summed up")
		}
	}
}

// The pictures of other tools pass the same door: MCP and extensions (1.11, last
// line of the pipeline).
func TestResultsOfOtherToolsAreAdmitted(t *testing.T) {
	gif := base64.StdEncoding.EncodeToString(pictures.GIF(8, 8, 3, 0))
	for name, c := range map[string]struct {
		block message.Block
		mime  string // "" for a note
		says  string
	}{
		"gif":            {message.Image("image/gif", gif), "image/png", ""},
		"wrong type":     {message.Image("image/jpeg", shot(1)), "image/png", ""},
		"line breaks":    {message.Image("image/png", shot(1)[:20]+"\n"+shot(1)[20:]), "image/png", ""},
		"no base64":      {message.Image("image/png", "→→"), "", "no valid base64"},
		"empty":          {message.Image("image/png", ""), "", "empty"},
		"html":           {message.Image("image/png", base64.StdEncoding.EncodeToString([]byte("<!DOCTYPE html><html>404</html>"))), "", "HTML"},
		"bomb":           {message.Image("image/png", base64.StdEncoding.EncodeToString(pictures.Bomb(60000, 60000))), "", "60000×60000"},
		"too many bytes": {message.Image("image/png", base64.StdEncoding.EncodeToString(pictures.Sized(6<<20))), "", "6 MB"},
	} {
		t.Run(name, func(t *testing.T) {
			shoot := fake{name: "ls", run: func(context.Context, *tool.Call) (tool.Result, error) {
				return tool.Result{Content: message.Content{c.block}, Details: []byte(`{"own":1}`)}, nil
			}}
			b := newBench(t, &played{answers: [][]Delta{{call(0, "c1", "ls", `{"n":1}`), Stop{Reason: message.StopToolUse}}, say("seen")}}, nil, shoot)
			if err := b.prompt(t, t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			ctx, err := b.log.Context()
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(ctx.Messages, func(m message.Message) bool { return m.Role() == message.RoleToolResult })
			r := ctx.Messages[i].(*message.ToolResult)
			got := r.Content[0]
			if c.mime == "" {
				if got.Type != message.TypeText || !strings.Contains(got.Text, c.says) || string(r.Details) != `{"own":1}` {
					t.Errorf("got %+v, details %s", got, r.Details)
				}
				return
			}
			if got.MimeType != c.mime || !strings.Contains(string(r.Details), `{"own":1,"attachments":[{"mime":"`+c.mime) || media.Type(mustDecode(t, got.Data)) != c.mime {
				t.Errorf("got %s, details %s", got.MimeType, r.Details)
			}
		})
	}
}

func mustDecode(t *testing.T, text string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
