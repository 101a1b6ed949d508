package blob_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/piweb-go/piweb/blob"
	"pgregory.net/rapid"
)

func contents(t testing.TB) *blob.Contents {
	t.Helper()
	dir, err := blob.NewDir(filepath.Join(t.TempDir(), "blobs"), blob.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return blob.NewContents(dir)
}

func externalize(t testing.TB, c *blob.Contents, line string) string {
	t.Helper()
	out, err := c.Externalize(t.Context(), []byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(out) {
		t.Fatalf("no JSON: %.300s", out)
	}
	return string(out)
}

// The inputs of the vectors that the real program gave.
const (
	vectorURL  = "data:image/png;base64,AAAA"
	longerURL  = "data:image/png;base64," // and the picture
	bigText    = 500_001
	omittedKey = "$len"
)

func vectorInputs() map[string]string {
	image := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{5}, 900)) // 1200 characters
	z := strings.Repeat("z", bigText)
	message := func(m string) string {
		return `{"type":"message","id":"a","parentId":null,"timestamp":"t","message":` + m + `}`
	}
	return map[string]string{
		"imageNoMime":                message(`{"role":"user","content":[{"type":"image","data":"` + image + `"}]}`),
		"imageUnderOtherKey":         message(`{"role":"user","content":"x","thumb":{"type":"image","data":"` + image + `","mimeType":"image/png"}}`),
		"imageContentObjectNotArray": message(`{"role":"user","content":{"type":"image","data":"` + image + `","mimeType":"image/png"}}`),
		"images_nonImageMime":        message(`{"role":"t","details":{"images":[{"data":"` + image + `","mimeType":"application/pdf"}]}}`),
		"frames":                     `{"type":"compaction","preserveData":{"snapcompact":{"frames":[{"data":"` + image + `","mimeType":"image/png","cols":1}]}}}`,
		"imageGen":                   message(`{"role":"assistant","providerPayload":{"items":[{"type":"image_generation_call","result":"` + image + `"}]}}`),
		"imageUrlNested":             message(`{"role":"user","a":{"image_url":{"url":"` + longerURL + image + `"}}}`),
		"exactly500000":              message(`{"role":"user","content":"` + z[1:] + `"}`),
		"jsonlEventsNested":          message(`{"role":"t","details":{"results":[{"jsonlEvents":[1],"keep":1}]}}`),
		"signedThinking":             message(`{"role":"assistant","content":[{"type":"thinking","thinking":"` + z + `","thinkingSignature":"s"}]}`),
		"signedText":                 message(`{"role":"assistant","content":[{"type":"text","text":"` + z + `","textSignature":"s"}]}`),
		"signedTool":                 message(`{"role":"assistant","content":[{"type":"toolCall","arguments":{"a":"` + z + `","jsonlEvents":1},"thoughtSignature":"s"}]}`),
		"redacted":                   message(`{"role":"assistant","content":[{"type":"redactedThinking","data":"` + z + `"}]}`),
		"reasoning":                  message(`{"role":"assistant","providerPayload":{"items":[{"type":"reasoning","encrypted_content":"` + z + `","summary":"` + z + `"}]}}`),
		"alreadyRef":                 message(`{"role":"user","content":[{"type":"image","data":"blob:sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824","mimeType":"image/png"}]}`),
	}
}

// shorten writes long strings as the vectors do.
func shorten(v any) any {
	switch v := v.(type) {
	case string:
		if n := len(utf16.Encode([]rune(v))); n > 300 {
			sum := sha256.Sum256([]byte(v))
			return map[string]any{omittedKey: float64(n), "$sha256": hex.EncodeToString(sum[:])}
		}
	case []any:
		for i := range v {
			v[i] = shorten(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = shorten(v[k])
		}
	}
	return v
}

// What oh-my-pi 18.2.3 writes, we write: the vectors on positions and on what is
// never touched. Not taken over, each for a reason that the picture specification
// of blobs gives: pictures in tiny data URLs stay (W19), partialJson goes, cut
// strings name their blob (W12), and nothing else is dropped or counted.
func TestVectors(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "fixtures", "omp", "vectors-v18.json"))
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct{ Persist map[string]any }
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	for name, in := range vectorInputs() {
		t.Run(name, func(t *testing.T) {
			c := contents(t)
			out := externalize(t, c, in)
			var got any
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatal(err)
			}
			want := vectors.Persist[name]
			if name == "jsonlEventsNested" {
				want = map[string]any{"type": "message", "id": "a", "parentId": nil, "timestamp": "t", "message": map[string]any{"role": "t",
					"details": map[string]any{"results": []any{map[string]any{"keep": float64(1)}}}}}
			}
			if got = shorten(got); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
			back, missing, err := c.Inline(t.Context(), []byte(out))
			if name == "alreadyRef" {
				if len(missing) != 1 || string(back) != in {
					t.Errorf("missing %v", missing)
				}
				return
			}
			if err != nil || len(missing) != 0 || name != "jsonlEventsNested" && string(back) != in {
				t.Errorf("it does not come back: %v %v", missing, err)
			}
		})
	}
}

// The threshold, and base64 that would not come back.
func TestWhatStays(t *testing.T) {
	picture := func(data string) string { return `{"type":"x","content":[{"type":"image","data":"` + data + `"}]}` }
	whole := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("blob"), 300)) // 1600 characters
	for _, c := range []struct {
		name, data string
		moves      bool
	}{
		{"1024", whole[:1024], true},
		{"1020", whole[:1020], false},
		{"not a multiple of 4", whole[:1025], false},
		{"padding left out", strings.TrimRight(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, 1000)), "="), false},
		{"bits behind the end", whole[:1022] + "x=", false},
		{"W11: a line break", whole[:600] + `\n` + whole[600:], false},
		{"a real line break", whole[:600] + `\r\n` + whole[600:1200], false},
		{"URL alphabet", strings.ReplaceAll(whole, "b", "-"), false},
		{"a reference that is none", "blob:sha256:" + whole, false},
		{"upper-case digits", "blob:sha256:" + strings.Repeat("AB", 32), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := contents(t)
			in := picture(c.data)
			out := externalize(t, store, in)
			if (out != in) != c.moves {
				t.Errorf("got %.200s", out)
			}
			if blob.Movable([]byte(in)) != c.moves {
				t.Errorf("Movable says %v", !c.moves)
			}
			if again := externalize(t, store, out); again != out {
				t.Errorf("the second time it is %.200s", again)
			}
		})
	}
	url := func(data string) string { return `{"image_url":"data:image/png;base64,` + data + `"}` }
	store := contents(t)
	if in := url("AAAA"); externalize(t, store, in) != in {
		t.Error("a tiny data URL was moved (W19)")
	}
	out := externalize(t, store, url(whole))
	if refs := blob.Refs([]byte(out)); len(refs) != 1 {
		t.Errorf("got %s", out)
	} else if text, err := store.Read(t.Context(), refs[0], 0); err != nil || string(text) != "data:image/png;base64,"+whole {
		t.Errorf("%v: %.60s", err, text)
	}
}

// Transient fields go wherever they stand, and the rest of the line stays as it
// was written: order, blanks, numbers, unknown fields.
func TestTransient(t *testing.T) {
	for in, want := range map[string]string{
		`{"partialJson":"x"}`:                                         `{}`,
		`{"a":1,"partialJson":"x"}`:                                   `{"a":1}`,
		`{"partialJson":"x","a":1}`:                                   `{"a":1}`,
		`{"a":1,"partialJson":"x","jsonlEvents":[{"partialJson":1}]}`: `{"a":1}`,
		`{"jsonlEvents":1,"partialJson":"x"}`:                         `{}`,
		`{"a":1,"jsonlEvents":1,"b":2,"partialJson":"x"}`:             `{"a":1,"b":2}`,
		`{"a":1,"jsonlEvents":1,"partialJson":"x","b":2.50 , "c":[]}`: `{"a":1,"b":2.50 , "c":[]}`,
		`{"a":[{"b":{"jsonlEvents":1}}], "jsonlEvents":2}`:            `{"a":[{"b":{}}]}`,
		`{"type":"text","textSignature":"s","partialJson":1}`:         `{"type":"text","textSignature":"s","partialJson":1}`,
		`{"text":"\"partialJson\":1"}`:                                `{"text":"\"partialJson\":1"}`,
	} {
		if got := externalize(t, contents(t), in); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

// W12, RULINGS on lengths: a long text is cut only after all of it went to a blob,
// and comes back.
func TestLongText(t *testing.T) {
	for name, text := range map[string]string{
		"ascii":      strings.Repeat("z", 500_001),
		"characters": strings.Repeat("漢😀", 200_000),
		"escapes":    strings.Repeat("\"\\\n", 170_000),
	} {
		c := contents(t)
		line, err := json.Marshal(map[string]any{"type": "x", "details": map[string]any{"out": text}})
		if err != nil {
			t.Fatal(err)
		}
		out := externalize(t, c, string(line))
		var v struct{ Details struct{ Out string } }
		if err := json.Unmarshal([]byte(out), &v); err != nil {
			t.Fatal(err)
		}
		if n := len(utf16.Encode([]rune(v.Details.Out))); n > blob.MaxText || n < blob.MaxText-2 || strings.Contains(v.Details.Out, "\uFFFD") {
			t.Errorf("%s: %d units", name, n)
		}
		back, missing, err := c.Inline(t.Context(), []byte(out))
		var w struct{ Details struct{ Out string } }
		if err != nil || len(missing) > 0 || json.Unmarshal(back, &w) != nil || w.Details.Out != text {
			t.Errorf("%s: it does not come back (%v)", name, err)
		}
	}
	half := `{"out":"\ud83d` + strings.Repeat("z", 500_001) + `"}`
	if externalize(t, contents(t), half) != half {
		t.Error("half of a character does not survive UTF-8, so it must stay")
	}
}

// W21: what one direction moves the other finds, at any position; and text that
// only looks like a reference is left alone.
func TestRoundTrip(t *testing.T) {
	c := contents(t)
	rapid.Check(t, func(rt *rapid.T) {
		line := drawValue(rt, 0)
		in, err := json.Marshal(line)
		if err != nil {
			rt.Fatal(err)
		}
		out, err := c.Externalize(context.Background(), in)
		if err != nil || !json.Valid(out) {
			rt.Fatalf("%v: %s", err, out)
		}
		back, missing, err := c.Inline(context.Background(), out)
		if err != nil || len(missing) > 0 || !bytes.Equal(back, in) {
			rt.Fatalf("%v %v\n in  %.400s\n out %.400s\n back %.400s", err, missing, in, out, back)
		}
	})
}

func drawValue(t *rapid.T, depth int) any {
	picture := func() string {
		n := rapid.IntRange(700, 800).Draw(t, "bytes")
		return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{byte(n)}, n))
	}
	if depth > 5 {
		return "end"
	}
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		return map[string]any{"type": "image", "data": picture(), "mimeType": "image/png"}
	case 1:
		return map[string]any{"type": "image_generation_call", "result": picture()}
	case 2:
		return map[string]any{"image_url": "data:image/png;base64," + picture()}
	case 3:
		return rapid.String().Draw(t, "text")
	case 4:
		return "blob:sha256:" + strings.Repeat("0", 64)
	case 5, 6:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			list = append(list, drawValue(t, depth+1))
		}
		return list
	}
	out := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "n") {
		key := rapid.SampledFrom([]string{"content", "images", "frames", "message", "details", "thumb", "type", "x\"y"}).Draw(t, "key")
		out[key] = drawValue(t, depth+1)
	}
	return out
}

// TestExternalizeFaults lets each call of the file system fail in turn: the line is
// not given then, and what lies in the folder is whole.
func TestExternalizeFaults(t *testing.T) {
	data := bytes.Repeat([]byte("picture"), 20_000)
	line := []byte(`{"content":[{"type":"image","data":"` + base64.StdEncoding.EncodeToString(data) + `"}]}`)
	for at := 1; ; at++ {
		fs := &faulty{left: at}
		dir := newDir(t, fs)
		c := blob.NewContents(dir)
		out, err := c.Externalize(t.Context(), line)
		if fs.left > 0 {
			if err != nil {
				t.Fatal(err)
			}
			return // every call has failed once
		}
		if err == nil && len(blob.Refs(out)) != 1 || err != nil && out != nil {
			t.Errorf("call %d: %v, %.80s", at, err, out)
		}
		for content, err := range c.List(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if got, err := c.Read(t.Context(), content.Ref, 0); err != nil || !bytes.Equal(got, data) {
				t.Errorf("call %d: %d bytes under the name (%v)", at, len(got), err)
			}
		}
	}
}

// A member of a hostile line must not cost more than the line.
func TestDeepLine(t *testing.T) {
	deep := strings.Repeat(`{"content":[`, 5000) + strings.Repeat(`]}`, 5000)
	if externalize(t, contents(t), deep) != deep {
		t.Error("it changed")
	}
}

func FuzzExternalize(f *testing.F) {
	for _, in := range vectorInputs() {
		if len(in) < 4000 {
			f.Add([]byte(in))
		}
	}
	f.Add([]byte(`{"content":[{"type":"image","data":""}],"partialJson":{"a":[1,{"b":"\""}]}}`))
	c := contents(f)
	f.Fuzz(func(t *testing.T, line []byte) {
		if !json.Valid(line) {
			return
		}
		out, err := c.Externalize(t.Context(), line)
		if err != nil || !json.Valid(out) {
			t.Fatalf("%v: %s became %s", err, line, out)
		}
		blob.Movable(line)
		if _, _, err := c.Inline(t.Context(), line); err != nil {
			t.Fatal(err)
		}
	})
}

func Example() {
	fmt.Println(blob.Refs([]byte(`{"content":[{"type":"image","data":"blob:sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}]}`)))
	// Output: [blob:sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855]
}
