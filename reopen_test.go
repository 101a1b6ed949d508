package piweb_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/modeltest"
)

// TestReopeningNeverResumesATurn: a file that ends with an open tool call, as a crash
// leaves it, is opened, read, subscribed to and explained: no request is sent, no tool
// runs, and no byte of the file changes. The next prompt is what goes on.
func TestReopeningNeverResumesATurn(t *testing.T) {
	w := newWorld(t, modeltest.Parse(t, `{"steps":[
		{"match":"write it","toolCalls":[{"name":"write","arguments":{"path":"made.txt","content":"x"}}]},
		{"match":"write it","text":"Written."},
		{"match":"and now","text":"Going on."}]}`))
	s := w.create("write")
	w.say(s, "write it")
	path := s.Log().Path()
	if err := w.rt.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The crash came between the call and its result.
	at := strings.Index(string(data), `"role":"toolResult"`)
	if at < 0 {
		t.Fatal("the file has no result")
	}
	data = data[:strings.LastIndexByte(string(data[:at]), '\n')+1]
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	made := w.project + "/made.txt"
	if err := os.Remove(made); err != nil {
		t.Fatal(err)
	}
	sent := len(w.provider.Requests())

	w.rt = w.runtime()
	s, err = w.rt.Open(t.Context(), path, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Log().Context(); err != nil {
		t.Fatal(err)
	}
	_ = w.head(s)
	sub := s.Subscribe(0)
	defer sub.Close()
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond) // for whatever would begin by itself
	defer stop()
	for {
		e, err := sub.Next(ctx)
		if err != nil {
			break
		}
		if e.Type == agent.TurnStart || e.Type == agent.ToolStart {
			t.Errorf("the subscriber sees %s", e.Type)
		}
	}
	if n := len(w.provider.Requests()); n != sent {
		t.Errorf("%d requests were sent by reopening", n-sent)
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("the open call was run")
	}
	if now, _ := os.ReadFile(path); string(now) != string(data) {
		t.Errorf("the file changed:\n%s", now[min(len(now), len(data)):])
	}
	w.say(s, "and now")
	if n := len(w.provider.Requests()); n != sent+1 {
		t.Errorf("%d requests for the next prompt, want 1", n-sent)
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("the open call was run by the next prompt")
	}
}
