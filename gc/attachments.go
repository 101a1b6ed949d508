package gc

import (
	"context"
	"strings"

	"github.com/piweb-go/piweb/attachment"
)

// Attachments are the attachments of a store, as a store of things: one stays while
// the session that owns it is there, or one that it was granted to, or while
// anything names it.
type Attachments struct{ *attachment.Store }

// tagKey is a session as a grant names it.
func tagKey(tag string) Key { return Key("tag:" + tag) }

// List lists them.
func (a Attachments) List(ctx context.Context) ([]Item, error) {
	held, err := a.Holdings(ctx)
	if err != nil {
		return nil, err
	}
	var items []Item
	for _, h := range held {
		item := Item{Key: attachmentKey(h.ID.String()), UsedBy: []Key{sessionKey(h.Owner)}, Label: "attachment " + h.ID.String(), Size: h.Size, Modified: h.Modified}
		for _, tag := range h.Granted {
			item.UsedBy = append(item.UsedBy, tagKey(tag))
		}
		items = append(items, item)
	}
	return items, nil
}

// Remove removes an attachment with its grants, unless one came since.
func (a Attachments) Remove(ctx context.Context, item Item) (bool, error) {
	id, err := attachment.ParseID(strings.TrimPrefix(string(item.Key), "attachment:"))
	if err != nil {
		return false, err
	}
	granted, err := a.GrantedTo(ctx, id)
	if err != nil || len(granted) != len(item.UsedBy)-1 {
		return false, err
	}
	return true, a.Delete(ctx, id)
}

// Grants are the rights of sessions that are not there any more, as a store.
type Grants struct{ *attachment.Store }

// List lists them.
func (g Grants) List(ctx context.Context) ([]Item, error) {
	list, err := g.AllGrants(ctx)
	if err != nil {
		return nil, err
	}
	var items []Item
	for _, r := range list {
		items = append(items, Item{Key: Key("grant:" + r.Tag + "." + r.ID.String()), UsedBy: []Key{tagKey(r.Tag)}, Label: "grant of " + r.ID.String(), Size: r.Size, Modified: r.Modified})
	}
	return items, nil
}

// Remove removes one.
func (g Grants) Remove(ctx context.Context, item Item) (bool, error) {
	tag, name, _ := strings.Cut(strings.TrimPrefix(string(item.Key), "grant:"), ".")
	id, err := attachment.ParseID(name)
	if err != nil {
		return false, err
	}
	return true, g.RevokeTag(ctx, tag, id)
}
