package tool

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/message"
)

func TestBuiltin(t *testing.T) {
	want := []string{"read", "bash", "edit", "write", "grep", "find", "ls"} // pi's order
	if got := Names(); !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	var built []string
	for _, tool := range Builtin(Options{}) {
		built = append(built, tool.Declaration().Name)
		build, ok := Lookup(tool.Declaration().Name)
		if !ok || build(Options{}).Declaration().Name != tool.Declaration().Name {
			t.Errorf("Lookup(%q) does not build it", tool.Declaration().Name)
		}
	}
	if !slices.Equal(built, want) {
		t.Errorf("built %q, want %q", built, want)
	}
	if _, ok := Lookup("powershell"); ok {
		t.Error("Lookup finds a tool that is not there")
	}
}

func TestBuiltinSharesOneLockTable(t *testing.T) {
	var tables []*Locks
	for _, tool := range Builtin(Options{}) {
		switch tool := tool.(type) {
		case *Edit:
			tables = append(tables, tool.opts.Locks)
		case *Write:
			tables = append(tables, tool.opts.Locks)
		}
	}
	if len(tables) != 2 || tables[0] == nil || tables[0] != tables[1] {
		t.Errorf("tables %v", tables)
	}
}

// TestProse keeps what models are told under review: the golden file shows a
// change of any word, number or order of keys.
func TestProse(t *testing.T) {
	type row struct {
		message.ToolDeclaration
		Snippet    string   `json:"snippet"`
		Guidelines []string `json:"guidelines"`
	}
	var rows []row
	for _, tool := range Builtin(Options{}) {
		rows = append(rows, row{tool.Declaration(), tool.Snippet(), tool.Guidelines()})
	}
	var got bytes.Buffer
	enc := json.NewEncoder(&got)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(rows); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "declarations.golden.json")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := readTestFile(t, golden); got.String() != strings.ReplaceAll(want, "\r\n", "\n") {
		t.Errorf("declarations changed; run with -update if that is meant\n%s", got.String())
	}
	for _, r := range rows {
		if strings.Contains(r.Description+r.Snippet+strings.Join(r.Guidelines, "")+string(r.Parameters), "{lines}") ||
			strings.ContainsAny(r.Description+r.Snippet, "{}#\n") {
			t.Errorf("%s: a word in braces or a mark of the layout is left", r.Name)
		}
	}
}

// The parameters are pi's: names, types and which are required. One is our own: part,
// by which a model looks at a rectangle of a large picture.
func TestParametersArePis(t *testing.T) {
	want := map[string]string{
		"read":  "path:string! offset:number limit:number part:object",
		"bash":  "command:string! timeout:number",
		"edit":  "path:string! edits:array!",
		"write": "path:string! content:string!",
		"grep":  "pattern:string! path:string glob:string ignoreCase:boolean literal:boolean context:number limit:number",
		"find":  "pattern:string! path:string limit:number",
		"ls":    "path:string limit:number",
	}
	for _, tool := range Builtin(Options{}) {
		decl := tool.Declaration()
		var schema struct {
			Required   []string
			Properties json.RawMessage
		}
		if err := json.Unmarshal(decl.Parameters, &schema); err != nil {
			t.Fatal(err)
		}
		var types map[string]struct{ Type string }
		if err := json.Unmarshal(schema.Properties, &types); err != nil {
			t.Fatal(err)
		}
		var got []string
		dec := json.NewDecoder(bytes.NewReader(schema.Properties)) // for the order
		depth := 0
		for {
			tok, err := dec.Token()
			if err != nil {
				break
			}
			switch v := tok.(type) {
			case json.Delim:
				if v == '{' || v == '[' {
					depth++
				} else {
					depth--
				}
			case string:
				if p, ok := types[v]; ok && depth == 1 {
					word := v + ":" + p.Type
					if slices.Contains(schema.Required, v) {
						word += "!"
					}
					got = append(got, word)
				}
			}
		}
		if strings.Join(got, " ") != want[decl.Name] {
			t.Errorf("%s: %q, want %q", decl.Name, strings.Join(got, " "), want[decl.Name])
		}
	}
}
