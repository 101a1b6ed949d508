package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	_ "embed"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/memory"
	"github.com/spf13/cobra"
)

//go:embed help/memory.md
var helpMemory string

// notedByHand is the session of what was added on the command line.
const notedByHand = "command-line"

// maxImport is how long a line of an import may be, in bytes.
const maxImport = 4 << 20

func (a *app) memoryCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "memory", Short: "Keep what was said beyond sessions, and find it again", Long: helpMemory, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(a.memoryAdd(), a.memorySearch(), a.memoryList(), a.memoryForget(), a.memoryExport(), a.memoryImport(), a.memoryCheck(), a.memoryPurge())
	return cmd
}

// withMemory runs a command that needs memories.
func (a *app) withMemory(f func(cmd *cobra.Command, m *memory.Service, args []string) error) func(*cobra.Command, []string) error {
	return a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
		m, err := rt.Memory()
		if err != nil {
			return err
		}
		if m == nil {
			return errors.New("memory is switched off: memory.off in piweb.json says so")
		}
		err = f(cmd, m, args)
		if errors.Is(err, memory.ErrUpstream) {
			err = errors.New("memories are kept by another service (memory.upstream in piweb.json), which offers no such thing")
		}
		return err
	})
}

func (a *app) memoryAdd() *cobra.Command {
	session := notedByHand
	cmd := &cobra.Command{
		Use: "add TEXT…", Short: "Keep something", Example: "  piweb memory add We deploy on Thursdays\n  git log -1 --format=%B | piweb memory add -",
		RunE: a.withMemory(func(cmd *cobra.Command, m *memory.Service, args []string) error {
			text := strings.Join(args, " ")
			if text == "-" {
				data, err := io.ReadAll(io.LimitReader(a.stdin, maxImport))
				if err != nil {
					return err
				}
				text = string(data)
			}
			if strings.TrimSpace(text) == "" {
				return usage("piweb memory add wants a text, or - to read it from standard input")
			}
			id, err := m.Remember(cmd.Context(), memory.Scope{User: piweb.MemoryUser}, memory.Note{Session: session, Text: text})
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]string{"id": id})
			}
			a.printf("kept  %s\n", id)
			return nil
		}),
	}
	cmd.Flags().StringVar(&session, "session", session, "the session that it belongs to")
	return cmd
}

func (a *app) memorySearch() *cobra.Command {
	limit := maxHits
	cmd := &cobra.Command{
		Use: "search WORDS…", Short: "Find memories, with their files", Example: "  piweb memory search gateway\n  piweb memory search 内存网关 --json",
		RunE: a.withMemory(func(cmd *cobra.Command, m *memory.Service, args []string) error {
			if strings.TrimSpace(strings.Join(args, "")) == "" {
				return usage("piweb memory search wants words to search for")
			}
			if limit < 1 || limit > 100 {
				return usage("--limit must be from 1 to 100")
			}
			found, err := m.Find(cmd.Context(), memory.Scope{User: piweb.MemoryUser}, strings.Join(args, " "), limit)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(found)
			}
			if found.Degraded {
				a.notef("the memory service does not answer; this is the copy that is kept here\n")
			}
			if len(found.Results) == 0 {
				a.notef("nothing was found\n")
			}
			for _, it := range found.Results {
				session := ""
				if it.SessionID != nil {
					session = *it.SessionID
				}
				day, _, _ := strings.Cut(it.Timestamp, "T")
				a.printMemory(it.ID, day, session, it.Text, it.Attachments)
			}
			return nil
		}),
	}
	cmd.Flags().IntVar(&limit, "limit", limit, "how many at most, up to 100")
	return cmd
}

// printMemory prints one memory on a line, and its files below.
func (a *app) printMemory(id, day, session, text string, files []memory.File) {
	a.printf("%s  %s  %s\n  %s\n", id, day, oneLine(session), clip(text, 200))
	for _, f := range files {
		a.printf("  file  %s  %s\n", oneLine(f.Name), oneLine(f.URI))
	}
}

func (a *app) memoryList() *cobra.Command {
	limit, offset := maxHits, 0
	cmd := &cobra.Command{
		Use: "list", Short: "List memories, the latest first", Args: cobra.NoArgs,
		RunE: a.withMemory(func(cmd *cobra.Command, m *memory.Service, _ []string) error {
			if limit < 1 || offset < 0 {
				return usage("--limit must be 1 or more, and --offset 0 or more")
			}
			list, err := m.List(cmd.Context(), memory.Scope{User: piweb.MemoryUser}, limit, offset)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(list)
			}
			if list.Degraded {
				a.notef("the memory service does not answer; this is the copy that is kept here\n")
			}
			for _, one := range list.Memories {
				a.printMemory(one.ID, one.At.Local().Format("2006-01-02"), one.SessionID, one.Text, one.Attachments)
			}
			if rest := list.Total - offset - len(list.Memories); rest > 0 {
				a.notef("%d more; --limit and --offset show them\n", rest)
			} else if list.Total == 0 {
				a.notef("nothing is kept yet\n")
			}
			return nil
		}),
	}
	cmd.Flags().IntVar(&limit, "limit", limit, "how many at most")
	cmd.Flags().IntVar(&offset, "offset", 0, "how many of the latest to leave out")
	return cmd
}

func (a *app) memoryForget() *cobra.Command {
	return &cobra.Command{
		Use: "forget ID…", Short: "Take memories away for good, and the files of a session that has none left",
		RunE: a.withMemory(func(cmd *cobra.Command, m *memory.Service, args []string) error {
			if len(args) == 0 {
				return usage("piweb memory forget wants ids; `piweb memory list` shows them")
			}
			kept := []string{}
			for _, id := range args {
				done, err := m.Forget(cmd.Context(), memory.Scope{User: piweb.MemoryUser}, id)
				if err != nil {
					return fmt.Errorf("%s: %w", id, err)
				}
				if done.Kept {
					kept = append(kept, id)
				}
				if !a.json {
					a.printf("forgotten  %s\n", oneLine(id))
				}
			}
			if a.json {
				return a.printJSON(struct {
					Forgotten []string `json:"forgotten"`
					Kept      []string `json:"kept_by_service,omitempty"`
				}{args, kept})
			}
			if len(kept) > 0 {
				a.notef("the memory service offers no way to forget: it has them still, and they are not shown here any more\n")
			}
			return nil
		}),
	}
}

func (a *app) memoryExport() *cobra.Command {
	return &cobra.Command{
		Use: "export", Short: "Print all memories, a JSON object on each line", Args: cobra.NoArgs, Example: "  piweb memory export > memories.jsonl",
		RunE: a.withMemory(func(cmd *cobra.Command, m *memory.Service, _ []string) error {
			for one, err := range m.All(cmd.Context(), piweb.MemoryUser) {
				if err != nil {
					return err
				}
				a.printJSONLine(one)
			}
			return nil
		}),
	}
}

func (a *app) memoryImport() *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: "Keep the memories of an export; - reads standard input", Args: wantArgs(1, "a file"),
		RunE: a.withMemory(func(cmd *cobra.Command, m *memory.Service, args []string) error {
			in := a.stdin
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			lines := bufio.NewScanner(in)
			lines.Buffer(nil, maxImport)
			n, line := 0, 0
			for lines.Scan() {
				line++
				if strings.TrimSpace(lines.Text()) == "" {
					continue
				}
				var one memory.Memory
				if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
					return fmt.Errorf("%s, line %d: it is not a memory: %w; %d were kept before it", args[0], line, err, n)
				}
				if _, err := m.Import(cmd.Context(), piweb.MemoryUser, one); err != nil {
					return fmt.Errorf("%s, line %d: %w; %d were kept before it", args[0], line, err, n)
				}
				n++
			}
			if err := lines.Err(); err != nil {
				return fmt.Errorf("%s, line %d: %w", args[0], line+1, err)
			}
			if a.json {
				return a.printJSON(map[string]int{"kept": n})
			}
			a.printf("kept  %d\n", n)
			return nil
		}),
	}
}

func (a *app) memoryCheck() *cobra.Command {
	var rebuild bool
	cmd := &cobra.Command{
		Use: "check", Short: "Look whether memories are whole, and the service that keeps them is there", Args: cobra.NoArgs,
		RunE: a.withMemory(func(cmd *cobra.Command, m *memory.Service, _ []string) error {
			if rebuild {
				if err := m.Rebuild(cmd.Context()); err != nil {
					return err
				}
			}
			if err := m.Health(cmd.Context()); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]bool{"ok": true})
			}
			a.printf("ok\n")
			return nil
		}),
	}
	cmd.Flags().BoolVar(&rebuild, "rebuild", false, "write anew what is searched, from what is kept")
	return cmd
}
