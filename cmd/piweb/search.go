package main

import (
	"cmp"
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/session/catalog"
	"github.com/spf13/cobra"
)

//go:embed help/search.md
var helpSearch string

// cacheFolder is the folder below the agent directory that holds what can be made
// again.
const cacheFolder = "piweb"

// maxHits is how many hits are printed where nobody says.
const maxHits = 20

func (a *app) searchCommand() *cobra.Command {
	var dir string
	var limit int
	cmd := &cobra.Command{
		Use: "search WORDS…", Short: "Search the messages of all sessions", Long: helpSearch,
		Args: func(_ *cobra.Command, args []string) error {
			if len(words(args)) == 0 {
				return usage("piweb sessions search wants words to search for")
			}
			return nil
		},
		Example: "  piweb sessions search scanner\n  piweb sessions search \"odd lines\" fork --cwd .\n  piweb sessions search 漢字 --limit 0 --json",
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			if limit < 0 {
				return usage("--limit must be 0 or more")
			}
			q := catalog.Query{Words: words(args), Limit: limit}
			if dir != "" {
				abs, err := filepath.Abs(dir)
				if err != nil {
					return err
				}
				q.CWD = abs
			}
			return a.search(cmd, rt, q)
		}),
	}
	cmd.Flags().StringVar(&dir, "cwd", "", "only sessions of this working folder")
	cmd.Flags().IntVar(&limit, "limit", maxHits, "stop after so many hits; 0 for all")
	return cmd
}

// words are the arguments as words: the shell has taken away the quotes around a
// phrase, so that an argument with spaces is one.
func words(args []string) (all []string) {
	for _, arg := range args {
		if strings.Contains(arg, `"`) {
			all = append(all, catalog.ParseWords(arg)...)
		} else if strings.TrimSpace(arg) != "" {
			all = append(all, arg)
		}
	}
	return all
}

// search prints hits as they come. Ctrl-C needs no care: it ends the program, and
// nothing that it leaves half written is ever trusted.
func (a *app) search(cmd *cobra.Command, rt *piweb.Runtime, q catalog.Query) error {
	c := catalog.Open(rt.SessionRoot(cwd()).Dir, filepath.Join(rt.AgentDir(), cacheFolder), catalog.Options{Progress: a.told.teller()})
	bold := a.marks()
	n, last := 0, ""
	for hit, err := range c.Search(cmd.Context(), q) {
		var file *catalog.FileError
		switch {
		case errors.As(err, &file):
			a.notef("not searched: %s\n", oneLine(file.Error()))
			continue
		case errors.Is(err, catalog.ErrQuery):
			return usage("%v", err)
		case err != nil:
			return err
		case a.out.failed():
			return nil // run says why
		}
		n++
		if a.json {
			a.printJSONLine(hit)
			continue
		}
		if s := hit.Session; s.Path != last {
			if last != "" {
				a.printf("\n")
			}
			last = s.Path
			a.printf("%s  %s  %s  %s\n", oneLine(cmp.Or(shortID(s.ID), "(none)")), ago(s.Modified), oneLine(cmp.Or(s.CWD, "(none)")),
				clip(cmp.Or(s.Name, s.First, "(no messages)"), 50))
		}
		a.printf("  line %d  %s  %s  ", hit.Line, oneLine(string(hit.Entry)), oneLine(hit.Where))
		a.out.Write([]byte(marked(hit, bold) + "\n"))
	}
	if !a.json && n == 0 {
		a.notef("nothing was found\n")
	}
	if !a.json && q.Limit > 0 && n == q.Limit {
		a.notef("these are the first %d; --limit 0 prints all\n", n)
	}
	return nil
}

// marked is the snippet on one line with its hits between two marks. The text is
// made harmless in pieces, so that the marks are ours.
func marked(hit catalog.Hit, bold [2]string) string {
	var b strings.Builder
	at := 0
	for _, span := range hit.Spans {
		b.WriteString(oneLine(hit.Snippet[at:span[0]]))
		b.WriteString(bold[0] + oneLine(hit.Snippet[span[0]:span[1]]) + bold[1])
		at = span[1]
	}
	b.WriteString(oneLine(hit.Snippet[at:]))
	return b.String()
}

// marks are what stands around a hit: something on a terminal that shows it, else
// nothing.
func (a *app) marks() [2]string {
	f, ok := a.out.w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return [2]string{}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return [2]string{}
	}
	return [2]string{"\x1b[1m", "\x1b[0m"}
}
