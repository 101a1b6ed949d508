package main

import (
	_ "embed"
	"fmt"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/spf13/cobra"
)

var (
	//go:embed help/purge.md
	helpPurge string
	//go:embed help/goto.md
	helpGoto string
)

func (a *app) purgeCommand() *cobra.Command {
	var yes, all bool
	cmd := &cobra.Command{
		Use: "purge ID|FILE | --all", Short: "Take deleted sessions away for good", Long: helpPurge,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || all == (len(args) == 1) {
				return usage("piweb sessions purge wants one session that is in the trash, or --all")
			}
			return nil
		},
		Example: "  piweb sessions purge 01a22868\n  piweb sessions purge --all --yes",
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			what := "everything in the trash"
			if !all {
				what = args[0]
			}
			if !yes && a.json {
				return usage("--json does not ask; add --yes")
			}
			if !yes && !a.confirm(fmt.Sprintf("Take %s away for good?", what)) {
				return usage("nothing was removed; answer y, or add --yes")
			}
			return a.purge(cmd, rt, args)
		}),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&all, "all", false, "empty the trash")
	return cmd
}

func (a *app) purge(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
	var gone []session.Trashed
	var err error
	if len(args) == 0 {
		gone, err = rt.PurgeAll(cmd.Context(), cwd())
	} else {
		gone, err = rt.Purge(cmd.Context(), cwd(), args[0])
	}
	if a.json && err == nil {
		return a.printJSON(trashAnswers(gone))
	}
	for _, t := range gone {
		if a.json {
			a.notef("removed %s\n", oneLine(t.Origin))
		} else {
			a.printf("removed %s\n", oneLine(t.Origin))
		}
	}
	if err == nil && len(gone) == 0 {
		a.printf("The trash is empty.\n")
	}
	return err
}

func (a *app) gotoCommand() *cobra.Command {
	return &cobra.Command{
		Use: "goto ID|FILE ENTRY", Short: "Go on from another entry", Long: helpGoto,
		Args:              wantArgs(2, "a session and the id of an entry"),
		Example:           "  piweb sessions goto 01a22868 5d1c07aa",
		ValidArgsFunction: a.completeSessions,
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			path, err := rt.Find(cwd(), args[0])
			if err != nil {
				return err
			}
			before, _, err := rt.Decide(path, cwd())
			if err != nil {
				return err
			}
			text, err := rt.MoveLeaf(cmd.Context(), path, session.ID(args[1]))
			if err != nil {
				return err
			}
			if after, _, err := rt.Decide(path, cwd()); err == nil && after.Source.By == policy.BySelection && after.Source != before.Source {
				a.notef("that branch would have allowed more, so the tools are kept as they were: %s\n", after)
			}
			if a.json {
				return a.printJSON(map[string]string{"path": path, "entry": args[1], "text": text})
			}
			a.printf("the next prompt goes on from %s\n", oneLine(args[1]))
			if text != "" {
				a.printf("before its message, which was:\n\n%s\n", printable(text))
			}
			return nil
		}),
	}
}
