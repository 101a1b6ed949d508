package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/wrapper"
)

// elsewhere finds the process that holds the session of a run and can be asked, if
// there is one.
func elsewhere(rt *piweb.Runtime, f *runFlags) (path string, other *piweb.Elsewhere, err error) {
	if f.session == "" {
		return "", nil, nil
	}
	if path, err = rt.Find(cwd(), f.session); err != nil {
		return "", nil, err
	}
	other, _ = rt.Elsewhere(path)
	return path, other, nil
}

// runElsewhere sends the prompt to the process that holds the session, and prints
// what happens there. done is false where nobody holds it there any more, or where
// it was given back to be taken over.
func (a *app) runElsewhere(ctx context.Context, f *runFlags, other *piweb.Elsewhere, path, text string) (done bool, err error) {
	if f.takeOver {
		a.notef("note: process %d is asked to let the session go when its turn has ended\n", other.Holder.PID)
		if err := other.Release(ctx); err != nil && !piweb.IsGone(err) {
			return true, err
		}
		return false, nil
	}
	o := piweb.OpenOptions{Model: f.model, Thinking: f.thinking}
	if o.CWD = f.cwd; o.CWD != "" { // that process stands in another folder
		if o.CWD, err = filepath.Abs(o.CWD); err != nil {
			return true, err
		}
	}
	tools, given, err := f.choice.requested()
	if err != nil {
		return true, err
	}
	if given {
		o.Tools = &tools
	}
	h, err := session.ReadHeader(path)
	if err != nil {
		return true, err
	}
	a.notef("note: process %d holds the session and answers; --take-over answers here\n", other.Holder.PID)
	if f.model != "" || f.thinking != "" {
		a.notef("note: --model and --thinking hold for a session that starts here; this one keeps its own\n")
	}
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	asking, stopped, end := stopOnSignal(ctx, func() bool { return true })
	defer end()
	reading, giveUp := context.WithCancel(asking)
	defer giveUp()
	var p *printer
	err = other.Prompt(reading, piweb.Input{Text: text}, o, func(e wrapper.Event) {
		if p == nil {
			p = newPrinter(a, path, h.Raw)
		}
		p.print(e)
		if a.out.failed() {
			giveUp()
		}
	})
	switch {
	case piweb.IsGone(err):
		return false, nil
	case err != nil && stopped.Load() != nil:
		return true, stopped.Load()
	case err != nil:
		return true, err
	case p == nil: // a command that led to no prompt
		p = newPrinter(a, path, h.Raw)
		p.print(wrapper.Event{Event: agent.Event{Type: wrapper.PromptDone}})
	}
	return true, a.ended(p, stopped.Load())
}
