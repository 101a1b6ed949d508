package piweb

import (
	"context"
	"errors"
	"slices"

	"github.com/piweb-go/piweb/artifact"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/wrapper"
)

// companions lists what follows a session where it goes: fork, clone, import,
// move, trash, restore and purge ask each in this order, and take back in the
// reverse one. A room of ours that keeps something beside session files (whole
// outputs, attachments, owners) is added in this function and nowhere else; those of the
// program that embeds piweb come last.
func (h *host) companions(cfg Config, attached *companion) []session.Companion {
	list := []session.Companion{artifact.Companion{}, attached, h.owners.Companion(wrapper.RealPath)}
	return append(list, slices.DeleteFunc(slices.Clone(cfg.Companions), func(c session.Companion) bool { return c == nil })...)
}

// Purge takes a deleted session away for good, with its subagents in the trash
// and what companions keep of them. ref is as for Restore. It returns what went;
// where one of them fails, it and those behind it are still in the trash, and the
// error says so.
func (r *Runtime) Purge(_ context.Context, cwd, ref string) ([]session.Trashed, error) {
	all, err := r.trashedFamily(cwd, ref)
	if err != nil {
		return nil, err
	}
	// Subagents first: what is left after a failure can be found again by its
	// parent.
	slices.Reverse(all)
	return r.purge(all)
}

// PurgeAll empties the trash of all folders that hold the sessions of cwd's root.
// A session that cannot be taken away does not keep the others.
func (r *Runtime) PurgeAll(ctx context.Context, cwd string) ([]session.Trashed, error) {
	list, err := r.Trashed(cwd)
	if err != nil {
		return nil, err
	}
	var gone []session.Trashed
	var errs []error
	for _, t := range list {
		if err := ctx.Err(); err != nil {
			return gone, errors.Join(append(errs, err)...)
		}
		one, err := r.purge([]session.Trashed{t})
		gone, errs = append(gone, one...), append(errs, err)
	}
	return gone, errors.Join(errs...)
}

func (r *Runtime) purge(list []session.Trashed) (gone []session.Trashed, err error) {
	for _, t := range list {
		unsure := session.Purge(t, r.companions, r.session)
		if unsure != nil && !errors.Is(unsure, session.ErrMayReturn) {
			return gone, unsure
		}
		gone = append(gone, t)
		if err := errors.Join(unsure, artifact.Purged(t.Place)); err != nil {
			return gone, err
		}
		if err := r.attached.settle(); err != nil {
			return gone, err
		}
	}
	return gone, nil
}
