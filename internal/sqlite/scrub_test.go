package sqlite

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestScrub: what was deleted is not left in the files.
func TestScrub(t *testing.T) {
	for _, scrub := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "x.db")
		var options []Option
		if scrub {
			options = append(options, Scrub())
		}
		db, err := Open(t.Context(), path, []Migration{Script(`CREATE TABLE x (n INTEGER PRIMARY KEY, text TEXT)`)}, options...)
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{`INSERT INTO x (text) VALUES ('a word to forget'), ('another')`, `DELETE FROM x WHERE n = 1`} {
			if err := db.Write(t.Context(), func(tx *sql.Tx) error { _, err := tx.Exec(statement); return err }); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		left := false
		for _, name := range []string{path, path + "-wal"} {
			data, _ := os.ReadFile(name)
			left = left || strings.Contains(string(data), "a word to forget")
		}
		if left == scrub {
			t.Errorf("scrub %v: the word is left: %v", scrub, left)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
