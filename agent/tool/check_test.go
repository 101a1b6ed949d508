package tool

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/message"
)

func TestCheck(t *testing.T) {
	const schema = `{"type":"object","required":["path"],"x-other":1,"properties":{
		"path":{"type":"string"},"n":{"type":"number","exclusiveMinimum":0},"i":{"type":"integer","minimum":1},
		"b":{"type":"boolean"},"o":{"type":"object","required":["k"],"properties":{"k":{"type":"string","pattern":"^(?=a)"}}},
		"l":{"type":"array","items":{"type":"object","required":["oldText"],"properties":{"oldText":{"type":"string"}}}},
		"e":{"enum":["a","b"]},"u":{"anyOf":[{"type":"string"},{"type":"number"}]},"v":{"type":["string","null"]},"never":false}}`
	for _, c := range []struct {
		name, schema, args string
		want               string // problems, or "" for none
	}{
		{"fits", schema, `{"path":"a","n":0.5,"i":1,"b":true,"o":{"k":""},"l":[{"oldText":""}],"e":"a","u":1,"v":null}`, ""},
		{"more fields than named", schema, `{"path":"a","more":{"x":1}}`, ""},
		{"missing", schema, `{}`, "path is missing, expected string"},
		{"no arguments", schema, ``, "path is missing, expected string"},
		{"missing in a list", schema, `{"path":"","l":[{"oldText":"x"},{}]}`, "l[1].oldText is missing, expected string"},
		{"missing in an object", schema, `{"path":"","o":{}}`, "o.k is missing, expected string"},
		{"types", schema, `{"path":1,"b":"yes","l":{},"o":[]}`, "b: expected boolean, got string; l: expected array, got object; o: expected object, got array; path: expected string, got number"},
		{"not whole", schema, `{"path":"","i":1.5}`, "i: expected integer, got number"},
		{"whole in another spelling", schema, `{"path":"","i":2.0}`, ""},
		{"minimum", schema, `{"path":"","i":0}`, "i: minimum: got 0, want 1"},
		{"exclusive minimum", schema, `{"path":"","n":0}`, "n: exclusiveMinimum: got 0, want 0"},
		{"one of", schema, `{"path":"","e":"c"}`, `e: expected one of "a","b"`},
		{"none of the forms", schema, `{"path":"","u":[]}`, "u: has none of the forms that the tool accepts"},
		{"several types", schema, `{"path":"","v":1}`, "v: expected null or string, got number"},
		{"forbidden field", schema, `{"path":"","never":1}`, "never: has none of the forms that the tool accepts"},
		{"pattern of another dialect", schema, `{"path":"","o":{"k":"zzz"}}`, ""},
		{"not an object", schema, `[]`, "expected an object, got array"},
		{"null", schema, `null`, "expected an object, got null"},
		{"not JSON", schema, `{`, "they are not valid JSON; expected one object"},
		{"two values", schema, `{} {}`, "they are not valid JSON; expected one object"},
		{"no schema", ``, `{"a":1}`, ""},
		{"schema null", `null`, `{"a":1}`, ""},
		{"schema that is none", `{"type":"object","required":true}`, `{"a":1}`, ""},
		{"schema that is none, and no object", `{"type":"object","required":true}`, `1`, "expected an object, got number"},
		{"reference to a file", `{"$ref":"file:///etc/hostname"}`, `{"a":1}`, ""},
		{"reference to an address", `{"$ref":"https://example.invalid/schema.json"}`, `{"a":1}`, ""},
		{"reference inside", `{"$defs":{"p":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/p"}}}`, `{"a":1}`, "a: expected string, got number"},
		{"unknown dialect", `{"$schema":"https://example.invalid/dialect","required":["a"]}`, `{}`, "a is missing"},
		{"older dialect", `{"$schema":"http://json-schema.org/draft-07/schema#","required":["a"]}`, `{}`, "a is missing"},
		{"long list of problems", `{"properties":{"l":{"items":{"type":"string"}}}}`, `{"l":[1,1,1,1,1,1,1,1,1,1]}`,
			"l[0]: expected string, got number; l[1]: expected string, got number; l[2]: expected string, got number; l[3]: expected string, got number; l[4]: expected string, got number; l[5]: expected string, got number; l[6]: expected string, got number; l[7]: expected string, got number; and 2 more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Check(message.ToolDeclaration{Name: "x", Parameters: json.RawMessage(c.schema)}, json.RawMessage(c.args))
			if c.want == "" {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			invalid, ok := errors.AsType[*ArgumentError](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if got := strings.Join(invalid.Problems, "; "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestCheckDoesNotRepeatValues(t *testing.T) {
	err := Check(NewWrite(Options{}).Declaration(), json.RawMessage(`{"path":"a","content":["my secret"]}`))
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

func TestCoerce(t *testing.T) {
	const schema = `{"type":"object","required":["need"],"properties":{
		"need":{"type":"string"},"n":{"type":"number"},"i":{"type":"integer"},"b":{"type":"boolean"},"s":{"type":"string"},
		"many":{"type":"array","items":{"type":"string"}},"pairs":{"type":"array","items":{"type":"object","properties":{"n":{"type":"number"}}}},
		"o":{"type":"object","properties":{"n":{"type":"number"}}},"either":{"type":["number","string","null"]},"any":{}}}`
	for _, c := range []struct{ name, args, want string }{
		{"nothing to do keeps the bytes", `{"n": 1.50, "s":"\u0041", "zz" : null}`, `{"n": 1.50, "s":"\u0041", "zz" : null}`},
		{"number in quotes", `{"n":" 42 "}`, `{"n":42}`},
		{"number in quotes keeps its spelling", `{"n":"1.50"}`, `{"n":1.50}`},
		{"no number", `{"n":"0x10","i":"Inf"}`, `{"n":"0x10","i":"Inf"}`},
		{"truth in quotes", `{"b":"true"}`, `{"b":true}`},
		{"no truth", `{"b":"yes"}`, `{"b":"yes"}`},
		{"string stays", `{"s":"42"}`, `{"s":"42"}`},
		{"null of an optional field", `{"need":"","n":null,"o":null}`, `{"need":""}`},
		{"null of a required field stays", `{"need":null}`, `{"need":null}`},
		{"null that is allowed stays", `{"either":null,"any":null}`, `{"either":null,"any":null}`},
		{"one for a list of texts", `{"many":"a"}`, `{"many":["a"]}`},
		{"one for a list of objects", `{"pairs":{"n":"1"}}`, `{"pairs":[{"n":1}]}`},
		{"list in quotes", `{"pairs":"[{\"n\":\"1\"}]","many":"[\"a\"]"}`, `{"many":["a"],"pairs":[{"n":1}]}`},
		{"object in quotes", `{"o":"{\"n\":\"1\"}"}`, `{"o":{"n":1}}`},
		{"object in quotes for a list", `{"pairs":"{\"n\":1}"}`, `{"pairs":[{"n":1}]}`},
		{"several types stay", `{"either":"1"}`, `{"either":"1"}`},
		{"big numbers keep their digits", `{"n":"1","any":12345678901234567890}`, `{"any":12345678901234567890,"n":1}`},
		{"not an object", `[1]`, `[1]`},
		{"not JSON", `{`, `{`},
	} {
		t.Run(c.name, func(t *testing.T) {
			decl := message.ToolDeclaration{Name: "x", Parameters: json.RawMessage(schema)}
			if got := Coerce(decl, json.RawMessage(c.args)); string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	decl := NewEdit(Options{}).Declaration()
	args := json.RawMessage(`{"path":"a","edits":[{"oldText":"x","newText":"y"}]}`)
	for b.Loop() {
		if err := Check(decl, args); err != nil {
			b.Fatal(err)
		}
	}
}
