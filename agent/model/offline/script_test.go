package offline_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/fixtures/scripts"
	"github.com/piweb-go/piweb/message"
)

func TestParseScriptRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"not JSON", `steps`, "invalid character"},
		{"unknown field", `{"steps":[{"txt":"x"}]}`, "txt"},
		{"something behind", `{"steps":[]} {}`, "follows"},
		{"call without a name", `{"steps":[{"text":"x"},{"toolCalls":[{"id":"a"}]}]}`, "step 2"},
		{"two kinds of arguments", `{"steps":[{"toolCalls":[{"name":"a","arguments":{},"argumentsText":"x"}]}]}`, "both"},
		{"refusal that is none", `{"steps":[{"error":{"status":200,"message":"m"}}]}`, "200"},
		{"step that says nothing", `{"steps":[{"match":"x"}]}`, "nothing"},
		{"two ways to go wrong", `{"steps":[{"text":"x","cut":true,"stall":true}]}`, "exclude each other"},
		{"negative delay", `{"steps":[{"text":"x","delayMs":-5}]}`, "negative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := offline.FromScript(strings.NewReader(c.text), agent.ModelInfo{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one about %q", err, c.want)
			}
		})
	}
}

func TestNoStepFits(t *testing.T) {
	m := offline.Play(modeltest.Text("once"), agent.ModelInfo{Provider: "scripted"})
	if got := modeltest.Ask(t, m, modeltest.UserRequest("a")); got.Err != nil {
		t.Fatal(got.Err)
	}
	got := modeltest.Ask(t, m, modeltest.UserRequest("the question"))
	var refusal *agent.RequestError
	if !errors.As(got.Err, &refusal) || refusal.Status != 500 || !errors.Is(got.Err, offline.ErrNoStep) || !strings.Contains(refusal.Message, "the question") {
		t.Errorf("error is %v", got.Err)
	}
}

func TestChoiceOfSteps(t *testing.T) {
	m := offline.Play(modeltest.Script(t, scripts.FS(), "by-match"), agent.ModelInfo{})
	for i, c := range []struct{ say, want string }{
		{"what time is it", "Half past nine."},
		{"and the weather?", "Rain, then sun."},
		{"the weather again", "Rain, then sun."},
		{"list it", "call_4_1 ls {}"},
		{"list it", "That is the list."},
		{"list it", "error"},
	} {
		got := modeltest.Ask(t, m, modeltest.UserRequest(c.say))
		text := got.Text()
		for _, b := range got.Blocks {
			if b.Type == message.TypeToolCall {
				text += fmt.Sprintf("%s %s %s", b.ID, b.Name, b.Arguments)
			}
		}
		if got.Err != nil {
			text = "error"
		}
		if text != c.want {
			t.Errorf("%d. %q got %q, want %q", i+1, c.say, text, c.want)
		}
	}
}

// The shared scripts play to their end, and say at first what README.md says of
// them.
func TestSharedScripts(t *testing.T) {
	firsts := map[string]func(modeltest.Answer) bool{
		"plain":          func(a modeltest.Answer) bool { return a.Stop == message.StopEnd && strings.Contains(a.Text(), "🌍") },
		"one-call":       func(a modeltest.Answer) bool { return len(a.Blocks) == 2 && a.Blocks[1].Name == "read" },
		"parallel-calls": func(a modeltest.Answer) bool { return len(a.Blocks) == 2 && a.Stop == message.StopToolUse },
		"thinking":       func(a modeltest.Answer) bool { return a.Blocks[0].Type == message.TypeThinking && len(a.Blocks) == 2 },
		"cut":            func(a modeltest.Answer) bool { return a.Stops == 0 && a.Err == nil && a.Text() != "" },
		"provider-error": func(a modeltest.Answer) bool { return a.Err != nil && len(a.Blocks) == 0 },
		"long-text":      func(a modeltest.Answer) bool { return len(a.Text()) > 60<<10 },
		"by-match":       func(a modeltest.Answer) bool { return a.Text() == "Rain, then sun." },
	}
	for _, name := range scripts.Names() {
		t.Run(name, func(t *testing.T) {
			first, ok := firsts[name]
			if !ok {
				t.Fatal("no line here says what it does")
			}
			f, err := scripts.FS().Open(name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			m, err := offline.FromScript(f, agent.ModelInfo{Provider: "scripted"})
			if err != nil {
				t.Fatal(err)
			}
			if got := modeltest.Ask(t, m, modeltest.UserRequest("the weather")); !first(got) {
				t.Errorf("first answer is %.300v", got)
			}
		})
	}
	if len(firsts) != len(scripts.Names()) {
		t.Errorf("the folder holds %q", scripts.Names())
	}
}
