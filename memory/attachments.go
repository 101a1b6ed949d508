package memory

import (
	"context"
	"database/sql"
	"strings"
	"time"
)

// The ways in which a file came to a session.
const (
	sourceResource = "resource_upload"
	sourceURI      = "memory_add_uri"
	sourceBase64   = "memory_add_base64"
)

// mapping is a row of memory_attachments.
type mapping struct {
	id          string
	scope       Scope
	session     string
	resource    string // "" for none
	contentType string
	name        string
	uri         string
	source      string
	sha256      string // "" for unknown
}

// stamp is a time as the database keeps it, so that texts sort as times do.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// put writes a mapping. One that is there, deleted or not, is brought up to date and
// lives again.
func put(ctx context.Context, tx *sql.Tx, m mapping, now time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO memory_attachments (id, user_id, app_id, project_id, session_id, resource_id, content_type, name, internal_uri, source, sha256, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (user_id, session_id, internal_uri, app_id, project_id) DO UPDATE SET
			deleted_at = NULL, name = excluded.name, content_type = excluded.content_type, sha256 = excluded.sha256, resource_id = excluded.resource_id`,
		m.id, m.scope.User, m.scope.App, m.scope.Project, m.session, orNull(m.resource), m.contentType, m.name, m.uri, m.source, orNull(m.sha256), stamp(now))
	return err
}

// backfill gives every resource its mapping, where it has none: not where a person
// deleted it.
func (s *Service) backfill(ctx context.Context) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		list, err := resources(ctx, tx, `WHERE deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM memory_attachments a WHERE a.resource_id = user_resources.id AND a.user_id = user_resources.user_id)`)
		if err != nil {
			return err
		}
		for _, r := range list {
			m := r.mapping()
			if _, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO memory_attachments (id, user_id, app_id, project_id, session_id, resource_id, content_type, name, internal_uri, source, sha256, created_at)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, m.id, m.scope.User, m.scope.App, m.scope.Project, m.session, m.resource, m.contentType, m.name, m.uri, m.source, orNull(m.sha256), stamp(s.o.Now())); err != nil {
				return err
			}
		}
		return nil
	})
}

// decorate gives results the files of their sessions that they name. It asks once
// for all sessions.
func (s *Service) decorate(ctx context.Context, scope Scope, items []Item) error {
	var sessions []any
	known := map[string]bool{}
	for i := range items {
		items[i].Attachments = []File{}
		if id := items[i].SessionID; id != nil && *id != "" && !known[*id] {
			known[*id] = true
			sessions = append(sessions, *id)
		}
	}
	if len(sessions) == 0 {
		return nil
	}
	rows, err := s.db.Read().QueryContext(ctx, `SELECT session_id, app_id, project_id, content_type, name, internal_uri FROM memory_attachments
		WHERE user_id = ? AND deleted_at IS NULL AND session_id IN (?`+strings.Repeat(", ?", len(sessions)-1)+`) ORDER BY created_at, id`, append([]any{scope.User}, sessions...)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	type file struct {
		app, project string
		File
	}
	of := map[string][]file{}
	for rows.Next() {
		var session string
		var f file
		if err := rows.Scan(&session, &f.app, &f.project, &f.Type, &f.Name, &f.URI); err != nil {
			return err
		}
		f.Type = kindOf(f.Type)
		of[session] = append(of[session], f)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for i := range items {
		it := &items[i]
		if it.SessionID == nil || len(of[*it.SessionID]) == 0 {
			continue
		}
		h := textsOf(it.Raw)
		h.strict = s.o.StrictNames
		seen := map[string]bool{}
		for _, f := range of[*it.SessionID] {
			if f.app == it.app && f.project == it.project && !seen[f.URI] && h.names(f.Name) {
				seen[f.URI] = true
				it.Attachments = append(it.Attachments, f.File)
			}
		}
	}
	return nil
}
