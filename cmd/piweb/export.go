package main

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/session/export"
	"github.com/spf13/cobra"
)

//go:embed help/export.md
var helpExport string

// exportFlags are the flags of one export.
type exportFlags struct {
	format, out, entry                              string
	all, redact, noRedact, strict, force, overwrite bool
}

func (a *app) exportCommand() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use: "export ID|FILE", Short: "Write a session as JSONL, Markdown or one HTML page", Long: helpExport,
		Args:              wantArgs(1, "one session: an id, the beginning of one, or a file"),
		Example:           "  piweb sessions export 01a22868 --format html -o talk.html\n  piweb sessions export ./session.jsonl --entry 1f2e3d4c > branch.jsonl\n  piweb sessions export 01a22868 --format md | less",
		ValidArgsFunction: a.completeSessions,
		RunE:              a.withRuntime(func(_ *cobra.Command, rt *piweb.Runtime, args []string) error { return a.export(rt, args[0], f) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "jsonl", "jsonl, md or html")
	flags.StringVarP(&f.out, "output", "o", "", "write this new file instead of standard output")
	flags.StringVar(&f.entry, "entry", "", "export the branch that ends at this entry (default: the session's leaf)")
	flags.BoolVar(&f.all, "all", false, "all branches, every entry on its own parent (jsonl)")
	flags.BoolVar(&f.redact, "redact", false, "replace secrets (the default of md and html)")
	flags.BoolVar(&f.noRedact, "no-redact", false, "leave everything as it is")
	flags.BoolVar(&f.strict, "strict", false, "replace doubts too")
	flags.BoolVar(&f.force, "force", false, "write HTML although something in it may be a secret")
	flags.BoolVar(&f.overwrite, "force-overwrite", false, "replace the file if there is one")
	return cmd
}

// exporters are the formats.
var exporters = map[string]func(io.Writer, *session.Session, export.Options) (export.Report, error){
	"jsonl": export.JSONL, "md": export.Markdown, "html": export.HTML,
}

func (f exportFlags) check(json bool) error {
	switch {
	case exporters[f.format] == nil:
		return usage("--format %q: there are jsonl, md and html", f.format)
	case f.all && f.format != "jsonl":
		return usage("--all keeps every branch, which only --format jsonl can")
	case f.all && f.entry != "":
		return usage("--all and --entry exclude each other")
	case f.noRedact && (f.redact || f.strict):
		return usage("--no-redact does not go with --redact and --strict")
	case f.overwrite && f.out == "":
		return usage("--force-overwrite wants the file: -o FILE")
	case json && f.out == "":
		return usage("--json prints a report, so the export needs a file: -o FILE")
	}
	return nil
}

func (f exportFlags) options() export.Options {
	o := export.Options{Entry: session.ID(f.entry), All: f.all, Force: f.force, Redactor: export.Redactor{Strict: f.strict}}
	if home, err := os.UserHomeDir(); err == nil && len(home) > 1 {
		o.Redactor.Homes = []string{home}
	}
	if f.redact || f.strict {
		o.Redact = export.RedactOn
	}
	if f.noRedact {
		o.Redact = export.RedactOff
	}
	return o
}

func (a *app) export(rt *piweb.Runtime, ref string, f exportFlags) error {
	if err := f.check(a.json); err != nil {
		return err
	}
	path, err := rt.Find(cwd(), ref)
	if err != nil {
		return err
	}
	s, err := session.Open(path, session.Options{Strict: true, Progress: a.told.teller()})
	if err != nil {
		return err
	}
	defer s.Close()
	var report export.Report
	write := func(w io.Writer) (err error) {
		o := f.options()
		o.Progress = a.told.teller()
		report, err = exporters[f.format](w, s, o)
		return err
	}
	if f.out == "" {
		err = write(a.out)
	} else {
		err = export.File(f.out, f.overwrite, write)
	}
	if err != nil {
		return advised(err)
	}
	if a.json {
		return a.printJSON(map[string]any{"path": f.out, "format": f.format, "session": s.ID(), "report": report})
	}
	a.noteFindings(report, f)
	return nil
}

// advised says what to do about errors that have a flag.
func advised(err error) error {
	switch p := classify(err); p.code {
	case "DOUBTS":
		return fmt.Errorf("%w\nLook there; then --strict replaces these too, and --force writes it as it is", err)
	case "EXISTS":
		return fmt.Errorf("%w; name another file, or --force-overwrite", err)
	}
	return err
}

// noteFindings says on standard error what a reader of the export should know.
func (a *app) noteFindings(r export.Report, f exportFlags) {
	if f.out != "" {
		a.notef("wrote %s, %s\n", oneLine(f.out), count(r.Entries, "entry"))
	}
	replaced, left := map[string]int{}, 0
	for _, x := range r.Findings {
		if x.Replaced {
			replaced[x.Rule]++
			continue
		}
		left++
	}
	if n := len(r.Findings) - left; n > 0 {
		a.notef("%d secrets were replaced (%s)\n", n, oneLine(counts(replaced)))
	}
	if left == 0 {
		return
	}
	const show = 10
	a.notef("note: what may be a secret stands in it in %d places:\n", left+r.More)
	shown := 0
	for _, x := range r.Findings {
		if x.Replaced {
			continue
		}
		if shown++; shown > show {
			a.notef("  and %d more\n", left+r.More-show)
			break
		}
		a.notef("  %s\n", oneLine(x.String()))
	}
	if !r.Redacted {
		a.notef("--redact replaces those that piweb knows, --strict all of them\n")
	}
}

// counts writes a table of counts in one line, in order of the names.
func counts(m map[string]int) string {
	var parts []string
	for _, name := range sortedKeys(m) {
		parts = append(parts, fmt.Sprintf("%d %s", m[name], name))
	}
	return strings.Join(parts, ", ")
}
