package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, path string, steps ...Migration) *DB {
	t.Helper()
	db, err := Open(context.Background(), path, steps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func exec(t testing.TB, db *DB, statement string, args ...any) {
	t.Helper()
	if err := db.Write(context.Background(), func(tx *sql.Tx) error { _, err := tx.Exec(statement, args...); return err }); err != nil {
		t.Fatal(err)
	}
}

// TestAnyPath: a folder's name may have any sign in it, and the files are the
// owner's alone.
func TestAnyPath(t *testing.T) {
	names := []string{"plain", "with blank", "内存", "a?b#c%20d&e=f", "日本 😀"}
	if runtime.GOOS == "windows" {
		names = []string{"plain", "with blank", "内存", "b#c%20d&e=f"}
	}
	for _, name := range names {
		path := filepath.Join(t.TempDir(), name, "x.db")
		db := open(t, path, Script("CREATE TABLE t (v TEXT)"))
		exec(t, db, "INSERT INTO t VALUES ('x')")
		info, err := os.Stat(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if runtime.GOOS != "windows" {
			for _, p := range []string{path, path + "-wal"} {
				if info, err = os.Stat(p); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v", p, info.Mode(), err)
				}
			}
		}
		if err := db.Check(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func TestMigrations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	first, second := Script("CREATE TABLE t (v TEXT); INSERT INTO t VALUES ('one')"), Script("ALTER TABLE t ADD COLUMN w TEXT DEFAULT 'two'")
	open(t, path, first).Close()
	db := open(t, path, first, second)
	var v, w string
	if err := db.Read().QueryRow("SELECT v, w FROM t").Scan(&v, &w); err != nil || v+w != "onetwo" {
		t.Errorf("%q %q, %v", v, w, err)
	}
	if _, err := Open(context.Background(), path, []Migration{first}); !errors.Is(err, ErrNewer) {
		t.Errorf("an older program: %v", err)
	}
	broken := func(context.Context, *sql.Tx) error { return errors.New("no") }
	if _, err := Open(context.Background(), path, []Migration{first, second, Script("DROP TABLE t"), broken}); err == nil {
		t.Error("a broken migration was taken")
	}
	if err := db.Read().QueryRow("SELECT v FROM t").Scan(&v); err != nil {
		t.Errorf("a broken migration left something: %v", err)
	}
	if _, err := db.Read().Exec("DELETE FROM t"); err == nil {
		t.Error("a reader wrote")
	}
}

// TestTwoOpeners: two programs that open one database at once both get it, and no
// write is lost.
func TestTwoOpeners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			db, err := Open(context.Background(), path, []Migration{Script("CREATE TABLE t (v INT)")})
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			for i := range 20 {
				if err := db.Write(context.Background(), func(tx *sql.Tx) error { _, err := tx.Exec("INSERT INTO t VALUES (?)", i); return err }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	var n int
	if err := open(t, path, Script("")).Read().QueryRow("SELECT count(*) FROM t").Scan(&n); err != nil || n != 80 {
		t.Errorf("%d rows, %v", n, err)
	}
}

// index is a table of texts as an owner makes it.
func index(t testing.TB, texts ...string) *DB {
	db := open(t, filepath.Join(t.TempDir(), "x.db"), Script(`CREATE VIRTUAL TABLE w USING fts5(words, tokenize='`+Tokenizer+`');
		CREATE VIRTUAL TABLE i USING fts5(plain, tokenize='trigram')`))
	for n, text := range texts {
		exec(t, db, "INSERT INTO w (rowid, words) VALUES (?, ?)", n, Words(text))
		exec(t, db, "INSERT INTO i (rowid, plain) VALUES (?, ?)", n, Fold(text))
	}
	return db
}

// found are the numbers of the texts that a query finds in either index.
func found(t testing.TB, db *DB, query string) map[int]bool {
	t.Helper()
	q := ParseQuery(query)
	hits := map[int]bool{}
	for _, m := range [][2]string{{"w", q.AllWords()}, {"w", q.AnyWord()}, {"i", q.Inside()}} {
		if m[1] == "" {
			continue
		}
		rows, err := db.Read().Query(fmt.Sprintf("SELECT rowid FROM %s WHERE %s MATCH ?", m[0], m[0]), m[1])
		if err != nil {
			t.Fatalf("%q became %q: %v", query, m[1], err)
		}
		for rows.Next() {
			var n int
			if err := rows.Scan(&n); err != nil {
				t.Fatal(err)
			}
			hits[n] = true
		}
		if err := rows.Err(); err != nil {
			t.Fatalf("%q became %q: %v", query, m[1], err)
		}
		rows.Close()
	}
	return hits
}

// TestQueriesOfTheTable are the queries that SQLite's own tokenizers miss, and those
// of a bug report about a word between Han characters.
func TestQueriesOfTheTable(t *testing.T) {
	for _, c := range []struct{ query, text string }{
		{"内存网关", "请看内存网关的说明"},
		{"网关", "请看内存网关的说明"},
		{"附", "带附件的消息"},
		{"go", "written in Go, with care"},
		{"sesion", "la sesión está cerrada"},
		{"sesión", "la sesion esta cerrada"},
		{"memory", "see memory_gateway.go"},
		{"gateway", "see memory_gateway.go"},
		{"memory_gateway.go", "see memory_gateway.go"},
		{"悬空", "第3步重启build-agent后清理了悬空引用"},
		{"agent", "第3步重启build-agent后清理了悬空引用"},
		{"清理", "第3步重启build-agent后清理了悬空引用"},
		{"空", "第3步重启build-agent后清理了悬空引用"},
		{"build-agent", "第3步重启build-agent后清理了悬空引用"},
		{"重启build-agent", "第3步重启build-agent后清理了悬空引用"},
		{"什么是内存网关", "内存网关在这里"}, // a longer run than what stands there
		{"user", "call fetchUserName twice"},
		{"fetchUserName", "call fetch_user_name twice"},
		{"fetch user", "call fetchUserName twice"},
		{"server", "the HTTPServer waits"},
		{"tewa", "the gateway"}, // inside a word
		{"ＡＢＣ", "abc"}, {"ｶﾀｶﾅ", "カタカナの行"}, {"カタ", "ｶﾀｶﾅ"},
		{"résumé", "R\u0065\u0301SUME\u0301 attached"}, // NFD
		{"STRASSE", "die Straße"},
		{"Привет", "ПРИВЕТ, мир"}, {"мир", "ПРИВЕТ, мир"},
		{"สวัส", "สวัสดีครับ"}, {"서버", "새서버를 켰다"}, {"버", "새서버를 켰다"},
		{"مرحبا", "قال مرحبا اليوم"},
		{"sha256", "sum sha256 of it"}, {"foo.bar", "see foo.bar here"},
	} {
		if !found(t, index(t, "something else entirely: 其他 вещь", c.text), c.query)[1] {
			t.Errorf("%q is not found in %q (words %q)", c.query, c.text, Words(c.text))
		}
	}
	for _, c := range []struct{ query, text string }{{"网", "附件"}, {"关网", "内存网关"}, {"xyz", "abc"}, {"", "abc"}, {"  \x00 ", "abc"}, {"\"", "abc"}} {
		if found(t, index(t, c.text), c.query)[0] {
			t.Errorf("%q is found in %q", c.query, c.text)
		}
	}
}

// TestQueriesAreData: nothing of a query is syntax.
func TestQueriesAreData(t *testing.T) {
	db := index(t, "plain text")
	for _, q := range []string{`foo.bar "`, "", "nosuchcol:foo", "NEAR(a b)", "a AND", "NOT", "*", "a*", "^a", "(", `"""`, "a OR", "-a", "{words}: a", "\x00\xff", "a\x00b", `\`, "%", strings.Repeat("a ", 5000), strings.Repeat("网", 3000), "plain' OR 1=1 --"} {
		found(t, db, q)
	}
}

func FuzzQuery(f *testing.F) {
	for _, s := range []string{`a "b`, "网关 x", "e\u0301", "\u0301", "fetchUser99Name", "ก็", "a\x00b"} {
		f.Add(s)
	}
	db := index(f, "plain")
	f.Fuzz(func(t *testing.T, s string) {
		found(t, db, s)
		if strings.ContainsRune(Words(s), 0) {
			t.Error("a zero stays")
		}
	})
}
