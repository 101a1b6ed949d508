package main

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/spf13/cobra"
)

var (
	//go:embed help/fork.md
	helpFork string
	//go:embed help/clone.md
	helpClone string
	//go:embed help/move.md
	helpMove string
	//go:embed help/delete.md
	helpDelete string
	//go:embed help/restore.md
	helpRestore string
	//go:embed help/import.md
	helpImport string
)

const oneSession = "one session: an id, the beginning of one, or a file"

// manageCommands are the commands that make, move and remove session files.
func (a *app) manageCommands() []*cobra.Command {
	return []*cobra.Command{
		a.forkCommand(), a.cloneCommand(), a.moveCommand(), a.renameCommand(),
		a.deleteCommand(), a.restoreCommand(), a.purgeCommand(), a.importCommand(), a.gotoCommand(),
	}
}

func (a *app) forkCommand() *cobra.Command {
	var o piweb.ForkOptions
	var at string
	cmd := &cobra.Command{
		Use: "fork ID|FILE", Short: "Make a new session from an old one, up to an entry or whole", Long: helpFork,
		Args:              wantArgs(1, oneSession),
		Example:           "  piweb sessions fork 01a22868\n  piweb sessions fork 01a22868 --at 5d1c07aa --before\n  piweb sessions fork ./session.jsonl --cwd ../other",
		ValidArgsFunction: a.completeSessions,
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			if o.At = session.ID(at); at == "" && (o.Before || cmd.Flags().Changed("at")) {
				return usage("--at wants the id of an entry, and --before wants --at; `piweb sessions show` names the entries")
			}
			path, err := rt.Find(cwd(), args[0])
			if err != nil {
				return err
			}
			f, err := rt.Fork(cmd.Context(), path, o)
			if err != nil {
				return err
			}
			return a.printForked(path, f)
		}),
	}
	cmd.Flags().StringVar(&at, "at", "", "the last entry of the fork (default: all entries of all branches)")
	cmd.Flags().BoolVar(&o.Before, "before", false, "end before the entry of --at, and print its text")
	cmd.Flags().StringVar(&o.CWD, "cwd", "", "working folder of the fork (default: the source's)")
	return cmd
}

func (a *app) cloneCommand() *cobra.Command {
	var o piweb.ForkOptions
	cmd := &cobra.Command{
		Use: "clone ID|FILE", Short: "Make a new session from the branch that one is on", Long: helpClone,
		Args:              wantArgs(1, oneSession),
		Example:           "  piweb sessions clone 01a22868\n  piweb sessions clone ./session.jsonl --cwd ../other",
		ValidArgsFunction: a.completeSessions,
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			path, err := rt.Find(cwd(), args[0])
			if err != nil {
				return err
			}
			f, err := rt.Clone(cmd.Context(), path, o)
			if err != nil {
				return err
			}
			return a.printForked(path, f)
		}),
	}
	cmd.Flags().StringVar(&o.CWD, "cwd", "", "working folder of the clone (default: the source's)")
	return cmd
}

// forkAnswer is what `fork --json` and `clone --json` print.
type forkAnswer struct {
	SessionID string      `json:"sessionId"`
	Path      string      `json:"path"`
	Source    string      `json:"source"`
	CWD       string      `json:"cwd"`
	Entries   int         `json:"entries"`
	Text      string      `json:"text"` // of the entry that --before leaves out
	Kind      policy.Kind `json:"kind"`
	Tools     []string    `json:"tools"`
	Carried   string      `json:"carried"` // the choice that was added, in words, or ""
}

func (a *app) printForked(source string, f piweb.Forked) error {
	carried := ""
	if f.Carried.State() != toolselect.Unset {
		carried = f.Carried.String()
	}
	if a.json {
		return a.printJSON(forkAnswer{f.ID, f.Path, source, f.CWD, f.Entries, f.Text, f.Policy.Kind, append([]string{}, f.Policy.Tools...), carried})
	}
	a.printf("%s\n", oneLine(f.ID))
	a.line("file", "%s", f.Path)
	a.line("folder", "%s", f.CWD)
	a.line("entries", "%d", f.Entries)
	a.line("tools", "%s: %s", kindWords(f.Policy.Kind), toolWords(f.Policy.Tools))
	if carried != "" {
		a.line("carried", "%s, so that it may do no more than its source", carried)
	}
	if f.Text != "" {
		a.printf("\n%s\n", printable(f.Text))
	}
	return nil
}

func (a *app) moveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "move ID|FILE DIR", Short: "Take a session to another working folder", Long: helpMove,
		Args:              wantArgs(2, "a session and the folder that it goes to"),
		Example:           "  piweb sessions move 01a22868 ../renamed-project",
		ValidArgsFunction: a.completeSessions,
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			path, err := rt.Find(cwd(), args[0])
			if err != nil {
				return err
			}
			to, notes, err := rt.MoveNoted(cmd.Context(), path, args[1])
			if err != nil {
				return err
			}
			h, err := session.ReadHeader(to)
			if err != nil && !errors.Is(err, session.ErrNotSession) { // an empty file has none
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"sessionId": h.ID, "path": to, "source": path, "cwd": h.CWD, "notes": append([]string{}, notes...)})
			}
			a.printf("moved\n")
			a.line("file", "%s", to)
			a.line("folder", "%s", h.CWD)
			for _, n := range notes {
				a.line("note", "%s", n)
			}
			return nil
		}),
	}
}

func (a *app) renameCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rename ID|FILE NAME", Short: "Name a session",
		Args:              wantArgs(2, "a session and its name"),
		Example:           "  piweb sessions rename 01a22868 \"the parser, second try\"",
		ValidArgsFunction: a.completeSessions,
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			path, err := rt.Find(cwd(), args[0])
			if err != nil {
				return err
			}
			if err := rt.Rename(cmd.Context(), path, args[1]); err != nil {
				return err
			}
			name := session.CleanName(args[1])
			if a.json {
				return a.printJSON(map[string]string{"path": path, "name": name})
			}
			a.printf("renamed: %s\n", oneLine(name))
			return nil
		}),
	}
}

func (a *app) deleteCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "delete ID|FILE…", Short: "Move sessions to the trash", Long: helpDelete,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("piweb sessions delete wants at least %s", oneSession)
			}
			return nil
		},
		Example:           "  piweb sessions delete 01a22868\n  piweb sessions delete --yes ./a.jsonl ./b.jsonl",
		ValidArgsFunction: a.completeSessions,
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			return a.delete(cmd, rt, args, yes)
		}),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// delete finds all sessions before it deletes the first one.
func (a *app) delete(cmd *cobra.Command, rt *piweb.Runtime, refs []string, yes bool) error {
	var paths []string
	for _, ref := range refs {
		path, err := rt.Find(cwd(), ref)
		if err != nil {
			return err
		}
		paths = append(paths, path)
	}
	if !yes {
		if a.json {
			return usage("--json does not ask; add --yes")
		}
		for _, p := range paths {
			a.notef("  %s\n", oneLine(p))
		}
		if !a.confirm(fmt.Sprintf("Move %s to the trash?", count(len(paths), "session"))) {
			return usage("nothing was deleted; answer y, or add --yes")
		}
	}
	all := []session.Trashed{}
	for _, p := range paths {
		gone, err := rt.Delete(cmd.Context(), p)
		if err != nil {
			if len(all) > 0 {
				a.notef("%s before it went to the trash\n", count(len(all), "session"))
			}
			return err
		}
		all = append(all, gone...)
	}
	if a.json {
		return a.printJSON(trashAnswers(all))
	}
	for _, t := range all {
		a.printf("deleted %s\n", oneLine(t.Origin))
	}
	a.printf("`piweb sessions restore ID` brings one back.\n")
	return nil
}

// confirm asks a person. No answer is no.
func (a *app) confirm(question string) bool {
	a.notef("%s [y/N] ", question)
	const longest = 100 // bytes of an answer
	answer, _ := bufio.NewReader(io.LimitReader(a.stdin, longest)).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}

// count says how many there are of a thing: 1 entry, 2 entries.
func count[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, ok := strings.CutSuffix(what, "y"); ok {
		what = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// trashAnswer is a deleted session in JSON.
type trashAnswer struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`  // where it was, and is after a restore
	Trash     string `json:"trash"` // where it is in the trash
	DeletedAt string `json:"deletedAt"`
}

func trashAnswers(list []session.Trashed) []trashAnswer {
	out := []trashAnswer{}
	for _, t := range list {
		out = append(out, trashAnswer{t.ID, t.Origin, t.Path, t.At.UTC().Format(session.TimeLayout)})
	}
	return out
}

func (a *app) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restore [ID|FILE]", Short: "Bring a deleted session back, or list what is in the trash", Long: helpRestore,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("piweb sessions restore wants one session, or none to list the trash; %d arguments were given", len(args))
			}
			return nil
		},
		Example: "  piweb sessions restore\n  piweb sessions restore 01a22868",
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			if len(args) == 0 {
				return a.listTrash(rt)
			}
			back, notes, err := rt.RestoreNoted(cmd.Context(), cwd(), args[0])
			if err != nil {
				return err
			}
			for _, n := range notes {
				a.notef("note: %s\n", n)
			}
			if a.json {
				return a.printJSON(trashAnswers(back))
			}
			for _, t := range back {
				a.printf("restored %s\n", oneLine(t.Origin))
			}
			return nil
		}),
	}
}

func (a *app) listTrash(rt *piweb.Runtime) error {
	list, err := rt.Trashed(cwd())
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(trashAnswers(list))
	}
	if len(list) == 0 {
		a.printf("The trash of %s is empty.\n", oneLine(rt.SessionRoot(cwd()).Dir))
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tDELETED\tFILE")
	for _, t := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\n", oneLine(shortID(t.ID)), ago(t.At), oneLine(t.Origin))
	}
	return w.Flush()
}

func (a *app) importCommand() *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Copy a session file to the other sessions", Long: helpImport,
		Args:    wantArgs(1, "one session file"),
		Example: "  piweb sessions import ~/Downloads/session.jsonl\n  piweb sessions import ./session.jsonl --cwd .",
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			to, err := rt.Import(cmd.Context(), cwd(), args[0], folder)
			if err != nil {
				return err
			}
			h, err := session.ReadHeader(to)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]string{"sessionId": h.ID, "path": to, "source": args[0], "cwd": h.CWD})
			}
			a.printf("%s\n", oneLine(h.ID))
			a.line("file", "%s", to)
			a.line("folder", "%s", h.CWD)
			return nil
		}),
	}
	cmd.Flags().StringVar(&folder, "cwd", "", "working folder of the copy (default: as the file says)")
	return cmd
}
