package memory

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/piweb-go/piweb/internal/sqlite"
)

// Where one memory ends and the next begins.
const (
	idleGap   = 30 * time.Minute // between two messages
	episodeOf = 8000             // bytes of text
)

// embedded is the engine in the database itself. What was added is found at once:
// messages join the open memory of their session, until it has become long, nobody
// said anything for a while, or it is flushed.
type embedded struct {
	db     *sqlite.DB
	now    func() time.Time
	redact func(string) string
}

// requestID is 32 digits.
func requestID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// envelope is an answer in EverOS' form.
func envelope(data any) (Reply, error) {
	body, err := json.Marshal(struct {
		RequestID string `json:"request_id"`
		Data      any    `json:"data"`
	}{requestID(), data})
	return Reply{http.StatusOK, body}, err
}

// Add is Engine.Add.
func (e *embedded) Add(ctx context.Context, a Added) (Reply, error) {
	if err := a.body.checkEmbedded(a.Scope.User); err != nil {
		return Reply{}, err
	}
	closed := false
	err := e.db.Write(ctx, func(tx *sql.Tx) error {
		closed = false
		for i := range a.body.Messages {
			m := &a.body.Messages[i]
			if _, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO messages (user_id, app_id, project_id, session_id, key, at, sender_id, sender_name, role, text)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, a.Scope.User, a.Scope.App, a.Scope.Project, a.Session, m.key(), m.at(e.now().UnixMilli()), m.SenderID, m.SenderName, m.Role, e.redact(m.text())); err != nil {
				return err
			}
		}
		if a.body.Defer {
			return nil
		}
		var err error
		closed, err = e.extract(ctx, tx, a.Scope, a.Session)
		return err
	})
	if err != nil {
		return Reply{}, err
	}
	status := "accumulated"
	if closed {
		status = "extracted"
	}
	return envelope(map[string]any{"message_count": len(a.body.Messages), "status": status})
}

// said is a message that a memory is made of.
type said struct {
	n      int64
	at     int64
	sender string
	name   string
	role   string
	text   string
}

// episode is a memory that is being made.
type episode struct {
	n     int64
	last  int64 // when something was said last
	bytes int
}

// extract puts the messages of a session that are in no memory yet into memories,
// and tells whether one was closed.
func (e *embedded) extract(ctx context.Context, tx *sql.Tx, s Scope, session string) (closed bool, err error) {
	pending, err := saids(ctx, tx, `WHERE user_id = ? AND app_id = ? AND project_id = ? AND session_id = ? AND memory IS NULL ORDER BY at, n`, s.User, s.App, s.Project, session)
	if err != nil || len(pending) == 0 {
		return false, err
	}
	var ep episode
	err = tx.QueryRowContext(ctx, `SELECT n, at, length(CAST(text AS BLOB)) FROM memories WHERE user_id = ? AND app_id = ? AND project_id = ? AND session_id = ? AND open = 1 ORDER BY n DESC LIMIT 1`,
		s.User, s.App, s.Project, session).Scan(&ep.n, &ep.last, &ep.bytes)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	for _, m := range pending {
		if ep.n != 0 && (abs(m.at-ep.last) > idleGap.Milliseconds() || ep.bytes+len(m.text) > episodeOf) {
			if err := e.finish(ctx, tx, s, ep.n, false); err != nil {
				return closed, err
			}
			ep, closed = episode{}, true
		}
		if ep.n == 0 {
			if ep.n, err = e.begin(ctx, tx, s, session, m.at, ""); err != nil {
				return closed, err
			}
		}
		if _, err := tx.ExecContext(ctx, `UPDATE messages SET memory = ? WHERE n = ?`, ep.n, m.n); err != nil {
			return closed, err
		}
		ep.last, ep.bytes = max(ep.last, m.at), ep.bytes+len(m.text)
	}
	return closed, e.finish(ctx, tx, s, ep.n, true)
}

func abs(n int64) int64 { return max(n, -n) }

// begin makes an empty memory and gives it its id.
func (e *embedded) begin(ctx context.Context, tx *sql.Tx, s Scope, session string, at int64, origin string) (int64, error) {
	r, err := tx.ExecContext(ctx, `INSERT INTO memories (user_id, app_id, project_id, session_id, at, open, senders, subject, text, origin, words, plain) VALUES (?, ?, ?, ?, ?, 1, '[]', '', '', ?, '', '')`,
		s.User, s.App, s.Project, session, at, origin)
	if err != nil {
		return 0, err
	}
	n, err := r.LastInsertId()
	if err != nil {
		return 0, err
	}
	id := fmt.Sprintf("%s_ep_%s_%08d", segment(s.User), time.UnixMilli(at).UTC().Format("20060102"), n)
	_, err = tx.ExecContext(ctx, `UPDATE memories SET id = ? WHERE n = ?`, id, n)
	return n, err
}

// finish writes down what a memory says, from its messages.
func (e *embedded) finish(ctx context.Context, tx *sql.Tx, s Scope, n int64, open bool) error {
	list, err := saids(ctx, tx, `WHERE memory = ? AND user_id = ? ORDER BY at, n`, n, s.User)
	if err != nil {
		return err
	}
	var text strings.Builder
	var senders []string
	subject, last := "", int64(0)
	for _, m := range list {
		if !slices.Contains(senders, m.sender) {
			senders = append(senders, m.sender)
		}
		if text.Len() > 0 {
			text.WriteString("\n")
		}
		if len(list) > 1 {
			who := m.name
			if who == "" {
				who = m.role
			}
			text.WriteString(who + ": ")
		}
		text.WriteString(m.text)
		if subject == "" && m.role == "user" {
			subject = firstLine(m.text)
		}
		last = max(last, m.at)
	}
	if subject == "" && len(list) > 0 {
		subject = firstLine(list[0].text)
	}
	names, err := json.Marshal(senders)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE memories SET at = ?, open = ?, senders = ?, subject = ?, text = ?, words = ?, plain = ? WHERE n = ? AND user_id = ?`,
		last, open, string(names), subject, text.String(), sqlite.Words(text.String()), sqlite.Fold(text.String()), n, s.User)
	return err
}

func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			return cut(line, 120)
		}
	}
	return ""
}

func saids(ctx context.Context, tx *sql.Tx, where string, args ...any) (list []said, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT n, at, sender_id, sender_name, role, text FROM messages `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var m said
		if err := rows.Scan(&m.n, &m.at, &m.sender, &m.name, &m.role, &m.text); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, rows.Err()
}

// Flush is Engine.Flush.
func (e *embedded) Flush(ctx context.Context, s Scope, session string) (Reply, error) {
	status := "no_extraction"
	err := e.db.Write(ctx, func(tx *sql.Tx) error {
		if _, err := e.extract(ctx, tx, s, session); err != nil {
			return err
		}
		r, err := tx.ExecContext(ctx, `UPDATE memories SET open = 0 WHERE user_id = ? AND app_id = ? AND project_id = ? AND session_id = ? AND open = 1`, s.User, s.App, s.Project, session)
		if err != nil {
			return err
		}
		if n, _ := r.RowsAffected(); n > 0 {
			status = "extracted"
		}
		return nil
	})
	if err != nil {
		return Reply{}, err
	}
	return envelope(map[string]string{"status": status})
}

func dropSession(ctx context.Context, tx *sql.Tx, s Scope, session string) error {
	for _, table := range []string{"messages", "memories"} {
		if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE user_id = ? AND app_id = ? AND project_id = ? AND session_id = ?`, s.User, s.App, s.Project, session); err != nil {
			return err
		}
	}
	return nil
}

// Health is Engine.Health.
func (e *embedded) Health(ctx context.Context) error { return e.db.Check(ctx) }

// reindex writes what is searched anew where texts are treated in another way now,
// or where it is asked for.
func (e *embedded) reindex(ctx context.Context, always bool) error {
	return e.db.Write(ctx, func(tx *sql.Tx) error {
		var version int
		err := tx.QueryRowContext(ctx, `SELECT value FROM notes WHERE name = 'text'`).Scan(&version)
		if err != nil && !errors.Is(err, sql.ErrNoRows) || version == sqlite.TextVersion && !always {
			return err
		}
		last := int64(0)
		for {
			var n int64
			var text string
			err := tx.QueryRowContext(ctx, `SELECT n, text FROM memories WHERE n > ? ORDER BY n LIMIT 1`, last).Scan(&n, &text)
			if errors.Is(err, sql.ErrNoRows) {
				break
			}
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `UPDATE memories SET words = ?, plain = ? WHERE n = ?`, sqlite.Words(text), sqlite.Fold(text), n); err != nil {
				return err
			}
			last = n
		}
		if always {
			for _, table := range []string{"memory_words", "memory_inside"} {
				if _, err := tx.ExecContext(ctx, `INSERT INTO `+table+` (`+table+`) VALUES ('rebuild')`); err != nil {
					return err
				}
			}
		}
		_, err = tx.ExecContext(ctx, `INSERT OR REPLACE INTO notes VALUES ('text', ?)`, sqlite.TextVersion)
		return err
	})
}
