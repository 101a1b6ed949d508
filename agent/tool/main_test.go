package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/piweb-go/piweb/message"
)

var update = flag.Bool("update", false, "write what the tools do into testdata")

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

// toolCase is one call with the files before and after it, as it stands in
// testdata. The part from Want on is written by -update.
type toolCase struct {
	Name  string            `json:"name"`
	Files map[string]string `json:"files,omitempty"`
	// Lines makes files of numbered lines.
	Lines map[string]numbered `json:"lines,omitempty"`
	Args  json.RawMessage     `json:"args"`
	Want  wantResult          `json:"want"`
	After map[string]string   `json:"after,omitempty"` // files that the call made or changed
}

// numbered is a file of count lines, each of text and its number.
type numbered struct {
	Text  string `json:"text"`
	Count int    `json:"count"`
}

type wantResult struct {
	Text    string          `json:"text"`
	Details json.RawMessage `json:"details,omitempty"`
	IsError bool            `json:"isError,omitempty"`
}

// runCases runs the cases of testdata/NAME.json.
func runCases(t *testing.T, build func(Options) Tool) {
	t.Helper()
	file := filepath.Join("testdata", build(Options{}).Declaration().Name+".json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []toolCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for i := range cases {
		c := &cases[i]
		t.Run(c.Name, func(t *testing.T) {
			got := *c
			dir := t.TempDir()
			before := c.write(t, dir)
			result := callTool(t, build(Options{TempDir: dir}), dir, string(c.Args))
			got.Want = summarize(t, dir, result)
			got.After = changedFiles(t, dir, before)
			if *update {
				*c = got
				return
			}
			if diff := cmp.Diff(normalize(t, *c), normalize(t, got)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	if *update {
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(cases); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// normalize spells a case in one way, so that layout of raw JSON does not count.
func normalize(t *testing.T, c toolCase) string {
	t.Helper()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(c); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func (c *toolCase) write(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for name, text := range c.Files {
		files[name] = text
	}
	for name, n := range c.Lines {
		var text strings.Builder
		for i := range n.Count {
			fmt.Fprintf(&text, "%s%d\n", n.Text, i+1)
		}
		files[name] = text.String()
	}
	for name, text := range files {
		writeTestFile(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	return files
}

func writeTestFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readTestFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// changedFiles lists the files of dir that are new or other than before.
func changedFiles(t *testing.T, dir string, before map[string]string) map[string]string {
	t.Helper()
	changed := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), "pi-bash-") {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if text := readTestFile(t, path); text != before[name] {
			changed[name] = text
		} else if _, ok := before[name]; !ok {
			changed[name] = text
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(changed) == 0 {
		return nil
	}
	return changed
}

var spillName = regexp.MustCompile(`pi-bash-[0-9a-f]{16}\.log`)

// summarize makes a result comparable: no temporary names, long texts cut.
func summarize(t *testing.T, dir string, r Result) wantResult {
	t.Helper()
	plain := func(s string) string {
		return spillName.ReplaceAllString(strings.ReplaceAll(s, dir, "$DIR"), "pi-bash-$$HEX.log")
	}
	short := func(s string) string {
		s = plain(s)
		if len(s) <= 1000 {
			return s
		}
		return fmt.Sprintf("%s … (%d bytes) … %s", strings.ToValidUTF8(s[:120], ""), len(s), strings.ToValidUTF8(s[len(s)-200:], ""))
	}
	w := wantResult{Text: short(r.Content.PlainText()), IsError: r.IsError}
	if r.Details == nil {
		return w
	}
	// Keep the order of keys: only the long content is exchanged.
	details := plain(string(r.Details))
	var d struct{ Truncation *struct{ Content string } }
	if err := json.Unmarshal(r.Details, &d); err != nil {
		t.Fatalf("details %s: %v", r.Details, err)
	}
	if d.Truncation != nil {
		long, err := message.Marshal(d.Truncation.Content)
		if err != nil {
			t.Fatal(err)
		}
		cut, err := message.Marshal(short(d.Truncation.Content))
		if err != nil {
			t.Fatal(err)
		}
		details = strings.Replace(details, plain(string(long)), string(cut), 1)
	}
	w.Details = json.RawMessage(details)
	return w
}

func callTool(t testing.TB, tool Tool, dir, args string) Result {
	t.Helper()
	return runCall(t, tool, &Call{CWD: dir, Arguments: json.RawMessage(args)})
}

func runCall(t testing.TB, tool Tool, call *Call) Result {
	t.Helper()
	call.ID, call.Name = "call_1", tool.Declaration().Name
	r, err := tool.Run(context.Background(), call)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Content) != 1 || r.Content[0].Type != message.TypeText {
		t.Fatalf("content %+v, want one text block", r.Content)
	}
	if r.Details != nil && !json.Valid(r.Details) {
		t.Fatalf("details are not JSON: %s", r.Details)
	}
	return r
}

func toolArgs(t *testing.T, fields map[string]any) json.RawMessage {
	t.Helper()
	data, err := message.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func skipOnWindows(t *testing.T, why string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("windows: " + why)
	}
}

func skipAsRoot(t *testing.T) {
	t.Helper()
	skipOnWindows(t, "no mode bits")
	if os.Geteuid() == 0 {
		t.Skip("root may do everything")
	}
}
