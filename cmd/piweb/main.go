// Command piweb opens the session files of pi, goes on with them under the
// policy that they carry, and explains what it does.
//
// Here is only what a terminal needs: flags, help, printing, signals, exit
// codes. Whatever a command does is done by package piweb and the rooms below
// it, so that a Go program can do the same.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/anthropic"
	"github.com/piweb-go/piweb/agent/model/google"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/agent/model/openai"
	"github.com/piweb-go/piweb/attachment"
	"github.com/piweb-go/piweb/blob/s3"
	"github.com/piweb-go/piweb/config"
	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// app is one run of the program.
type app struct {
	stdin io.Reader
	out   *watched
	err   io.Writer

	agentDir    string
	sessionDir  string
	externalize string
	confine     bool
	json        bool
	progress    bool
	told        *progress
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &watched{w: stdout}
	a := &app{stdin: stdin, out: out, err: stderr, json: asksJSON(args)}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil && out.err != nil {
		err = fmt.Errorf("the output could not be written: %w", out.err)
	}
	if err == nil {
		return exitOK
	}
	p := classify(err)
	var quiet silent
	if !errors.As(err, &quiet) {
		a.printProblem(p, err)
	}
	return p.exit
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "piweb",
		Short:         "Sessions of coding agents that stay what they were",
		Long:          helpRoot,
		Example:       helpRootExamples,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return a.welcome(cmd.Context()) },
	}
	root.AddCommand(a.memoryCommand())
	root.PersistentFlags().StringVar(&a.agentDir, "agent-dir", "", "pi's agent directory (default $PI_CODING_AGENT_DIR, else ~/.pi/agent)")
	root.PersistentFlags().BoolVar(&a.json, "json", a.json, "speak JSON: results, events and errors")
	root.PersistentFlags().BoolVar(&a.confine, "confine", false, "keep file tools inside the session's folder, and leave out bash, which cannot be kept there")
	root.PersistentFlags().StringVar(&a.externalize, "externalize", "", "move large pictures out of session files: auto, on or off (default: what piweb.json says)")
	root.PersistentFlags().StringVar(&a.sessionDir, "session-dir", "", "one flat folder of session files (default: the sessions of the agent directory)")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage("%v", err) })
	root.AddCommand(a.serveCommand(), a.runCommand(), a.withProgress(a.sessionsCommand()), a.toolsCommand(), a.agentsCommand(), a.modelsCommand(), a.explainCommand(), a.withProgress(a.doctorCommand()), a.gcCommand(), a.versionCommand())
	root.AddCommand(a.resourcesCommand(), a.trustCommand(), a.settingsCommand(), a.mcpCommand(), a.usersCommand())
	root.SetUsageTemplate(root.UsageTemplate() + "\n" + helpExitCodes)
	return root
}

// runtime opens the library as the flags say.
func (a *app) runtime() (*piweb.Runtime, error) {
	if a.externalize != "" && !config.Externalize(a.externalize).Valid() {
		return nil, usage("--externalize is auto, on or off, and not %q", a.externalize)
	}
	cfg := a.config()
	if a.told != nil {
		cfg.Session.Progress = a.told.tell
	}
	return piweb.New(cfg)
}

func (a *app) config() piweb.Config {
	return piweb.Config{AgentDir: a.agentDir, SessionDir: a.sessionDir, Providers: providers(), IdleTimeout: a.idle(), Externalize: config.Externalize(a.externalize), Confine: a.confine,
		Attachments: piweb.AttachmentConfig{Kinds: []attachment.Kind{s3.Kind}}}
}

// providers are the wires that this program speaks.
func providers() model.Registry {
	return model.Registry{
		offline.API:         offline.New,
		openai.API:          openai.New,
		openai.ResponsesAPI: openai.NewResponses,
		anthropic.API:       anthropic.New,
		google.API:          google.New,
	}
}

// withRuntime runs a command that needs the library.
func (a *app) withRuntime(f func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if a.told = a.newProgress(); a.told != nil {
			a.out.before = a.told.hide
			defer a.told.hide()
		}
		rt, err := a.runtime()
		if err != nil {
			return err
		}
		err = f(cmd, rt, args)
		return errors.Join(err, rt.Close())
	}
}

// wantArgs is cobra.ExactArgs with an error that says what is missing.
func wantArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return usage("%s wants %s; %d arguments were given", cmd.CommandPath(), what, len(args))
	}
}

// asksJSON looks for --json before the flags are parsed, so that an error of the
// command line itself is told in JSON too.
func asksJSON(args []string) bool {
	for _, arg := range args {
		if arg == "--" {
			return false
		}
		if arg == "--json" || arg == "--json=true" {
			return true
		}
	}
	return false
}

// cwd is the folder that the program was started in, without links, as pi sees
// it: both keep the sessions of a project in a folder named after it.
func cwd() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, clean(args)...) }
func (a *app) notef(format string, args ...any) {
	a.told.hide()
	fmt.Fprintf(a.err, format, clean(args)...)
}
