package piweb_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/piweb-go/piweb/wrapper"
)

// exampleRuntime is a runtime in a home of its own, with a small project.
func exampleRuntime() (rt *piweb.Runtime, project string, cleanup func()) {
	home, err := os.MkdirTemp("", "piweb-example")
	if err != nil {
		log.Fatal(err)
	}
	project = filepath.Join(home, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, "AGENTS.md"), []byte("Be brief.\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	rt, err = piweb.New(piweb.Config{
		Home:      home,
		Lookup:    func(string) (string, bool) { return "", false }, // no environment
		Providers: model.Registry{offline.API: offline.New},
	})
	if err != nil {
		log.Fatal(err)
	}
	return rt, project, func() { rt.Close(); os.RemoveAll(home) }
}

// Start a Chat Only session, ask it something, and see that it stays what it is
// when it is opened again.
func ExampleRuntime_Create() {
	rt, project, cleanup := exampleRuntime()
	defer cleanup()
	ctx := context.Background()

	s, err := rt.Create(ctx, project, piweb.OpenOptions{Tools: &[]string{}})
	if err != nil {
		log.Fatal(err)
	}
	turn, err := s.Prompt(ctx, piweb.Input{Text: "hello"})
	if err != nil {
		log.Fatal(err)
	}
	if err := turn.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	path := s.Log().Path()
	if err := rt.Release(s); err != nil {
		log.Fatal(err)
	}

	again, err := rt.Open(ctx, path, piweb.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	p, _ := again.Policy()
	req, err := again.Request(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Kind, len(req.Tools), fmt.Sprintf("%q", req.Head))
	// Output: chat-only 0 "Be brief.\n"
}

// Follow the events of a prompt. Events are numbered; a subscription that begins
// at a number gets everything from there on.
func ExampleSession_Subscribe() {
	rt, project, cleanup := exampleRuntime()
	defer cleanup()
	ctx := context.Background()
	s, err := rt.Create(ctx, project, piweb.OpenOptions{Tools: &[]string{"read"}})
	if err != nil {
		log.Fatal(err)
	}
	sub := s.Subscribe(0)
	defer sub.Close()
	if _, err := s.Prompt(ctx, piweb.Input{Text: "read AGENTS.md"}); err != nil {
		log.Fatal(err)
	}
	for {
		e, err := sub.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		switch e.Type {
		case agent.ToolStart:
			fmt.Println("calls", e.ToolName, string(e.Args))
		case agent.ToolEnd:
			fmt.Printf("gets %q\n", e.Result.Content.PlainText())
		case wrapper.PromptDone:
			return
		}
	}
	// Output:
	// calls read {"path":"AGENTS.md"}
	// gets "Be brief.\n"
}

// Change what a session may use. The change stands in the file, synced, before
// it is applied; crossing the Chat Only boundary loads everything anew.
func ExampleRuntime_SetTools() {
	rt, project, cleanup := exampleRuntime()
	defer cleanup()
	ctx := context.Background()
	s, err := rt.Create(ctx, project, piweb.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	turn, err := s.Prompt(ctx, piweb.Input{Text: "hello"})
	if err != nil {
		log.Fatal(err)
	}
	_ = turn.Wait(ctx)

	pin, err := toolselect.Pin("read", "ls")
	if err != nil {
		log.Fatal(err)
	}
	for _, sel := range []toolselect.Selection{pin, pin, toolselect.ChatOnly(), toolselect.Clear()} {
		c, err := rt.SetTools(ctx, s.Log().Path(), sel, piweb.OpenOptions{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Policy.Kind, c.Policy.Tools, "recorded:", c.Appended, "loaded anew:", c.Recreated)
	}
	// Output:
	// pinned [read ls] recorded: true loaded anew: false
	// pinned [read ls] recorded: false loaded anew: false
	// chat-only [] recorded: true loaded anew: true
	// open [read bash edit write] recorded: true loaded anew: true
}

// Explain a session file without touching it, and hold its receipts against it.
func ExampleRuntime_Explain() {
	rt, project, cleanup := exampleRuntime()
	defer cleanup()
	ctx := context.Background()
	s, err := rt.Create(ctx, project, piweb.OpenOptions{Tools: &[]string{}})
	if err != nil {
		log.Fatal(err)
	}
	turn, err := s.Prompt(ctx, piweb.Input{Text: "hello"})
	if err != nil {
		log.Fatal(err)
	}
	_ = turn.Wait(ctx)

	x, err := rt.Explain(ctx, s.Log().Path(), piweb.ExplainOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("decide:", x.Decide.Kind, "by", x.Decide.Source.By)
	fmt.Println("load:  ", x.Load.Head.Bytes, "bytes of prompt from", len(x.Load.Sources), "file")
	fmt.Println("ask:   ", x.Ask.Model, x.Ask.Messages, "messages")
	fmt.Println("record:", len(x.Record.Receipts), "receipt, all hold:", x.Record.OK())
	// Output:
	// decide: chat-only by selection
	// load:   10 bytes of prompt from 1 file
	// ask:    offline/echo 2 messages
	// record: 1 receipt, all hold: true
}

// Decide a policy from facts, as any program can.
func Example_resolve() {
	sel, err := toolselect.Pin("read", "grep")
	if err != nil {
		log.Fatal(err)
	}
	p, trail := policy.Resolve(policy.Facts{
		Selection: toolselect.Found{Selection: sel, Entry: "0a1b2c3d", Line: 4},
		Settings:  policy.Setting{Given: true, Tools: []string{"bash"}},
	})
	fmt.Println(p)
	fmt.Print(trail)
	ok, why := p.Admits(policy.Tool{Name: "bash", Builtin: true})
	fmt.Println(ok, why)
	// Output:
	// pinned by selection 0a1b2c3d: read, grep; prompt composed from what is in effect
	//   snapshot: no subagent
	// → selection: line 4: pinned: read, grep
	// false the tool "bash" is not among the session's tools (read, grep)
}

// Script the answers of a model, for the tests of an embedding program.
func Example_scriptedModel() {
	m, err := offline.FromScript(strings.NewReader(`{"steps":[{"match":"weather","text":"Sunny."}]}`),
		agent.ModelInfo{Provider: "test", ID: "scripted"})
	if err != nil {
		log.Fatal(err)
	}
	req := agent.Request{Messages: []message.Message{&message.User{Content: message.Content{message.Text("the weather?")}}}}
	for d, err := range m.Stream(context.Background(), req) {
		if err != nil {
			log.Fatal(err)
		}
		if text, ok := d.(agent.TextDelta); ok {
			fmt.Println(text.Text)
		}
	}
	// Output: Sunny.
}
