package piweb_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/message"
)

// weather is a tool of an embedding program.
type weather struct{}

func (weather) Declaration() message.ToolDeclaration {
	return message.ToolDeclaration{Name: "weather", Description: "The weather of a city.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}
}

func (weather) Sequential() bool { return false }

func (weather) Run(_ context.Context, call *tool.Call) (tool.Result, error) {
	var args struct{ City string }
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return tool.Result{}, err
	}
	return tool.Text("Sunny in " + args.City + "."), nil
}

// Give sessions a tool, a command and a hook that asks a person. Chat Only
// sessions construct nothing of it.
func ExampleConfig_extensions() {
	home, err := os.MkdirTemp("", "piweb-example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(home)

	station := agent.Factory{Name: "station", New: func(_ context.Context, env agent.Env) (agent.Extension, error) {
		fmt.Println("constructed for a session with tools")
		return agent.Extension{
			Tools: []agent.Tool{weather{}},
			Commands: []agent.Command{{
				Name: "umbrella", Description: "Ask whether to take an umbrella", Hint: "CITY",
				Run: func(_ context.Context, city string) (agent.CommandResult, error) {
					return agent.CommandResult{Prompt: "Do I need an umbrella in " + city + "?"}, nil
				},
			}},
			Hooks: agent.Hooks{Call: func(_ context.Context, call *tool.Call) agent.Verdict {
				if call.Name == "bash" {
					return agent.Verdict{Decision: agent.Ask, Reason: "the station wants bash confirmed"}
				}
				return agent.Verdict{Decision: agent.Allow}
			}},
			Close: func() error { fmt.Println("ended"); return nil },
		}, nil
	}}
	rt, err := piweb.New(piweb.Config{
		Home: home, Lookup: func(string) (string, bool) { return "", false },
		Providers:  model.Registry{offline.API: offline.New},
		Extensions: []agent.Factory{station},
		// Who is asked: here nobody, so the answer is no.
		Ask: func(context.Context, agent.Question) (bool, error) { return false, nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for _, tools := range [][]string{{}, {"read"}} {
		s, err := rt.Create(ctx, home, piweb.OpenOptions{Tools: &tools})
		if err != nil {
			log.Fatal(err)
		}
		turn, err := s.Prompt(ctx, piweb.Input{Text: "/umbrella Oslo"})
		if err != nil {
			log.Fatal(err)
		}
		if err := turn.Wait(ctx); err != nil {
			log.Fatal(err)
		}
		p, _ := s.Policy()
		req, err := s.Request(ctx)
		if err != nil {
			log.Fatal(err)
		}
		var names []string
		for _, d := range req.Tools {
			names = append(names, d.Name)
		}
		fmt.Printf("%s: tools [%s], asked %q\n", p.Kind, strings.Join(names, " "), message.ContentOf(req.Messages[0]).PlainText())
		if err := rt.Release(s); err != nil {
			log.Fatal(err)
		}
	}
	if err := rt.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// chat-only: tools [], asked "/umbrella Oslo"
	// constructed for a session with tools
	// pinned: tools [read weather], asked "Do I need an umbrella in Oslo?"
	// ended
}
