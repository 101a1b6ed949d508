package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/piweb-go/piweb/session"
	"github.com/spf13/cobra"
)

// progress tells on standard error how far long work has come: on a terminal in one
// line that is written over, once somebody had to wait; with --progress also
// elsewhere, line by line. With --json there is none. It may be told from any
// goroutine.
type progress struct {
	w   io.Writer
	tty bool
	now func() time.Time

	mu    sync.Mutex
	begun time.Time // of the work at hand
	work  string
	last  time.Time // when something was printed
	shown bool      // a line stands there that must go before anything else is printed
}

const (
	patience  = 500 * time.Millisecond // before a terminal is told anything
	blink     = 100 * time.Millisecond // between two changes of a terminal's line
	linePause = 5 * time.Second        // between two lines elsewhere
)

// newProgress is nil where nothing is told.
func (a *app) newProgress() *progress {
	f, ok := a.err.(*os.File)
	tty := ok && isTerminal(f) && os.Getenv("TERM") != "dumb"
	if a.json || !tty && !a.progress {
		return nil
	}
	return &progress{w: a.err, tty: tty, now: time.Now}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// tell prints where the work is, if it is time to.
func (p *progress) tell(s session.Progress) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now, end := p.now(), s.Done >= s.Total
	if p.work != s.Work {
		p.work, p.begun, p.last = s.Work, now, now
		if !end {
			return
		}
	}
	switch {
	case p.tty && end: // what follows says that it is done
		p.clear()
		p.work = ""
		return
	case p.tty:
		if now.Sub(p.begun) < patience || now.Sub(p.last) < blink {
			return
		}
		fmt.Fprintf(p.w, "\r\x1b[K%s", progressText(s))
		p.shown = true
	default:
		if !end && now.Sub(p.last) < linePause {
			return
		}
		fmt.Fprintln(p.w, progressText(s))
	}
	p.last = now
	if end {
		p.work = ""
	}
}

// teller is tell for packages that want a function, nil for nobody.
func (p *progress) teller() func(session.Progress) {
	if p == nil {
		return nil
	}
	return p.tell
}

// clear takes the line away; the caller holds the lock.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

// hide takes the line away, because something else is printed.
func (p *progress) hide() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func progressText(s session.Progress) string {
	if s.Unit == session.UnitBytes {
		const mb = 1 << 20
		return fmt.Sprintf("%s: %d of %d MB", s.Work, (s.Done+mb-1)/mb, (s.Total+mb-1)/mb)
	}
	return fmt.Sprintf("%s: %d of %d %s", s.Work, s.Done, s.Total, s.Unit)
}

// withProgress gives a command, and those below it, the flag.
func (a *app) withProgress(cmd *cobra.Command) *cobra.Command {
	cmd.PersistentFlags().BoolVar(&a.progress, "progress", false, "say how far long work has come, also where standard error is no terminal")
	return cmd
}
