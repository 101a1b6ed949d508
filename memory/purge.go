package memory

import (
	"context"
	"database/sql"
	"errors"
)

// Held counts what is kept of a user.
type Held struct {
	Memories  int   `json:"memories"`  // of the embedded engine, or of the copy
	Messages  int   `json:"messages"`  // that they were made of
	Resources int   `json:"resources"` // files that were uploaded, deleted ones as well
	Files     int   `json:"files"`     // files of messages, likewise
	Bytes     int64 `json:"bytes"`     // of uploaded files
	Waiting   int   `json:"waiting"`   // what a memory service has yet to be told
	// Outside says that a service keeps memories, which are not counted.
	Outside bool `json:"outside,omitempty"`
}

// Held counts what is kept of a user here. What a service keeps is not counted.
func (s *Service) Held(ctx context.Context, user string) (h Held, err error) {
	h.Outside = s.local == nil
	err = s.db.Read().QueryRowContext(ctx, `SELECT
		(SELECT count(*) FROM memories WHERE user_id = ?1), (SELECT count(*) FROM messages WHERE user_id = ?1),
		(SELECT count(*) FROM user_resources WHERE user_id = ?1), (SELECT coalesce(sum(size), 0) FROM user_resources WHERE user_id = ?1),
		(SELECT count(*) FROM memory_attachments WHERE user_id = ?1 AND source <> 'resource_upload'),
		(SELECT count(*) FROM memory_waiting WHERE user_id = ?1)`, user).Scan(&h.Memories, &h.Messages, &h.Resources, &h.Bytes, &h.Files, &h.Waiting)
	return h, err
}

// PurgeUser takes all that a user has away for good: what is kept here, and what a
// service keeps, if one does. Where that offers no way to forget, what it has now is
// hidden. What is kept here goes also where the service does not answer, which is the
// error then; asked again, the rest goes.
func (s *Service) PurgeUser(ctx context.Context, user string) (done Forgotten, err error) {
	scope, err := Scope{User: user}.check()
	if err != nil {
		return done, err
	}
	defer s.settle(ctx)
	hide, missed := map[Scope][]string{}, error(nil)
	if s.local == nil {
		done.Kept, missed = s.purgeOutside(ctx, user, hide)
	}
	err = s.purge(ctx, func(tx *sql.Tx) error {
		tables := []string{"messages", "memories", "memory_waiting", "user_resources"}
		if missed == nil { // they say in which apps and projects more is to be looked for
			tables = append(tables, "memory_sessions")
		}
		if missed == nil && !done.Kept {
			tables = append(tables, "memory_hidden")
		}
		for _, table := range tables {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE user_id = ?`, user); err != nil {
				return err
			}
		}
		for of, ids := range hide {
			for _, id := range ids {
				if _, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO memory_hidden (user_id, app_id, project_id, id) VALUES (?, ?, ?, ?)`, of.User, of.App, of.Project, id); err != nil {
					return err
				}
			}
		}
		return nil
	}, `user_id = ?`, scope.User)
	if err != nil {
		return done, err
	}
	s.discard(s.folder(user, resourcesDir, ""))
	return done, missed
}

// purgeOutside takes away what a service has of a user, or says what is to be hidden.
func (s *Service) purgeOutside(ctx context.Context, user string, hide map[Scope][]string) (kept bool, err error) {
	up, _ := s.outside()
	if up == nil {
		return false, ErrUpstream
	}
	if err := up.dropAll(ctx, user); !errors.Is(err, errStays) {
		return false, err
	}
	for m, err := range s.allOutside(ctx, user) {
		if err != nil {
			return true, err
		}
		of := Scope{user, m.App, m.Project}
		hide[of] = append(hide[of], m.ID)
	}
	return true, nil
}

// HeldOf counts what is kept of one session of a user here.
func (s *Service) HeldOf(ctx context.Context, scope Scope, session string) (h Held, err error) {
	h.Outside = s.local == nil
	if scope, err = scope.check(); err != nil {
		return h, err
	}
	const of = ` WHERE user_id = ?1 AND app_id = ?2 AND project_id = ?3 AND session_id = ?4`
	err = s.db.Read().QueryRowContext(ctx, `SELECT
		(SELECT count(*) FROM memories`+of+`), (SELECT count(*) FROM messages`+of+`), (SELECT count(*) FROM memory_attachments`+of+`), (SELECT count(*) FROM memory_waiting`+of+`)`,
		scope.User, scope.App, scope.Project, session).Scan(&h.Memories, &h.Messages, &h.Files, &h.Waiting)
	return h, err
}
