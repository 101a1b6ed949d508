package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/config"
	"github.com/spf13/cobra"
)

func (a *app) settingsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "settings [KEY]", Short: "Show or change settings, which pi shares",
		Long: "Without a key, shows what holds in this folder: the user's settings, and those\nof the project over them where it is trusted. Keys go into objects with dots.\nA change keeps everything else in the file, also what piweb does not know.",
		Args: cobra.MaximumNArgs(1), Example: "  piweb settings compaction\n  piweb settings set compaction.reserveTokens 20000\n  piweb settings set skills '[\"~/skills\", \"!old-*\"]'\n  piweb settings unset defaultTools --project",
		RunE: a.withRuntime(func(_ *cobra.Command, rt *piweb.Runtime, args []string) error {
			var keys []string
			if len(args) == 1 {
				keys = strings.Split(args[0], ".")
			}
			cfg := rt.Config(cwd())
			for _, p := range cfg.Problems { // what is shown is without what they are about
				a.notef("note: %s\n", oneLine(p.Error()))
			}
			value, ok := cfg.Settings.Lookup(keys...)
			if !ok {
				value = json.RawMessage("null")
			}
			var out bytes.Buffer
			if err := json.Indent(&out, value, "", "  "); err != nil {
				return err
			}
			a.printf("%s\n", out.String())
			return nil
		}),
	}
	var project bool
	change := func(use, short string, n int, what string, value func(args []string) json.RawMessage) *cobra.Command {
		c := &cobra.Command{Use: use, Short: short, Args: wantArgs(n, what),
			RunE: a.withRuntime(func(_ *cobra.Command, rt *piweb.Runtime, args []string) error {
				path := filepath.Join(rt.AgentDir(), "settings.json")
				if project {
					path = filepath.Join(cwd(), ".pi", "settings.json")
				}
				if err := config.EditSettings(path, config.Change{Keys: strings.Split(args[0], "."), Value: value(args)}); err != nil {
					return err
				}
				a.printf("written to %s\n", oneLine(path))
				if project && !rt.Trust(cwd()).Trusted {
					a.notef("the folder is not trusted, so its settings do not count: see `piweb trust`\n")
				}
				return nil
			})}
		c.Flags().BoolVar(&project, "project", false, "in the project's settings instead of the user's")
		return c
	}
	cmd.AddCommand(
		change("set KEY VALUE", "Set a value: JSON, or else a text", 2, "a key and a value", func(args []string) json.RawMessage {
			if json.Valid([]byte(args[1])) {
				return json.RawMessage(args[1])
			}
			text, _ := json.Marshal(args[1])
			return text
		}),
		change("unset KEY", "Take a value away", 1, "a key", func([]string) json.RawMessage { return nil }),
	)
	return cmd
}
