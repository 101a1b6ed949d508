package export

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the goldens")

// joined takes the marks out of a fixture. The keys in testdata are invented, and
// they are cut by '¦' so that scanners of repositories do not take them for real.
func joined(s string) string { return strings.ReplaceAll(s, "¦", "") }

// TestRedactGolden redacts texts with a secret of every kind, and ordinary texts
// with none. In the golden stands the text that came out, and below it what was
// found.
func TestRedactGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/redact/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text := joined(string(data))
			out, matches := Redactor{}.Redact(text)
			var b strings.Builder
			b.WriteString(out)
			for _, m := range matches {
				fmt.Fprintf(&b, "-- line %d: %s, %d bytes\n", 1+strings.Count(text[:m.Start], "\n"), m.Rule, m.End-m.Start)
			}
			golden(t, strings.TrimSuffix(file, ".txt")+".golden", b.String())
			again, _ := Redactor{}.Redact(out)
			if d := cmp.Diff(out, again); d != "" {
				t.Errorf("redacting twice changes more: %s", d)
			}
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
}

var pictureData = regexp.MustCompile(`"data":"([^"\\]|\\.){64,}"`)

// TestOrdinaryTextStays: texts without a secret come back as they are and raise no
// doubt: programs, logs, manuals, lock files, and the sessions of the fixtures.
func TestOrdinaryTextStays(t *testing.T) {
	n := 0
	for _, pattern := range []string{"testdata/ordinary/*", "../../fixtures/pi/*.jsonl", "../../fixtures/cases/*/*", "*.go", "../../go.sum"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil || !strings.Contains(file, "/") && strings.HasSuffix(file, "_test.go") {
				continue // a folder, or our own invented secrets
			}
			n++
			r := Redactor{}
			text := strings.ReplaceAll(strings.ReplaceAll(string(data), "/home/", "/srv/"), `\Users\`, `\Data\`)
			text = strings.ReplaceAll(text, "/Users/", "/srv/")
			text = pictureData.ReplaceAllString(text, `"data":""`) // bytes of pictures are no text
			out, matches := r.Redact(text)
			if out != text {
				t.Errorf("%s was changed: %s", file, cmp.Diff(text, out))
			}
			for _, m := range matches {
				t.Errorf("%s:%d: %s: %q", file, 1+strings.Count(text[:m.Start], "\n"), m.Rule, text[m.Start:m.End])
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d texts", n)
	}
}

// pieces are what secrets and their surroundings are made of; texts drawn from
// them hit the borders between rules.
var pieces = []string{
	"sk-ant-", "api03-Ab3dEf6hIj9kLm2nOp5q", "AKIA", "Q4W7ER2TY5UI8OP1", "ghp_", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6", "eyJhbGciOiJIUzI1NiJ9", ".eyJzdWIiOiJ4In0", ".c2lnbmF0dXJl",
	"password", "PASSWORD", "API_KEY", "DB_TOKEN", "=", ": ", ":", "\"", "'", "`", " ", "\n", `\n`, `\"`, "hunter2", "x9Zk2Lq8Wv4Bn7Tr", "://", "user", "@", "/", "host", "Bearer ", "Basic ", "dXNlcjpwYXNz",
	"Authorization: ", "Cookie: ", "sid=", ";", "/home/", "alice", "/Users/", `C:\Users\`, "bob", "~", "--home-", "--", "--password ", "[redacted:", "]", "[redacted:named-secret]",
	"-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "$", "{", "}", "word", "12345678", ":AA", "?", "&", "sig", "é", "<", ">", ",", "export ", "#",
}

// TestRedactTwiceIsOnce: what was redacted holds nothing more to redact, whatever
// stands beside each other; and the matches are in order and apart.
func TestRedactTwiceIsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(pieces), rapid.StringN(0, 6, 12)), 0, 14).Draw(t, "text"), "")
		for _, r := range []Redactor{{}, {Strict: true}, {Homes: []string{"/srv/alice", "/home"}}} {
			once, matches := r.Redact(text)
			twice, _ := r.Redact(once)
			if once != twice {
				t.Fatalf("%+v\nonce  %q\ntwice %q", r, once, twice)
			}
			at := 0
			for _, m := range matches {
				if m.Start < at || m.End <= m.Start || m.End > len(text) {
					t.Fatalf("matches %+v", matches)
				}
				at = m.End
			}
		}
	})
}

func FuzzRedact(f *testing.F) {
	for _, p := range pieces {
		f.Add(p + p)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once, _ := Redactor{Strict: true}.Redact(text)
		if twice, _ := (Redactor{Strict: true}).Redact(once); once != twice {
			t.Fatalf("once %q, twice %q", once, twice)
		}
	})
}

// BenchmarkRedact measures ordinary text: what most of a session is.
func BenchmarkRedact(b *testing.B) {
	data, err := os.ReadFile("redact_test.go")
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat(string(data), 100)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Redactor{}.Redact(text)
	}
}
