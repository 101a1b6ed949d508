package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// shelf is a service whose memories can be looked through: what its documented API
// offers beside adding and searching.
type shelf interface {
	// list gives a page of a scope's memories, the latest first, and how many there are.
	// Pages count from 1 and have 1 to outsidePage memories.
	list(ctx context.Context, s Scope, page, size int) (items []Item, total int, err error)
	// item is one memory, or ErrNotFound.
	item(ctx context.Context, s Scope, id string) (Item, error)
	// drop takes a memory away for good, or is errStays where the API has no such call.
	drop(ctx context.Context, s Scope, it Item) error
	// dropAll takes away all that it has of a user, or is errStays.
	dropAll(ctx context.Context, user string) error
}

// errStays says that the service's API has nothing to take a memory away.
var errStays = errors.New("the memory service offers no way to forget")

// Limits of looking through a service.
const (
	outsidePage = 100 // memories of a page
	lookedIn    = 20  // pages that one is looked for in, where it cannot be asked for
	countedIn   = 50  // pages that a list with hidden memories is counted through
)

// copied stands in front of the ids of the copy that is kept of a service's memories:
// they are its own, and may look like another memory's of the service.
const copied = "copy:"

// Listing is a page of memories.
type Listing struct {
	Memories []Memory `json:"memories"`
	Total    int      `json:"total"`
	// Degraded says that the service did not answer, and the copy did.
	Degraded bool `json:"degraded,omitempty"`
}

// Forgotten says how a memory was forgotten.
type Forgotten struct {
	// Kept says that the service that keeps it offers no way to forget: it is shown to
	// nobody here any more, and the service has it still.
	Kept bool `json:"kept_by_service,omitempty"`
}

// outside is the service that keeps the memories, and the engine that keeps a copy of
// them, if one does.
func (s *Service) outside() (shelf, *composite) {
	if c, ok := s.engine.(*composite); ok {
		up, _ := c.up.(shelf)
		return up, c
	}
	up, _ := s.engine.(shelf)
	return up, nil
}

// listOutside is List where a service keeps the memories.
func (s *Service) listOutside(ctx context.Context, scope Scope, limit, offset int) (Listing, error) {
	up, c := s.outside()
	if up == nil {
		return Listing{}, ErrUpstream
	}
	if c != nil {
		if _, err := c.deliver(ctx, scope, ""); err != nil {
			return Listing{}, err
		}
	}
	items, total, err := s.pageOutside(ctx, up, scope, limit, offset)
	if err != nil {
		if c == nil || !errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
			return Listing{}, err
		}
		s.o.Log.Warn("the memory service does not answer; what is kept here does", "error", err.Error())
		l, err := s.listHere(ctx, scope, limit, offset)
		for i := range l.Memories {
			l.Memories[i].ID = copied + l.Memories[i].ID
		}
		l.Degraded = true
		return l, err
	}
	if err := s.decorate(ctx, scope, items); err != nil {
		return Listing{}, err
	}
	l := Listing{Memories: []Memory{}, Total: total}
	for _, it := range items {
		l.Memories = append(l.Memories, memoryOf(it))
	}
	return l, nil
}

// pageOutside gives the memories of a service from an offset on. Where some are hidden
// the service is read from its beginning, so that an offset counts what is shown.
func (s *Service) pageOutside(ctx context.Context, up shelf, scope Scope, limit, offset int) (items []Item, total int, err error) {
	hidden, err := s.hidden(ctx, scope)
	if err != nil {
		return nil, 0, err
	}
	limit = max(limit, 1)
	size, page, skip := min(limit, outsidePage), 1, offset
	if len(hidden) > 0 {
		size = outsidePage
	} else {
		page, skip = offset/size+1, offset%size
	}
	for range countedIn {
		got, all, err := up.list(ctx, scope, page, size)
		if err != nil {
			return nil, 0, err
		}
		n := len(got)
		if got, err = s.shown(ctx, scope, got, hidden); err != nil {
			return nil, 0, err
		}
		total = max(0, all-len(hidden))
		passed := min(skip, len(got))
		skip -= passed
		items = append(items, got[passed:]...)
		if len(items) >= limit || n < size {
			break
		}
		page++
	}
	return items[:min(len(items), limit)], total, nil
}

// shown are those of a service's items that are the user's and not hidden.
func (s *Service) shown(ctx context.Context, scope Scope, items []Item, hidden map[string]bool) ([]Item, error) {
	items, err := s.ownOnly(ctx, scope, items)
	return slices.DeleteFunc(items, func(it Item) bool { return hidden[it.ID] }), err
}

// hidden are the ids of what a user has forgotten and the service keeps.
func (s *Service) hidden(ctx context.Context, scope Scope) (map[string]bool, error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT id FROM memory_hidden WHERE user_id = ? AND app_id = ? AND project_id = ?`, scope.User, scope.App, scope.Project)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	ids := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids[id] = true
	}
	return ids, rows.Err()
}

// itemOutside is one memory of a service that may be shown to the user.
func (s *Service) itemOutside(ctx context.Context, up shelf, scope Scope, id string) (Item, error) {
	if id == "" || id == "." || id == ".." || len(id) > 512 {
		return Item{}, notFound("memory")
	}
	hidden, err := s.hidden(ctx, scope)
	if err != nil {
		return Item{}, err
	}
	if hidden[id] {
		return Item{}, notFound("memory")
	}
	it, err := up.item(ctx, scope, id)
	if err != nil {
		return Item{}, err
	}
	own, err := s.shown(ctx, scope, []Item{it}, nil)
	if err == nil && len(own) == 0 {
		err = notFound("memory")
	}
	return it, err
}

// getOutside is Get where a service keeps the memories.
func (s *Service) getOutside(ctx context.Context, scope Scope, id string) (Memory, error) {
	up, c := s.outside()
	if up == nil {
		return Memory{}, ErrUpstream
	}
	if own, ok := strings.CutPrefix(id, copied); ok && c != nil {
		m, err := s.getHere(ctx, scope.User, own)
		m.ID = copied + m.ID
		return m, err
	}
	it, err := s.itemOutside(ctx, up, scope, id)
	if err != nil {
		return Memory{}, err
	}
	items := []Item{it}
	err = s.decorate(ctx, scope, items)
	return memoryOf(items[0]), err
}

// forgetOutside is Forget where a service keeps the memories. The copy that is kept of
// them has other pieces: all of the session go.
func (s *Service) forgetOutside(ctx context.Context, scope Scope, id string) (done Forgotten, err error) {
	up, c := s.outside()
	if up == nil {
		return done, ErrUpstream
	}
	if strings.HasPrefix(id, copied) && c != nil {
		return done, &Error{http.StatusConflict, "CONFLICT", "This is the copy of what a memory service keeps. Forget it there: list the memories once the service answers.", ErrInput}
	}
	it, err := s.itemOutside(ctx, up, scope, id)
	if err != nil {
		return done, err
	}
	err = up.drop(ctx, scope, it)
	if done.Kept = errors.Is(err, errStays); err != nil && !done.Kept {
		return done, err
	}
	return done, s.db.Write(context.WithoutCancel(ctx), func(tx *sql.Tx) error {
		if done.Kept {
			if _, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO memory_hidden (user_id, app_id, project_id, id) VALUES (?, ?, ?, ?)`, scope.User, scope.App, scope.Project, id); err != nil {
				return err
			}
		}
		if c == nil || it.SessionID == nil {
			return nil
		}
		return dropSession(ctx, tx, scope, *it.SessionID)
	})
}

// allOutside is All where a service keeps the memories: those of each app and project
// that the user has added to through here, the latest of each first.
func (s *Service) allOutside(ctx context.Context, user string) iter.Seq2[Memory, error] {
	return func(yield func(Memory, error) bool) {
		up, _ := s.outside()
		scopes, err := s.scopes(ctx, user)
		if err == nil && up == nil {
			err = ErrUpstream
		}
		if err != nil {
			yield(Memory{}, err)
			return
		}
		for _, scope := range scopes {
			hidden, err := s.hidden(ctx, scope)
			if err != nil {
				yield(Memory{}, err)
				return
			}
			for page := 1; ; page++ {
				items, _, err := up.list(ctx, scope, page, outsidePage)
				n := len(items)
				if err == nil {
					items, err = s.shown(ctx, scope, items, hidden)
				}
				if err == nil {
					err = s.decorate(ctx, scope, items)
				}
				if err != nil {
					yield(Memory{}, err)
					return
				}
				for _, it := range items {
					if !yield(memoryOf(it), nil) {
						return
					}
				}
				if n < outsidePage {
					break
				}
			}
		}
	}
}

// scopes are the apps and projects of a user's sessions, and the default ones.
func (s *Service) scopes(ctx context.Context, user string) ([]Scope, error) {
	first, err := Scope{User: user}.check()
	if err != nil {
		return nil, err
	}
	list := []Scope{first}
	rows, err := s.db.Read().QueryContext(ctx, `SELECT DISTINCT app_id, project_id FROM memory_sessions WHERE user_id = ? ORDER BY app_id, project_id`, user)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		one := Scope{User: user}
		if err := rows.Scan(&one.App, &one.Project); err != nil {
			return nil, err
		}
		if one != first {
			list = append(list, one)
		}
	}
	return list, rows.Err()
}

// memoryOf is an item of a service as a person looks at it.
func memoryOf(it Item) Memory {
	m := Memory{ID: it.ID, App: it.app, Project: it.project, Subject: gjson.GetBytes(it.Raw, "subject").String(), Text: it.Text, Attachments: it.Attachments}
	if it.SessionID != nil {
		m.SessionID = *it.SessionID
	}
	if m.Subject == "" {
		m.Subject = firstLine(m.Text)
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05"} {
		if at, err := time.Parse(layout, it.Timestamp); err == nil {
			m.At = at.UTC()
			break
		}
	}
	return m
}

// scan looks for a memory by its id where a service can only be paged through.
func scan(id string, page func(n int) ([]Item, error)) (Item, error) {
	for n := 1; n <= lookedIn; n++ {
		items, err := page(n)
		if err != nil {
			return Item{}, err
		}
		for _, it := range items {
			if it.ID == id {
				return it, nil
			}
		}
		if len(items) < outsidePage {
			return Item{}, notFound("memory")
		}
	}
	return Item{}, &Error{http.StatusNotFound, "NOT_FOUND", fmt.Sprintf("It is not among the latest %d memories, and the memory service cannot be asked for one by its id.", lookedIn*outsidePage), ErrNotFound}
}

// parsed is what a service answered, if it is one of its answers.
func parsed(reply Reply, err error) (gjson.Result, error) {
	switch {
	case err != nil:
		return gjson.Result{}, err
	case !reply.OK():
		return gjson.Result{}, refused(reply)
	case !gjson.ValidBytes(reply.Body):
		return gjson.Result{}, undocumented()
	}
	return gjson.ParseBytes(reply.Body), nil
}

// told is how telling a service something ended. What is not there any more is gone.
func told(reply Reply, err error) error {
	if err != nil || reply.OK() || reply.Status == http.StatusNotFound {
		return err
	}
	return refused(reply)
}
