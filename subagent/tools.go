package subagent

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
)

// The control tools. Their names are reserved: no other extension may bring them,
// and no child ever has them.
const (
	AgentTool  = "Agent"
	ResultTool = "get_subagent_result"
	SteerTool  = "steer_subagent"
)

func isControl(name string) bool { return name == AgentTool || name == ResultTool || name == SteerTool }

//go:embed prose/*.md
var prose embed.FS

func described(name string) string {
	text, err := prose.ReadFile("prose/" + name + ".md")
	if err != nil {
		panic(err) // it is embedded
	}
	return strings.TrimSpace(string(text))
}

// Extension is the extension by which a normal session delegates. Where subagents
// are switched off it brings nothing, until the session is reloaded.
func (m *Manager) Extension() agent.Factory {
	return agent.Factory{Name: "subagents", Owns: []string{AgentTool, ResultTool, SteerTool},
		New: func(_ context.Context, env agent.Env) (agent.Extension, error) {
			if ok, _ := env.Admits(policy.Tool{Name: AgentTool}); !ok {
				return agent.Extension{}, nil // a subagent
			}
			set, err := m.settings.Read()
			if err != nil {
				return agent.Extension{}, err
			}
			x := agent.Extension{}
			if set.BuiltIn {
				b := base{m: m, env: env}
				x.Tools = []agent.Tool{delegate{b, m.enabled(env.CWD)}, fetch{b}, steer{b}}
			} // else that is as it is by default, and no news
			x.Hooks.Prompt = func(ctx context.Context, _ *message.User) ([]*message.Custom, error) {
				return m.atPrompt(ctx, env.SessionFile()), nil
			}
			return x, nil
		}}
}

// atPrompt are the results that go in with the next prompt. Only what is recorded
// counts as delivered, so a prompt that is refused loses none.
func (m *Manager) atPrompt(ctx context.Context, parent string) []*message.Custom {
	m.forget(parent)
	pending, err := m.Pending(ctx, parent)
	if err != nil {
		return nil // they stay pending, and are shown
	}
	var out []*message.Custom
	for _, r := range pending {
		n := Notice(r)
		out = append(out, &message.Custom{CustomType: n.CustomType, Content: n.Content, Display: n.Display, Details: n.Details, Timestamp: m.now().UnixMilli()})
	}
	return out
}

type base struct {
	m   *Manager
	env agent.Env
}

func (base) Sequential() bool { return false }

func (b base) parent() string { return b.env.SessionFile() }

// answer is a run as a tool's result.
func answer(r Run, failed bool) tool.Result {
	details, _ := message.Marshal(r.Details())
	return tool.Result{Content: message.Content{message.Text(r.FinalText())}, Details: details, IsError: failed}
}

// delegate is the tool that starts a child.
type delegate struct {
	base
	profiles []Profile
}

func (d delegate) Declaration() message.ToolDeclaration {
	var list strings.Builder
	for _, p := range d.profiles {
		fmt.Fprintf(&list, "- %s: %s (Tools: %s%s)\n", p.Name, p.Description, p.ToolWords(), orNothing("; Model: ", p.Model))
	}
	return message.ToolDeclaration{Name: AgentTool, Description: strings.ReplaceAll(described("agent"), "{profiles}", strings.TrimSpace(list.String())),
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"prompt":{"type":"string","description":"The whole task. The subagent sees nothing of this conversation unless its profile says so."},` +
			`"description":{"type":"string","description":"What it is about, in three to five words."},` +
			`"subagent_type":{"type":"string","description":"Name of a profile from the list; general-purpose if left out."},` +
			`"run_in_background":{"type":"boolean","description":"Go on without waiting; the result is delivered when it is there."},` +
			`"model":{"type":"string","description":"provider/id, or an id that only one provider has."},` +
			`"thinking":{"type":"string","enum":["off","minimal","low","medium","high","xhigh","max"]},` +
			`"max_turns":{"type":"number","minimum":0,"description":"0 for no limit of its own."},` +
			`"inherit_context":{"type":"boolean","description":"Give it this conversation as background."},` +
			`"isolation":{"type":"string","enum":["worktree","off"],"description":"worktree: a git checkout of its own."},` +
			`"input_files":{"type":"array","items":{"type":"string"},"maxItems":8,"description":"Text files of the working folder to give it whole. Only for profiles that take them."},` +
			`"resume":{"type":"string","description":"Session id of an ended subagent to go on with."}},` +
			`"required":["prompt","description"]}`)}
}

func orNothing(before, s string) string {
	if s == "" {
		return ""
	}
	return before + s
}

func (d delegate) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var a struct {
		Prompt      string   `json:"prompt"`
		Description string   `json:"description"`
		Type        string   `json:"subagent_type"`
		Background  *bool    `json:"run_in_background"`
		Model       string   `json:"model"`
		Thinking    string   `json:"thinking"`
		MaxTurns    *float64 `json:"max_turns"`
		Inherit     *bool    `json:"inherit_context"`
		Isolation   string   `json:"isolation"`
		InputFiles  []string `json:"input_files"`
		Resume      string   `json:"resume"`
	}
	if err := json.Unmarshal(call.Arguments, &a); err != nil {
		return tool.Result{}, err
	}
	var r Run
	var err error
	if a.Resume != "" {
		r, err = d.m.resume(ctx, d.parent(), a.Resume, a.Prompt, a.Background, call.ID)
	} else {
		r, err = d.m.Start(ctx, d.parent(), Spec{Profile: a.Type, Task: a.Prompt, Description: a.Description, InputFiles: a.InputFiles, Model: a.Model,
			Thinking: a.Thinking, MaxTurns: a.MaxTurns, Inherit: a.Inherit, Background: a.Background, Isolation: a.Isolation, ToolCallID: call.ID, ByModel: true})
	}
	if err != nil {
		return tool.Result{}, err
	}
	if r.Background {
		res := answer(r, false)
		res.Content = message.Content{message.Text(fmt.Sprintf("Started the subagent %s in the background. Its result will be delivered; do not wait for it idly.", r.ID))}
		return res, nil
	}
	return d.attend(ctx, call, r)
}

// attend waits for a child in the foreground. It ends with the run that waits.
func (d delegate) attend(ctx context.Context, call *tool.Call, r Run) (tool.Result, error) {
	stop := d.m.progress(r.ID, func(now Run) {
		call.Report(tool.Text(fmt.Sprintf("%s: %s (%s)", now.Profile, now.Description, now.Status)))
	})
	defer stop()
	d.m.mark(d.m.waited, d.parent(), r.ID)
	end, err := d.m.Wait(ctx, d.parent(), r.ID)
	if err != nil {
		_ = d.m.Cancel(context.WithoutCancel(ctx), d.parent(), r.ID)
		end, _ = d.m.Wait(context.WithoutCancel(ctx), d.parent(), r.ID)
	}
	d.m.hand(end)
	return answer(end, end.Status == Failed), nil
}

// fetch is the tool that reads a result.
type fetch struct{ base }

func (fetch) Declaration() message.ToolDeclaration {
	return message.ToolDeclaration{Name: ResultTool, Description: described("result"), Parameters: json.RawMessage(
		`{"type":"object","properties":{"agent_id":{"type":"string","description":"Session id of the subagent."},` +
			`"wait":{"type":"boolean","description":"Wait until it has ended."}},"required":["agent_id"]}`)}
}

func (f fetch) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var a struct {
		ID   string `json:"agent_id"`
		Wait bool   `json:"wait"`
	}
	if err := json.Unmarshal(call.Arguments, &a); err != nil {
		return tool.Result{}, err
	}
	r, err := f.m.Run(ctx, f.parent(), a.ID)
	if err != nil {
		return tool.Result{}, err
	}
	if a.Wait && r.Status.Waiting() {
		if r, err = f.m.Wait(ctx, f.parent(), a.ID); err != nil {
			return tool.Error("Result wait aborted"), nil
		}
	}
	if !r.Status.Waiting() {
		f.m.hand(r)
	}
	return answer(r, false), nil
}

// steer is the tool that says something to a running child.
type steer struct{ base }

func (steer) Declaration() message.ToolDeclaration {
	return message.ToolDeclaration{Name: SteerTool, Description: described("steer"), Parameters: json.RawMessage(
		`{"type":"object","properties":{"agent_id":{"type":"string","description":"Session id of the subagent."},` +
			`"message":{"type":"string"}},"required":["agent_id","message"]}`)}
}

func (s steer) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var a struct {
		ID      string `json:"agent_id"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(call.Arguments, &a); err != nil {
		return tool.Result{}, err
	}
	if err := s.m.Steer(ctx, s.parent(), a.ID, strings.TrimSpace(a.Message)); err != nil {
		return tool.Result{}, err
	}
	return tool.Text(fmt.Sprintf("The message was sent to the subagent %s.", a.ID)), nil
}
