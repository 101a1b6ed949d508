package attachment

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb/blob"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

func place(id string) session.Place { return session.Place{Path: "/" + id + ".jsonl", ID: id} }

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// W10: gaps of the ownership scan.
func TestW10Judge(t *testing.T) {
	w := newWorld(t)
	own, foreign := w.put("s1", "own", "a/b", "x").ID, w.put("s2", "foreign", "a/b", "x").ID
	deep := func(n int, v string) string { return strings.Repeat("[", n) + v + strings.Repeat("]", n) }
	held := func(n int, v string) string {
		for range n {
			v = quote(`{"a":` + v + `}`)
		}
		return v
	}
	escaped := func(id ID) string { return `"\u0061tt_` + id.String()[4:] + `"` }
	lastEscaped := func(id ID) string {
		s := id.String()
		return fmt.Sprintf(`"%s\u%04x"`, s[:len(s)-1], s[len(s)-1])
	}
	f := foreign.String()
	for _, test := range []struct {
		name, args string
		ok         bool
	}{
		{"nothing", `{}`, true},
		{"own", `{"attachmentId":` + quote(own.String()) + `}`, true},
		{"any parameter", `{"x":{"y":[1,null,` + quote(own.String()) + `]}}`, true},
		{"foreign", `{"attachmentId":` + quote(f) + `}`, false},
		{"foreign behind own", `{"a":` + quote(own.String()) + `,"b":` + quote(f) + `}`, false},
		{"unknown", `{"a":"att_AAAAAAAAAAAAAAAAAAAAAA"}`, false},
		{"malformed but meant", `{"a":"att_x"}`, false},
		{"padded", `{"a":` + quote(" "+f+"\n") + `}`, false},
		{"spelled with escapes", `{"a":` + escaped(foreign) + `}`, false},
		{"in nested arrays", `{"a":[[[[` + quote(f) + `]]]]}`, false},
		{"as a key", `{` + quote(f) + `:1}`, false},
		{"a list on top", `[` + quote(f) + `]`, false},
		{"a string on top", quote(f), false},
		{"10 000 deep", `{"a":` + deep(9990, quote(f)) + `}`, false},
		{"10 000 deep, own", `{"a":` + deep(9990, quote(own.String())) + `}`, true},
		{"in a signed address", `{"url":` + quote(w.Links().URL(foreign)) + `}`, false},
		{"in a signed address with a host", `{"url":` + quote("http://127.0.0.1:1"+w.Links().URL(foreign)) + `}`, false},
		{"in an address without signature", `{"url":"/api/attachments/` + f + `/raw"}`, false},
		{"in an address with escapes", `{"url":"/api/attachments/%61tt_` + f[4:] + `/raw"}`, false},
		{"traversal in an address", `{"url":"/api/attachments/..%2fx/raw"}`, false},
		{"own address", `{"url":` + quote(w.Links().URL(own)) + `}`, true},
		{"another site's address", `{"url":"https://host/att_x/` + f + `"}`, true},
		{"JSON in a string", `{"json":` + quote(`{"id":"`+f+`"}`) + `}`, false},
		{"JSON in a string, escaped", `{"json":` + quote(`{"id":`+escaped(foreign)+`}`) + `}`, false},
		{"JSON in a string, last character escaped", `{"json":` + quote(`{"id":`+lastEscaped(foreign)+`}`) + `}`, false},
		{"a quoted string in a string", `{"json":` + quote(quote(f)) + `}`, false},
		{"JSON in JSON in strings", `{"json":` + held(4, quote(f)) + `}`, false},
		{"JSON in JSON in strings, own", `{"json":` + held(4, quote(own.String())) + `}`, true},
		{"nested beyond what is judged", `{"json":` + held(12, quote(own.String())) + `}`, false},
		{"prose", `{"text":` + quote("look at "+f+", it is not yours") + `}`, true},
		{"a data URL", `{"text":"data:image/png;base64,att_AAAA"}`, true},
		{"broken JSON in a string", `{"text":` + quote(`{"id":"`+f+`"`) + `}`, true},
		{"no JSON at all", `{"a":"` + f, false},
	} {
		why := w.For("s1").Judge(t.Context(), json.RawMessage(test.args))
		if (why == "") != test.ok {
			t.Errorf("%s: %q", test.name, why)
		}
		if strings.Contains(why, "foreign") {
			t.Errorf("%s: the reason names the file: %q", test.name, why)
		}
	}
	var none *Scope
	if why := none.Judge(t.Context(), json.RawMessage(`{"a":`+quote(own.String())+`}`)); !strings.Contains(why, "not available") {
		t.Errorf("without a store: %q", why)
	}
	if why := none.Judge(t.Context(), json.RawMessage(`{"a":"text"}`)); why != "" {
		t.Errorf("without a store and without ids: %q", why)
	}
	many := make([]string, maxRefs+2)
	for i := range many {
		many[i] = newID().String()
	}
	args, _ := json.Marshal(many)
	if why := w.For("s1").Judge(t.Context(), args); why == "" {
		t.Error("too many ids pass")
	}
}

// BenchmarkLinear shows by doubling that the work on hostile input grows with its
// length: the nanoseconds for a byte stay the same.
func BenchmarkLinear(b *testing.B) {
	var none *Scope
	id := newID().String()
	c := newWorld(b).For("s1")
	for _, kind := range []struct {
		name string
		work func(text string)
		unit string
	}{
		{"markers without end", func(text string) { FindMarkers(text) }, "[attachment id=" + id + " type=a/b name="},
		{"markers without type", func(text string) { FindMarkers(text) }, "[attachment id="},
		{"ids in JSON in strings", func(text string) {
			c.Judge(b.Context(), json.RawMessage(`{"a":`+quote(`{"a":`+quote(text)+`}`)+`}`))
		}, `\"att_`},
		{"data URLs without data", func(text string) {
			none.Strip(b.Context(), "x", message.Content{message.Text(text)}, json.RawMessage(`{"a":"`+text+`"}`))
		}, "data:image/png;base64,"},
	} {
		for _, size := range []int{256 << 10, 512 << 10, 1 << 20} {
			text := strings.Repeat(kind.unit, size/len(kind.unit))
			b.Run(fmt.Sprintf("%s/%d KiB", kind.name, size>>10), func(b *testing.B) {
				for b.Loop() {
					kind.work(text)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(text)), "ns/byte")
			})
		}
	}
}

// W3: names that break or forge a marker.
func TestW3Markers(t *testing.T) {
	w := newWorld(t)
	other := newID().String()
	for _, name := range []string{
		"cat.png", "Bild 1.png", "日本語.png", "e\u0301.png", "👩‍👩‍👧.png", "a]b", "[x]", "x]\n[attachment id=" + other + " type=image/png name=y",
		"x] [attachment id=" + other + " type=image/png name=y]", "\r\n\t\x00\x1b[31m", "\u202egnp.exe", "\u2028\u2029", " type=x name=y", strings.Repeat("é", 5000), "\xff\xfe", "",
	} {
		for _, kind := range []string{"image/png", "text/plain; charset=utf-8", "a b/c", "x]/y", "", "IMAGE/PNG", "ü/x", strings.Repeat("x", 300) + "/y"} {
			d := w.put("s1", name, kind, "x")
			d2 := d
			d2.MimeType = kind // as another program may have stored it
			d2.Name = name
			for _, d := range []Descriptor{d, d2} {
				text := Inject([]Descriptor{d}, "look")
				found := FindMarkers(text)
				if len(found) != 1 || found[0].ID != d.ID || found[0].Start != 0 || text[found[0].End:] != "\n\nlook" {
					t.Fatalf("%q of %q: %q gives %+v", name, kind, text, found)
				}
				if strings.ContainsFunc(text[:found[0].End], func(r rune) bool { return r < ' ' || r == '\u202e' || r == '\u2028' }) {
					t.Errorf("%q: the marker has what does not print: %q", name, text)
				}
				if strings.Contains(found[0].MimeType, " ") {
					t.Errorf("type %q", found[0].MimeType)
				}
			}
		}
	}
	d := w.put("s1", "cat.png", "image/png", "x")
	if got, want := Marker(d), "[attachment id="+d.ID.String()+" type=image/png name=cat.png]"; got != want {
		t.Errorf("%s", got)
	}
	if got := Inject(nil, "text"); got != "text" {
		t.Errorf("%q", got)
	}
	if got := Inject([]Descriptor{d, d}, ""); got != Marker(d)+"\n"+Marker(d)+"\n\n" {
		t.Errorf("%q", got)
	}
}

func TestFindMarkers(t *testing.T) {
	id := newID().String()
	good := "[attachment id=" + id + " type=image/png name=a b]"
	for _, test := range []struct {
		text string
		n    int
	}{
		{"", 0}, {"text", 0}, {good, 1}, {good + good, 2}, {"x " + good + " y\n" + good, 2},
		{"[attachment id=" + id + "]", 0}, {"[attachment id=" + id + " type=image/png]", 0}, {"[attachment id=x type=a/b name=c]", 0},
		{"[attachment id=" + id + " type=a b name=c]", 0}, {"[attachment id=" + id + " type=a/b name=c", 0},
		{"[attachment id=" + id + " type=a/b name=c\nd]", 0}, {"[attachment id=" + id + " type= name=c]", 0},
		{"[attachment id=" + good, 1}, {"[attachment id=" + id + " type=a/b name=]", 1}, {strings.ToUpper(good), 0},
	} {
		if got := FindMarkers(test.text); len(got) != test.n {
			t.Errorf("%q: %+v", test.text, got)
		}
	}
}

func TestIDsIn(t *testing.T) {
	a, b := newID(), newID()
	text := "x " + a.String() + ", (" + b.String() + ") " + a.String() + " " + b.String() + "x y" + a.String() + " att_short " + a.String()[:20]
	if got := IDsIn(text); !slices.Equal(got, []ID{a, b}) {
		t.Errorf("%v", got)
	}
	var many strings.Builder
	for range 3 * maxIDs {
		many.WriteString(newID().String() + " ")
	}
	if got := IDsIn(many.String()); len(got) != maxIDs {
		t.Errorf("%d ids", len(got))
	}
}

func TestTitle(t *testing.T) {
	m := "[attachment id=" + newID().String() + " type=image/png name=cat.png]"
	for text, want := range map[string]string{
		"hello": "hello", m + "\n\nhello": "hello", m + "\n" + m + "\n\n hello": " hello", "see " + m + " there": "see  there",
		m + "\n\n": "cat.png", m + "\n" + m + "\n\n": "cat.png, cat.png", "": "",
	} {
		if got := Title(text); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

// W16: a megabyte of markers that never end takes minutes. Here every start is
// looked at in a bounded part of the text: the bytes that are looked at double with
// the text, whatever it holds.
func TestW16MarkersAreLinear(t *testing.T) {
	id := newID().String()
	for _, unit := range []string{"[attachment id=", "[attachment id=" + id + " type=", "[attachment id=" + id + " type=a/b name=", "[", "[attachment id=" + id + " type=a/b name=x]"} {
		looked := func(size int) (n int) {
			findMarkers(strings.Repeat(unit, size/len(unit)), func(bytes int) { n += bytes })
			return n
		}
		one, two := looked(512<<10), looked(1<<20)
		t.Logf("%.30q…: %d bytes looked at in 512 KiB, %d in 1 MiB", unit, one, two)
		if two > 2*one+one/50+maxMarkerName {
			t.Errorf("%q: %d bytes in the half, %d in the whole", unit, one, two)
		}
	}
}

func FuzzFindMarkers(f *testing.F) {
	f.Add("[attachment id=att_AAAAAAAAAAAAAAAAAAAAAA type=a/b name=c]")
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		for _, m := range FindMarkers(text) {
			if m.Start < at || m.End <= m.Start || m.End > len(text) || !strings.HasPrefix(text[m.Start:], markerStart) || text[m.End-1] != ']' {
				t.Errorf("%+v in %q", m, text)
			}
			at = m.End
		}
	})
}

func randomBytes(n int) []byte {
	r := rand.NewChaCha8([32]byte{byte(n)})
	b := make([]byte, n)
	_, _ = r.Read(b)
	return b
}

// W11: what the base64 gate misses.
func TestW11Strip(t *testing.T) {
	w := newWorld(t)
	c := w.For("s1")
	png := append([]byte("\x89PNG\r\n\x1a\n"), randomBytes(2000)...)
	b64 := base64.StdEncoding.EncodeToString
	output := w.put("s1", "out.png", "image/png", "stored")
	foreign := w.put("s2", "out.png", "image/png", "stored")
	pictures := message.Content{message.Text("done"), message.Image("image/png", b64(png)), message.Image("image/png", b64(png[:1500]))}
	details := func(id ID, more string) json.RawMessage {
		return json.RawMessage(`{"outputAttachmentId":"` + id.String() + `"` + more + `}`)
	}
	sound := message.Block{Type: "audio", Raw: json.RawMessage(`{"type":"audio","mimeType":"audio/wav","data":"` + b64(randomBytes(3000)) + `"}`)}
	embedded := message.Block{Type: "resource", Raw: json.RawMessage(`{"type":"resource","resource":{"uri":"x","mimeType":"application/pdf","blob":"` + b64(randomBytes(3000)) + `"}}`)}
	for _, test := range []struct {
		name    string
		content message.Content
		details json.RawMessage
		images  int      // that stay
		stored  [][]byte // new attachments, in order
		same    bool     // nothing is changed
	}{
		{name: "text", content: message.Content{message.Text("hello")}, details: json.RawMessage(`{"a": 1}`), same: true},
		{name: "pictures belong to media", content: pictures, images: 2, same: true},
		{name: "an output is named", content: pictures, details: details(output.ID, ""), stored: [][]byte{png[:1500]}},
		{name: "keepInlineImages", content: pictures, details: details(output.ID, `,"keepInlineImages":true`), images: 2, same: true},
		{name: "keepInlineImages not quite", content: pictures, details: details(output.ID, `,"keepInlineImages":"true"`), stored: [][]byte{png[:1500]}},
		{name: "a foreign output is named", content: pictures, details: details(foreign.ID, ""), images: 2, same: true},
		{name: "a bad output is named", content: pictures, details: json.RawMessage(`{"outputAttachmentId":"../x"}`), images: 2, same: true},
		{name: "a data URL in text", content: message.Content{message.Text("see data:image/png;base64," + b64(png) + " and data:text/plain;base64," + b64(randomBytes(1200)) + ".")},
			stored: [][]byte{png, randomBytes(1200)}},
		{name: "a small data URL", content: message.Content{message.Text("see data:image/gif;base64,R0lGODlhAQABAAAAACw=" + strings.Repeat(" x", 2000))}, same: true},
		{name: "no data URL", content: message.Content{message.Text("data: " + strings.Repeat("data:image/png;base64", 200))}, same: true},
		{name: "base64 in details", details: json.RawMessage(`{"a":{"b":["` + b64(png) + `"]},"c":"data:image/png;base64,` + b64(png) + `"}`), stored: [][]byte{png, png}},
		{name: "a long word and a long hash", details: json.RawMessage(`{"a":"` + strings.Repeat("longword", 300) + `","b":"` + strings.Repeat("0123456789abcdef", 100) + `"}`), same: true},
		{name: "base64 that would not come back", details: json.RawMessage(`{"a":"` + b64(png)[:1025] + `"}`), same: true},
		{name: "a preview", details: json.RawMessage(`{"preview":{"thumbnail":"` + b64(png) + `"}}`), same: true},
		{name: "sound", content: message.Content{sound}, stored: [][]byte{randomBytes(3000)}},
		{name: "an embedded resource", content: message.Content{embedded}, stored: [][]byte{randomBytes(3000)}},
		{name: "10 000 deep", details: json.RawMessage(strings.Repeat("[", 9000) + `"` + b64(png) + `"` + strings.Repeat("]", 9000)), stored: [][]byte{png}},
		{name: "a marker in a tool's text stays text", content: message.Content{message.Text(Marker(foreign))}, same: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := w.list("s1")
			content, details := c.Strip(t.Context(), "tool", test.content, test.details)
			var stored [][]byte
			for _, id := range w.list("s1") {
				if !slices.Contains(before, id) {
					d, err := w.Head(t.Context(), id)
					if err != nil {
						t.Fatal(err)
					}
					stored = append(stored, []byte(w.bytes(d)))
					if d.Origin != ToolOutput || !strings.Contains(text(content)+string(details), "[attachment id="+id.String()) {
						t.Errorf("%+v is not referenced", d)
					}
				}
			}
			if !sameBytes(stored, test.stored) {
				t.Errorf("%d attachments were made, not %d", len(stored), len(test.stored))
			}
			images := 0
			for _, b := range content {
				if b.Type == message.TypeImage {
					images++
				}
			}
			if images != test.images {
				t.Errorf("%d pictures stayed", images)
			}
			if len(details) > 0 && !json.Valid(details) {
				t.Errorf("the details are no JSON: %s", details)
			}
			if same := text(content) == text(test.content) && bytes.Equal(details, test.details) && len(content) == len(test.content); same != test.same {
				t.Errorf("changed: %v\n%s\n%s", !same, head(text(content), 500), head(string(details), 500))
			}
			if !test.same && test.images == 0 && len(text(content)) > 3000 {
				t.Error("something large remains")
			}
		})
	}
	var none *Scope
	content, left := none.Strip(t.Context(), "tool", message.Content{message.Text("data:image/png;base64," + b64(png))}, json.RawMessage(`{"a":"`+b64(png)+`"}`))
	if got := text(content); got != "[data left out type=image/png bytes=2008]" || len(left) > 100 {
		t.Errorf("without a store: %q, %s", got, left)
	}
	if _, details := c.Strip(t.Context(), "tool", nil, json.RawMessage(`{broken`)); details != nil {
		t.Errorf("broken details are kept: %s", details)
	}
}

func text(c message.Content) string {
	var b strings.Builder
	for _, block := range c {
		b.WriteString(block.Text)
		b.Write(block.Raw)
	}
	return b.String()
}

func sameBytes(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range b { // made in the same millisecond, so in any order
		if !slices.ContainsFunc(a, func(y []byte) bool { return bytes.Equal(x, y) }) {
			return false
		}
	}
	return true
}

func TestCompanion(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	same := false
	c := NewCompanion(w.Store, func(session.Place) bool { return same })
	own := w.put("src", "own", "a/b", "own")
	lent := w.put("other", "lent", "a/b", "lent")
	if err := w.Grant(ctx, "other", "src", lent.ID); err != nil {
		t.Fatal(err)
	}
	// A fork that is rolled back has nothing.
	undo, err := c.Copy(place("src"), place("fork"))
	if err != nil || len(w.list("fork")) != 2 {
		t.Fatalf("the fork has %v: %v", w.list("fork"), err)
	}
	if err := undo(); err != nil || len(w.list("fork")) != 0 || len(w.list("src")) != 2 {
		t.Fatalf("rolled back, the fork has %v, its source %v: %v", w.list("fork"), w.list("src"), err)
	}
	if _, err := c.Copy(place("src"), place("fork")); err != nil {
		t.Fatal(err)
	}
	if undo, err := c.Copy(place("src"), place("fork")); err != nil || undo != nil {
		t.Fatalf("a second copy has something to undo: %v", err)
	}
	// While another file carries the id, nothing goes.
	same = true
	if undo, err := c.Remove(place("src")); undo != nil || err != nil {
		t.Fatal("something was removed", err)
	}
	same = false
	// A removal that is taken back leaves everything as it was.
	alone := w.put("src", "alone", "a/b", "alone")
	before := strings.Join(w.files(), " ")
	undo, err = c.Remove(place("src"))
	if err != nil || len(w.list("src")) != 0 {
		t.Fatalf("%v: %v", w.list("src"), err)
	}
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	if after := strings.Join(w.files(), " "); after != before || len(w.list("src")) != 3 || len(w.list("fork")) != 2 {
		t.Fatalf("taken back: %s, not %s", after, before)
	}
	if err := c.Settle(ctx); err != nil || w.bytes(alone) != "alone" {
		t.Fatal("settling took what was given back", err)
	}
	// For good: the fork keeps what it has, the rest is gone with its bytes.
	if _, err := c.Remove(place("src")); err != nil {
		t.Fatal(err)
	}
	if err := c.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	if got := w.list("fork"); len(got) != 2 || len(w.list("src")) != 0 {
		t.Errorf("the fork has %v, the removed session %v", got, w.list("src"))
	}
	if d, err := w.Check(ctx, "fork", own.ID); err != nil || w.bytes(d) != "own" {
		t.Errorf("the fork lost what it had: %v", err)
	}
	if files := strings.Join(w.files(), " "); strings.Contains(files, alone.ID.String()) {
		t.Errorf("the bytes are still there: %s", files)
	}
	if d, err := w.Check(ctx, "other", lent.ID); err != nil || w.bytes(d) != "lent" {
		t.Errorf("the lender lost it: %v", err)
	}
	if _, err := c.Remove(place("fork")); err != nil {
		t.Fatal(err)
	}
	if err := c.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	if files := strings.Join(w.files(), " "); strings.Contains(files, own.ID.String()) {
		t.Errorf("nobody has it, and it is still there: %s", files)
	}
}

// TestCollect: bytes that no descriptor names go, once they are old enough.
func TestCollect(t *testing.T) {
	w := newWorld(t)
	d := w.put("s1", "n", "a/b", "x")
	orphan := newID().String()
	w.write(orphan, "half")
	w.write(orphan+".meta.json", "{}")
	w.write("something else", "x")
	if n, err := w.Collect(t.Context(), time.Hour); n != 0 || err != nil {
		t.Fatalf("%d went: %v", n, err)
	}
	if n, err := w.Collect(t.Context(), 0); n != 1 || err != nil {
		t.Fatalf("%d went: %v", n, err)
	}
	if files := w.files(); len(files) != 4 || w.bytes(d) != "x" {
		t.Errorf("the folder holds %q", files)
	}
}

// W18: links of ten years, several spellings of a time, a secret per start.
func TestW18Links(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	l := testLinks(t, func() time.Time { return now })
	id := newID()
	address := l.URL(id)
	checkURL(t, l, address, id)
	if !strings.Contains(address, fmt.Sprintf("exp=%d&", now.Add(time.Hour).UnixMilli())) {
		t.Errorf("an address that does not end in an hour: %s", address)
	}
	_, query, _ := strings.Cut(address, "?exp=")
	exp, sig, _ := strings.Cut(query, "&sig=")
	for _, bad := range [][3]string{
		{"", exp, sig}, {newID().String(), exp, sig}, {id.String(), "", sig}, {id.String(), exp + ".0", sig}, {id.String(), " " + exp, sig},
		{id.String(), exp, ""}, {id.String(), exp, strings.ToUpper(sig)}, {"../x", exp, sig},
	} {
		if _, err := l.Check(bad[0], bad[1], bad[2]); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	now = now.Add(time.Hour + time.Millisecond)
	_, err := l.Check(id.String(), exp, sig)
	want(t, err, ErrSignature)
}

func TestSetup(t *testing.T) {
	dir := t.TempDir()
	with := func(vars ...string) func(string) (string, bool) {
		return func(name string) (string, bool) {
			for _, v := range vars {
				if key, value, _ := strings.Cut(v, "="); key == name {
					return value, true
				}
			}
			return "", false
		}
	}
	two := `{"backends":[{"kind":"local-fs","name":"a","dir":` + quote(dir+"/a") + `},{"kind":"far","name":"b"}],"write":"b"}`
	far := Kind{"far", func(json.RawMessage, func(string) (string, bool)) (blob.Store, error) {
		return blob.NewDir(dir+"/b", blob.DirOptions{})
	}}
	for _, test := range []struct {
		name string
		vars []string
		ok   bool
	}{
		{"a folder and a secret", []string{EnvDir + "=" + dir, EnvSecret + "=x"}, true},
		{"no secret", []string{EnvDir + "=" + dir}, false},
		{"a lifetime", []string{EnvDir + "=" + dir, EnvSecret + "=x", EnvURLTTL + "=1e3"}, true},
		{"no lifetime", []string{EnvDir + "=" + dir, EnvSecret + "=x", EnvURLTTL + "=0"}, false},
		{"not a number", []string{EnvDir + "=" + dir, EnvSecret + "=x", EnvURLTTL + "=NaN"}, false},
		{"two backends", []string{EnvDir + "=" + dir, EnvSecret + "=x", EnvBackends + "=" + two}, true},
		{"no registry", []string{EnvSecret + "=x", EnvBackends + "=" + two}, false},
		{"registry on a backend", []string{EnvSecret + "=x", EnvBackends + "=" + strings.Replace(two, `"write"`, `"registry":{"kind":"far","backend":"b"},"write"`, 1)}, true},
		{"registry of the wrong kind", []string{EnvSecret + "=x", EnvBackends + "=" + strings.Replace(two, `"write"`, `"registry":{"kind":"s3","backend":"b"},"write"`, 1)}, false},
		{"no JSON", []string{EnvDir + "=" + dir, EnvSecret + "=x", EnvBackends + "={"}, false},
		{"no backends", []string{EnvDir + "=" + dir, EnvSecret + "=x", EnvBackends + "={}"}, false},
		{"a name twice", []string{EnvDir + "=" + dir, EnvSecret + "=x", EnvBackends + "=" + strings.Replace(two, `"name":"b"`, `"name":"a"`, 1)}, false},
		{"a bad name", []string{EnvDir + "=" + dir, EnvSecret + "=x", EnvBackends + "=" + strings.Replace(two, `"name":"b"`, `"name":"B"`, 1)}, false},
		{"an unknown kind", []string{EnvDir + "=" + dir, EnvSecret + "=x", EnvBackends + "=" + strings.Replace(two, `far`, `near`, 1)}, false},
		{"an unknown place to write", []string{EnvDir + "=" + dir, EnvSecret + "=x", EnvBackends + "=" + strings.Replace(two, `"write":"b"`, `"write":"c"`, 1)}, false},
	} {
		s, err := OpenSetup(Setup{Lookup: with(test.vars...), Kinds: []Kind{far}})
		if (err == nil && s != nil) != test.ok {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if s, err := OpenSetup(Setup{Lookup: with()}); s != nil || err != nil {
		t.Errorf("nothing set up gives %v, %v", s, err)
	}
	// Rotation: what the old secret signed is still good.
	old, err := OpenSetup(Setup{Lookup: with(EnvDir+"="+dir, EnvSecret+"=old")})
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := OpenSetup(Setup{Lookup: with(EnvDir+"="+dir, EnvSecret+"=new", EnvPrevious+"=older old")})
	if err != nil {
		t.Fatal(err)
	}
	id := newID()
	base := old.Links().URL(id)
	checkSigned(t, fresh.Links(), base, id)
}

func checkSigned(t *testing.T, l *Links, address string, id ID) {
	t.Helper()
	_, query, _ := strings.Cut(address, "?exp=")
	exp, sig, _ := strings.Cut(query, "&sig=")
	if _, err := l.Check(id.String(), exp, sig); err != nil {
		t.Error(err)
	}
}
