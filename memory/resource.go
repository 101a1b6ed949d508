package memory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxResource is how large an uploaded file may be, in bytes.
const MaxResource = 50 << 20

// maxResourceText is how much of a text file is kept for searching, in bytes.
const maxResourceText = 16 << 10

const resourcesDir = "resources"

// The states of a resource.
const (
	statusReady = "ready"
	// statusUnindexed says that the file is kept and the engine does not know of it. To
	// upload it again tries that again.
	statusUnindexed = "unindexed"
)

// Resource is a file that a user uploaded for its own sake. Its URI is no path.
type Resource struct {
	ID          string    `json:"id"`
	URI         string    `json:"uri"`
	Name        string    `json:"name"`
	ContentType string    `json:"content_type"`
	Description string    `json:"description,omitempty"`
	Size        int64     `json:"size"` // bytes
	SHA256      string    `json:"sha256"`
	Status      string    `json:"status"`
	App         string    `json:"app_id"`
	Project     string    `json:"project_id"`
	Created     time.Time `json:"created_at"`

	user     string
	internal string
}

// Upload is a file that comes in.
type Upload struct {
	Scope       Scope
	Name        string
	ContentType string
	Description string
	Body        io.Reader
	// Rest is called once Body was read, and may set the app and the project of Scope,
	// and Description: in a form they may stand behind the file. nil for nothing.
	Rest func(*Upload) error
}

func (u *Upload) checkDescription() error {
	if len(u.Description) > maxResourceText {
		return invalid("a description of %d bytes at most is wanted", maxResourceText)
	}
	return nil
}

// rest takes in what stands behind the body.
func (u *Upload) rest(r *Resource) error {
	if u.Rest == nil {
		return nil
	}
	user := u.Scope.User
	if err := u.Rest(u); err != nil {
		return err
	}
	u.Scope.User = user
	scope, err := u.Scope.check()
	if err == nil {
		err = u.checkDescription()
	}
	u.Scope, r.App, r.Project, r.Description = scope, scope.App, scope.Project, u.Description
	return err
}

func (r Resource) scope() Scope { return Scope{r.user, r.App, r.Project} }

func (r Resource) mapping() mapping {
	return mapping{newID(), r.scope(), resourceSession(r.user, r.ID), r.ID, r.ContentType, r.Name, r.internal, sourceResource, r.SHA256}
}

// PutResource keeps an uploaded file. The same bytes again are the same resource,
// also after it was deleted: it comes back, and its mapping with it.
func (s *Service) PutResource(ctx context.Context, u Upload) (r Resource, duplicate bool, err error) {
	scope, err := u.Scope.check()
	if err != nil {
		return r, false, err
	}
	name := base(strings.TrimSpace(strings.ToValidUTF8(u.Name, "_")))
	if name == "" || len(name) > 1024 {
		return r, false, invalid("a file with a name of 1024 bytes at most is wanted")
	}
	if err := u.checkDescription(); err != nil {
		return r, false, err
	}
	if u.ContentType == "" {
		u.ContentType = "application/octet-stream"
	}
	r = Resource{ID: newID(), Name: name, ContentType: cut(u.ContentType, 255), Description: u.Description, Status: statusUnindexed, App: scope.App, Project: scope.Project, Created: s.o.Now().UTC(), user: scope.User}
	r.URI = "resource://" + r.ID
	folder := s.folder(scope.User, resourcesDir, r.ID)
	path, start, err := s.receive(folder, name, u.Body, &r)
	if err == nil {
		err = u.rest(&r)
		scope = r.scope()
	}
	if err != nil {
		s.discard(folder)
		return r, false, err
	}
	r.internal = fileURI(path)
	kept := r
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		duplicate = false
		known, err := resources(ctx, tx, `WHERE user_id = ? AND app_id = ? AND project_id = ? AND sha256 = ?`, scope.User, scope.App, scope.Project, r.SHA256)
		if err != nil {
			return err
		}
		kept = r
		if len(known) > 0 {
			kept, duplicate = known[0], true
			_, err = tx.ExecContext(ctx, `UPDATE user_resources SET deleted_at = NULL WHERE id = ? AND user_id = ?`, kept.ID, scope.User)
		} else {
			_, err = tx.ExecContext(ctx, `INSERT INTO user_resources (id, user_id, app_id, project_id, name, content_type, description, size, sha256, internal_uri, uri, status, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				r.ID, scope.User, r.App, r.Project, r.Name, r.ContentType, r.Description, r.Size, r.SHA256, r.internal, r.URI, r.Status, stamp(r.Created))
		}
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO memory_sessions (app_id, project_id, session_id, user_id) VALUES (?, ?, ?, ?)`, scope.App, scope.Project, resourceSession(scope.User, kept.ID), scope.User); err != nil {
			return err
		}
		if err := s.step("rows"); err != nil {
			return err
		}
		return put(ctx, tx, kept.mapping(), s.o.Now())
	})
	if err != nil || duplicate {
		s.discard(folder)
	}
	if err != nil {
		return r, false, err
	}
	if kept.Status != statusReady {
		kept.Status = s.introduce(ctx, kept, start)
	}
	return kept, duplicate, nil
}

// receive writes an upload to its place while it is hashed. It returns the path and
// how a text begins.
func (s *Service) receive(folder, name string, body io.Reader, r *Resource) (path string, start []byte, err error) {
	if err := makeFolder(folder); err != nil {
		return "", nil, err
	}
	path = filepath.Join(folder, safeName(name))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", nil, err
	}
	sum := sha256.New()
	var head bytes.Buffer
	r.Size, err = copyTo(io.MultiWriter(f, sum, &first{&head, maxResourceText}), body, MaxResource)
	err = errors.Join(err, s.step("file"))
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	r.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return path, head.Bytes(), err
}

// first keeps how something begins.
type first struct {
	b    *bytes.Buffer
	most int
}

func (f *first) Write(p []byte) (int, error) {
	f.b.Write(p[:min(len(p), max(0, f.most-f.b.Len()))])
	return len(p), nil
}

// introduce tells the engine of a resource: of the file, and in words, so that what
// is kept of it has its name. It returns the state that the resource is in then.
func (s *Service) introduce(ctx context.Context, r Resource, start []byte) string {
	words := "Uploaded file " + r.Name + "."
	if r.Description != "" {
		words += " " + r.Description
	}
	if s.local != nil && strings.HasPrefix(r.ContentType, "text/") {
		for len(start) > 0 && !utf8.Valid(start) && len(start) > maxResourceText-utf8.UTFMax {
			start = start[:len(start)-1]
		}
		if utf8.Valid(start) && !bytes.ContainsRune(start, 0) {
			words += "\n" + string(start)
		}
	}
	item := map[string]string{"type": kindOf(r.ContentType), "uri": r.internal, "name": r.Name, "ext": strings.TrimPrefix(filepath.Ext(r.Name), ".")}
	session := resourceSession(r.user, r.ID)
	body, err := json.Marshal(map[string]any{"session_id": session, "app_id": r.App, "project_id": r.Project, "messages": []any{map[string]any{
		"sender_id": r.user, "role": "user", "timestamp": r.Created.UnixMilli(), "content": []any{map[string]string{"type": "text", "text": words}, item},
	}}})
	if err != nil {
		return statusUnindexed
	}
	b, scope, err := readAdd(r.user, body, true, nil)
	if err != nil {
		return statusUnindexed
	}
	reply, err := s.engine.Add(ctx, Added{scope, session, body, b})
	if err != nil || !reply.OK() {
		s.o.Log.Warn("a file is kept, and the memory service did not take it")
		return statusUnindexed
	}
	_, _ = s.engine.Flush(ctx, scope, session) // without it the memory only stays open
	if err := s.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE user_resources SET status = ? WHERE id = ? AND user_id = ?`, statusReady, r.ID, r.user)
		return err
	}); err != nil {
		return statusUnindexed
	}
	return statusReady
}

type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func resources(ctx context.Context, db queryer, where string, args ...any) (list []Resource, err error) {
	rows, err := db.QueryContext(ctx, `SELECT id, user_id, app_id, project_id, name, content_type, description, size, sha256, internal_uri, uri, status, CAST(created_at AS TEXT) FROM user_resources `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r Resource
		var created string
		if err := rows.Scan(&r.ID, &r.user, &r.App, &r.Project, &r.Name, &r.ContentType, &r.Description, &r.Size, &r.SHA256, &r.internal, &r.URI, &r.Status, &created); err != nil {
			return nil, err
		}
		r.Created, _ = time.Parse(time.RFC3339Nano, created)
		list = append(list, r)
	}
	return list, rows.Err()
}

// Resources lists the files of a user, the latest first, a page at a time.
func (s *Service) Resources(ctx context.Context, scope Scope, limit, offset int) (list []Resource, total int, err error) {
	if scope, err = scope.check(); err != nil {
		return nil, 0, err
	}
	if err := s.db.Read().QueryRowContext(ctx, `SELECT count(*) FROM user_resources WHERE user_id = ? AND app_id = ? AND project_id = ? AND deleted_at IS NULL`, scope.User, scope.App, scope.Project).Scan(&total); err != nil {
		return nil, 0, err
	}
	list, err = resources(ctx, s.db.Read(), `WHERE user_id = ? AND app_id = ? AND project_id = ? AND deleted_at IS NULL ORDER BY created_at DESC, id LIMIT ? OFFSET ?`, scope.User, scope.App, scope.Project, limit, offset)
	return list, total, err
}

// Resource describes one file of a user.
func (s *Service) Resource(ctx context.Context, user, id string) (Resource, error) {
	list, err := resources(ctx, s.db.Read(), `WHERE id = ? AND user_id = ? AND deleted_at IS NULL`, id, user)
	if err != nil {
		return Resource{}, err
	}
	if len(list) == 0 {
		return Resource{}, notFound("file")
	}
	return list[0], nil
}

// DeleteResource deletes a file of a user: it and its mappings come back when it is
// uploaded again; after Options.Keep it is gone.
func (s *Service) DeleteResource(ctx context.Context, user, id string) error {
	r, err := s.Resource(ctx, user, id)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		now := stamp(s.o.Now())
		if _, err := tx.ExecContext(ctx, `UPDATE user_resources SET deleted_at = ?, status = ? WHERE id = ? AND user_id = ?`, now, statusUnindexed, id, user); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE memory_attachments SET deleted_at = ? WHERE resource_id = ? AND user_id = ? AND deleted_at IS NULL`, now, id, user); err != nil {
			return err
		}
		if s.local == nil && !s.o.Fallback {
			return nil
		}
		return dropSession(ctx, tx, r.scope(), resourceSession(user, id))
	})
}
