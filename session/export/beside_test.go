package export

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/piweb-go/piweb/session"
)

// TestExportBesideAWriter: an export asks nobody for the file, not even the process
// that holds it. Whatever part of a write has arrived when the file is read, it
// exports the whole entries that stand there, and nothing half; what is written while
// it works is not in it.
func TestExportBesideAWriter(t *testing.T) {
	before := head + said("a", "", "first") + said("b", "a", "second")
	last := said("c", "b", "漢字 third")
	path := filepath.Join(t.TempDir(), "s.jsonl")
	export := func(f format, during string) string {
		s, err := session.Open(path, session.Options{Strict: true}) // as the command does
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if during != "" {
			w, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.WriteString(w, during)
			if cerr := w.Close(); err != nil || cerr != nil {
				t.Fatal(err, cerr)
			}
		}
		var out bytes.Buffer
		if _, err := f.write(&out, s, Options{Now: fixed}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range formats {
		write(before)
		short := export(f, "")
		if got := export(f, last); got != short {
			t.Errorf("%s: an entry that was written meanwhile is in it:\n%s", f.ext, got)
		}
		whole := export(f, "")
		if whole == short {
			t.Fatalf("%s: the last entry is not in the export", f.ext)
		}
		for n := range len(last) {
			write(before + last[:n])
			want := short
			if n == len(last)-1 { // all but the line feed: an entry
				want = whole
			}
			if got := export(f, ""); got != want {
				t.Fatalf("%s: with %d bytes of the last line:\n%s\nwant\n%s", f.ext, n, got, want)
			}
			if data, _ := os.ReadFile(path); string(data) != before+last[:n] {
				t.Fatalf("%s: the export wrote to the file", f.ext)
			}
		}
	}
}
