package piweb_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/attachment"
	"github.com/piweb-go/piweb/completion"
	"github.com/piweb-go/piweb/extension/attach/attachtest"
	"github.com/piweb-go/piweb/fixtures/pictures"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// ring is a home with a model that does what it is told, and attachments.
type ring struct {
	t     *testing.T
	home  string
	cwd   string
	rt    *piweb.Runtime
	model *attachtest.Model
	store *attachment.Store
}

func newRing(t *testing.T, change ...func(*piweb.Config)) *ring {
	t.Helper()
	w := &ring{t: t, home: t.TempDir()}
	w.cwd = filepath.Join(w.home, "project")
	for name, text := range map[string]string{"project/x": "", ".pi/agent/models.json": attachtest.Models, ".pi/agent/settings.json": attachtest.Settings} {
		path := filepath.Join(w.home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, registry := attachtest.New()
	w.model = m
	cfg := piweb.Config{Home: w.home, Lookup: func(string) (string, bool) { return "", false }, Providers: registry,
		Attachments: piweb.AttachmentConfig{Tools: true}}
	for _, c := range change {
		c(&cfg)
	}
	var err error
	if w.rt, err = piweb.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.rt.Close() })
	if w.store, err = w.rt.Attachments(); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *ring) create() *piweb.Session {
	w.t.Helper()
	s, err := w.rt.Create(w.t.Context(), w.cwd, piweb.OpenOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *ring) put(sessionID, name, mimeType string, data []byte) attachment.Descriptor {
	w.t.Helper()
	d, err := w.store.Put(w.t.Context(), attachment.New{SessionID: sessionID, Name: name, MimeType: mimeType, Origin: attachment.Upload}, bytes.NewReader(data))
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w *ring) say(s *piweb.Session, text string, attached ...attachment.Descriptor) {
	w.t.Helper()
	in := piweb.Input{Text: text}
	for _, d := range attached {
		in.Attachments = append(in.Attachments, d.ID.String())
	}
	turn, err := s.Prompt(w.t.Context(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := turn.Wait(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// result is the last result of a tool in a session.
func (w *ring) result(s *piweb.Session) *message.ToolResult {
	w.t.Helper()
	c, err := s.Log().Context()
	if err != nil {
		w.t.Fatal(err)
	}
	for i := len(c.Messages) - 1; i >= 0; i-- {
		if r, ok := c.Messages[i].(*message.ToolResult); ok {
			return r
		}
	}
	w.t.Fatal("no tool has run")
	return nil
}

func (w *ring) bytes(d attachment.Descriptor) []byte {
	w.t.Helper()
	o, err := w.store.Open(w.t.Context(), d)
	if err != nil {
		w.t.Fatal(err)
	}
	defer o.Close()
	data, err := io.ReadAll(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return data
}

type edited struct {
	OK                 bool
	OutputAttachmentID string
	DisplayURL         string
	InputAttachmentID  string
	Width, Height      int
}

func details(t *testing.T, r *message.ToolResult) (e edited) {
	t.Helper()
	if err := json.Unmarshal(r.Details, &e); err != nil || r.IsError {
		t.Fatalf("%s %s: %v", r.Content.PlainText(), r.Details, err)
	}
	return e
}

// TestAttachmentRing: a picture is uploaded, shown to the model, edited, reloaded,
// and its outcome edited again; a stranger gets none of it.
func TestAttachmentRing(t *testing.T) {
	w := newRing(t)
	s := w.create()
	cat := w.put(s.ID(), "my cat [1].png", "image/png", pictures.PNG(pictures.Noise(120, 80, 1)))
	notes := w.put(s.ID(), "notes.txt", "text/plain", []byte("notes"))
	w.say(s, `Turn it. CALL edit_image {"attachmentId":"`+cat.ID.String()+`","crop":{"x":10,"y":10,"width":100,"height":50},"rotate":90}`, cat, notes)
	// The model got both markers and the one picture.
	req := w.model.Last()
	first := message.ContentOf(req.Messages[0])
	if text := first.PlainText(); !strings.HasPrefix(text, attachment.Marker(cat)+"\n"+attachment.Marker(notes)+"\n\nTurn it.") {
		t.Errorf("the model got %q", text)
	}
	if n := count(first, message.TypeImage); n != 1 {
		t.Errorf("the model got %d pictures", n)
	}
	out := details(t, w.result(s))
	if out.Width != 50 || out.Height != 100 || out.InputAttachmentID != cat.ID.String() || !strings.HasPrefix(out.DisplayURL, "/api/attachments/") {
		t.Errorf("%+v", out)
	}
	// What is there after a restart is enough to go on with.
	path := s.Log().Path()
	if err := w.rt.Release(s); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err = w.rt.Open(t.Context(), path, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.say(s, `Smaller. CALL edit_image {"attachmentId":"LAST","resize":{"width":20},"returnImage":true}`)
	again := details(t, w.result(s))
	if again.InputAttachmentID != out.OutputAttachmentID || again.Width != 20 || again.Height != 40 {
		t.Errorf("%+v", again)
	}
	if n := count(w.result(s).Content, message.TypeImage); n != 1 {
		t.Errorf("returnImage gave %d pictures", n)
	}
	id, err := attachment.ParseID(again.OutputAttachmentID)
	if err != nil {
		t.Fatal(err)
	}
	d, err := w.store.Check(t.Context(), s.ID(), id)
	if err != nil || d.Origin != attachment.ToolOutput || d.Name != "edited-my cat [1].png" {
		t.Fatalf("%+v, %v", d, err)
	}
	cfg, _, err := image.DecodeConfig(bytes.NewReader(w.bytes(d)))
	if err != nil || cfg.Width != 20 || cfg.Height != 40 {
		t.Errorf("%v, %v", cfg, err)
	}
	w.say(s, `CALL attachment_info {}`)
	if text := w.result(s).Content.PlainText(); strings.Count(text, `"id"`) != 4 || !strings.Contains(text, "notes.txt") {
		t.Errorf("info: %s", text)
	}
	w.say(s, `CALL attachment_info {"attachmentId":"`+cat.ID.String()+`"}`)
	if text := w.result(s).Content.PlainText(); !strings.Contains(text, `"width": 120`) {
		t.Errorf("info: %s", text)
	}
	// No base64 of the tool's outcome went into the file.
	if strings.Contains(string(file), `"role":"toolResult"`) && strings.Count(string(file), `"data":"`) > 1 {
		t.Error("the file holds more than the user's picture")
	}
	// Another session cannot even ask.
	other := w.create()
	w.say(other, `CALL edit_image {"attachmentId":"`+cat.ID.String()+`","rotate":90}`)
	if r := w.result(other); !r.IsError || !strings.Contains(r.Content.PlainText(), "belongs to another session") {
		t.Errorf("a foreign attachment: %s", r.Content.PlainText())
	}
	_, err = other.Prompt(t.Context(), piweb.Input{Text: "x", Attachments: []string{cat.ID.String()}})
	if !errors.Is(err, piweb.ErrAttachment) || !strings.Contains(err.Error(), cat.ID.String()) || strings.Contains(err.Error(), "cat [1]") {
		t.Errorf("W1: %v", err)
	}
}

func count(c message.Content, kind string) (n int) {
	for _, b := range c {
		if b.Type == kind {
			n++
		}
	}
	return n
}

// TestMentionedAttachment: an attachment that is named by @ is offered, becomes its
// marker, and its picture goes to the model once; another session's stays text.
func TestMentionedAttachment(t *testing.T) {
	w := newRing(t)
	s, other := w.create(), w.create()
	cat := w.put(s.ID(), "my cat.png", "image/png", pictures.PNG(pictures.Noise(20, 10, 1)))
	foreign := w.put(other.ID(), "theirs.png", "image/png", pictures.PNG(pictures.Noise(20, 10, 2)))
	scope, err := w.rt.CompletionScope("", s)
	if err != nil {
		t.Fatal(err)
	}
	offer := w.rt.Completion().Complete(t.Context(), completion.Query{Scope: scope, Trigger: "@", Text: "cat"})
	var token string
	for _, i := range offer.Items {
		if i.ID == cat.ID.String() {
			token = i.InsertText
		}
		if i.ID == foreign.ID.String() {
			t.Error("another session's attachment is offered")
		}
	}
	if token == "" {
		t.Fatalf("it is not offered: %+v", offer.Items)
	}
	w.say(s, "look at "+token+" and "+token+" and @attachment:"+foreign.ID.String(), cat)
	c := message.ContentOf(w.model.Last().Messages[0])
	text := c.PlainText()
	if strings.Count(text, attachment.Marker(cat)) != 3 || strings.Contains(text, "theirs.png") || count(c, message.TypeImage) != 1 {
		t.Errorf("the model got %d pictures and %q", count(c, message.TypeImage), text)
	}
	w.say(s, "again "+token)
	last := w.model.Last().Messages
	if c := message.ContentOf(last[len(last)-1]); count(c, message.TypeImage) != 1 {
		t.Errorf("the picture of a mention was not sent: %q", c.PlainText())
	}
}

// TestHandedToAChild: a subagent gets the attachments that its task names, those
// that its parent may use, and no others.
func TestHandedToAChild(t *testing.T) {
	w := newRing(t)
	if err := w.rt.SubagentSettings().SetBuiltIn(true); err != nil {
		t.Fatal(err)
	}
	s, other := w.create(), w.create()
	own := w.put(s.ID(), "own.txt", "text/plain", []byte("own"))
	kept := w.put(s.ID(), "kept.txt", "text/plain", []byte("kept"))
	foreign := w.put(other.ID(), "foreign.txt", "text/plain", []byte("foreign"))
	w.say(s, `CALL Agent {"prompt":"look at `+own.ID.String()+` and `+foreign.ID.String()+`","description":"Look","subagent_type":"general-purpose"}`)
	runs, err := w.rt.Subagents().Children(t.Context(), s.Log().Path())
	if err != nil || len(runs) != 1 {
		t.Fatalf("%+v, %v: %s", runs, err, w.result(s).Content.PlainText())
	}
	child := runs[0].ID
	for _, c := range []struct {
		d   attachment.Descriptor
		may bool
	}{{own, true}, {kept, false}, {foreign, false}} {
		if _, err := w.store.Check(t.Context(), child, c.d.ID); (err == nil) != c.may {
			t.Errorf("%s: %v", c.d.Name, err)
		}
	}
}

func TestEditImageRefuses(t *testing.T) {
	w := newRing(t)
	s := w.create()
	small := w.put(s.ID(), "s.png", "image/png", pictures.PNG(pictures.Noise(10, 10, 1)))
	bomb := w.put(s.ID(), "b.png", "image/png", pictures.Bomb(50_000, 50_000))
	text := w.put(s.ID(), "t.txt", "text/plain", []byte("text"))
	for name, args := range map[string]string{
		"a crop outside":           `{"attachmentId":"` + small.ID.String() + `","crop":{"x":5,"y":0,"width":6,"height":1}}`,
		"a crop that wraps around": `{"attachmentId":"` + small.ID.String() + `","crop":{"x":9,"y":0,"width":9223372036854775807,"height":1}}`,
		"a crop beside":            `{"attachmentId":"` + small.ID.String() + `","crop":{"x":99,"y":0,"width":1,"height":1}}`,
		"an odd angle":             `{"attachmentId":"` + small.ID.String() + `","rotate":45}`,
		"too large":                `{"attachmentId":"` + small.ID.String() + `","resize":{"width":100000}}`,
		"no size":                  `{"attachmentId":"` + small.ID.String() + `","resize":{}}`,
		"a bomb":                   `{"attachmentId":"` + bomb.ID.String() + `","rotate":90}`,
		"no picture":               `{"attachmentId":"` + text.ID.String() + `","rotate":90}`,
		"unknown":                  `{"attachmentId":"att_AAAAAAAAAAAAAAAAAAAAAA","rotate":90}`,
		"a path":                   `{"attachmentId":"../../etc/passwd","rotate":90}`,
		"foreign, in a string":     `{"attachmentId":"x","rotate":90,"z":"{\"a\":\"att_AAAAAAAAAAAAAAAAAAAAAA\"}"}`,
	} {
		before := len(mustList(t, w, s.ID()))
		w.say(s, "CALL edit_image "+args)
		if r := w.result(s); !r.IsError {
			t.Errorf("%s: %s", name, r.Content.PlainText())
		}
		if after := len(mustList(t, w, s.ID())); after != before {
			t.Errorf("%s: something was stored", name)
		}
	}
	// Prose that mentions an id passes, for bash among others.
	if pass := w.create(); pass != nil {
		w.say(pass, `CALL bash {"command":"echo see `+small.ID.String()+` there"}`)
		if r := w.result(pass); r.IsError || !strings.Contains(r.Content.PlainText(), small.ID.String()) {
			t.Errorf("prose: %s", r.Content.PlainText())
		}
	}
}

func mustList(t *testing.T, w *ring, id string) []attachment.Descriptor {
	t.Helper()
	list, err := w.store.List(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestAttachmentsOff: without a store the tools are not there, uploads are refused,
// and a call that names an attachment is blocked.
func TestAttachmentsOff(t *testing.T) {
	w := newRing(t, func(c *piweb.Config) { c.Attachments.Off = true })
	if w.store != nil {
		t.Error("there is a store")
	}
	s := w.create()
	_, err := s.Prompt(t.Context(), piweb.Input{Text: "x", Attachments: []string{"att_AAAAAAAAAAAAAAAAAAAAAA"}})
	if err == nil || !strings.Contains(err.Error(), "not available") {
		t.Errorf("%v", err)
	}
	w.say(s, `CALL read {"path":"att_AAAAAAAAAAAAAAAAAAAAAA"}`)
	if r := w.result(s); !r.IsError || !strings.Contains(r.Content.PlainText(), "not available") {
		t.Errorf("%s", r.Content.PlainText())
	}
}

// TestLookingMakesNothing: opening, explaining and talking without attachments
// makes neither the folder nor the secret.
func TestLookingMakesNothing(t *testing.T) {
	w := newRing(t, func(c *piweb.Config) { c.Attachments.Tools = false })
	rt, err := piweb.New(piweb.Config{Home: w.home, Lookup: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	clean := func() {
		_ = os.RemoveAll(filepath.Join(w.home, ".pi/agent/attachments"))
		_ = os.RemoveAll(filepath.Join(w.home, ".pi/agent/piweb-data"))
	}
	clean()
	s := w.create()
	w.say(s, "hello")
	if _, err := rt.Explain(t.Context(), s.Log().Path(), piweb.ExplainOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.rt.Release(s); err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Fork(t.Context(), s.Log().Path(), piweb.ForkOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"attachments", "piweb-data/attachment-secret"} {
		if _, err := os.Stat(filepath.Join(w.home, ".pi/agent", name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}

// waiting is a tool that stays in a call until it is told to end.
type waiting struct{ begun, end chan struct{} }

func (waiting) Declaration() message.ToolDeclaration {
	return message.ToolDeclaration{Name: "wait", Description: "Waits.", Parameters: json.RawMessage(`{"type":"object"}`)}
}
func (waiting) Sequential() bool { return false }
func (w waiting) Run(context.Context, *tool.Call) (tool.Result, error) {
	close(w.begun)
	<-w.end
	data := base64.StdEncoding.EncodeToString(pictures.PNG(pictures.Noise(64, 64, 2)))
	return tool.Result{Content: message.Content{message.Text("see data:image/png;base64," + data)}, Details: json.RawMessage(`{"raw":"` + data + `"}`)}, nil
}

// TestEntryWaitsForTheBoundary: an attachment that comes while a tool runs is noted
// at the end of that turn, and what the tool returned as base64 is stored.
func TestEntryWaitsForTheBoundary(t *testing.T) {
	wait := waiting{make(chan struct{}), make(chan struct{})}
	w := newRing(t, func(c *piweb.Config) {
		c.Extensions = []agent.Factory{{Name: "test", New: func(context.Context, agent.Env) (agent.Extension, error) {
			return agent.Extension{Tools: []agent.Tool{wait}}, nil
		}}}
	})
	s := w.create()
	turn, err := s.Prompt(t.Context(), piweb.Input{Text: `CALL wait {}`})
	if err != nil {
		t.Fatal(err)
	}
	<-wait.begun
	d := w.put(s.ID(), "late.txt", "text/plain", []byte("late"))
	entry, err := attachment.Entry(d)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Record(entry); err != nil {
		t.Fatal(err)
	}
	close(wait.end)
	if err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(s.Log().Path())
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for line := range strings.Lines(string(file)) {
		switch {
		case strings.Contains(line, `"customType":"pi-web:attachment"`):
			order = append(order, "note")
		case strings.Contains(line, `"toolResult"`):
			order = append(order, "result")
		case strings.Contains(line, `"Done."`):
			order = append(order, "answer")
		}
	}
	if got := strings.Join(order, " "); got != "result note answer" {
		t.Errorf("the file has %q", got)
	}
	r := w.result(s)
	if len(r.Content.PlainText())+len(r.Details) > 1000 || strings.Count(r.Content.PlainText()+string(r.Details), "[attachment id=") != 2 {
		t.Errorf("W11: %.300s %.300s", r.Content.PlainText(), r.Details)
	}
	if err := s.Record(entry); err != nil { // idle: at once
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(s.Log().Path()); strings.Count(string(after), "pi-web:attachment") != 2 {
		t.Error("the second note is not there")
	}
}

// TestAttachmentsFollowTheSession: a fork keeps access when its source is gone for
// good; the rest goes with the source.
func TestAttachmentsFollowTheSession(t *testing.T) {
	w := newRing(t)
	ctx := t.Context()
	s := w.create()
	shared := w.put(s.ID(), "shared.txt", "text/plain", []byte("shared"))
	w.say(s, "look", shared)
	path, id := s.Log().Path(), s.ID()
	if err := w.rt.Release(s); err != nil {
		t.Fatal(err)
	}
	f, err := w.rt.Fork(ctx, path, piweb.ForkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fork, err := session.ReadHeader(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	late := w.put(id, "late.txt", "text/plain", []byte("late"))
	may := func(sessionID string, d attachment.Descriptor) bool {
		_, err := w.store.Check(ctx, sessionID, d.ID)
		return err == nil
	}
	if !may(fork.ID, shared) || may(fork.ID, late) || !may(id, late) {
		t.Fatal("a fork has what its source had, and not what comes later")
	}
	if _, err := w.rt.Delete(ctx, path); err != nil {
		t.Fatal(err)
	}
	if !may(id, shared) {
		t.Error("the trash took it away")
	}
	if _, err := w.rt.Purge(ctx, w.cwd, id); err != nil {
		t.Fatal(err)
	}
	if may(id, shared) || may(id, late) || !may(fork.ID, shared) || string(w.bytes(got(w.store.Check(ctx, fork.ID, shared.ID)))) != "shared" {
		t.Error("after the purge the wrong ones are there")
	}
	list, err := os.ReadDir(filepath.Join(w.home, ".pi/agent/attachments"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if strings.Contains(e.Name(), late.ID.String()) {
			t.Errorf("%s is left", e.Name())
		}
	}
}

func got[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// ExampleRuntime_Attachments stores a file for a session and says what the model
// will read of it.
func ExampleRuntime_Attachments() {
	home, err := os.MkdirTemp("", "piweb-example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(home)
	rt := got(piweb.New(piweb.Config{Home: home, Lookup: func(string) (string, bool) { return "", false }}))
	defer rt.Close()
	store := got(rt.Attachments())
	ctx := context.Background()
	d := got(store.Put(ctx, attachment.New{SessionID: "a-session", Name: "list.txt", MimeType: "text/plain", Origin: attachment.Upload}, strings.NewReader("milk\n")))
	file := got(store.For("a-session").Resolve(ctx, d.ID.String()))
	fmt.Printf("%s", got(file.Bytes(ctx, 100)))
	_, err = store.For("another").Resolve(ctx, d.ID.String())
	fmt.Println(errors.Is(err, attachment.ErrForeign))
	fmt.Println(strings.Replace(attachment.Marker(d), d.ID.String(), "att_…", 1))
	// Output:
	// milk
	// true
	// [attachment id=att_… type=text/plain name=list.txt]
}
