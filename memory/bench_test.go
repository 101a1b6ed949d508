package memory

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb/internal/sqlite"
)

const benchRows = 100_000

var benchWords = strings.Fields(`gateway scanner session policy memory attachment deploy review branch commit index cache
	网关 内存 附件 会话 策略 权限 日志 备份 サーバー データ память сервер 메모리 서버 résumé config token budget queue event stream`)

// benchText is a memory of about 30 words in several scripts; one in a thousand has the
// needle.
func benchText(r *rand.Rand, i int) string {
	var b strings.Builder
	for range 30 {
		b.WriteString(benchWords[r.IntN(len(benchWords))])
		b.WriteByte(' ')
	}
	fmt.Fprintf(&b, "ticket%d fetchRow%d", i, r.IntN(5000))
	if i%1000 == 7 {
		b.WriteString(" 悬空引用 needle_file.go")
	}
	return b.String()
}

// fill makes many memories at once, as adds would leave them.
func fill(b *testing.B, s *Service) {
	r := rand.New(rand.NewPCG(1, 2))
	at := time.Now().UnixMilli()
	for from := 0; from < benchRows; from += 10_000 {
		if err := s.db.Write(ctx, func(tx *sql.Tx) error {
			st, err := tx.Prepare(`INSERT INTO memories (id, user_id, app_id, project_id, session_id, at, open, senders, subject, text, words, plain) VALUES (?, 'local', 'default', 'default', ?, ?, 0, '["local"]', '', ?, ?, ?)`)
			if err != nil {
				return err
			}
			defer st.Close()
			for i := from; i < from+10_000; i++ {
				text := benchText(r, i)
				if _, err := st.Exec(fmt.Sprintf("m%d", i), fmt.Sprintf("s%d", i/20), at-int64(benchRows-i)*1000, text, sqlite.Words(text), sqlite.Fold(text)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
}

func p95(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)*95/100].Microseconds()) / 1000
}

// BenchmarkMemories measures add and search among 100 000 memories, and the same
// questions by LIKE over all texts, in the same run.
func BenchmarkMemories(b *testing.B) {
	s := open(b)
	start := time.Now()
	fill(b, s)
	var size int64
	files, _ := filepath.Glob(filepath.Join(s.o.Dir, "memory.db*"))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			size += info.Size()
		}
	}
	b.Logf("%d memories of about 35 words in six scripts, %s/%s, %d CPUs; filled in %s, %d MB", benchRows, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), time.Since(start).Round(time.Second), size>>20)
	const rounds = 30
	for _, q := range []string{"悬空", "needle_file.go", "ticket4711", "fetchRow42 网关", "eedle", "gateway 内存"} {
		var ours, like []time.Duration
		found := 0
		for range rounds {
			at := time.Now()
			f, err := s.Find(ctx, Scope{User: "local"}, q, 20)
			if err != nil {
				b.Fatal(err)
			}
			ours, found = append(ours, time.Since(at)), len(f.Results)
		}
		patterns := sqlite.ParseQuery(q).Likes()
		var n int
		for range 5 {
			at := time.Now()
			args := []any{"local"}
			where := ""
			for _, p := range patterns {
				where += ` AND plain LIKE ? ESCAPE '\'`
				args = append(args, p)
			}
			if err := s.db.Read().QueryRow(`SELECT count(*) FROM (SELECT n FROM memories WHERE user_id = ?`+where+` ORDER BY at DESC)`, args...).Scan(&n); err != nil {
				b.Fatal(err)
			}
			like = append(like, time.Since(at))
		}
		b.Logf("search %-18q p95 %8.2f ms (%d shown); LIKE over all %8.2f ms (%d rows); ratio %.1f", q, p95(ours), found, p95(like), n, p95(like)/p95(ours))
	}
	var adds []time.Duration
	for i := range 100 {
		at := time.Now()
		if _, err := s.Remember(ctx, Scope{User: "local"}, Note{Session: "bench", Text: benchText(rand.New(rand.NewPCG(3, uint64(i))), benchRows+i)}); err != nil {
			b.Fatal(err)
		}
		adds = append(adds, time.Since(at))
	}
	b.Logf("add, synced: p95 %.2f ms", p95(adds))
	for b.Loop() {
		if _, err := s.Find(ctx, Scope{User: "local"}, "needle_file.go", 20); err != nil {
			b.Fatal(err)
		}
	}
}
