package structure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type reporter interface {
	Helper()
	Errorf(string, ...any)
}

// check holds everything that looks at JSON in place against encoding/json.
func check(t reporter, data []byte) {
	t.Helper()
	value := bytes.Trim(data, " \t\r\n")
	isJSON := json.Valid(value)
	if Valid(value) != isJSON {
		t.Errorf("%.200q: valid %v, encoding/json says %v", value, !isJSON, isJSON)
	}
	if !isJSON {
		Each(value, func(string, []byte) {}) // and ends
		Items(value, func([]byte) {})
		return
	}
	for _, g := range []Grammar{Shape, Strict} {
		if end := g.Value(value, 0, MaxDepth); end != len(value) {
			t.Errorf("%.200q: a value that ends at %d", value, end)
		}
	}
	var compact bytes.Buffer
	_ = json.Compact(&compact, value)
	if tight := compact.Len() == len(value); Tight(value) != tight {
		t.Errorf("%.200q: tight %v", value, !tight)
	}
	switch value[0] {
	case '{':
		var want map[string]json.RawMessage
		_ = json.Unmarshal(value, &want)
		got := map[string]json.RawMessage{}
		Each(data, func(key string, value []byte) { got[strings.Clone(key)] = bytes.Clone(value) })
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%.200q: fields\n got %q\nwant %q", value, got, want)
		}
		for key := range want {
			if !bytes.Equal(Get(value, key), want[key]) {
				t.Errorf("%.200q: %q is %q", value, key, Get(value, key))
			}
		}
	case '[':
		var want []json.RawMessage
		_ = json.Unmarshal(value, &want)
		got := []json.RawMessage{}
		Items(data, func(value []byte) { got = append(got, bytes.Clone(value)) })
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%.200q: elements\n got %q\nwant %q", value, got, want)
		}
	case '"':
		var want string
		_ = json.Unmarshal(value, &want)
		if got := Text(value); got != want {
			t.Errorf("%q: read as %q, want %q", value, got, want)
		}
	default:
		if got := Text(value); got != "" {
			t.Errorf("%q: read as %q", value, got)
		}
	}
}

var table = []string{
	``, ` `, `5`, `-0`, `01`, `1.`, `.5`, `1e9`, `1E+9`, `--1`, `true`, `tru`, `null`, `"x"`, `"`, `"\"`, `"a\\"`, `"\\\""`,
	`{}`, `{"a":1}`, `{"a":1,}`, `{"a" : {"b":[1, "}" ,2]} , "a":3 }`, `{"\u0061":1,"a":2}`, `{a:1}`, `{"a":}`, `{"a"}`, `{"":""}`,
	`[]`, `[ ]`, `[1]`, `[1,]`, `[[],{},"]"]`, `[1 2]`, `[1}`, `{"a":1]`, `{"a":1}{"b":2}`, `{"a":[1,2]`,
	`"\u00e9\ud83d\ude00\ud800\udc00"`, `"\ud800"`, `"\udc00\ud800"`, `"\ud83d\ud83d\ude00"`, `"\ud83dx\u0041"`, `"\u12"`, `"\q"`, `"\uD83D\u0061"`,
	"\"a\x01b\"", "\"a\\n\x01\"", "\"\xff\"", "\"é\xff\\n\xe4\xb8\"", "\"漢\\u5b57\"", "{\"k\xff\":1}", "\x00{}", "{\"a\":\x00 1}",
	strings.Repeat("[", 70) + strings.Repeat("]", 70), strings.Repeat(`{"a":[`, 70) + "1" + strings.Repeat("]}", 69) + "}]",
	strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1),
}

func TestAgainstEncodingJSON(t *testing.T) {
	for _, data := range table {
		check(t, []byte(data))
	}
	rapid.Check(t, func(rt *rapid.T) {
		data := []byte(rapid.SampledFrom(table[:len(table)-2]).Draw(rt, "value"))
		for range rapid.IntRange(0, 3).Draw(rt, "accidents") {
			at := rapid.IntRange(0, len(data)).Draw(rt, "at")
			switch rapid.IntRange(0, 2).Draw(rt, "what") {
			case 0:
				data = slices.Delete(data, at, min(len(data), at+1))
			case 1:
				data = slices.Insert(data, at, []byte(rapid.SampledFrom([]string{`"`, `\`, `{`, `}`, `[`, `]`, `,`, `:`, " ", "\t", "\xff", "\x01", `\ud83d`, "漢", "1", "a"}).Draw(rt, "text"))...)
			case 2:
				data = append(data, rapid.SampledFrom(table[:len(table)-2]).Draw(rt, "more")...)
			}
		}
		check(rt, data)
	})
}

func FuzzAgainstEncodingJSON(f *testing.F) {
	for _, data := range table {
		if len(data) < 1000 {
			f.Add([]byte(data))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { check(t, data) })
}

// checkQuote holds a written string against encoding/json.
func checkQuote(t reporter, s string) {
	t.Helper()
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)
	if got := string(AppendText([]byte("x"), s)); got+"\n" != "x"+want.String() {
		t.Errorf("%q is written as %s, want %s", s, got, want.String())
	}
}

func TestAppendText(t *testing.T) {
	for c := range 256 {
		for n := range 17 { // in front of, in and behind a word
			checkQuote(t, strings.Repeat("a", n)+string([]byte{byte(c)})+"b")
		}
	}
	for _, s := range append(table, "\u2028\u2029\u202a <&>", "漢字 😀", "\ufffd \xe2\x80", "\xed\xa0\x80") {
		checkQuote(t, s)
	}
	rapid.Check(t, func(rt *rapid.T) { checkQuote(rt, rapid.String().Draw(rt, "text")) })
	rapid.Check(t, func(rt *rapid.T) { checkQuote(rt, string(rapid.SliceOf(rapid.Byte()).Draw(rt, "bytes"))) })
}

func FuzzAppendText(f *testing.F) {
	for _, s := range table {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkQuote(t, s) })
}

type inner struct {
	X int            `json:"x"`
	Y int            `json:"y"`
	M map[string]int `json:"m,omitempty"`
}

type record struct {
	Version int               `json:"version"`
	Name    string            `json:"name"`
	In      inner             `json:"in"`
	Ptr     *inner            `json:"ptr"`
	List    []inner           `json:"list"`
	ByKey   map[string]*inner `json:"byKey"`
	Raw     json.RawMessage   `json:"raw"`
	Any     any               `json:"any"`
	Bare    int
	Left    int `json:"-"`
}

// TestUnmarshal: keys to the letter, and the last of those that repeat.
func TestUnmarshal(t *testing.T) {
	for data, want := range map[string]record{
		`{"VERSION":2,"Name":"no","name":"yes"}`:                  {Name: "yes"},
		`{"name":"yes","NAME":"no"}`:                              {Name: "yes"},
		`{"version":1,"version":2}`:                               {Version: 2},
		`{"version":2,"version":"x","name":"kept"}`:               {Name: "kept"},
		`{"in":{"x":1},"in":{"y":2}}`:                             {In: inner{Y: 2}},
		`{"ptr":{"x":1,"X":5},"ptr":{"y":2,"Y":7}}`:               {Ptr: &inner{Y: 2}},
		`{"list":[{"x":1,"X":2},{"Y":3}]}`:                        {List: []inner{{X: 1}, {}}},
		`{"byKey":{"k":{"x":1,"m":{"a":1}},"k":{"m":{"b":1}}}}`:   {ByKey: map[string]*inner{"k": {M: map[string]int{"b": 1}}}},
		`{"byKey":{"K":{"x":1},"k":{"X":1}}}`:                     {ByKey: map[string]*inner{"K": {X: 1}, "k": {}}},
		`{"raw":{"a":1,"a":2, "A":3},"RAW":5}`:                    {Raw: json.RawMessage(`{"a":1,"a":2, "A":3}`)},
		`{"any":{"a":{"x":1},"a":{"y":2}}}`:                       {Any: map[string]any{"a": map[string]any{"y": 2.0}}},
		`{"Bare":1,"bare":2,"Left":3,"left":4,"-":5}`:             {Bare: 1},
		`{"n\u0061me":"escaped"}`:                                 {Name: "escaped"},
		` { "in" : { "x" : 1 } , "ptr" : null , "list" : null } `: {In: inner{X: 1}},
		`{"in":[1],"name":"kept"}`:                                {Name: "kept"},
		`{}`:                                                      {},
	} {
		var got record
		err := Unmarshal([]byte(data), &got)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v (%v)", data, got, want, err)
		}
	}
	for _, bad := range []string{``, ` `, `{`, `{"name":"x"}}`, `{"name":5}`} {
		var got record
		if err := Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// TestUnmarshalCannotBeMadeSlow: an object of very many keys takes one pass.
func TestUnmarshalCannotBeMadeSlow(t *testing.T) {
	var b strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&b, `"k":{"x":1},"name":{"x":2},"key%d":{"x":1,"x":%d},`, i%100_000, i)
	}
	var got record
	if err := Unmarshal([]byte(`{"byKey":{`+b.String()+`"z":{"x":2}},"version":3}`), &got); err != nil || got.Version != 3 || len(got.ByKey) != 100_003 || got.ByKey["key5"].X != 100_005 {
		t.Errorf("%v %+v", err, got)
	}
}
