package session

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/internal/structure"
	"pgregory.net/rapid"
)

// checkStructure holds the two passes over one line against encoding/json.
func checkStructure(t interface {
	Helper()
	Errorf(string, ...any)
}, data []byte) {
	t.Helper()
	if bytes.IndexByte(data, '\n') >= 0 {
		return // lines have none
	}
	isJSON := json.Valid(data)
	if trimmed, _ := trim(data, 0); structure.Valid(trimmed) != isJSON {
		t.Errorf("%.200q: valid %v, encoding/json says %v", data, !isJSON, isJSON)
	}
	for _, g := range []structure.Grammar{structure.Shape, structure.Strict} {
		segs := segments(nil, line{num: 1, data: data, length: int64(len(data))}, g)
		at := int64(0)
		for _, seg := range segs {
			if between, _ := trim(data[at:seg.offset], 0); len(between) > 0 || len(seg.data) == 0 || !bytes.Equal(data[seg.offset:][:len(seg.data)], seg.data) {
				t.Errorf("%.200q: the segment at %d is not the line's, or something is lost before it", data, seg.offset)
			}
			at = seg.offset + int64(len(seg.data))
			if isIt := json.Valid(seg.data); !seg.damage && !isIt && (g == structure.Strict || !seg.head.said()) || seg.damage && isIt && isJSON {
				t.Errorf("%.200q: the segment %.100q is taken for damage: %v", data, seg.data, seg.damage)
			}
		}
		if rest, _ := trim(data[at:], 0); len(rest) > 0 {
			t.Errorf("%.200q: %q is lost", data, rest)
		}
		if !isJSON {
			continue
		}
		if len(segs) != 1 || segs[0].damage {
			t.Errorf("%.200q: %d segments of one value", data, len(segs))
			return
		}
		if got, want := segs[0].head, slowHead(data); !sameHead(got, want) {
			t.Errorf("%.200q:\n got %+v\nwant %+v", data, got, want)
		}
	}
}

// slowHead is the envelope as encoding/json has it, which keeps the last of keys
// that repeat.
func slowHead(data []byte) (h rawEntry) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return h
	}
	str := func(raw json.RawMessage) (s string) {
		var v any
		_ = json.Unmarshal(raw, &v)
		s, _ = v.(string)
		return s
	}
	h = rawEntry{typ: str(fields["type"]), customType: str(fields["customType"]), id: str(fields["id"]), parent: str(fields["parentId"]), timestamp: string(fields["timestamp"])}
	h.hasID = h.id != ""
	_, h.hasParent = fields["parentId"]
	var message map[string]json.RawMessage
	if json.Unmarshal(fields["message"], &message) == nil {
		h.role = str(message["role"])
	}
	return h
}

func sameHead(a, b rawEntry) bool {
	var at, bt any
	if a.timestamp != "" || b.timestamp != "" {
		if json.Unmarshal([]byte(a.timestamp), &at) != nil || json.Unmarshal([]byte(b.timestamp), &bt) != nil {
			return false
		}
	}
	a.timestamp, b.timestamp = "", ""
	return a == b && reflect.DeepEqual(at, bt)
}

var structureTable = map[string]string{
	"nothing":                     ``,
	"any order":                   `{"parentId":null,"message":{"content":"x","role":"user"},"timestamp":5,"id":"a","type":"message"}`,
	"the last of a key counts":    `{"type":"custom","id":"a","id":"b","parentId":"p","parentId":null,"customType":"x","customType":"y"}`,
	"the last message counts":     `{"type":"message","id":"a","message":{"role":"user"},"message":{"content":"x"}}`,
	"the last role counts":        `{"type":"message","id":"a","message":{"role":"user","role":"assistant"}}`,
	"a message that is no object": `{"type":"message","id":"a","message":{"role":"user"},"message":[{"role":"x"}]}`,
	"escaped keys and values":     `{"\u0074ype":"mess\u0061ge","i\u0064":"\u00e9\ud83d\ude00\ud800","message":{"r\u006fle":"user"}}`,
	"no strings":                  `{"type":1,"id":2,"parentId":{},"customType":null,"message":{"role":[]}}`,
	"white space":                 "\t{ \"type\" :\r\"custom\" , \"id\" : \"a\" }  ",
	"not UTF-8":                   "{\"type\":\"custom\",\"id\":\"a\xff\xfe\",\"parentId\":\"\xc3\"}",
	"braces in strings":           `{"type":"message","id":"a","message":{"role":"user","content":"}]\\\"{[ \\"}}`,
	"a fragment before a record":  `{"type":"message","id":"x","message":{"role":"user","content":"torn{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"x"}}`,
	"two records":                 `{"type":"custom","id":"a"}{"id":"b","type":"custom"} {"type":"custom","id":"c"}`,
	"something behind":            `{"type":"custom","id":"a"} trailing`,
	"redaction damage":            `{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":[REDACTED]}}`,
	"redacted quotes":             `{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"key ***REDACTED***,"x":1}}`,
	"NULs":                        "\x00\x00\x00{\"type\":\"custom\",\"id\":\"a\"}",
	"NULs inside":                 "{\"type\":\"message\",\"id\":\"a\",\"message\":{\"role\":\"user\",\x00\x00\"content\":\"x\"}}",
	"NULs in a string":            "{\"type\":\"message\",\"id\":\"a\",\"message\":{\"role\":\"user\",\"content\":\"x\x00\x00\"}}",
	"NULs in what decides":        "{\"type\":\"custom\",\"id\":\"a\",\"customType\":\"x\x00\x00\"}",
	"the other bracket":           `{"type":"message","id":"a","message":{"role":"user","content":["x"}]}`,
	"an unknown escape":           `{"type":"message","id":"a","message":{"role":"user","content":"\q"}}`,
	"numbers":                     `[0,-0,1.5,1e9,1E+9,-1.25e-7,01,1.,.5,+1,--1]`,
	"good numbers":                `[0,-0,1.5,1e9,1E+9,-1.25e-7]`,
	"literals":                    `[true,false,null]`,
	"half a literal":              `[tru]`,
	"a list":                      `[{"type":"session"}]`,
	"a number":                    `5`,
	"a string":                    `"x"`,
	"a lone quote":                `"`,
	"a lone brace":                `{`,
	"a comma too much":            `{"type":"custom","id":"a",}`,
	"64 deep":                     strings.Repeat("[{\"a\":", 32) + "1" + strings.Repeat("}]", 32),
	"130 deep":                    strings.Repeat("[{\"a\":", 65) + "1" + strings.Repeat("}]", 65),
	"130 deep, badly closed":      strings.Repeat("[{\"a\":", 65) + "1" + strings.Repeat("}]", 64) + "]}",
	"as deep as may be":           strings.Repeat("[", structure.MaxDepth) + strings.Repeat("]", structure.MaxDepth),
	"too deep":                    strings.Repeat("[", structure.MaxDepth+1) + strings.Repeat("]", structure.MaxDepth+1),
	"too deep in an object":       `{"id":"a","x":` + strings.Repeat("[", structure.MaxDepth) + strings.Repeat("]", structure.MaxDepth) + "}",
	"as deep in a message":        `{"type":"message","id":"a","message":{"role":"user","content":` + strings.Repeat("[", structure.MaxDepth-2) + strings.Repeat("]", structure.MaxDepth-2) + "}}",
	"too deep in a message":       `{"type":"message","id":"a","message":{"role":"user","content":` + strings.Repeat("[", structure.MaxDepth-1) + strings.Repeat("]", structure.MaxDepth-1) + "}}",
}

func TestStructureTable(t *testing.T) {
	for name, data := range structureTable {
		t.Run(name, func(t *testing.T) { checkStructure(t, []byte(data)) })
	}
}

// corpusLines calls fn for each line of the fixtures and of $PIWEB_CORPUS.
func corpusLines(t *testing.T, fn func([]byte)) {
	t.Helper()
	for _, root := range corpusRoots() {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !looksLikeSession(path) {
				return err
			}
			data, err := os.ReadFile(path)
			for line := range bytes.SplitSeq(data, []byte("\n")) {
				fn(line)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestStructureAgainstDecoder: every line of every session file.
func TestStructureAgainstDecoder(t *testing.T) {
	n := 0
	corpusLines(t, func(line []byte) {
		n++
		checkStructure(t, line)
	})
	if n < 400 {
		t.Errorf("only %d lines", n)
	}
	t.Logf("%d lines", n)
}

// TestStructureOfDamage cuts, joins and spoils lines at any place.
func TestStructureOfDamage(t *testing.T) {
	var all [][]byte
	corpusLines(t, func(line []byte) {
		if len(line) < 2000 {
			all = append(all, bytes.Clone(line))
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		pick := rapid.SampledFrom(all)
		data := bytes.Clone(pick.Draw(rt, "line"))
		for range rapid.IntRange(1, 4).Draw(rt, "accidents") {
			at := rapid.IntRange(0, len(data)).Draw(rt, "at")
			switch rapid.IntRange(0, 4).Draw(rt, "what") {
			case 0:
				data = data[:at]
			case 1:
				data = append(data[:at:at], pick.Draw(rt, "other")...)
			case 2:
				data = slices.Insert(data, at, make([]byte, rapid.IntRange(1, 20).Draw(rt, "NULs"))...)
			case 3:
				data = slices.Insert(data, at, []byte(rapid.SampledFrom([]string{`"`, `\`, `{`, `}`, `[`, `]`, `,`, `:`, "\xff", "\x01", `\u12`, "漢"}).Draw(rt, "text"))...)
			case 4:
				data = slices.Delete(data, at, min(len(data), at+rapid.IntRange(0, 30).Draw(rt, "bytes")))
			}
		}
		checkStructure(rt, data)
	})
}

func FuzzStructure(f *testing.F) {
	for _, data := range structureTable {
		if len(data) < 5000 {
			f.Add([]byte(data))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkStructure(t, data) })
}

// FuzzOpen: no bytes make the library panic or loop, and what it takes for an
// entry is one, or says that it is damaged.
func FuzzOpen(f *testing.F) {
	head := `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}` + "\n"
	for _, data := range structureTable {
		if len(data) < 5000 {
			f.Add([]byte(head + data + "\n" + data))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		compare(t, path)
	})
}

// TestDamagedMessage: a message whose shape is right and whose body is no JSON
// keeps its place in the tree; nothing before it is lost, and it is left out.
func TestDamagedMessage(t *testing.T) {
	const spoiled = `{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"\q"}]}}`
	head := `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}`
	first := `{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"first"}}`
	after := `{"type":"message","id":"c","parentId":"b","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"after"}}`
	path := filepath.Join(t.TempDir(), "s.jsonl")
	write := func(lines ...string) {
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	write(head, first, spoiled, after)
	s := mustOpen(t, path, Options{})
	c, err := s.Context()
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Branch; !slices.Equal(got, []ID{"a", "b", "c"}) || len(c.Messages) != 2 {
		t.Errorf("branch %v, %d messages", got, len(c.Messages))
	}
	if !slices.ContainsFunc(c.Diagnostics, func(d Diagnostic) bool { return d.Kind == KindBadLine && d.ID == "b" && d.Line == 3 }) {
		t.Errorf("diagnostics %v", c.Diagnostics)
	}
	strictly := mustOpen(t, path, Options{Strict: true})
	if _, ok := strictly.Entry("b"); ok {
		t.Error("a strict open takes it for an entry")
	}
	fork, err := Fork(s, "c", ForkOptions{CWD: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(fork.Path); !bytes.Contains(data, []byte(spoiled+"\n")) {
		t.Error("a fork does not keep its bytes")
	}

	// As the last record it would be the parent of whatever is appended, and pi
	// would lose everything before.
	write(head, first, spoiled)
	s = mustOpen(t, path, Options{})
	if s.Leaf() != "a" || s.Len() != 1 {
		t.Errorf("leaf %q of %d entries", s.Leaf(), s.Len())
	}
	ids, err := s.Append(Label{TargetID: "a", Label: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if e, _ := s.Entry(ids[0]); e.Parent != "a" {
		t.Errorf("the next entry hangs on %q", e.Parent)
	}
}

func mustOpen(t *testing.T, path string, o Options) *Session {
	t.Helper()
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
