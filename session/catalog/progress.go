package catalog

import (
	"sync"

	"github.com/piweb-go/piweb/session"
)

// teller tells how many files are done. Workers share it; it tells in order.
type teller struct {
	mu   sync.Mutex
	tell func(session.Progress)
	p    session.Progress
}

// progress begins a piece of work on files; nil where nobody wants to know.
func (c *Catalogue) progress(work string, files int) *teller {
	if c.opts.Progress == nil || files == 0 {
		return nil
	}
	return &teller{tell: c.opts.Progress, p: session.Progress{Work: work, Total: int64(files), Unit: "files"}}
}

// done counts so many files more.
func (t *teller) done(n int) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.p.Done += int64(n)
	t.tell(t.p)
}
