package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"

	"github.com/tidwall/gjson"
)

// Limits of what waits for a service.
const (
	maxWaiting      = 10_000
	maxWaitingBytes = 512 << 20
	deliveredAtOnce = 20 // in front of one question
)

// composite keeps memories in a service, and a copy of what was said in the embedded
// engine. While the service does not answer, the copy answers, and says so. What was
// added meanwhile waits in the order in which it came, and reaches the service with a
// later question, once it is back; should the program die between telling it and
// noting that, it is told twice.
//
// Only what the service has not heard of waits. An add that was sent and not answered
// is an error, as without the copy: nobody knows whether it was kept.
type composite struct {
	up    Engine
	local *embedded
	db    *sql.DB
	write func(context.Context, func(*sql.Tx) error) error
	log   *slog.Logger

	delivering sync.Mutex
}

// Add is Engine.Add.
func (c *composite) Add(ctx context.Context, a Added) (Reply, error) {
	waits, err := c.deliver(ctx, a.Scope, a.Session)
	if err != nil {
		return Reply{}, err
	}
	if !waits {
		reply, err := c.up.Add(ctx, a)
		if !unheard(reply, err) {
			if err == nil && reply.OK() {
				c.copy(ctx, a)
			}
			return reply, err
		}
	}
	reply, err := c.local.Add(ctx, a)
	if err != nil {
		return reply, err
	}
	if err := c.queue(ctx, a.Scope, a.Session, a.Body); err != nil {
		return Reply{}, err
	}
	return degraded(reply), nil
}

// copy keeps what the service has taken here, too.
func (c *composite) copy(ctx context.Context, a Added) {
	if _, err := c.local.Add(context.WithoutCancel(ctx), a); err != nil {
		c.log.Warn("the memory service has a memory of which there is no copy", "error", err.Error())
	}
}

// Flush is Engine.Flush.
func (c *composite) Flush(ctx context.Context, s Scope, session string) (Reply, error) {
	waits, err := c.deliver(ctx, s, session)
	if err != nil {
		return Reply{}, err
	}
	if !waits {
		reply, err := c.up.Flush(ctx, s, session)
		if !unheard(reply, err) {
			if err == nil && reply.OK() {
				if _, err := c.local.Flush(context.WithoutCancel(ctx), s, session); err != nil {
					c.log.Warn("the copy of a session could not be flushed", "error", err.Error())
				}
			}
			return reply, err
		}
	}
	reply, err := c.local.Flush(ctx, s, session)
	if err != nil {
		return reply, err
	}
	if err := c.queue(ctx, s, session, nil); err != nil {
		return Reply{}, err
	}
	return degraded(reply), nil
}

// Search is Engine.Search. The copy answers where the service does not.
func (c *composite) Search(ctx context.Context, s Scope, q Query) (Found, error) {
	if _, err := c.deliver(ctx, s, ""); err != nil {
		return Found{}, err
	}
	found, err := c.up.Search(ctx, s, q)
	if err == nil || !errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
		return found, err
	}
	c.log.Warn("the memory service does not answer; what is kept here does", "error", err.Error())
	found, err = c.local.Search(ctx, s, q)
	for i := range found.Results {
		found.Results[i].ID = copied + found.Results[i].ID
	}
	found.Degraded = true
	return found, err
}

// Health is Engine.Health.
func (c *composite) Health(ctx context.Context) error {
	return errors.Join(c.up.Health(ctx), c.local.Health(ctx))
}

// unheard tells whether the service has not heard of what it was told.
func unheard(r Reply, err error) bool {
	if err != nil {
		return errors.Is(err, errUnasked)
	}
	return r.Status == http.StatusServiceUnavailable && gjson.GetBytes(r.Body, "error.code").String() == "EXTERNAL_SERVICE_UNAVAILABLE"
}

// degraded marks an answer.
func degraded(r Reply) Reply {
	var answer map[string]json.RawMessage
	if json.Unmarshal(r.Body, &answer) == nil && answer != nil {
		answer["degraded"] = json.RawMessage("true")
		if body, err := json.Marshal(answer); err == nil {
			r.Body = body
		}
	}
	return r
}

// queue notes what the service is to be told: the body of an add, or nil for a flush.
func (c *composite) queue(ctx context.Context, s Scope, session string, body []byte) error {
	return c.write(context.WithoutCancel(ctx), func(tx *sql.Tx) error {
		var n, size int64
		if err := tx.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(length(body)), 0) FROM memory_waiting`).Scan(&n, &size); err != nil {
			return err
		}
		if n >= maxWaiting || size+int64(len(body)) > maxWaitingBytes {
			return &Error{http.StatusServiceUnavailable, "UPSTREAM_UNAVAILABLE", "The memory service has not answered for long, and too much waits for it already. See whether it runs.", ErrUnavailable}
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO memory_waiting (user_id, app_id, project_id, session_id, body) VALUES (?, ?, ?, ?, ?)`, s.User, s.App, s.Project, session, body)
		return err
	})
}

// deliver tells the service what waits, the oldest first, and whether something of the
// session waits still.
func (c *composite) deliver(ctx context.Context, s Scope, session string) (waits bool, err error) {
	c.delivering.Lock()
	defer c.delivering.Unlock()
	for range deliveredAtOnce {
		var n int64
		var of Scope
		var name string
		var body []byte
		err := c.db.QueryRowContext(ctx, `SELECT n, user_id, app_id, project_id, session_id, body FROM memory_waiting ORDER BY n LIMIT 1`).Scan(&n, &of.User, &of.App, &of.Project, &name, &body)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		reply, err := c.tell(ctx, of, name, body)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if errors.Is(err, ErrUnavailable) || err == nil && gone(reply) {
			break
		}
		if err != nil || !reply.OK() { // it would have refused it at once
			c.log.Warn("the memory service refuses something that has waited for it; it is kept here alone", "status", reply.Status)
		}
		if err := c.write(context.WithoutCancel(ctx), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `DELETE FROM memory_waiting WHERE n = ?`, n)
			return err
		}); err != nil {
			return false, err
		}
	}
	var n int
	err = c.db.QueryRowContext(ctx, `SELECT count(*) FROM memory_waiting WHERE user_id = ? AND app_id = ? AND project_id = ? AND session_id = ?`, s.User, s.App, s.Project, session).Scan(&n)
	return n > 0, err
}

func (c *composite) tell(ctx context.Context, s Scope, session string, body []byte) (Reply, error) {
	if body == nil {
		return c.up.Flush(ctx, s, session)
	}
	b, scope, err := readAdd(s.User, body, true, nil)
	if err != nil {
		return Reply{}, err
	}
	return c.up.Add(ctx, Added{scope, session, body, b})
}
