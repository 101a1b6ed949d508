package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/piweb-go/piweb/internal/sqlite"
)

const (
	defaultTop = 20
	maxTop     = 100
	// deep is how many hits of one index are ranked.
	deep = 200
	// rankK is the constant of reciprocal rank fusion.
	rankK = 60
	// ranked is how many hits of one index are compared: the latest. Only words that
	// stand nearly everywhere have more.
	ranked = 2000
	// scanned is how many of the latest memories are looked through, letter by
	// letter, where no index finds anything.
	scanned = 20_000
	// freshness is the most that being new counts: less than one place of a ranking.
	freshness = 0.0002
	halfLife  = 30 * 24 * time.Hour
)

// Search is Engine.Search.
func (e *embedded) Search(ctx context.Context, s Scope, q Query) (Found, error) {
	out := Found{RequestID: requestID(), Results: []Item{}}
	if q.Method != "keyword" {
		out.Method = "keyword" // there are no embeddings
	}
	hits, err := e.rank(ctx, s, q)
	if err != nil {
		return out, err
	}
	top := q.TopK
	if top <= 0 {
		top = defaultTop
	}
	hits = hits[:min(len(hits), top, maxTop)]
	if out.Results, err = e.items(ctx, s, hits); err != nil {
		return out, err
	}
	if q.Session != "" {
		more, err := e.unprocessed(ctx, s, q.Session)
		if err != nil {
			return out, err
		}
		out.Results = append(out.Results, more...)
	}
	return out, nil
}

// hit is a memory with its rank.
type hit struct {
	n, at int64
	score float64
}

// rank asks the indexes and puts their answers together.
func (e *embedded) rank(ctx context.Context, s Scope, q Query) ([]hit, error) {
	parsed := sqlite.ParseQuery(q.Text)
	if parsed.Empty() {
		return nil, nil
	}
	lists := []struct {
		table, match string
		weight       float64
	}{{"memory_words", parsed.AllWords(), 2}, {"memory_inside", parsed.Inside(), 1}, {"memory_words", parsed.AnyWord(), 1}}
	hits := map[int64]*hit{}
	most := 0.0
	for i, l := range lists {
		if l.match == "" {
			continue
		}
		most += l.weight / (rankK + 1)
		// What every word finds often enough needs no look at any of them, which may
		// be words that stand everywhere.
		if i == 2 && (parsed.One() || len(hits) >= deep) {
			most -= l.weight / (rankK + 1)
			continue
		}
		list, err := e.ask(ctx, s, q, `SELECT n, at FROM (SELECT m.n, m.at, bm25(`+l.table+`) AS rank FROM `+l.table+` JOIN memories m ON m.n = `+l.table+`.rowid WHERE `+l.table+` MATCH ? AND `,
			`ORDER BY `+l.table+`.rowid DESC LIMIT ?) ORDER BY rank, at DESC, n DESC LIMIT ?`, l.match, ranked, deep)
		if err != nil {
			return nil, err
		}
		fuse(hits, list, l.weight)
	}
	if len(hits) == 0 {
		list, err := e.scan(ctx, s, q, parsed.Likes())
		if err != nil {
			return nil, err
		}
		most = 2.0 / (rankK + 1)
		fuse(hits, list, 1)
	}
	now := e.now().UnixMilli()
	var all []hit
	for _, h := range hits {
		age := float64(max(0, now-h.at)) / float64(halfLife.Milliseconds())
		h.score = min(1, (h.score+freshness*math.Exp2(-age))/(most+freshness))
		all = append(all, *h)
	}
	slices.SortFunc(all, func(a, b hit) int {
		switch {
		case a.score != b.score:
			return compare(b.score, a.score)
		case a.at != b.at:
			return compare(b.at, a.at)
		}
		return compare(b.n, a.n)
	})
	return all, nil
}

func compare[T int64 | float64](a, b T) int {
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}

func fuse(hits map[int64]*hit, list []hit, weight float64) {
	for i, h := range list {
		known, ok := hits[h.n]
		if !ok {
			known = &h
			hits[h.n] = known
		}
		known.score += weight / float64(rankK+i+1)
	}
}

// ask runs a statement with the conditions of scope and filter in it.
func (e *embedded) ask(ctx context.Context, s Scope, q Query, before, after string, first any, last ...any) ([]hit, error) {
	args := []any{first, s.User, s.App, s.Project}
	where := `m.user_id = ? AND m.app_id = ? AND m.project_id = ? `
	if q.filter.sql != "" {
		where += `AND (` + q.filter.sql + `) `
		args = append(args, q.filter.args...)
	}
	return e.hits(ctx, before+where+after, append(args, last...)...)
}

func (e *embedded) hits(ctx context.Context, statement string, args ...any) (list []hit, err error) {
	rows, err := e.db.Read().QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var h hit
		if err := rows.Scan(&h.n, &h.at); err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	return list, rows.Err()
}

// scan looks for the pieces letter by letter, in the latest memories.
func (e *embedded) scan(ctx context.Context, s Scope, q Query, patterns []string) ([]hit, error) {
	var likes []string
	args := []any{s.User, s.App, s.Project}
	where := `m.user_id = ? AND m.app_id = ? AND m.project_id = ?`
	if q.filter.sql != "" {
		where += ` AND (` + q.filter.sql + `)`
		args = append(args, q.filter.args...)
	}
	args = append(args, scanned)
	for _, p := range patterns {
		likes = append(likes, `plain LIKE ? ESCAPE '\'`)
		args = append(args, p)
	}
	return e.hits(ctx, `SELECT n, at FROM (SELECT m.n, m.at, m.plain FROM memories m WHERE `+where+` ORDER BY m.n DESC LIMIT ?) WHERE `+strings.Join(likes, " AND ")+` ORDER BY at DESC, n DESC LIMIT ?`, append(args, deep)...)
}

// memoryRow is a memory as the database has it.
type memoryRow struct {
	N                              int64
	ID, App, Project, Session      string
	At                             int64
	Senders, Subject, Text, Origin string
}

const memoryColumns = `n, id, app_id, project_id, session_id, at, senders, subject, text, origin`

func (m *memoryRow) scan(row interface{ Scan(...any) error }) error {
	return row.Scan(&m.N, &m.ID, &m.App, &m.Project, &m.Session, &m.At, &m.Senders, &m.Subject, &m.Text, &m.Origin)
}

// fact is a sentence of a memory.
type fact struct {
	ID      string   `json:"id"`
	Content string   `json:"content"`
	Score   *float64 `json:"score"`
}

// rawEpisode is a memory in EverOS' form.
type rawEpisode struct {
	ID        string          `json:"id"`
	UserID    string          `json:"user_id"`
	App       string          `json:"app_id"`
	Project   string          `json:"project_id"`
	SessionID string          `json:"session_id"`
	Timestamp string          `json:"timestamp"`
	Senders   json.RawMessage `json:"sender_ids"`
	Summary   string          `json:"summary"`
	Subject   string          `json:"subject"`
	Episode   string          `json:"episode"`
	Type      string          `json:"type"`
	Score     *float64        `json:"score"`
	Facts     []fact          `json:"atomic_facts"`
}

func timestamp(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000+00:00")
}

func (m *memoryRow) item(user string, score *float64) (Item, error) {
	raw, err := json.Marshal(rawEpisode{m.ID, user, m.App, m.Project, m.Session, timestamp(m.At), json.RawMessage(m.Senders),
		firstLine(m.Text), m.Subject, m.Text, "Conversation", score, facts(m.ID, m.Text)})
	session := m.Session
	return Item{m.ID, "episode", &session, score, m.Text, nil, timestamp(m.At), raw, []File{}, m.App, m.Project}, err
}

// maxFacts bounds the sentences that are listed by themselves.
const maxFacts = 20

// facts are the sentences of a text.
func facts(id, text string) []fact {
	list := []fact{}
	for _, s := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '。' || r == '！' || r == '？' }) {
		if s = strings.TrimSpace(s); s != "" && len(list) < maxFacts {
			list = append(list, fact{ID: fmt.Sprintf("%s_af_%d", id, len(list)+1), Content: cut(s, 500)})
		}
	}
	return list
}

func (e *embedded) items(ctx context.Context, s Scope, hits []hit) ([]Item, error) {
	items := make([]Item, 0, len(hits))
	for _, h := range hits {
		var m memoryRow
		if err := m.scan(e.db.Read().QueryRowContext(ctx, `SELECT `+memoryColumns+` FROM memories WHERE n = ? AND user_id = ?`, h.n, s.User)); err != nil {
			continue // it was forgotten meanwhile
		}
		score := math.Round(h.score*1e4) / 1e4
		item, err := m.item(s.User, &score)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, ctx.Err()
}

// unprocessed are the messages of a session that are in no memory yet.
func (e *embedded) unprocessed(ctx context.Context, s Scope, session string) ([]Item, error) {
	rows, err := e.db.Read().QueryContext(ctx, `SELECT n, at, sender_id, sender_name, role, text FROM messages WHERE user_id = ? AND app_id = ? AND project_id = ? AND session_id = ? AND memory IS NULL ORDER BY at, n LIMIT ?`,
		s.User, s.App, s.Project, session, maxTop)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var items []Item
	for rows.Next() {
		var m said
		if err := rows.Scan(&m.n, &m.at, &m.sender, &m.name, &m.role, &m.text); err != nil {
			return nil, err
		}
		id := fmt.Sprintf("msg_%08d", m.n)
		raw, err := json.Marshal(map[string]any{"id": id, "app_id": s.App, "project_id": s.Project, "session_id": session, "sender_id": m.sender, "sender_name": m.name, "role": m.role, "content": m.text, "timestamp": timestamp(m.at)})
		if err != nil {
			return nil, err
		}
		items = append(items, Item{id, "message", &session, nil, m.text, nil, timestamp(m.at), raw, []File{}, s.App, s.Project})
	}
	return items, rows.Err()
}
