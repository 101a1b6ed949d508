package main

import (
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/subagent"
	"github.com/spf13/cobra"
)

func (a *app) budgetCommand() *cobra.Command {
	var l subagent.Limits
	var took time.Duration
	var reset bool
	cmd := &cobra.Command{
		Use: "budget ID|FILE", Short: "Show or set what a session's subagents may use together", Args: wantArgs(1, "one session: an id, the beginning of one, or a file"),
		Long: "Shows what the subagents of a session, and theirs, have used, and what they may use.\n" +
			"A limit that a flag sets is recorded in the session's file; the others stay. A fork takes limits and\n" +
			"spending along, so that nothing begins anew. Where a model has no price, the limit of tokens holds.",
		Example:           "  piweb agents budget 01a22868\n  piweb agents budget 01a22868 --total 8 --dollars 5 --time 30m\n  piweb agents budget 01a22868 --default",
		ValidArgsFunction: a.completeSessions,
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			path, err := rt.Find(cwd(), args[0])
			if err != nil {
				return err
			}
			m, fl := rt.Subagents(), cmd.Flags()
			over, err := m.Overview(cmd.Context(), path)
			if err != nil {
				return err
			}
			next := over.Limits
			if reset {
				next = subagent.Limits{}
			}
			given := reset
			for name, put := range map[string]func(){
				"depth": func() { next.Depth = l.Depth }, "concurrent": func() { next.Concurrent = l.Concurrent }, "total": func() { next.Total = l.Total },
				"turns": func() { next.Turns = l.Turns }, "tokens": func() { next.Tokens = l.Tokens }, "dollars": func() { next.Dollars = l.Dollars },
				"time": func() { next.Seconds = int64(took / time.Second) },
			} {
				if fl.Changed(name) {
					given = true
					put()
					if f := fl.Lookup(name); f.Value.String() == "0" || f.Value.String() == "0s" || name == "time" && next.Seconds == 0 {
						return usage("--%s must be more than 0; --default takes all limits back", name)
					}
				}
			}
			if err := next.Check(); err != nil {
				return usage("%v", err)
			}
			if given {
				if err := rt.SetLimits(cmd.Context(), path, next); err != nil {
					return err
				}
				if over, err = m.Overview(cmd.Context(), path); err != nil {
					return err
				}
			}
			return a.printBudget(over, given)
		}),
	}
	fl := cmd.Flags()
	fl.IntVar(&l.Depth, "depth", 0, "subagents below subagents, 1 to 8; 1 is none")
	fl.IntVar(&l.Concurrent, "concurrent", 0, "at once, 1 to 32")
	fl.IntVar(&l.Total, "total", 0, "ever started")
	fl.IntVar(&l.Turns, "turns", 0, "answers, all together")
	fl.Int64Var(&l.Tokens, "tokens", 0, "tokens, all together")
	fl.Float64Var(&l.Dollars, "dollars", 0, "US dollars, all together")
	fl.DurationVar(&took, "time", 0, "of running, all together, such as 30m")
	fl.BoolVar(&reset, "default", false, "take all limits back to the defaults")
	return cmd
}

func (a *app) printBudget(o subagent.Overview, changed bool) error {
	if a.json {
		return a.printJSON(struct {
			Limits subagent.Limits   `json:"limits"`
			Spent  subagent.Spending `json:"spent"`
			Depth  int               `json:"depth"`
		}{o.Limits, o.Spent, o.Depth})
	}
	if changed {
		a.printf("recorded\n")
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name, used, limit string) { fmt.Fprintf(w, "%s\t%s\t%s\t\n", name, used, limit) }
	l, s := o.Limits, o.Spent
	row("LIMIT", "USED", "OF")
	row("subagents", strconv.Itoa(s.Children), strconv.Itoa(l.Total))
	row("at once", "", strconv.Itoa(l.Concurrent))
	row("depth", "", strconv.Itoa(l.Depth))
	row("turns", strconv.Itoa(s.Turns), strconv.Itoa(l.Turns))
	row("tokens", strconv.FormatInt(s.Tokens, 10), strconv.FormatInt(l.Tokens, 10))
	row("dollars", fmt.Sprintf("%.4f", s.Dollars), strconv.FormatFloat(l.Dollars, 'g', -1, 64))
	row("time", (time.Duration(s.Seconds) * time.Second).String(), (time.Duration(l.Seconds) * time.Second).String())
	if err := w.Flush(); err != nil {
		return err
	}
	if s.Unpriced > 0 {
		a.printf("%d tokens were used at no known price; the limit of tokens holds for them, and that of dollars does not.\n", s.Unpriced)
	}
	return nil
}
