package main

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/session/catalog"
	"github.com/spf13/cobra"
)

func (a *app) sessionsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "sessions", Short: "List, search, show, fork, export and tidy up sessions", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	list := &cobra.Command{
		Use: "list", Short: "List all sessions, the newest first", Args: cobra.NoArgs,
		Example: "  piweb sessions list\n  piweb sessions list --session-dir ./kept --json",
		RunE:    a.withRuntime(a.list),
	}
	show := &cobra.Command{
		Use: "show ID|FILE", Short: "Show one session: its branch and what the model is shown of it",
		Args:              wantArgs(1, "one session: an id, the beginning of one, or a file"),
		Example:           "  piweb sessions show 01a22868\n  piweb sessions show ./session.jsonl --json",
		RunE:              a.withRuntime(a.show),
		ValidArgsFunction: a.completeSessions,
	}
	demo := &cobra.Command{
		Use: "demo [DIR]", Short: "Write a small project and a session of each kind to try", Long: helpDemo,
		Args: cobra.MaximumNArgs(1), RunE: a.withRuntime(a.demo),
	}
	cmd.AddCommand(list, show, demo, a.exportCommand(), a.usageCommand(), a.compactCommand())
	cmd.AddCommand(a.manageCommands()...)
	cmd.AddCommand(a.searchCommand())
	cmd.AddCommand(a.convertCommands()...)
	return cmd
}

func (a *app) list(cmd *cobra.Command, rt *piweb.Runtime, _ []string) error {
	infos, err := rt.Sessions(cmd.Context(), cwd())
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(append([]catalog.Info{}, infos...))
	}
	if len(infos) == 0 {
		a.printf("There are no sessions in %s.\nStart one with `piweb run \"…\"`, or try `piweb sessions demo`.\n", rt.SessionRoot(cwd()).Dir)
		return nil
	}
	a.printInfos(infos)
	return nil
}

// printInfos prints sessions as a table; what could not be read comes last, with
// the reason.
func (a *app) printInfos(infos []catalog.Info) {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tLAST USED\tMESSAGES\tTOOLS\tFOLDER\tSESSION")
	var bad []catalog.Info
	for _, i := range infos {
		if i.Problem != "" {
			bad = append(bad, i)
			continue
		}
		title := cmp.Or(i.Name, i.First, "(no messages)")
		tools := i.Tools
		if tools == "unset" || tools == "cleared" {
			tools = "by settings"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", oneLine(cmp.Or(shortID(i.ID), "(none)")), ago(i.Modified), i.Messages,
			oneLine(tools), oneLine(cmp.Or(i.CWD, "(none)")), clip(title, 50))
	}
	_ = w.Flush()
	for _, i := range bad {
		a.printf("not readable: %s\n", oneLine(i.Problem))
	}
}

// shortID is the beginning of a UUIDv7 that still tells sessions apart, and any
// other id whole.
func shortID(id string) string {
	const enough = 13 // the milliseconds of a UUIDv7
	if len(id) == 36 && strings.Count(id, "-") == 4 {
		return id[:enough]
	}
	return id
}

func ago(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	switch d := time.Since(t); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return t.Local().Format("2006-01-02")
}

// shown is what `sessions show --json` prints.
type shown struct {
	ID            string               `json:"id"`
	Path          string               `json:"path"`
	CWD           string               `json:"cwd"`
	Name          string               `json:"name"`
	Version       int                  `json:"version"`
	Leaf          session.ID           `json:"leaf"`
	Leaves        []session.ID         `json:"leaves"`
	Entries       int                  `json:"entries"`
	Branch        []session.ID         `json:"branch"`
	Context       []shownMessage       `json:"context"`
	Model         *session.ModelRef    `json:"model"`
	ThinkingLevel string               `json:"thinkingLevel"`
	Diagnostics   []session.Diagnostic `json:"diagnostics"`
}

type shownMessage struct {
	ID      session.ID      `json:"id"`
	Role    message.Role    `json:"role"`
	Text    string          `json:"text"`
	Message message.Message `json:"message"`
}

func (a *app) show(_ *cobra.Command, rt *piweb.Runtime, args []string) error {
	path, err := rt.Find(cwd(), args[0])
	if err != nil {
		return err
	}
	v, err := readShown(path)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(v)
	}
	a.printShown(v)
	return nil
}

func readShown(path string) (*shown, error) {
	s, err := session.Open(path, session.Options{})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	c, err := s.Context()
	if err != nil {
		return nil, err
	}
	name, err := s.Name()
	if err != nil {
		return nil, err
	}
	v := &shown{ID: s.ID(), Path: path, CWD: s.Header().CWD, Name: name, Version: s.Header().Version, Leaf: s.Leaf(),
		Leaves: s.Leaves(), Entries: s.Len(), Branch: c.Branch, Context: []shownMessage{}, Model: c.Model,
		ThinkingLevel: cmp.Or(c.ThinkingLevel, "off"), Diagnostics: append(append([]session.Diagnostic{}, s.Diagnostics()...), c.Diagnostics...)}
	for i, m := range c.Messages {
		v.Context = append(v.Context, shownMessage{c.Sources[i], m.Role(), message.Describe(m), m})
	}
	return v, nil
}

func (a *app) printShown(v *shown) {
	a.printf("%s\n", oneLine(cmp.Or(v.Name, "(no name)")))
	a.line("file", "%s", v.Path)
	a.line("id", "%s", cmp.Or(v.ID, "(none yet)"))
	a.line("folder", "%s", cmp.Or(v.CWD, "(none)"))
	a.line("entries", "%d, %d of them on the branch to the leaf %s", v.Entries, len(v.Branch), cmp.Or(string(v.Leaf), "(none)"))
	if v.Model != nil {
		a.line("model", "%s/%s, thinking %s", v.Model.Provider, v.Model.ModelID, v.ThinkingLevel)
	}
	a.printDiagnostics(v.Diagnostics)
	if len(v.Context) > 0 {
		a.printf("\nWhat the model is shown, without the system prompt:\n")
	}
	for _, m := range v.Context {
		if m.Role == message.RoleSystem {
			continue
		}
		a.printf("\n%s  %s\n%s\n", oneLine(string(m.Role)), oneLine(string(m.ID)), indent(printable(m.Text)))
	}
}

func (a *app) printDiagnostics(diags []session.Diagnostic) {
	for _, d := range diags {
		where := ""
		if d.Line > 0 {
			where = fmt.Sprintf("line %d: ", d.Line)
		}
		a.line("note", "%s%s", where, d.Text)
	}
}

// completeSessions offers the ids of sessions to the shell.
func (a *app) completeSessions(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	rt, err := a.runtime()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	defer rt.Close()
	infos, err := rt.Sessions(cmd.Context(), cwd())
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var out []string
	for _, i := range infos {
		if strings.HasPrefix(i.ID, begin) {
			out = append(out, i.ID+"\t"+clip(cmp.Or(i.Name, i.First), 50))
		}
	}
	return out, cobra.ShellCompDirectiveDefault
}
