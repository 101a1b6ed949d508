package main

import (
	"context"
	_ "embed"
	"errors"
	"runtime/debug"

	"github.com/piweb-go/piweb/session/catalog"
	"github.com/spf13/cobra"
)

// The longer texts stand beside the code.
var (
	//go:embed help/root.md
	helpRoot string
	//go:embed help/examples.md
	helpRootExamples string
	//go:embed help/exit-codes.md
	helpExitCodes string
	//go:embed help/run.md
	helpRun string
	//go:embed help/tools.md
	helpTools string
	//go:embed help/explain.md
	helpExplain string
	//go:embed help/serve.md
	helpServe string
	//go:embed help/demo.md
	helpDemo string
)

// welcome is what the program does without a command: it says what it is, what
// there is, and serves the page.
func (a *app) welcome(ctx context.Context) error {
	rt, err := a.runtime()
	if err != nil {
		return err
	}
	infos, err := rt.Sessions(ctx, cwd())
	if err = errors.Join(err, rt.Close()); err != nil {
		return err
	}
	if !a.json {
		a.printf("%s\n", helpRoot)
		a.printWelcome(rt.SessionRoot(cwd()).Dir, infos)
		a.printf("\n`piweb --help` lists the commands.\n\n")
	}
	return a.serve(ctx, serveFlags{port: defaultPort}, false)
}

func (a *app) printWelcome(dir string, infos []catalog.Info) {
	if len(infos) == 0 {
		a.printf("There are no sessions in %s yet. To try it without an account, a key or a network:\n\n", oneLine(dir))
		a.printf("  piweb sessions demo                   write a small project and a session of each kind\n")
		a.printf("  piweb run \"what is in this folder?\"   start a session here\n")
		return
	}
	a.printf("%s in %s. The newest:\n\n", count(len(infos), "session"), oneLine(dir))
	a.printInfos(infos[:min(len(infos), 5)])
	a.printf("\n  piweb explain %s   what it may do, and why\n", oneLine(shortID(infos[0].ID)))
	a.printf("  piweb run --session %s \"…\"   go on with it\n", oneLine(shortID(infos[0].ID)))
}

// version is set by the linker for releases.
var version = ""

func (a *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "Say which piweb this is", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v, revision := buildVersion()
			if a.json {
				return a.printJSON(map[string]string{"version": v, "revision": revision})
			}
			a.printf("piweb %s\n", v)
			if revision != "" {
				a.printf("revision %s\n", revision)
			}
			return nil
		},
	}
	return cmd
}

// buildVersion is the version and the revision that the binary was built from.
func buildVersion() (v, revision string) {
	v = version
	if info, ok := debug.ReadBuildInfo(); ok {
		if v == "" {
			v = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	if v == "" {
		v = "(devel)"
	}
	return v, revision
}

func versionText() string {
	v, _ := buildVersion()
	return v
}
