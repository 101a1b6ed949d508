package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"github.com/spf13/cobra"
)

func (a *app) usageCommand() *cobra.Command {
	return &cobra.Command{
		Use: "usage ID|FILE", Short: "Tell what a session has used: tokens, cost, time", Args: wantArgs(1, "one session: an id, the beginning of one, or a file"),
		Long: "Tells what a session has used, from its file: tokens, cost and time by model, all branches together;\n" +
			"and the same of the subagents below it, from theirs.\n" +
			"Costs are what the prices of the models came to when they answered; a model without a price costs nothing here.\n" +
			"With --json every answer is listed.",
		Example:           "  piweb sessions usage 01a22868\n  piweb sessions usage ./session.jsonl --json",
		RunE:              a.withRuntime(a.usage),
		ValidArgsFunction: a.completeSessions,
	}
}

func (a *app) usage(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
	path, err := rt.Find(cwd(), args[0])
	if err != nil {
		return err
	}
	log, err := session.Open(path, session.Options{})
	if err != nil {
		return err
	}
	defer log.Close()
	u, err := log.Usage()
	if err != nil {
		return err
	}
	tree, err := rt.TreeUsage(cmd.Context(), path)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			session.Usage
			Tree piweb.TreeUsage `json:"tree"`
		}{u, tree})
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "MODEL\tANSWERS\tINPUT\tOUTPUT\tCACHE READ\tCACHE WRITE\tCOST\tTIME\t")
	row := func(name string, answers int, n message.Usage, ms int64) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t$%.4f\t%s\t\n", oneLine(name), answers, n.Input, n.Output, n.CacheRead, n.CacheWrite, n.Cost.Total,
			(time.Duration(ms) * time.Millisecond).Round(100*time.Millisecond))
	}
	answers := 0
	for _, m := range u.Models {
		row(m.Model, m.Answers, m.Usage, m.Millis)
		answers += m.Answers
	}
	row("all", answers, u.Total, u.Millis)
	for _, s := range tree.Subagents {
		row(fmt.Sprintf("subagent %s, %s", s.ID, s.Profile), s.Answers, s.Total, s.Millis)
	}
	if len(tree.Subagents) > 0 {
		row("all with subagents", tree.Answers, tree.Total, tree.Millis)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	a.printf("%s of the user, %s", count(u.Counts.User, "message"), count(u.Counts.ToolCalls, "tool call"))
	if u.Counts.Failed > 0 {
		a.printf(", %s that broke off", count(u.Counts.Failed, "answer"))
	}
	a.printf("\n")
	if u.Damaged > 0 {
		a.notef("note: damaged entries, which do not count: %d\n", u.Damaged)
	}
	if tree.Unread > 0 {
		a.notef("note: subagents whose files cannot be read, and which do not count: %d\n", tree.Unread)
	}
	return nil
}

func (a *app) compactCommand() *cobra.Command {
	var model, folder string
	cmd := &cobra.Command{
		Use: "compact ID|FILE [WHAT MATTERS]", Short: "Sum up the beginning of a session to make room",
		Args: cobra.MinimumNArgs(1),
		Long: "Sums up the beginning of a session with its model and records the summary. Nothing in the file is changed;\n" +
			"from then on the model is shown the summary and the recent messages.",
		Example: "  piweb sessions compact 01a22868\n  piweb sessions compact 01a22868 keep the names of the tables",
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			path, err := rt.Find(cwd(), args[0])
			if err != nil {
				return err
			}
			if other, ok := rt.Elsewhere(path); ok {
				a.notef("note: process %d holds the session and sums it up\n", other.Holder.PID)
				if model != "" {
					a.notef("note: --model holds for a session that starts here; this one keeps its own\n")
				}
			}
			done, err := rt.Compact(cmd.Context(), path, strings.Join(args[1:], " "), piweb.OpenOptions{Model: model, CWD: folder})
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(done)
			}
			a.printf("%s\n", printable(done.Summary))
			a.notef("summed up: about %d tokens before, %d now\n", done.TokensBefore, done.TokensAfter)
			return nil
		}),
		ValidArgsFunction: a.completeSessions,
	}
	cmd.Flags().StringVar(&model, "model", "", "the model that sums up, and answers from then on, as PROVIDER/ID or ID")
	cmd.Flags().StringVar(&folder, "cwd", "", "working folder of a session whose own is gone")
	_ = cmd.RegisterFlagCompletionFunc("model", a.completeModels)
	return cmd
}
