package main

import (
	_ "embed"
	"errors"
	"fmt"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/extension/mcp"
	"github.com/spf13/cobra"
)

//go:embed help/mcp.md
var helpMCP string

// errServers says that an MCP server cannot be used; which and why is printed.
var errServers = errors.New("not every MCP server can be used")

func (a *app) mcpCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "mcp", Short: "List and test MCP servers; serve sessions as one", Long: helpMCP, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var dir string
	list := &cobra.Command{
		Use: "list", Short: "List the MCP servers of a folder, without starting them", Args: cobra.NoArgs,
		RunE: a.withRuntime(func(_ *cobra.Command, rt *piweb.Runtime, _ []string) error {
			at, err := folderArg(given(dir))
			if err != nil {
				return err
			}
			servers, left, err := rt.Servers(at)
			if err != nil {
				return err
			}
			for _, o := range left { // not an error: the others are listed
				a.notef("%s: %s\n", oneLine(o.Path), oneLine(o.Reason))
			}
			if a.json {
				return a.printJSON(servers)
			}
			if len(servers) == 0 {
				a.printf("No MCP server is configured for %s.\n", oneLine(at))
			}
			for _, s := range servers {
				a.printServer(s)
			}
			return nil
		}),
	}
	test := &cobra.Command{
		Use: "test [NAME…]", Short: "Start the MCP servers of a folder and list their tools",
		Long: "Starts the servers, or those that are named, and says of each whether it\nanswers and which tools it has. The exit code is 1 if one does not.",
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			at, err := folderArg(given(dir))
			if err != nil {
				return err
			}
			servers, left, err := rt.CheckServers(cmd.Context(), at, args...)
			if err != nil {
				return err
			}
			return a.reportServers(servers, left, len(args) > 0)
		}),
	}
	serve := &cobra.Command{
		Use: "serve", Short: "Be an MCP server: let other agents list, search, read and explain sessions",
		Long: "Speaks the Model Context Protocol on standard input and output. It only\nreads: no session is started, changed or sent to a model.",
		Args: cobra.NoArgs,
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, _ []string) error {
			return a.serveMCP(cmd.Context(), rt)
		}),
	}
	for _, c := range []*cobra.Command{list, test} {
		c.Flags().StringVar(&dir, "cwd", "", "the folder (default: this one)")
	}
	cmd.AddCommand(list, test, serve)
	return cmd
}

func given(dir string) []string {
	if dir == "" {
		return nil
	}
	return []string{dir}
}

func (a *app) printServer(s piweb.LoadedServer) {
	a.printf("%s  %s, %s", oneLine(s.Name), s.Transport, oneLine(string(s.State)))
	if s.Version != "" {
		a.printf(", %s", oneLine(s.Version))
	}
	a.printf("\n  from %s\n", oneLine(s.Source))
	if s.Reason != "" {
		a.printf("  %s\n", oneLine(s.Reason))
	}
	for _, t := range s.Tools {
		mark := ""
		if t.OnlyReads {
			mark = " (only reads)"
		}
		if t.Hidden {
			mark += " (hidden)"
		}
		a.printf("    %s%s  %s\n", oneLine(t.Name), mark, clip(t.Description, 70))
	}
}

func (a *app) reportServers(servers []piweb.LoadedServer, left []piweb.Left, named bool) error {
	var bad []string
	for _, s := range servers {
		if s.State == mcp.Failed || s.State == mcp.Starting || named && s.State == mcp.Disabled {
			bad = append(bad, s.Name)
		}
	}
	if a.json {
		err := a.printJSON(struct {
			Servers []piweb.LoadedServer `json:"servers"`
			Left    []piweb.Left         `json:"left"`
		}{append([]piweb.LoadedServer{}, servers...), append([]piweb.Left{}, left...)})
		if err != nil {
			return err
		}
	} else {
		if len(servers) == 0 && len(left) == 0 {
			a.printf("No MCP server is configured.\n")
		}
		for _, s := range servers {
			a.printServer(s)
		}
		for _, o := range left {
			a.printf("%s: %s\n", oneLine(o.Path), oneLine(o.Reason))
		}
	}
	if len(bad)+len(left) > 0 {
		return fmt.Errorf("%w: %d of %d", errServers, len(bad)+len(left), len(servers)+len(left))
	}
	return nil
}
