package memory

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Note is one thing that is to be remembered by itself.
type Note struct {
	Session string // where it was said
	Text    string
	Origin  string // the id of the call that it is remembered by, or ""
	At      time.Time
	Files   []NoteFile
}

// NoteFile is a file of the turn that a note comes from.
type NoteFile struct{ Name, ContentType, URI string }

// Memory is a memory as a person looks at it.
type Memory struct {
	ID          string    `json:"id"`
	App         string    `json:"app_id"`
	Project     string    `json:"project_id"`
	SessionID   string    `json:"session_id"`
	At          time.Time `json:"timestamp"`
	Subject     string    `json:"subject"`
	Text        string    `json:"text"`
	Origin      string    `json:"origin,omitempty"` // the call that it was remembered by
	Attachments []File    `json:"attachments"`
}

// Remember keeps a note, with the files of its turn. The same note again in the same
// session is the same memory.
func (s *Service) Remember(ctx context.Context, scope Scope, n Note) (id string, err error) {
	if scope, err = scope.check(); err != nil {
		return "", err
	}
	if err := checkSession(n.Session); err != nil {
		return "", err
	}
	text := strings.TrimSpace(strings.ToValidUTF8(n.Text, "\ufffd"))
	if text == "" || len(text) > maxText {
		return "", invalid("a text of 1 to %d bytes is wanted", maxText)
	}
	if n.At.IsZero() {
		n.At = s.o.Now()
	}
	var rows []mapping
	for _, f := range n.Files {
		if f.Name == "" || f.URI == "" {
			continue
		}
		if !strings.Contains(text, f.Name) {
			text += "\n[attached: " + f.Name + "]"
		}
		rows = append(rows, mapping{id: newID(), scope: scope, session: n.Session, contentType: f.ContentType, name: f.Name, uri: f.URI, source: sourceURI})
	}
	if s.local == nil {
		id, err = s.rememberUpstream(ctx, scope, n, text)
	} else {
		id, err = s.local.remember(ctx, scope, n, text)
	}
	if err != nil {
		return "", err
	}
	_, err = s.record(context.WithoutCancel(ctx), scope, n.Session, rows)
	return id, err
}

func (s *Service) rememberUpstream(ctx context.Context, scope Scope, n Note, text string) (string, error) {
	body, err := json.Marshal(map[string]any{"session_id": n.Session, "app_id": scope.App, "project_id": scope.Project,
		"messages": []any{map[string]any{"sender_id": scope.User, "role": "user", "timestamp": n.At.UnixMilli(), "content": s.o.Redact(text)}}})
	if err != nil {
		return "", err
	}
	b, scope, err := readAdd(scope.User, body, true, nil)
	if err != nil {
		return "", err
	}
	reply, err := s.engine.Add(ctx, Added{scope, n.Session, body, b})
	if err != nil {
		return "", err
	}
	if !reply.OK() {
		return "", refused(reply)
	}
	_, err = s.engine.Flush(ctx, scope, n.Session)
	return "", err
}

// remember makes one memory of one note.
func (e *embedded) remember(ctx context.Context, s Scope, n Note, text string) (id string, err error) {
	text = e.redact(text)
	sum := sha256.Sum256([]byte(text))
	err = e.db.Write(ctx, func(tx *sql.Tx) error {
		id = ""
		key := "note:" + hex.EncodeToString(sum[:16])
		err := tx.QueryRowContext(ctx, `SELECT m.id FROM messages g JOIN memories m ON m.n = g.memory WHERE g.user_id = ? AND g.app_id = ? AND g.project_id = ? AND g.session_id = ? AND g.key = ?`, s.User, s.App, s.Project, n.Session, key).Scan(&id)
		if err == nil || !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		row, err := e.begin(ctx, tx, s, n.Session, n.At.UnixMilli(), n.Origin)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO messages (user_id, app_id, project_id, session_id, key, at, sender_id, sender_name, role, text, memory) VALUES (?, ?, ?, ?, ?, ?, ?, '', 'user', ?, ?)`,
			s.User, s.App, s.Project, n.Session, key, n.At.UnixMilli(), s.User, text, row); err != nil {
			return err
		}
		if err := e.finish(ctx, tx, s, row, false); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT id FROM memories WHERE n = ?`, row).Scan(&id)
	})
	return id, err
}

// List lists the memories of a user, the latest first, a page at a time.
func (s *Service) List(ctx context.Context, scope Scope, limit, offset int) (Listing, error) {
	scope, err := scope.check()
	if err != nil {
		return Listing{}, err
	}
	if s.local == nil {
		return s.listOutside(ctx, scope, limit, offset)
	}
	return s.listHere(ctx, scope, limit, offset)
}

func (s *Service) listHere(ctx context.Context, scope Scope, limit, offset int) (l Listing, err error) {
	if err := s.db.Read().QueryRowContext(ctx, `SELECT count(*) FROM memories WHERE user_id = ? AND app_id = ? AND project_id = ?`, scope.User, scope.App, scope.Project).Scan(&l.Total); err != nil {
		return l, err
	}
	l.Memories, err = s.memories(ctx, scope, `WHERE user_id = ? AND app_id = ? AND project_id = ? ORDER BY at DESC, n DESC LIMIT ? OFFSET ?`, scope.User, scope.App, scope.Project, limit, offset)
	return l, err
}

// memories reads memories with their files.
func (s *Service) memories(ctx context.Context, scope Scope, where string, args ...any) ([]Memory, error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT `+memoryColumns+` FROM memories `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []Memory{}
	var items []Item
	for rows.Next() {
		var m memoryRow
		if err := m.scan(rows); err != nil {
			return nil, err
		}
		item, err := m.item(scope.User, nil)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
		list = append(list, Memory{ID: m.ID, App: m.App, Project: m.Project, SessionID: m.Session, At: time.UnixMilli(m.At).UTC(), Subject: m.Subject, Text: m.Text, Origin: m.Origin})
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	err = s.decorate(ctx, scope, items)
	for i := range list {
		list[i].Attachments = items[i].Attachments
	}
	return list, err
}

// Get is one memory of a user. Its app and project are looked at where a service keeps
// the memories: ids are those of one there.
func (s *Service) Get(ctx context.Context, scope Scope, id string) (Memory, error) {
	scope, err := scope.check()
	if err != nil {
		return Memory{}, err
	}
	if s.local == nil {
		return s.getOutside(ctx, scope, id)
	}
	return s.getHere(ctx, scope.User, id)
}

func (s *Service) getHere(ctx context.Context, user, id string) (Memory, error) {
	list, err := s.memories(ctx, Scope{User: user}, `WHERE user_id = ? AND id = ?`, user, id)
	if err != nil {
		return Memory{}, err
	}
	if len(list) == 0 {
		return Memory{}, notFound("memory")
	}
	return list[0], nil
}

// Forget takes one memory of a user away for good, with the messages that it was made
// of. With the last memory of a session its files go too. What a service keeps is
// forgotten there, or hidden here where it offers no such thing; files stay until the
// session is purged.
func (s *Service) Forget(ctx context.Context, scope Scope, id string) (Forgotten, error) {
	scope, err := scope.check()
	if err != nil {
		return Forgotten{}, err
	}
	if s.local == nil {
		return s.forgetOutside(ctx, scope, id)
	}
	return Forgotten{}, s.forgetHere(ctx, scope.User, id)
}

func (s *Service) forgetHere(ctx context.Context, user, id string) error {
	m, err := s.getHere(ctx, user, id)
	if err != nil {
		return err
	}
	scope := Scope{user, m.App, m.Project}
	last := false
	defer s.settle(ctx)
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM memories WHERE id = ? AND user_id = ?`, id, user); err != nil {
			return err
		}
		var n int
		err := tx.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM memories WHERE user_id = ?1 AND app_id = ?2 AND project_id = ?3 AND session_id = ?4) + (SELECT count(*) FROM messages WHERE user_id = ?1 AND app_id = ?2 AND project_id = ?3 AND session_id = ?4)`,
			scope.User, scope.App, scope.Project, m.SessionID).Scan(&n)
		last = n == 0
		return err
	})
	if err != nil || !last || strings.HasPrefix(m.SessionID, "resource:") {
		return err // an uploaded file is deleted by itself
	}
	return s.PurgeSession(ctx, scope, m.SessionID)
}

// PurgeSession takes all that a user has of a session away for good: memories,
// messages, mappings and files.
func (s *Service) PurgeSession(ctx context.Context, scope Scope, session string) error {
	scope, err := scope.check()
	if err != nil {
		return err
	}
	defer s.settle(ctx)
	return s.purge(ctx, func(tx *sql.Tx) error {
		if err := dropSession(ctx, tx, scope, session); err != nil {
			return err
		}
		for _, table := range []string{"memory_sessions", "memory_waiting"} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE app_id = ? AND project_id = ? AND session_id = ? AND user_id = ?`, scope.App, scope.Project, session, scope.User); err != nil {
				return err
			}
		}
		return nil
	}, `user_id = ? AND app_id = ? AND project_id = ? AND session_id = ?`, scope.User, scope.App, scope.Project, session)
}

// expire takes away what was deleted longer ago than Options.Keep.
func (s *Service) expire(ctx context.Context) error {
	before := stamp(s.o.Now().Add(-s.o.Keep))
	return s.purge(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM user_resources WHERE deleted_at IS NOT NULL AND deleted_at < ?`, before)
		return err
	}, `deleted_at IS NOT NULL AND deleted_at < ?`, before)
}

// purge deletes the mappings of a condition with what else is to go, then the files
// of ours that nothing names any more.
func (s *Service) purge(ctx context.Context, more func(*sql.Tx) error, where string, args ...any) error {
	var uris []string
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		uris = nil
		rows, err := tx.QueryContext(ctx, `DELETE FROM memory_attachments WHERE `+where+` RETURNING internal_uri, source`, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var uri, source string
			if err := rows.Scan(&uri, &source); err != nil {
				return err
			}
			if source != sourceURI { // what a client named is not ours
				uris = append(uris, uri)
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		rows.Close()
		return more(tx)
	})
	if err != nil {
		return err
	}
	for _, uri := range uris {
		var n int
		if err := s.db.Read().QueryRowContext(ctx, `SELECT (SELECT count(*) FROM memory_attachments WHERE internal_uri = ?1) + (SELECT count(*) FROM user_resources WHERE internal_uri = ?1)`, uri).Scan(&n); err != nil {
			return err
		}
		if path, ok := s.ownPath(uri); ok && n == 0 {
			s.discard(filepath.Dir(path))
		}
	}
	return nil
}

// settle lets what was deleted leave the file's log as well. That somebody reads there
// is no error: it goes with the next time.
func (s *Service) settle(ctx context.Context) {
	if err := s.db.Settle(context.WithoutCancel(ctx)); err != nil {
		s.o.Log.Debug("the log of the memories' database is not empty", "error", err.Error())
	}
}

// Named are the addresses of a scheme, such as "attachment://", that mappings have,
// deleted ones as well: what they name is in use.
func (s *Service) Named(ctx context.Context, scheme string) ([]string, error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT DISTINCT internal_uri FROM memory_attachments WHERE substr(internal_uri, 1, ?) = ?`, len(scheme), scheme)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var uri string
		if err := rows.Scan(&uri); err != nil {
			return nil, err
		}
		list = append(list, uri)
	}
	return list, rows.Err()
}

// exported is how many memories are read at once.
const exported = 200

// All gives all memories of a user, the oldest first, whatever their app and project.
// What a service keeps comes with the latest first, of one app and project after the
// other.
func (s *Service) All(ctx context.Context, user string) iter.Seq2[Memory, error] {
	if s.local == nil {
		return s.allOutside(ctx, user)
	}
	return func(yield func(Memory, error) bool) {
		after := int64(0)
		for {
			rows, err := s.memories(ctx, Scope{User: user}, `WHERE user_id = ? AND n > ? ORDER BY n LIMIT ?`, user, after, exported)
			if err == nil && len(rows) > 0 {
				err = s.db.Read().QueryRowContext(ctx, `SELECT n FROM memories WHERE id = ? AND user_id = ?`, rows[len(rows)-1].ID, user).Scan(&after)
			}
			if err != nil {
				yield(Memory{}, err)
				return
			}
			for _, m := range rows {
				if !yield(m, nil) {
					return
				}
			}
			if len(rows) < exported {
				return
			}
		}
	}
}

// Import keeps a memory that was exported. The same one again is the same memory.
// Where its files are is taken as a name; a file that would lie in our storage, and does
// not, is left out.
func (s *Service) Import(ctx context.Context, user string, m Memory) (id string, err error) {
	n := Note{Session: m.SessionID, Text: m.Text, Origin: m.Origin, At: m.At}
	for _, f := range m.Attachments {
		if path, ok := s.ownPath(f.URI); ok {
			if _, err := os.Stat(path); err != nil {
				continue
			}
		}
		n.Files = append(n.Files, NoteFile{f.Name, f.Type, f.URI})
	}
	id, err = s.Remember(ctx, Scope{user, m.App, m.Project}, n)
	if err != nil {
		return "", fmt.Errorf("memory %s: %w", m.ID, err)
	}
	return id, nil
}
