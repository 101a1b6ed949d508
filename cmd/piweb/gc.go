package main

import (
	_ "embed"
	"errors"
	"strings"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/artifact"
	"github.com/piweb-go/piweb/gc"
	"github.com/spf13/cobra"
)

//go:embed help/gc.md
var helpGC string

// leastGrace is the shortest grace period that the command takes: what is being
// uploaded, or was just written, is named a moment later.
const leastGrace = time.Hour

func (a *app) gcCommand() *cobra.Command {
	var remove bool
	grace := gc.DefaultGrace
	var forget string
	cmd := &cobra.Command{
		Use: "gc", Short: "Find what no session names any more, and take it away", Long: helpGC,
		Args:    cobra.NoArgs,
		Example: "  piweb gc\n  piweb gc --apply\n  piweb gc --forget /mnt/old/sessions",
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, _ []string) error {
			if grace < leastGrace {
				return usage("--grace %s is too short; it must be at least %s, so that nothing goes that is about to be named", grace, leastGrace)
			}
			if forget != "" {
				if err := rt.ForgetFolder(forget); err != nil {
					return err
				}
			}
			found, err := rt.Collect(cmd.Context(), cwd(), piweb.CollectOptions{Remove: remove, Grace: grace})
			if errors.Is(err, gc.ErrMissing) || errors.Is(err, gc.ErrBusy) || len(found.Folders) == 0 && err != nil {
				return err
			}
			return errors.Join(a.printCollected(found, remove, grace), err)
		}),
	}
	cmd.Flags().BoolVar(&remove, "apply", false, "remove what an earlier run found unused a grace period ago (default: only look)")
	cmd.Flags().DurationVar(&grace, "grace", grace, "how long a thing must be unused, since a run first saw it")
	cmd.Flags().StringVar(&forget, "forget", "", "a folder of sessions that is gone for good, so that it is waited for no more")
	return cmd
}

// gcAnswer is what `gc --json` prints.
type gcAnswer struct {
	Folders []string `json:"folders"`
	Skipped []string `json:"skipped"`
	Listed  int      `json:"listed"` // things that are kept
	Unused  []gcItem `json:"unused"`
	Removed int      `json:"removed"`
	Freed   int64    `json:"freedBytes"`
}

type gcItem struct {
	Key   string    `json:"key"`
	Size  int64     `json:"size"` // bytes
	Since time.Time `json:"since"`
	Due   bool      `json:"due"`
	Gone  bool      `json:"gone"`
}

func (a *app) printCollected(c piweb.Collected, removing bool, grace time.Duration) error {
	gone := func(u gc.Unused) bool { return u.Gone }
	due := func(u gc.Unused) bool { return u.Due && !u.Gone }
	waiting := func(u gc.Unused) bool { return !u.Due && !u.Gone }
	count := func(which func(gc.Unused) bool) (n int) {
		for _, u := range c.Unused {
			if which(u) {
				n++
			}
		}
		return n
	}
	if a.json {
		answer := gcAnswer{append([]string{}, c.Folders...), append([]string{}, c.Skipped...), c.Listed, []gcItem{}, count(gone), c.Bytes(gone)}
		for _, u := range c.Unused {
			answer.Unused = append(answer.Unused, gcItem{string(u.Key), u.Size, u.Since, u.Due, u.Gone})
		}
		return a.printJSON(answer)
	}
	for _, f := range c.Folders {
		a.line("read", "%s", f)
	}
	for _, s := range c.Skipped {
		a.line("left alone", "%s", s)
	}
	a.line("in use", "%d, besides the sessions themselves", c.Listed-len(c.Unused))
	for _, group := range []struct {
		name  string
		which func(gc.Unused) bool
	}{{"removed", gone}, {"unused", due}, {"new", waiting}} {
		n := count(group.which)
		if n == 0 {
			continue
		}
		a.line(group.name, "%d, %s", n, artifact.Size(c.Bytes(group.which)))
		for _, u := range c.Unused {
			if group.which(u) {
				a.printf("  %s  %s, unused since %s\n", oneLine(u.Label), artifact.Size(u.Size), u.Since.Local().Format("2006-01-02 15:04"))
			}
		}
	}
	switch {
	case len(c.Unused) == 0:
		a.printf("\nEverything is named by a session. There is nothing to remove.\n")
	case !removing && count(due) > 0:
		a.printf("\nNothing was removed. `piweb gc --apply` removes what is unused.\n")
	case count(waiting) > 0:
		a.printf("\nWhat is new can go when it was unused for %s: run `piweb gc --apply` then.\n", hours(grace))
	}
	return nil
}

// hours prints a grace period without the parts that are zero.
func hours(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}
