package piweb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/piweb-go/piweb/account"
	"github.com/piweb-go/piweb/config"
	"github.com/piweb-go/piweb/memory"
	"github.com/piweb-go/piweb/session"
)

// Holdings are what is kept of a user of a server.
type Holdings struct {
	User string `json:"user"`
	// Account says that the user can sign in.
	Account bool `json:"account"`
	// Sessions are the files of the user's sessions, subagents among them; Trashed those
	// that are in the trash.
	Sessions []string `json:"sessions"`
	Trashed  []string `json:"trashed"`
	// Favorites says that the user has marked sessions or folders.
	Favorites bool `json:"favorites"`
	// Memory is what is remembered; nil where memory is switched off.
	Memory *memory.Held `json:"memory"`
}

// ErrNoHolder says that nothing of a user is known.
var ErrNoHolder = errors.New("there is no user of this name, and nothing is kept of one")

// Empty tells whether nothing is kept.
func (h Holdings) Empty() bool {
	return !h.Account && !h.Favorites && len(h.Sessions)+len(h.Trashed) == 0 && (h.Memory == nil || *h.Memory == memory.Held{})
}

// Holdings counts what is kept of a user.
func (r *Runtime) Holdings(ctx context.Context, user string) (Holdings, error) {
	h := Holdings{User: user, Sessions: []string{}, Trashed: []string{}}
	if !account.ValidName(user) {
		return h, account.ErrName
	}
	_, h.Account = account.OpenUsers(r.AgentDir()).Get(user)
	owners, err := r.owners.All()
	if err != nil {
		return h, err
	}
	for file, owner := range owners {
		if owner != user {
			continue
		}
		if _, ok := session.TrashedAt(file); ok {
			h.Trashed = append(h.Trashed, file)
		} else {
			h.Sessions = append(h.Sessions, file)
		}
	}
	slices.Sort(h.Sessions)
	slices.Sort(h.Trashed)
	_, err = os.Stat(r.favorites.Of(user).path)
	h.Favorites = err == nil
	if own, _ := config.ReadOwn(r.AgentDir()); !memory.Exists(r.memories.dir()) && own.Memory.Upstream == "" {
		return h, nil
	}
	m, err := r.Memory()
	if err != nil || m == nil {
		return h, err
	}
	held, err := m.Held(ctx, user)
	h.Memory = &held
	return h, err
}

// PurgeUser takes all that is kept of a user away for good: first the account, so that
// nothing new comes; then the sessions with their subagents and all that lies beside
// them, those in the trash, what was marked, the memories and their files. Where a
// session runs or is held it stops, with the account gone; asked again it goes on. It
// returns what there was. Attachments that no session names any more go with the next
// collection, as always.
func (r *Runtime) PurgeUser(ctx context.Context, user string) (Holdings, memory.Forgotten, error) {
	var kept memory.Forgotten
	h, err := r.Holdings(ctx, user)
	if err != nil {
		return h, kept, err
	}
	if h.Empty() {
		return h, kept, ErrNoHolder
	}
	if err := account.OpenUsers(r.AgentDir()).Remove(user); err != nil && !errors.Is(err, account.ErrUnknown) {
		return h, kept, err
	}
	for _, path := range h.Sessions {
		if err := ctx.Err(); err != nil {
			return h, kept, err
		}
		if err := r.purgeSession(ctx, path); err != nil {
			return h, kept, fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, path := range h.Trashed {
		t, ok := session.TrashedAt(path)
		if !ok {
			continue // it went with the session that it is a subagent of
		}
		if _, err := r.purge([]session.Trashed{t}); err != nil {
			return h, kept, fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := os.Remove(r.favorites.Of(user).path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return h, kept, err
	}
	if h.Memory == nil {
		return h, kept, nil
	}
	m, err := r.Memory()
	if err != nil || m == nil {
		return h, kept, err
	}
	kept, err = m.PurgeUser(ctx, user)
	return h, kept, err
}

// purgeSession takes a session away for good. One whose file is gone is nobody's from
// then on.
func (r *Runtime) purgeSession(ctx context.Context, path string) error {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return r.owners.Set(path, "")
	}
	gone, err := r.Delete(ctx, path)
	if err != nil {
		return err
	}
	slices.Reverse(gone) // subagents first: what a failure leaves is found by its parent
	_, err = r.purge(gone)
	return err
}
