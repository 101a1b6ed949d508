package main

import (
	"context"
	_ "embed"
	"errors"
	"path/filepath"
	"strings"

	"github.com/piweb-go/piweb"
	"github.com/spf13/cobra"
)

var (
	//go:embed help/inline.md
	helpInline string
	//go:embed help/externalize.md
	helpExternalize string
)

// convertCommands move pictures out of session files and back.
func (a *app) convertCommands() []*cobra.Command {
	return []*cobra.Command{
		a.convertCommand("externalize", "Copy a session with its large pictures as references to blobs", helpExternalize, (*piweb.Runtime).Externalize),
		a.convertCommand("inline", "Copy a session with its references to blobs replaced by what they name", helpInline, (*piweb.Runtime).Inline),
	}
}

func (a *app) convertCommand(name, short, long string, convert func(*piweb.Runtime, context.Context, string, string) (piweb.Converted, error)) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: name + " ID|FILE", Short: short, Long: long,
		Args:              wantArgs(1, oneSession),
		Example:           "  piweb sessions " + name + " ./session.jsonl\n  piweb sessions " + name + " 01a22868 -o ./copy.jsonl",
		ValidArgsFunction: a.completeSessions,
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			source, err := rt.Find(cwd(), args[0])
			if err != nil {
				return err
			}
			target := out
			if target == "" {
				target = strings.TrimSuffix(source, filepath.Ext(source)) + "." + name + "d.jsonl"
			}
			c, err := convert(rt, cmd.Context(), source, target)
			if errors.Is(err, piweb.ErrThere) {
				return usage("%v; name another with -o", err)
			}
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(c)
			}
			a.printf("wrote %s, %s changed, %s became %d\n", c.Path, count(c.Entries, "entry"), count(c.From, "byte"), c.To)
			a.line("moved", "%d, blobs in %s", c.Moved, c.Blobs)
			for _, ref := range c.Missing {
				a.line("missing", "%s", ref)
			}
			return nil
		}),
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the file to write (default: beside the session)")
	return cmd
}
