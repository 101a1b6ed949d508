package message

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The slow ways that the fast ones are held against: encoding/json, field by field.

// slowFill reads into the fields of a struct by their tags what has their type.
func slowFill(data []byte, v reflect.Value) {
	var fields map[string]json.RawMessage // the last of keys that repeat
	if json.Unmarshal(data, &fields) != nil {
		return
	}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		raw, ok := fields[name]
		if !ok {
			continue
		}
		switch f := v.Field(i); f.Type() {
		case reflect.TypeFor[Content]():
			f.Set(reflect.ValueOf(slowContent(raw)))
		case reflect.TypeFor[Usage](), reflect.TypeFor[Cost]():
			slowFill(raw, f)
		default:
			fresh := reflect.New(f.Type())
			if json.Unmarshal(raw, fresh.Interface()) == nil {
				f.Set(fresh.Elem())
			}
		}
	}
}

func slowContent(raw json.RawMessage) Content {
	var s string
	if raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return Content{Text(s)}
	}
	var items []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		return nil
	}
	c := Content{}
	for _, item := range items {
		b := Block{Raw: item}
		var fields map[string]json.RawMessage
		_ = json.Unmarshal(item, &fields)
		for key, to := range map[string]*string{
			"type": &b.Type, "text": &b.Text, "textSignature": &b.TextSignature, "thinking": &b.Thinking,
			"thinkingSignature": &b.ThinkingSignature, "id": &b.ID, "name": &b.Name, "thoughtSignature": &b.ThoughtSignature,
			"namespace": &b.Namespace, "argumentsError": &b.ArgumentsError, "data": &b.Data, "mimeType": &b.MimeType,
		} {
			_ = json.Unmarshal(fields[key], to)
		}
		_ = json.Unmarshal(fields["redacted"], &b.Redacted)
		if a := fields["arguments"]; len(a) > 0 && a[0] == '{' {
			b.Arguments = a
		} else if b.Type == TypeToolCall {
			b.Arguments = json.RawMessage("{}")
		}
		c = append(c, b)
	}
	return c
}

func slowDecode(data []byte) Message {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || fields == nil {
		return nil
	}
	var role Role
	_ = json.Unmarshal(fields["role"], &role)
	switch role {
	case RoleUser:
		m := &User{}
		slowFill(data, reflect.ValueOf(m).Elem())
		return m
	case RoleAssistant:
		m := &Assistant{}
		slowFill(data, reflect.ValueOf(m).Elem())
		return m
	case RoleToolResult:
		m := &ToolResult{}
		slowFill(data, reflect.ValueOf(m).Elem())
		return m
	case RoleSystem, RoleBashExecution, RoleCustom, RoleBranchSummary, RoleCompactionSummary:
		return nil // those are left to encoding/json
	}
	return &Unknown{role, bytes.TrimSpace(data)}
}

func checkDecode(t interface {
	Helper()
	Errorf(string, ...any)
}, data []byte) {
	t.Helper()
	want := slowDecode(data)
	if want == nil {
		return
	}
	got, err := Decode(data)
	if err != nil {
		t.Errorf("%s: %v", data, err)
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: (-slow +fast)\n%s", data, d)
	}
}

// oddMessages are written by nobody we know, and can be.
var oddMessages = []string{
	`{}`, `{"role":"user"}`, `{"ROLE":"user","content":"x"}`, `{"Role":"assistant","role":"user","CONTENT":"no","content":"yes"}`,
	`{"role":"assistant","role":"user","content":"the last role counts"}`,
	`{"role":"user","content":"first","content":[{"type":"text","text":"last"}]}`,
	`{"role":"user","content":[{"type":"text","text":"a","text":5}],"timestamp":1.5}`,
	`{"role":"user","content":[{"TYPE":"image","type":"text","Text":"no"}],"timestamp":1e3}`,
	`{"role":"user","content":[5,null,"x",[],{},{"type":null}]}`,
	`{"role":"user","content":null}`, `{"role":"user","content":{}}`, `{"role":"user","content":[]}`,
	`{"\u0072ole":"user","c\u006fntent":"a\u00e9\ud83d\ude00\ud800\udc\/\b\f\n\r\t\"\\ z"}`,
	`{"role":"user","content":"lone \ud83d then \ude00 and \ud83dx \ud800\ud83d\ude00"}`,
	"{\"role\":\"user\",\"content\":\"not UTF-8 \xff\xc3 é \\n \xe4\xb8\"}",
	` { "role" : "user" , "content" : [ { "type" : "text" , "text" : "a b" } ] } `,
	`{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"ls","arguments":"no"},{"type":"toolCall","arguments":{"a": 1}},{"type":"thinking","thinking":"t","redacted":true}],"usage":{"input":1,"output":"x","cost":{"total":1.5e-7,"input":1e400},"reasoning":2},"usage":{"input":7},"stopReason":5,"durationMs":-3,"diagnostics":null}`,
	`{"role":"toolResult","toolCallId":"c","toolName":null,"content":"x","details": {"a": [1, 2]} ,"isError":1,"isError":true,"timestamp":9223372036854775808}`,
	`{"role":7}`, `{"role":"branchManager","x":[1,2.50]}`,
}

func TestDecodeAgainstSlow(t *testing.T) {
	for _, data := range oddMessages {
		checkDecode(t, []byte(data))
	}
	rapid.Check(t, func(rt *rapid.T) { checkDecode(rt, drawMessage(rt)) })
}

func FuzzDecode(f *testing.F) {
	for _, data := range oddMessages {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkDecode(t, data) })
}

// drawMessage draws an object with the keys of messages and values of any type.
func drawMessage(t *rapid.T) []byte {
	key := rapid.SampledFrom([]string{"role", "content", "usage", "cost", "type", "text", "Text", "arguments", "data", "details", "isError", "timestamp", "durationMs", "input", "total", "stopReason", "toolCallId", "redacted", "r\u006fle"})
	var value func(depth int) string
	value = func(depth int) string {
		kind := rapid.IntRange(0, 7).Draw(t, "kind")
		if depth == 0 {
			kind %= 4
		}
		switch kind {
		case 0:
			return rapid.SampledFrom([]string{"null", "true", "false", "0", "-0", "17", "1.5", "1e3", "1e400", "12345678901234567890"}).Draw(t, "literal")
		case 1, 2:
			s, _ := Marshal(rapid.SampledFrom([]string{"user", "assistant", "toolResult", "text", "toolCall", "thinking", "image"}).Draw(t, "word"))
			return string(s)
		case 3:
			s, _ := Marshal(rapid.String().Draw(t, "string"))
			return string(s)
		case 4:
			items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return value(depth - 1) }), 0, 3).Draw(t, "list")
			return "[" + strings.Join(items, ", ") + "]"
		}
		var fields []string
		for range rapid.IntRange(0, 6).Draw(t, "fields") {
			k, _ := Marshal(key.Draw(t, "key"))
			fields = append(fields, string(k)+": "+value(depth-1))
		}
		return "{" + strings.Join(fields, " ,") + "}"
	}
	body := strings.TrimSuffix(strings.TrimPrefix(value(3), "{"), "}")
	role := rapid.SampledFrom([]string{"user", "assistant", "toolResult"}).Draw(t, "role")
	data := `{"role":"` + role + `"}`
	if json.Valid([]byte("{"+body+"}")) && body != "" {
		data = "{" + body + `,"role":"` + role + `"}`
	}
	return []byte(data)
}

// slowBlock is a block as encoding/json writes it.
type slowBlock struct {
	Type              string          `json:"type"`
	Text              *string         `json:"text,omitempty"`
	TextSignature     string          `json:"textSignature,omitempty"`
	Thinking          *string         `json:"thinking,omitempty"`
	ThinkingSignature string          `json:"thinkingSignature,omitempty"`
	Redacted          bool            `json:"redacted,omitempty"`
	ID                string          `json:"id,omitempty"`
	Name              string          `json:"name,omitempty"`
	Arguments         json.RawMessage `json:"arguments,omitempty"`
	ThoughtSignature  string          `json:"thoughtSignature,omitempty"`
	Namespace         string          `json:"namespace,omitempty"`
	ArgumentsError    string          `json:"argumentsError,omitempty"`
	Data              *string         `json:"data,omitempty"`
	MimeType          string          `json:"mimeType,omitempty"`
}

// slowEncode is a message as encoding/json writes it.
func slowEncode(t *rapid.T, role Role, m any, content Content) []byte {
	blocks := []any{}
	for _, b := range content {
		if b.Raw != nil {
			blocks = append(blocks, b.Raw)
			continue
		}
		s := slowBlock{b.Type, nil, b.TextSignature, nil, b.ThinkingSignature, b.Redacted, b.ID, b.Name, b.Arguments, b.ThoughtSignature, b.Namespace, b.ArgumentsError, nil, b.MimeType}
		switch b.Type {
		case TypeText:
			s.Text = &b.Text
		case TypeThinking:
			s.Thinking = &b.Thinking
		case TypeImage:
			s.Data = &b.Data
		case TypeToolCall:
			if len(s.Arguments) == 0 {
				s.Arguments = json.RawMessage("{}")
			}
		}
		blocks = append(blocks, s)
	}
	list, err := Marshal(blocks)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := Marshal(m) // a plain struct, with an empty content
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Replace(string(raw), `"content":[]`, `"content":`+string(list), 1)
	return []byte(`{"role":"` + string(role) + `",` + fields[1:])
}

func TestEncodeAgainstSlow(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "<tag> & \u2028\u2029\x00\x1f\x7f", "not \xff UTF-8 \xe4\xb8", "漢字とかな、한글 😀", strings.Repeat("long text\n", 20)}))
	number := rapid.Int64()
	raw := rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{}`), json.RawMessage(` { "a" : [ 1.50 , "b c\u2028" ] } `), json.RawMessage(`null`), json.RawMessage("{\n\"k\": \"v\u2028\"}")})
	content := rapid.Custom(func(t *rapid.T) Content {
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Block {
			b := Block{Type: rapid.SampledFrom([]string{TypeText, TypeThinking, TypeToolCall, TypeImage, "other"}).Draw(t, "type")}
			for _, to := range []*string{&b.Text, &b.TextSignature, &b.Thinking, &b.ThinkingSignature, &b.ID, &b.Name, &b.ThoughtSignature, &b.Namespace, &b.ArgumentsError, &b.Data, &b.MimeType} {
				*to = text.Draw(t, "field")
			}
			b.Redacted, b.Arguments, b.Raw = rapid.Bool().Draw(t, "redacted"), raw.Draw(t, "arguments"), raw.Draw(t, "raw")
			return b
		}), 0, 3).Draw(t, "content")
	})
	rapid.Check(t, func(rt *rapid.T) {
		c := content.Draw(rt, "content")
		cost := rapid.Float64()
		type (
			user       User
			assistant  Assistant
			toolResult ToolResult
		)
		u := User{Content{}, number.Draw(rt, "time")}
		a := Assistant{
			Content: Content{}, API: text.Draw(rt, "api"), Provider: text.Draw(rt, "provider"), Model: text.Draw(rt, "model"), ResponseModel: text.Draw(rt, "answered"),
			ResponseID: text.Draw(rt, "response"), ThinkingLevel: text.Draw(rt, "level"), Diagnostics: raw.Draw(rt, "diagnostics"),
			Usage:      Usage{Input: number.Draw(rt, "n"), CacheWrite1h: number.Draw(rt, "hour"), Reasoning: number.Draw(rt, "reasoning"), Cost: Cost{cost.Draw(rt, "cost"), 0, 1e-7, 1e21, cost.Draw(rt, "total")}},
			StopReason: StopReason(text.Draw(rt, "stop")), ErrorMessage: text.Draw(rt, "error"), RawStopReason: text.Draw(rt, "raw"), Timestamp: 5, DurationMs: number.Draw(rt, "ms"),
		}
		r := ToolResult{text.Draw(rt, "call"), text.Draw(rt, "tool"), Content{}, raw.Draw(rt, "details"), rapid.Bool().Draw(rt, "isError"), 7, number.Draw(rt, "ms")}
		for _, m := range []struct {
			m    Message
			want []byte
		}{
			{&User{c, u.Timestamp}, slowEncode(rt, RoleUser, user(u), c)},
			{func() Message { a := a; a.Content = c; return &a }(), slowEncode(rt, RoleAssistant, assistant(a), c)},
			{func() Message { r := r; r.Content = c; return &r }(), slowEncode(rt, RoleToolResult, toolResult(r), c)},
		} {
			got, err := Append([]byte("before "), m.m)
			if err != nil || string(got) != "before "+string(m.want) {
				rt.Fatalf("%v\n got %s\nwant %s", err, got, m.want)
			}
			if again, err := Marshal(m.m); err != nil || !bytes.Equal(again, m.want) {
				rt.Fatalf("encoding/json gives it back as %s, %v\nwant %s", again, err, m.want)
			}
		}
	})
}

// TestEveryField: a field that is new in a struct is written and read by hand, too.
func TestEveryField(t *testing.T) {
	n := 0
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		n++
		switch {
		case v.Type() == reflect.TypeFor[Content]():
			b := Block{}
			fill(reflect.ValueOf(&b).Elem())
			v.Set(reflect.ValueOf(Content{}))
			for _, b.Type = range []string{TypeText, TypeThinking, TypeToolCall, TypeImage} {
				v.Set(reflect.Append(v, reflect.ValueOf(b)))
			}
		case v.Type() == reflect.TypeFor[json.RawMessage]():
			v.SetBytes([]byte(`{"n":` + strconv.Itoa(n) + `}`))
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).Name != "Raw" {
					fill(v.Field(i))
				}
			}
		case v.Kind() == reflect.String:
			v.SetString("value " + strconv.Itoa(n))
		case v.Kind() == reflect.Int64:
			v.SetInt(int64(n))
		case v.Kind() == reflect.Float64:
			v.SetFloat(float64(n))
		case v.Kind() == reflect.Bool:
			v.SetBool(true)
		default:
			t.Fatalf("a field of type %s", v.Type())
		}
	}
	for _, m := range []Message{&User{}, &Assistant{}, &ToolResult{}} {
		fill(reflect.ValueOf(m).Elem())
		raw, err := Append(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range ContentOf(m) {
			b := ContentOf(got)[i]
			if again, err := Append(nil, &User{Content: Content{want}}); err != nil || !bytes.Contains(again, b.Raw) {
				t.Errorf("%s\nread as %s", again, b.Raw)
			}
			// A block keeps of the bodies only that of its type.
			for _, body := range [][2]*string{{&want.Text, &b.Text}, {&want.Thinking, &b.Thinking}, {&want.Data, &b.Data}} {
				if *body[1] == "" {
					*body[0] = ""
				}
			}
			if b.Raw = nil; !reflect.DeepEqual(b, want) {
				t.Errorf("block %+v\nread as %+v", want, b)
			}
		}
		setContent(m, nil)
		setContent(got, nil)
		if d := cmp.Diff(m, got); d != "" {
			t.Error(d)
		}
	}
}

func setContent(m Message, c Content) {
	reflect.ValueOf(m).Elem().FieldByName("Content").Set(reflect.ValueOf(c))
}

// TestEncodeRefusesWhatIsNoJSON: raw parts come from elsewhere.
func TestEncodeRefusesWhatIsNoJSON(t *testing.T) {
	for name, m := range map[string]Message{
		"details": &ToolResult{Details: json.RawMessage(`{"a":`)},
		"a block": &User{Content: Content{{Raw: json.RawMessage("{}{}")}}},
		"a line":  &User{Content: Content{{Raw: json.RawMessage("\"a\nb\"")}}},
	} {
		if out, err := Append(nil, m); err == nil {
			t.Errorf("%s: written as %s", name, out)
		}
	}
}
