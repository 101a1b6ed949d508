package main

import (
	"strings"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/spf13/cobra"
)

func (a *app) toolsCommand() *cobra.Command {
	var c choice
	var o piweb.OpenOptions
	cmd := &cobra.Command{
		Use: "tools ID|FILE", Short: "Show or change which tools a session has", Long: helpTools,
		Args: wantArgs(1, "one session: an id, the beginning of one, or a file"),
		Example: "  piweb tools 01a22868\n  piweb tools 01a22868 --set read,grep,ls\n" +
			"  piweb tools 01a22868 --preset read-only\n  piweb tools ./session.jsonl --chat-only\n  piweb tools 01a22868 --clear",
		ValidArgsFunction: a.completeSessions,
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			return a.tools(cmd, rt, args[0], &c, o)
		}),
	}
	c.addTo(cmd, "set", "exactly these built-in tools, comma-separated")
	cmd.Flags().StringVar(&o.CWD, "cwd", "", "working folder of an empty file, or of a session whose own is gone")
	cmd.Flags().BoolVar(&c.clear, "clear", false, "take the choice back: the settings decide")
	return cmd
}

// toolsAnswer is what `tools --json` prints.
type toolsAnswer struct {
	SessionID string        `json:"sessionId"`
	Path      string        `json:"path"`
	Kind      policy.Kind   `json:"kind"`
	Source    policy.Source `json:"source"`
	Tools     []string      `json:"tools"`
	Preset    string        `json:"preset"`
	Changed   bool          `json:"changed"`
	Recreated bool          `json:"recreated"`
	Trail     policy.Trail  `json:"trail"`
}

func (a *app) tools(cmd *cobra.Command, rt *piweb.Runtime, ref string, c *choice, o piweb.OpenOptions) error {
	sel, given, err := c.selection()
	if err != nil {
		return err
	}
	path, err := rt.Find(cwd(), ref)
	if err != nil {
		return err
	}
	var ans toolsAnswer
	if given {
		changed, err := rt.SetTools(cmd.Context(), path, sel, o)
		if err != nil {
			return err
		}
		ans = answerOf(changed.Policy, changed.Trail)
		ans.Changed, ans.Recreated = changed.Appended, changed.Recreated
	} else {
		p, trail, err := rt.Decide(path, o.CWD)
		if err != nil {
			return err
		}
		ans = answerOf(p, trail)
	}
	ans.Path = path
	if h, err := session.ReadHeader(path); err == nil {
		ans.SessionID = h.ID
	}
	if a.json {
		return a.printJSON(ans)
	}
	a.printTools(ans, given)
	return nil
}

func answerOf(p policy.Policy, trail policy.Trail) toolsAnswer {
	return toolsAnswer{Kind: p.Kind, Source: p.Source, Tools: append([]string{}, p.Tools...), Preset: string(toolselect.PresetOf(p.Tools)), Trail: trail}
}

func (a *app) printTools(ans toolsAnswer, asked bool) {
	switch {
	case asked && ans.Changed:
		a.printf("recorded\n")
	case asked:
		a.printf("nothing to change\n")
	}
	a.printf("%s: %s\n", kindWords(ans.Kind), toolWords(ans.Tools))
	a.printf("%s", indentTrail(ans.Trail))
}

func kindWords(k policy.Kind) string {
	switch k {
	case policy.ChatOnly:
		return "Chat Only"
	case policy.Pinned:
		return "pinned"
	case policy.Open:
		return "not pinned"
	case policy.Child:
		return "subagent"
	}
	return string(k)
}

func toolWords(tools []string) string {
	if len(tools) == 0 {
		return "no tools"
	}
	return strings.Join(tools, ", ")
}

func indentTrail(t policy.Trail) string {
	var b strings.Builder
	for _, s := range t {
		mark := "  "
		if s.Decided {
			mark = "→ "
		}
		b.WriteString("  " + mark + oneLine(string(s.By)+": "+s.Text) + "\n")
	}
	return b.String()
}
