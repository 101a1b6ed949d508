package agent

import (
	"context"
	"time"

	"github.com/piweb-go/piweb/message"
)

// Complete sends a request outside of any session, such as one for a summary, and
// returns the whole answer. An answer that broke off is an error.
func Complete(ctx context.Context, m Model, req Request) (*message.Assistant, error) {
	l := Loop{cfg: Config{Model: m, Emit: func(Event) {}}}
	answer, err := l.ask(ctx, req, time.Now())
	if err == nil {
		err = ctx.Err()
	}
	return answer, err
}
