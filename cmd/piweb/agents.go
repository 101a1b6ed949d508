package main

import (
	_ "embed"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/resource"
	"github.com/piweb-go/piweb/subagent"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/spf13/cobra"
)

//go:embed help/agents.md
var helpAgents string

func (a *app) agentsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "agents", Short: "Show and change the profiles of subagents, switch them on or off", Long: helpAgents, Args: cobra.NoArgs,
		Example: "  piweb agents\n  piweb agents enable\n  piweb agents show explore\n  piweb agents new reviewer --tools read,grep --prompt \"Review what you are given.\"\n" +
			"  piweb agents disable plan\n  piweb agents budget 01a22868 --total 8 --dollars 5",
		RunE: a.withRuntime(func(_ *cobra.Command, rt *piweb.Runtime, _ []string) error { return a.listAgents(rt) }),
	}
	list := &cobra.Command{Use: "list", Short: "List the profiles of this folder", Args: cobra.NoArgs, RunE: cmd.RunE}
	show := &cobra.Command{Use: "show NAME", Short: "Show a profile whole", Args: wantArgs(1, "the name of a profile"), ValidArgsFunction: a.completeAgents,
		RunE: a.withRuntime(func(_ *cobra.Command, rt *piweb.Runtime, args []string) error { return a.showAgent(rt, args[0]) })}
	cmd.AddCommand(list, show, a.newAgentCommand(), a.editAgentCommand(), a.switchCommand("enable", true), a.switchCommand("disable", false), a.budgetCommand())
	return cmd
}

func (a *app) listAgents(rt *piweb.Runtime) error {
	set, err := rt.SubagentSettings().Read()
	if err != nil {
		return err
	}
	list, left := rt.Subagents().Profiles(cwd())
	if a.json {
		lines := []subagent.ProfileInfo{}
		for _, p := range list {
			lines = append(lines, p.Info())
		}
		return a.printJSON(struct {
			Enabled    bool                   `json:"enabled"`
			Concurrent int                    `json:"maxConcurrent"`
			Profiles   []subagent.ProfileInfo `json:"profiles"`
			LeftOut    []resource.Omission    `json:"leftOut"`
		}{set.BuiltIn, set.Concurrent, lines, append([]resource.Omission{}, left...)})
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tFROM\tSTATE\tTOOLS\tDESCRIPTION")
	for _, p := range list {
		state := "on"
		switch {
		case p.Overridden:
			state = "hidden"
		case !p.Enabled:
			state = "off"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", oneLine(p.Name), p.Source, state, oneLine(p.ToolWords()), clip(p.Description, 80))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, l := range left {
		a.notef("note: %s is left out: %s\n", oneLine(l.Path), oneLine(l.Reason))
	}
	if !set.BuiltIn {
		a.printf("\nSubagents are switched off. `piweb agents enable` switches them on.\n")
	}
	return nil
}

// agentNamed is the strongest profile of a name, also one that is switched off.
func agentNamed(rt *piweb.Runtime, name string) (subagent.Profile, error) {
	list, _ := rt.Subagents().Profiles(cwd())
	for _, p := range list {
		if !p.Overridden && resource.SameName(p.Name, name) {
			return p, nil
		}
	}
	return subagent.Profile{}, fmt.Errorf("%w: %q; `piweb agents` lists those that there are", subagent.ErrProfile, name)
}

func (a *app) showAgent(rt *piweb.Runtime, name string) error {
	p, err := agentNamed(rt, name)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(p.Info())
	}
	line := func(key, value string) {
		if value != "" {
			a.printf("%-13s %s\n", key, oneLine(value))
		}
	}
	word := func(on bool, yes string) string {
		if on {
			return yes
		}
		return ""
	}
	line("name", p.Name)
	line("shown as", p.DisplayName)
	line("about", p.Description)
	line("from", strings.TrimSpace(string(p.Source)+" "+p.File))
	line("state", map[bool]string{true: "on", false: "off"}[p.Enabled])
	line("tools", p.ToolWords())
	line("kind", word(p.ChatOnly(), "Chat Only: no tools, nothing loaded, the prompt below and no more"))
	line("loads", strings.Trim(word(p.Skills, "skills")+" "+word(p.Extensions, "extensions"), " "))
	line("context", word(p.InheritContext, "gets the conversation of its parent"))
	line("prompt", word(!p.ChatOnly(), map[bool]string{true: "replaces everything else", false: "added to pi's own"}[p.Replace]))
	line("background", word(p.Background, "its parent does not wait"))
	line("model", p.Model)
	line("thinking", p.Thinking)
	line("turns", word(p.MaxTurns > 0, fmt.Sprintf("at most %d", p.MaxTurns)))
	line("isolation", p.Isolation)
	line("files", word(p.AllowInputFiles, "a model may give it files"))
	for _, w := range p.Warnings {
		line("warning", w)
	}
	a.printf("\n%s\n", printable(p.Prompt))
	return nil
}

// draftFlags are the flags of a profile's parts.
type draftFlags struct {
	d                  subagent.Draft
	prompt, promptFile string
	files, project     bool
	turns              int
}

func (f *draftFlags) addTo(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.project, "project", false, "in this project's .pi/agents, and not among your own")
	fl.StringVar(&f.d.Description, "description", "", "what it is for, in a sentence; models choose by it")
	fl.StringVar(&f.d.DisplayName, "display-name", "", "how it is called on the page")
	fl.StringSliceVar(&f.d.Tools, "tools", nil, "its built-in tools, comma-separated; none for no tools")
	fl.BoolVar(&f.d.Skills, "skills", false, "it loads skills")
	fl.BoolVar(&f.d.Extensions, "extensions", false, "it has the tools of extensions")
	fl.BoolVar(&f.d.Inherit, "inherit-context", false, "it gets the conversation of its parent")
	fl.BoolVar(&f.d.Background, "background", false, "its parent does not wait for it")
	fl.BoolVar(&f.d.Replace, "replace", false, "its prompt stands alone, without pi's own")
	fl.BoolVar(&f.files, "input-files", false, "a model may give it files")
	fl.StringVar(&f.d.Model, "model", "", "its model; without one, the parent's")
	fl.StringVar(&f.d.Thinking, "thinking", "", "its thinking level")
	fl.IntVar(&f.turns, "max-turns", 0, "turns that it has; 0 for no limit of its own")
	fl.StringVar(&f.d.Color, "color", "", "its color on the page")
	fl.StringVar(&f.d.Isolation, "isolation", "", "worktree for a git checkout of its own, or off")
	fl.StringVar(&f.prompt, "prompt", "", "its prompt")
	fl.StringVar(&f.promptFile, "prompt-file", "", "read its prompt from this file; - for standard input")
}

// onto puts what was given onto a draft. given is false where nothing was.
func (f *draftFlags) onto(a *app, cmd *cobra.Command, d *subagent.Draft) (given bool, err error) {
	changed := func(name string) bool {
		c := cmd.Flags().Changed(name)
		given = given || c
		return c
	}
	set(changed("description"), &d.Description, f.d.Description)
	set(changed("display-name"), &d.DisplayName, f.d.DisplayName)
	if changed("tools") {
		if d.Tools, err = toolsOf(f.d.Tools); err != nil {
			return given, err
		}
	}
	set(changed("skills"), &d.Skills, f.d.Skills)
	set(changed("extensions"), &d.Extensions, f.d.Extensions)
	set(changed("inherit-context"), &d.Inherit, f.d.Inherit)
	set(changed("background"), &d.Background, f.d.Background)
	set(changed("replace"), &d.Replace, f.d.Replace)
	if changed("input-files") {
		d.InputFiles = &f.files
	}
	set(changed("model"), &d.Model, f.d.Model)
	set(changed("thinking"), &d.Thinking, f.d.Thinking)
	set(changed("max-turns"), &d.MaxTurns, float64(f.turns))
	set(changed("color"), &d.Color, f.d.Color)
	set(changed("isolation"), &d.Isolation, f.d.Isolation)
	set(changed("prompt"), &d.Prompt, f.prompt)
	if changed("prompt-file") {
		if cmd.Flags().Changed("prompt") {
			return given, usage("--prompt and --prompt-file exclude each other")
		}
		d.Prompt, err = a.promptOf(f.promptFile)
	}
	return given, err
}

func set[T any](given bool, into *T, value T) {
	if given {
		*into = value
	}
}

// toolsOf checks the names of --tools; a name that is not known is a mistake here,
// though a file may have it.
func toolsOf(names []string) ([]string, error) {
	names = trimmed(names)
	if len(names) == 1 && names[0] == "none" {
		return nil, nil
	}
	if len(names) == 0 {
		return nil, usage("--tools names no tool; --tools none is the profile without tools")
	}
	sel, err := toolselect.Pin(names...)
	return sel.Tools(), err
}

func (a *app) promptOf(name string) (string, error) {
	if name == "-" {
		return a.promptText(nil)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	return string(data), nil
}

func (a *app) newAgentCommand() *cobra.Command {
	var f draftFlags
	cmd := &cobra.Command{
		Use: "new NAME", Short: "Write a profile", Args: wantArgs(1, "a name for the profile"),
		Long:    "Writes a profile into your agent directory, or with --project into this project.\nWithout --tools it has no tools, and its prompt is all that it is told.",
		Example: "  piweb agents new reviewer --description \"Reviews a change\" --tools read,grep --prompt-file review.md\n  piweb agents new translator --prompt \"Translate into English.\"",
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			list, _ := rt.Subagents().Profiles(cwd())
			for _, p := range list {
				if p.Source == f.scope() && resource.SameName(p.Name, args[0]) {
					return fmt.Errorf("the profile %s is there already, in %s: %w; `piweb agents edit` changes it", p.Name, p.File, os.ErrExist)
				}
			}
			d := subagent.Draft{Name: args[0], Enabled: true}
			if _, err := f.onto(a, cmd, &d); err != nil {
				return err
			}
			return a.saveAgent(rt, f.scope(), d)
		}),
	}
	f.addTo(cmd)
	return cmd
}

func (f *draftFlags) scope() resource.ProfileSource {
	if f.project {
		return resource.ProjectProfile
	}
	return resource.GlobalProfile
}

func (a *app) editAgentCommand() *cobra.Command {
	var f draftFlags
	cmd := &cobra.Command{
		Use: "edit NAME", Short: "Change parts of a profile", Args: wantArgs(1, "the name of a profile"), ValidArgsFunction: a.completeAgents,
		Long: "Changes what the flags name and keeps the rest of the file, also what others wrote into it.\n" +
			"Of a built-in profile it writes a changed copy of your own.",
		Example: "  piweb agents edit reviewer --max-turns 20\n  piweb agents edit explore --model anthropic/claude-haiku-4-5",
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			p, err := agentNamed(rt, args[0])
			if err != nil {
				return err
			}
			scope := p.Source
			switch {
			case scope == subagent.Builtin:
				scope = f.scope()
			case scope == resource.WorkspaceProfile:
				return fmt.Errorf("%w: %s lies in .agents, which other programs share; edit the file itself", subagent.ErrScope, p.File)
			case f.project && scope != resource.ProjectProfile:
				scope = resource.ProjectProfile
			}
			d := subagent.DraftOf(p)
			given, err := f.onto(a, cmd, &d)
			if err != nil {
				return err
			}
			if !given {
				return usage("name what to change, such as --max-turns 20, or edit the file itself: %s", p.File)
			}
			return a.saveAgent(rt, scope, d)
		}),
	}
	f.addTo(cmd)
	return cmd
}

func (a *app) saveAgent(rt *piweb.Runtime, scope resource.ProfileSource, d subagent.Draft) error {
	p, err := rt.Subagents().Save(scope, cwd(), d)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(p.Info())
	}
	a.printf("saved %s\n", oneLine(p.File))
	if set, err := rt.SubagentSettings().Read(); err == nil && !set.BuiltIn {
		a.notef("note: subagents are switched off; `piweb agents enable` switches them on\n")
	}
	if scope == resource.ProjectProfile {
		if _, err := rt.Subagents().Resolve(cwd(), p.Name); err != nil && d.Enabled {
			a.notef("note: it counts once the project is trusted\n")
		}
	}
	return nil
}

// switchCommand switches a profile, or, without a name, subagents as such.
func (a *app) switchCommand(word string, on bool) *cobra.Command {
	return &cobra.Command{
		Use: word + " [NAME]", Short: "Switch a profile, or without a name all subagents, " + map[bool]string{true: "on", false: "off"}[on],
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeAgents,
		RunE: a.withRuntime(func(_ *cobra.Command, rt *piweb.Runtime, args []string) error {
			state := map[bool]string{true: "on", false: "off"}[on]
			if len(args) == 0 {
				if err := rt.SubagentSettings().SetBuiltIn(on); err != nil {
					return err
				}
				if a.json {
					return a.printJSON(map[string]bool{"enabled": on})
				}
				a.printf("subagents are %s\n", state)
				return nil
			}
			p, err := agentNamed(rt, args[0])
			if err != nil {
				return err
			}
			if p, err = rt.Subagents().Toggle(p.Source, cwd(), p.Name, on); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(p.Info())
			}
			a.printf("%s is %s\n", oneLine(p.Name), state)
			return nil
		}),
	}
}

func (a *app) completeAgents(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	rt, err := a.runtime()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer rt.Close()
	var out []string
	list, _ := rt.Subagents().Profiles(cwd())
	for _, p := range list {
		if !p.Overridden {
			out = append(out, p.Name+"\t"+p.Description)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
