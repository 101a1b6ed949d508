package piweb

import (
	"context"
	"errors"
	"fmt"

	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/wrapper"
)

// SetLabel gives an entry of a session a name for people, live or not; "" takes it
// away. Line breaks become blanks. A label is an entry of its own, and the
// conversation is the same with it.
func (r *Runtime) SetLabel(ctx context.Context, path string, target session.ID, label string) error {
	s, live := r.registry.Live(path)
	if !live || !s.Log().Held() {
		if done, err := r.handed(ctx, path, askLabel, labelBody{target, label}, nil); done {
			return err
		}
	}
	if live {
		return s.SetLabel(ctx, target, label)
	}
	log, err := session.Open(path, r.session)
	if err != nil {
		return err
	}
	label = session.CleanName(label)
	switch _, ok := log.Entry(target); {
	case !ok:
		err = fmt.Errorf("%s: %w: %s", path, session.ErrNoEntry, target)
	case len([]rune(label)) > maxName:
		err = fmt.Errorf("%w: a label has at most %d characters", wrapper.ErrName, maxName)
	default:
		_, err = log.Commit(session.Label{TargetID: target, Label: label})
	}
	return errors.Join(err, log.Close())
}
