package main

import (
	_ "embed"
	"errors"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/account"
	"github.com/piweb-go/piweb/memory"
	"github.com/spf13/cobra"
)

var (
	//go:embed help/userspurge.md
	helpUsersPurge string
	//go:embed help/memorypurge.md
	helpMemoryPurge string
)

// sure asks whether something is to be taken away for good, or refuses.
func (a *app) sure(yes bool, question string) error {
	if !yes && a.json {
		return usage("--json does not ask; add --yes, or --dry-run to see what there is")
	}
	if !yes && !a.confirm(question) {
		return usage("nothing was removed; answer y, or add --yes")
	}
	return nil
}

func (a *app) usersPurge() *cobra.Command {
	var yes, dry bool
	cmd := &cobra.Command{
		Use: "purge NAME", Short: "Take all that is kept of a user away for good", Long: helpUsersPurge, Args: wantArgs(1, "a name"),
		Example: "  piweb users purge alice --dry-run\n  piweb users purge alice",
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			h, err := rt.Holdings(cmd.Context(), args[0])
			if err == nil && h.Empty() {
				err = piweb.ErrNoHolder
			}
			if errors.Is(err, account.ErrName) || errors.Is(err, piweb.ErrNoHolder) {
				return usage("%s: %v", oneLine(args[0]), err)
			}
			if err != nil {
				return err
			}
			if !a.json {
				a.printHoldings(h)
			}
			done := purged{Holdings: h, DryRun: dry}
			if !dry {
				if err := a.sure(yes, "Take all of it away for good?"); err != nil {
					return err
				}
				_, done.Forgotten, err = rt.PurgeUser(cmd.Context(), args[0])
				if err != nil {
					return badUser(err)
				}
			}
			if a.json {
				return a.printJSON(done)
			}
			if !dry {
				a.printf("Nothing of %s is left. Attachments that no session names any more go with `piweb gc --apply`.\n", args[0])
				a.noteKept(done.Forgotten)
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what there is, and take nothing away")
	return cmd
}

// purged is what `users purge --json` prints.
type purged struct {
	piweb.Holdings
	memory.Forgotten
	DryRun bool `json:"dryRun"`
}

func (a *app) printHoldings(h piweb.Holdings) {
	if h.Account {
		a.line("account", "may sign in")
	}
	for _, path := range h.Sessions {
		a.line("session", "%s", oneLine(path))
	}
	for _, path := range h.Trashed {
		a.line("in the trash", "%s", oneLine(path))
	}
	if h.Favorites {
		a.line("favourites", "sessions and folders that were marked")
	}
	if h.Memory != nil {
		a.printHeld(*h.Memory)
	}
}

func (a *app) printHeld(h memory.Held) {
	a.line("memory", "%s of %s, %s, %s of %s", count(h.Memories, "memory"), count(h.Messages, "message"), count(h.Files, "file"), count(h.Resources, "resource"), count(h.Bytes, "byte"))
	if h.Waiting > 0 {
		a.line("", "%s for the memory service", count(h.Waiting, "waiting message"))
	}
	if h.Outside {
		a.line("", "and what the memory service keeps, which is not counted")
	}
}

// noteKept says that a service has something still.
func (a *app) noteKept(done memory.Forgotten) {
	if done.Kept {
		a.notef("the memory service offers no way to forget: what it has is not shown here any more, and it has it still\n")
	}
}

func (a *app) memoryPurge() *cobra.Command {
	var yes, dry bool
	var session string
	user := piweb.MemoryUser
	cmd := &cobra.Command{
		Use: "purge", Short: "Take all memories of a user, or of a session, away for good", Long: helpMemoryPurge, Args: cobra.NoArgs,
		Example: "  piweb memory purge --dry-run\n  piweb memory purge --session command-line\n  piweb memory purge --user alice --yes",
		RunE: a.withMemory(func(cmd *cobra.Command, m *memory.Service, _ []string) error {
			if user != piweb.MemoryUser && !account.ValidName(user) {
				return usage("%v", account.ErrName)
			}
			scope := memory.Scope{User: user}
			h, err := m.Held(cmd.Context(), user)
			what := "Take all memories of " + user + " away for good?"
			if cmd.Flags().Changed("session") {
				h, err = m.HeldOf(cmd.Context(), scope, session)
				what = "Take all memories of the session " + oneLine(session) + " away for good?"
			}
			if err != nil {
				return err
			}
			if !a.json {
				a.printHeld(h)
			}
			answer := struct {
				User    string      `json:"user"`
				Session string      `json:"session,omitempty"`
				Held    memory.Held `json:"held"`
				memory.Forgotten
				DryRun bool `json:"dryRun"`
			}{User: user, Session: session, Held: h, DryRun: dry}
			if !dry {
				if err := a.sure(yes, what); err != nil {
					return err
				}
				if cmd.Flags().Changed("session") {
					err = m.PurgeSession(cmd.Context(), scope, session)
					answer.Kept = h.Outside
				} else {
					answer.Forgotten, err = m.PurgeUser(cmd.Context(), user)
				}
				if err != nil {
					return err
				}
			}
			if a.json {
				return a.printJSON(answer)
			}
			if !dry {
				a.printf("It is gone.\n")
				if answer.Kept && cmd.Flags().Changed("session") {
					a.notef("what the memory service keeps of the session stays there: `piweb memory forget` takes one away\n")
				} else {
					a.noteKept(answer.Forgotten)
				}
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what there is, and take nothing away")
	cmd.Flags().StringVar(&session, "session", "", "only what belongs to this session")
	cmd.Flags().StringVar(&user, "user", user, "whose memories")
	return cmd
}
