package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/session/catalog"
	"github.com/piweb-go/piweb/session/doctor"
	"github.com/spf13/cobra"
)

//go:embed help/doctor.md
var helpDoctor string

var (
	errLoses       = errors.New("some reader loses data")
	errNotRepaired = errors.New("a file could not be repaired")
)

func (a *app) doctorCommand() *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use: "doctor [FILE|DIR]", Short: "Say what is wrong with session files, and repair them beside", Long: helpDoctor,
		Args:    atMostOneFile,
		Example: "  piweb doctor\n  piweb doctor ./session.jsonl --repair\n  piweb doctor ~/old-sessions --json",
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			files, err := doctorFiles(rt, args)
			if err != nil {
				return err
			}
			return a.doctor(cmd.Context(), files, repair)
		}),
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "write repaired copies beside the files that need them")
	return cmd
}

func atMostOneFile(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage("%s wants one file or folder, or none; %d arguments were given", cmd.CommandPath(), len(args))
	}
	return nil
}

// doctorFiles are the files that an argument means: itself, those of a folder, the
// one of an id, or all sessions.
func doctorFiles(rt *piweb.Runtime, args []string) ([]string, error) {
	root := rt.SessionRoot(cwd()).Dir
	if len(args) == 0 {
		if _, err := os.Stat(root); errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		return doctor.Files(root)
	}
	info, err := os.Stat(args[0])
	switch {
	case err == nil && info.IsDir():
		return doctor.Files(args[0])
	case err == nil:
		return []string{args[0]}, nil
	}
	path, err := catalog.Find(root, args[0])
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("%s: %w", path, errors.Join(session.ErrNoFile, err))
	}
	return []string{path}, nil
}

// checked is what is told of one file.
type checked struct {
	doctor.Report
	Repaired *doctor.Repaired `json:"repaired,omitempty"`
	Problem  string           `json:"problem,omitempty"` // why it could not be repaired
}

// summary counts over all files.
type summary struct {
	Files    int            `json:"files"`
	Sound    int            `json:"sound"`    // nothing but notes
	Losing   int            `json:"losing"`   // some reader loses data
	Repaired int            `json:"repaired"` // copies that were written
	Failed   int            `json:"failed"`   // repairs that failed
	Kinds    map[string]int `json:"kinds"`    // files by kind of finding
}

func (a *app) doctor(ctx context.Context, files []string, repair bool) error {
	sum := summary{Kinds: map[string]int{}}
	all := []checked{}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := checked{Report: doctor.Check(file)}
		if repair {
			c.repair()
		}
		sum.count(c)
		a.told.tell(session.Progress{Work: "checking", Done: int64(sum.Files), Total: int64(len(files)), Unit: "files"})
		if a.json {
			all = append(all, c)
			continue
		}
		a.printChecked(c, len(files) == 1)
	}
	if a.json {
		if err := a.printJSON(map[string]any{"files": all, "summary": sum}); err != nil {
			return err
		}
	} else {
		a.printSummary(sum, repair)
	}
	switch {
	case sum.Failed > 0:
		return silent{errNotRepaired}
	case sum.Losing > 0 && !repair:
		return silent{errLoses}
	}
	return nil
}

func (c *checked) repair() {
	path, did, err := doctor.Repair(c.Path)
	switch {
	case err != nil:
		c.Problem = err.Error()
	case path != "":
		c.Repaired = &did
	}
}

func (s *summary) count(c checked) {
	s.Files++
	if worst := c.Worst(); worst == "" || worst == doctor.Note {
		s.Sound++
	}
	if c.Loses() {
		s.Losing++
	}
	if c.Repaired != nil {
		s.Repaired++
	}
	if c.Problem != "" {
		s.Failed++
	}
	seen := map[string]bool{}
	for _, f := range c.Findings {
		if !seen[f.Kind] {
			seen[f.Kind] = true
			s.Kinds[f.Kind]++
		}
	}
}

// printChecked prints one file. Of many files only those are shown that have more
// than notes.
func (a *app) printChecked(c checked, alone bool) {
	if worst := c.Worst(); !alone && (worst == "" || worst == doctor.Note) && c.Repaired == nil && c.Problem == "" {
		return
	}
	a.printf("%s\n", oneLine(c.Path))
	if alone {
		a.line("session", "%s, version %d, %s, %d of them on the branch, %s", c.ID, c.Version, count(c.Entries, "entry"), c.Branch, count(c.Bytes, "byte"))
	}
	const ofKind = 3 // as many of a kind are printed; --json has more
	shown := map[string]int{}
	for _, f := range c.Findings {
		if f.Severity == doctor.Note && !alone {
			continue
		}
		if shown[f.Kind]++; shown[f.Kind] > ofKind {
			continue
		}
		where := ""
		if f.Line > 0 {
			where = fmt.Sprintf("line %d: ", f.Line)
		}
		a.line(string(f.Severity), "%s%s", where, f.Text)
		if f.Advice != "" {
			a.line("", "→ %s", f.Advice)
		}
	}
	for _, kind := range sortedKeys(shown) {
		if more := shown[kind] - ofKind + c.More[kind]; more > 0 {
			a.line("", "and %d more of the kind %s", more, kind)
		}
	}
	if r := c.Repaired; r != nil {
		for _, ch := range r.Changes[:min(len(r.Changes), 20)] {
			where := ""
			if ch.Line > 0 {
				where = fmt.Sprintf("line %d: ", ch.Line)
			}
			a.line("changed", "%s%s", where, ch.Text)
		}
		if more := len(r.Changes) + r.More - 20; more > 0 {
			a.line("", "and %d changes more", more)
		}
		a.line("repaired", "%s, %s", r.Path, count(r.Entries, "entry"))
		if r.Torn != "" {
			a.line("aside", "%s, %s", r.Torn, count(r.Aside, "byte"))
		}
	}
	if c.Problem != "" {
		a.line("failed", "%s", c.Problem)
	}
}

func (a *app) printSummary(s summary, repair bool) {
	a.printf("%s: %d sound, %d with warnings, %d that some reader loses data of", count(s.Files, "file"), s.Sound, s.Files-s.Sound-s.Losing, s.Losing)
	if repair {
		a.printf(", %d repaired, %d not", s.Repaired, s.Failed)
	}
	a.printf("\n")
	if len(s.Kinds) > 0 {
		a.printf("found in files: %s\n", counts(s.Kinds))
	}
}

func sortedKeys(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }
