package main

import (
	"bufio"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/piweb-go/piweb"
	"github.com/spf13/cobra"
)

//go:embed help/trust.md
var helpTrust string

func (a *app) trustCommand() *cobra.Command {
	var yes, no, forget bool
	cmd := &cobra.Command{
		Use: "trust [DIR]", Short: "Say or decide whether a folder may bring skills, servers and settings", Long: helpTrust,
		Args:    cobra.MaximumNArgs(1),
		Example: "  piweb trust            ask about this folder\n  piweb trust --yes ../project\n  piweb trust --forget",
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			dir, err := folderArg(args)
			if err != nil {
				return err
			}
			given := 0
			for _, f := range []bool{yes, no, forget} {
				if f {
					given++
				}
			}
			switch {
			case given > 1:
				return usage("--yes, --no and --forget exclude each other")
			case forget:
				return a.setTrust(rt, dir, nil)
			case yes || no:
				return a.setTrust(rt, dir, &yes)
			}
			t := rt.Trust(dir)
			if a.json {
				return a.printJSON(t)
			}
			a.printTrust(dir, t)
			if t.Ask && a.terminal() {
				return a.askTrust(rt, dir)
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "trust the folder")
	cmd.Flags().BoolVar(&no, "no", false, "do not trust it, and do not ask again")
	cmd.Flags().BoolVar(&forget, "forget", false, "take the decision back")
	return cmd
}

// folderArg is the folder that a command is about: this one, or the argument.
func folderArg(args []string) (string, error) {
	if len(args) == 0 {
		return cwd(), nil
	}
	dir, err := filepath.Abs(args[0])
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", usage("%q is no folder", args[0])
	}
	return dir, nil
}

func (a *app) setTrust(rt *piweb.Runtime, dir string, decision *bool) error {
	t, err := rt.SetTrust(dir, decision)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(t)
	}
	a.printTrust(dir, t)
	return nil
}

func (a *app) printTrust(dir string, t piweb.Trust) {
	word := "not trusted"
	if t.Trusted {
		word = "trusted"
	}
	a.printf("%s: %s (%s)\n", oneLine(dir), word, oneLine(t.Reason))
	if len(t.Brings) == 0 {
		a.printf("  it brings nothing that needs trust\n")
		return
	}
	verb := "would bring"
	if t.Trusted {
		verb = "brings"
	}
	a.printf("  it %s:\n", verb)
	for _, path := range t.Brings {
		a.printf("    %s\n", oneLine(path))
	}
}

func (a *app) askTrust(rt *piweb.Runtime, dir string) error {
	fmt.Fprint(a.err, "Trust this folder? Look at these files first if you do not know them. [y/n, enter to decide later] ")
	line, _ := bufio.NewReader(a.stdin).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		yes := true
		return a.setTrust(rt, dir, &yes)
	case "n", "no":
		no := false
		return a.setTrust(rt, dir, &no)
	}
	return nil
}

func (a *app) resourcesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "resources [DIR]", Short: "List what a normal session of a folder would load, and what not",
		Args: cobra.MaximumNArgs(1), Example: "  piweb resources\n  piweb resources ../project --json",
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			dir, err := folderArg(args)
			if err != nil {
				return err
			}
			l, err := rt.LookAt(cmd.Context(), dir)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(l)
			}
			a.printLoaded(l)
			return nil
		}),
	}
}

func (a *app) printLoaded(l piweb.Loaded) {
	a.printTrust(l.Folder, l.Trust)
	section := func(title string, n int) bool {
		if n > 0 {
			a.printf("\n%s\n", title)
		}
		return n > 0
	}
	if section("Texts of the system prompt", len(l.Files)) {
		for _, f := range l.Files {
			a.printf("  %s\n", oneLine(f.Path))
		}
	}
	if section("Skills", len(l.Skills)) {
		for _, s := range l.Skills {
			hidden := ""
			if s.Hidden {
				hidden = " (only when you type it)"
			}
			a.printf("  /skill:%s%s  %s\n      %s\n", oneLine(s.Name), hidden, clip(s.Description, 70), oneLine(s.Path))
			for _, w := range s.Warnings {
				a.printf("      warning: %s\n", oneLine(w))
			}
		}
	}
	if section("Prompt templates", len(l.Templates)) {
		for _, t := range l.Templates {
			a.printf("  /%s %s  %s\n      %s\n", oneLine(t.Name), oneLine(t.Hint), clip(t.Description, 70), oneLine(t.Path))
		}
	}
	if section("MCP servers", len(l.Servers)) {
		for _, s := range l.Servers {
			a.printf("  %s (%s, %s)  %s\n", oneLine(s.Name), s.Transport, oneLine(string(s.State)), oneLine(s.Source))
		}
	}
	if section("Left out", len(l.Left)) {
		for _, o := range l.Left {
			a.printf("  %s: %s\n", oneLine(o.Path), oneLine(o.Reason))
		}
	}
}
