package memory

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// Add keeps messages for a user, with the files that they bring. body is EverOS' body
// of an add; it reaches the engine as it is. The answer is the engine's, also one
// that refuses; an error is a refusal of our own or says that the engine could not be
// asked. After anything but success no file and no row is left.
func (s *Service) Add(ctx context.Context, user string, body []byte) (Reply, error) {
	b, scope, err := readAdd(user, body, s.o.OpenSenders, s.o.Aliases[user])
	if err != nil {
		return Reply{}, err
	}
	if s.local != nil {
		if err := b.checkEmbedded(user); err != nil {
			return Reply{}, err
		}
	}
	rows, folders, err := s.keepFiles(ctx, scope, b)
	if err != nil {
		s.discard(folders...)
		return Reply{}, err
	}
	err = s.step("engine")
	var reply Reply
	if err == nil {
		reply, err = s.engine.Add(ctx, Added{scope, b.SessionID, body, b})
	}
	if err != nil || !reply.OK() {
		s.discard(folders...)
		return reply, err
	}
	// The engine has it: what follows is ours, and a client that went away does not
	// undo it.
	again, err := s.record(context.WithoutCancel(ctx), scope, b.SessionID, rows)
	for _, uri := range again {
		if path, ok := s.ownPath(uri); ok {
			s.discard(filepath.Dir(path))
		}
	}
	if err != nil {
		s.discard(folders...)
		s.o.Log.Error("a memory is kept without its files", "error", err.Error())
		reply.Body = warned(reply.Body, "The memory is kept, and its files are not: they could not be recorded.")
	}
	return reply, nil
}

// keepFiles writes the files of a body and says what is to be recorded of them.
func (s *Service) keepFiles(ctx context.Context, scope Scope, b addBody) (rows []mapping, folders []string, err error) {
	for _, m := range b.Messages {
		for _, item := range m.items {
			if err := ctx.Err(); err != nil {
				return nil, folders, err
			}
			row := mapping{id: newID(), scope: scope, session: b.SessionID, contentType: item.Type, name: nameOf(item), uri: item.URI, source: sourceURI}
			if row.contentType == "" || row.contentType == "text" {
				row.contentType = "doc"
			}
			switch {
			case item.URI != "":
				if len(item.URI) > 8192 {
					continue // no address: nothing that could be found by it
				}
			case item.Base64 != "":
				if len(item.Base64) > MaxItem/3*4+MaxItem/16 {
					return nil, folders, tooLarge("A file may have %d MiB at most: %s", MaxItem>>20, row.name)
				}
				data, ok := decodeBase64(item.Base64)
				if !ok {
					s.o.Log.Warn("a file of a message is not valid base64 and is not kept")
					continue
				}
				if len(data) > MaxItem {
					return nil, folders, tooLarge("A file may have %d MiB at most: %s", MaxItem>>20, row.name)
				}
				folder := s.folder(scope.User, attachmentsDir, row.id)
				folders = append(folders, folder)
				path, err := s.save(folder, row.name, data)
				if err != nil {
					return nil, folders, err
				}
				sum := sha256.Sum256(data)
				row.uri, row.source, row.sha256 = fileURI(path), sourceBase64, hex.EncodeToString(sum[:])
			default:
				continue
			}
			rows = append(rows, row)
		}
	}
	return rows, folders, nil
}

// record notes who owns the session, and its files. again are the addresses of files
// that are not noted, because the session has the same bytes under the same name: who
// tries an add once more, after an answer that did not arrive, adds nothing twice.
func (s *Service) record(ctx context.Context, scope Scope, session string, rows []mapping) (again []string, err error) {
	if err := s.step("rows"); err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		again = nil
		if _, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO memory_sessions (app_id, project_id, session_id, user_id) VALUES (?, ?, ?, ?)`, scope.App, scope.Project, session, scope.User); err != nil {
			return err
		}
		for _, m := range rows {
			known, err := s.known(ctx, tx, m)
			if err != nil {
				return err
			}
			if known {
				again = append(again, m.uri)
			} else if err := put(ctx, tx, m, s.o.Now()); err != nil {
				return err
			}
		}
		return s.step("commit")
	})
	if err != nil {
		return nil, err
	}
	return again, nil
}

// known tells whether a file that came with its bytes is kept for its session already.
func (s *Service) known(ctx context.Context, tx *sql.Tx, m mapping) (bool, error) {
	if m.source != sourceBase64 {
		return false, nil
	}
	var uri string
	err := tx.QueryRowContext(ctx, `SELECT internal_uri FROM memory_attachments WHERE user_id = ? AND session_id = ? AND deleted_at IS NULL AND app_id = ? AND project_id = ? AND source = ? AND sha256 = ? AND name = ? AND content_type = ? LIMIT 1`,
		m.scope.User, m.session, m.scope.App, m.scope.Project, m.source, m.sha256, m.name, m.contentType).Scan(&uri)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	path, ok := s.ownPath(uri)
	if !ok {
		return false, nil
	}
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular(), nil
}

// warned puts a warning into an answer.
func warned(body []byte, text string) []byte {
	var answer map[string]json.RawMessage
	if json.Unmarshal(body, &answer) != nil || answer == nil {
		return body
	}
	answer["warning"], _ = json.Marshal(text)
	if out, err := json.Marshal(answer); err == nil {
		return out
	}
	return body
}

// Flush ends what a session has open. body is EverOS' body of a flush.
func (s *Service) Flush(ctx context.Context, user string, body []byte) (Reply, error) {
	var b struct {
		UserID    *string `json:"user_id"`
		SessionID string  `json:"session_id"`
		App       string  `json:"app_id"`
		Project   string  `json:"project_id"`
	}
	if err := decode(body, &b); err != nil {
		return Reply{}, err
	}
	scope, err := Scope{user, b.App, b.Project}.check()
	if err != nil {
		return Reply{}, err
	}
	if b.UserID != nil && *b.UserID != user {
		return Reply{}, forbidden("The body names another user than the one who is signed in.")
	}
	if err := checkSession(b.SessionID); err != nil {
		return Reply{}, err
	}
	if s.local == nil {
		if owns, err := s.owns(ctx, scope, b.SessionID); err != nil || !owns {
			if err == nil {
				err = notFound("session")
			}
			return Reply{}, err
		}
	}
	return s.engine.Flush(ctx, scope, b.SessionID)
}

// owns tells whether the session's first message came from the user.
func (s *Service) owns(ctx context.Context, scope Scope, session string) (bool, error) {
	var n int
	err := s.db.Read().QueryRowContext(ctx, `SELECT count(*) FROM memory_sessions WHERE app_id = ? AND project_id = ? AND session_id = ? AND user_id = ?`, scope.App, scope.Project, session, scope.User).Scan(&n)
	return n > 0, err
}
