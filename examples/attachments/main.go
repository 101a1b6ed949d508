// Command attachments goes the whole way of a file once: it starts piweb's server
// in this process, uploads a picture, lets a model turn it with edit_image, stops
// everything, starts anew, and lets the model shrink what it had made. Nothing
// leaves the machine and no key is needed: the model is a few lines that call the
// tool which the message names.
//
//	go run ./examples/attachments          the pictures go to a folder that it names
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/attachment/client"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/server"
)

func main() {
	home, err := os.MkdirTemp("", "piweb-attachments-")
	if err == nil {
		err = run(context.Background(), home, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("The pictures are in", home)
}

// token lets this program in; piweb prints one of its own.
const token = "example"

func run(ctx context.Context, home string, out io.Writer) error {
	if err := configure(home); err != nil {
		return err
	}
	var session, made string
	// First life: upload a picture, and let the model turn it.
	err := serve(ctx, home, func(c *client.Client) error {
		var created struct{ SessionID string }
		if err := ask(ctx, c, "POST", "/sessions", map[string]any{"source": "", "tools": []string{"read"}}, &created); err != nil {
			return err
		}
		session = created.SessionID
		up, err := c.Upload(ctx, session, "stripes.png", "image/png", bytes.NewReader(stripes(80, 40)))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "uploaded %s: %s, %d bytes\n", up.Name, up.MimeType, up.Size)
		made, err = edit(ctx, c, session, `Turn it. CALL edit_image {"attachmentId":"`+up.ID+`","rotate":90}`, up.ID)
		if err != nil {
			return err
		}
		return save(ctx, c, session, made, filepath.Join(home, "turned.png"), out)
	})
	if err != nil {
		return err
	}
	// Second life: what the tool has made is there and can be used again.
	return serve(ctx, home, func(c *client.Client) error {
		again, err := edit(ctx, c, session, `Smaller. CALL edit_image {"attachmentId":"`+made+`","resize":{"width":10}}`)
		if err != nil {
			return err
		}
		return save(ctx, c, session, again, filepath.Join(home, "small.png"), out)
	})
}

// configure makes a home in which piweb finds the model of this program, and lets
// sessions have the tools for attachments.
func configure(home string) error {
	dir := filepath.Join(home, ".pi", "agent")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var errs []error
	for name, text := range map[string]string{
		"models.json":   `{"providers":{"example":{"baseUrl":"http://127.0.0.1:1","api":"example","apiKey":"none","models":[{"id":"obedient","input":["text","image"]}]}}}`,
		"settings.json": `{"defaultProvider":"example","defaultModel":"obedient"}`,
		"piweb.json":    `{"attachments":{"tools":true}}`,
	} {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return errors.Join(errs...)
}

// serve starts everything, hands a client over, and stops everything.
func serve(ctx context.Context, home string, do func(*client.Client) error) error {
	rt, err := piweb.New(piweb.Config{Home: home, Lookup: func(string) (string, bool) { return "", false },
		Providers: model.Registry{"example": func(s model.Spec) (agent.Model, error) { return obedient{s.Info}, nil }}})
	if err != nil {
		return err
	}
	defer rt.Close()
	s, err := server.New(server.Config{Runtime: rt, Token: token, DefaultCWD: home})
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln) }()
	web := &http.Client{Transport: &http.Transport{}}
	err = do(&client.Client{Base: "http://" + ln.Addr().String() + "/api", Token: token, HTTP: web})
	web.CloseIdleConnections()
	stop()
	return errors.Join(err, <-served)
}

// edit sends a message, waits for the end of the turn, and returns the attachment
// that the last tool has made.
func edit(ctx context.Context, c *client.Client, session, text string, attached ...string) (string, error) {
	body := map[string]any{"message": text}
	if len(attached) > 0 {
		body["attachmentIds"] = attached
	}
	if err := ask(ctx, c, "POST", "/sessions/"+session+"/messages", body, nil); err != nil {
		return "", err
	}
	for {
		var now struct {
			State struct{ IsStreaming bool } `json:"state"`
		}
		if err := ask(ctx, c, "GET", "/sessions/"+session+"/state", nil, &now); err != nil {
			return "", err
		}
		if !now.State.IsStreaming {
			break
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	var history struct {
		Messages []struct {
			Role    string
			Details struct{ OutputAttachmentID string }
			IsError bool
			Content json.RawMessage
		}
	}
	if err := ask(ctx, c, "GET", "/sessions/"+session+"/messages", nil, &history); err != nil {
		return "", err
	}
	for i := len(history.Messages) - 1; i >= 0; i-- {
		if m := history.Messages[i]; m.Role == "toolResult" {
			if m.IsError {
				return "", fmt.Errorf("the tool failed: %s", m.Content)
			}
			return m.Details.OutputAttachmentID, nil
		}
	}
	return "", errors.New("no tool has run")
}

// save fetches an attachment by a fresh address.
func save(ctx context.Context, c *client.Client, session, id, path string, out io.Writer) error {
	a, err := c.Get(ctx, session, id)
	if err != nil {
		return err
	}
	r, err := c.Fetch(ctx, a)
	if err != nil {
		return err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the tool made %s: %d x %d\n", a.Name, size.Width, size.Height)
	return os.WriteFile(path, data, 0o600)
}

// ask calls the API.
func ask(ctx context.Context, c *client.Client, method, path string, body, answer any) error {
	var send io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		send = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, send)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := c.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 2000))
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(res.Body).Decode(answer)
}

// stripes is a picture.
func stripes(w, h int) []byte {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for x := range w {
		for y := range h {
			img.Set(x, y, color.NRGBA{uint8(255 * (x / 8 % 2)), 120, 90, 255})
		}
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, img); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

// obedient is a model that calls what the last message tells it to.
type obedient struct{ info agent.ModelInfo }

func (o obedient) Info() agent.ModelInfo { return o.info }

var order = regexp.MustCompile(`CALL (\w+) (\{.*\})`)

func (o obedient) Stream(_ context.Context, req agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		if u, ok := req.Messages[len(req.Messages)-1].(*message.User); ok {
			if call := order.FindStringSubmatch(u.Content.PlainText()); call != nil {
				if yield(agent.ToolCallDelta{ID: "call_1", Name: call[1], Arguments: call[2]}, nil) {
					yield(agent.Stop{Reason: message.StopToolUse}, nil)
				}
				return
			}
		}
		if yield(agent.TextDelta{Text: "Done."}, nil) {
			yield(agent.Stop{Reason: message.StopEnd}, nil)
		}
	}
}
