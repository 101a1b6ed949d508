package offline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/message"
)

func echo(t *testing.T) agent.Model {
	t.Helper()
	m, err := offline.New(model.Spec{Info: offline.Models()[0]})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func tools(names ...string) []message.ToolDeclaration {
	var list []message.ToolDeclaration
	for _, n := range names {
		list = append(list, message.ToolDeclaration{Name: n, Description: "…", Parameters: json.RawMessage(`{"type":"object"}`)})
	}
	return list
}

func says(text string, more ...message.Block) *message.User {
	return &message.User{Content: append(message.Content{message.Text(text)}, more...), Timestamp: 7}
}

func TestEchoGolden(t *testing.T) {
	called := []message.Message{
		says("read go.mod\nrun `go version`"),
		&message.Assistant{Content: message.Content{
			message.ToolCall("a", "read", json.RawMessage(`{"path":"go.mod"}`)),
			message.ToolCall("b", "bash", json.RawMessage("{\"command\":\"go `version`\"}")),
		}},
		&message.ToolResult{ToolCallID: "a", ToolName: "read", Content: message.Content{message.Text("module x\n\ngo 1.26\n```\n" + strings.Repeat("line\n", 20))}},
		&message.ToolResult{ToolCallID: "b", ToolName: "bash", IsError: true, Content: message.Content{message.Text("not found"), message.Image("image/png", "AAAA")}},
		&message.ToolResult{ToolCallID: "c", ToolName: "ls"},
	}
	for _, c := range []struct {
		name string
		req  agent.Request
	}{
		{"question", agent.Request{
			Head: []byte("You are helpful. 你好"), Tools: tools("read", "bash", "edit", "write", "custom"),
			Messages: []message.Message{
				says("hi"), &message.Assistant{Content: message.Content{message.Text("hello")}},
				says("What is the\nanswer to 生命, 宇宙 and 🌍?", message.Image("image/png", "AAAA")),
			},
		}},
		{"question without anything", agent.Request{Messages: []message.Message{says("Why?")}}},
		{"long question", agent.Request{Messages: []message.Message{says(strings.Repeat(strings.Repeat("word ", 60)+"\n", 9))}}},
		{"only a picture", agent.Request{Messages: []message.Message{&message.User{Content: message.Content{message.Image("image/png", "AAAA")}}}}},
		{"no message", agent.Request{Head: []byte("x")}},
		{"one call", agent.Request{Tools: tools("read"), Messages: []message.Message{says("read go.mod")}}},
		{"calls and a tool that is not offered", agent.Request{
			Tools:    tools("read", "bash"),
			Messages: []message.Message{says("read `a b.md`\nlist src\nrun `echo \"x\"`")},
		}},
		{"nothing offered", agent.Request{Messages: []message.Message{says("write notes.txt: some text")}}},
		{"too many", agent.Request{Tools: tools("read"), Messages: []message.Message{says(strings.Repeat("read a\n", 10))}}},
		{"results", agent.Request{Tools: tools("read", "bash"), Messages: called}},
		{"another message after results", agent.Request{Tools: tools("read"), Messages: append(called[:len(called):len(called)], says("read x"))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := echo(t)
			got := modeltest.Ask(t, m, c.req)
			if got.Err != nil || got.Stops != 1 {
				t.Fatalf("got %+v", got)
			}
			if again := modeltest.Ask(t, m, c.req); cmp.Diff(got, again) != "" {
				t.Errorf("the same request got another answer:\n%s", cmp.Diff(got, again))
			}
			golden(t, c.name, render(t, got))
		})
	}
}

// render writes an answer for reading.
func render(t *testing.T, a modeltest.Answer) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, block := range a.Blocks {
		if block.Type == message.TypeText {
			b.WriteString(block.Text + "\n")
			continue
		}
		b.WriteString("== call " + block.ID + ": " + block.Name + " " + string(block.Arguments) + "\n")
	}
	usage, err := json.Marshal(a.Usage)
	if err != nil {
		t.Fatal(err)
	}
	b.WriteString("== " + string(a.Stop) + " " + string(usage) + "\n")
	return b.Bytes()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".golden.md")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every answer to a person says what this is.
func TestEchoSaysWhatItIs(t *testing.T) {
	for _, text := range []string{"Who are you?", "read go.mod", "list src", ""} {
		got := modeltest.Ask(t, echo(t), agent.Request{Tools: tools("read"), Messages: []message.Message{says(text)}})
		if !strings.Contains(got.Text(), "not a language model") {
			t.Errorf("%q: %s", text, got.Text())
		}
	}
}

func TestCallIDsDifferBetweenTurns(t *testing.T) {
	seen := make(map[string]bool)
	req := agent.Request{Tools: tools("read")}
	for i := range 5 {
		req.Messages = append(req.Messages, &message.User{Content: message.Content{message.Text("read a\nread b")}, Timestamp: int64(i)})
		got := modeltest.Ask(t, echo(t), req)
		for _, b := range got.Blocks {
			if b.Type == message.TypeToolCall && seen[b.ID] {
				t.Errorf("turn %d repeats %s", i, b.ID)
			}
			seen[b.ID] = true
		}
	}
}

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := offline.New(model.Spec{Info: offline.Models()[0], Compat: json.RawMessage(`{"delayMs":100,"other":1}`)})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		pieces := 0
		for d := range m.Stream(t.Context(), modeltest.UserRequest("hello")) {
			if _, ok := d.(agent.TextDelta); ok {
				pieces++
			}
		}
		if took, want := time.Since(start), time.Duration(pieces)*100*time.Millisecond; took != want || pieces < 10 {
			t.Errorf("%d pieces took %v, want %v", pieces, took, want)
		}

		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		start = time.Now()
		got := modeltest.AskContext(ctx, t, m, modeltest.UserRequest("hello"))
		if took := time.Since(start); took != 250*time.Millisecond || !errors.Is(got.Err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", took, got.Err)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct{ name, compat string }{
		{"negative delay", `{"delayMs":-1}`},
		{"delay without end", `{"delayMs":3600000}`},
		{"delay of the wrong type", `{"delayMs":"fast"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := offline.New(model.Spec{Info: offline.Models()[0], Compat: json.RawMessage(c.compat)})
			if err == nil || !strings.Contains(err.Error(), "offline/echo") || !strings.Contains(err.Error(), "delayMs") {
				t.Errorf("error is %v", err)
			}
		})
	}
}
