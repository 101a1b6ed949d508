package attachment

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Holding is an attachment as a collection sees it.
type Holding struct {
	ID       ID
	Owner    string   // the session that the descriptor names
	Granted  []string // tags of the sessions that it was granted to
	Size     int64    // bytes
	Modified time.Time
}

// Right is a grant as a collection sees it.
type Right struct {
	Tag      string // of the session
	ID       ID
	Size     int64 // bytes
	Modified time.Time
}

// Tag is how a grant names a session.
func Tag(session string) string { return tagOf(session) }

// Holdings lists all attachments. One whose descriptor is damaged is left out: whose
// it is cannot be told.
func (s *Store) Holdings(ctx context.Context) ([]Holding, error) {
	rights, err := s.AllGrants(ctx)
	if err != nil {
		return nil, err
	}
	granted := map[ID][]string{}
	for _, r := range rights {
		granted[r.ID] = append(granted[r.ID], r.Tag)
	}
	var list []Holding
	for info, err := range s.o.Registry.List(ctx, idPrefix) {
		if err != nil {
			return nil, err
		}
		name, ok := strings.CutSuffix(info.Key, descriptorSuffix)
		if !ok {
			continue
		}
		id, err := ParseID(name)
		if err != nil {
			continue
		}
		d, err := s.Head(ctx, id)
		if errors.Is(err, ErrUnknown) || err == nil && d.SessionID == "" {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, Holding{id, d.SessionID, granted[id], d.Size, info.ModTime})
	}
	return list, nil
}

// AllGrants lists all grants.
func (s *Store) AllGrants(ctx context.Context) ([]Right, error) {
	var list []Right
	for info, err := range s.o.Registry.List(ctx, grantPrefix) {
		if err != nil {
			return nil, err
		}
		if tag, id, ok := parseGrantKey(info.Key); ok {
			list = append(list, Right{tag, id, info.Size, info.ModTime})
		}
	}
	return list, nil
}

// GrantedTo lists the tags of the sessions that an attachment was granted to.
func (s *Store) GrantedTo(ctx context.Context, id ID) ([]string, error) {
	keys, err := s.grantsOf(ctx, id)
	var tags []string
	for _, key := range keys {
		if tag, _, ok := parseGrantKey(key); ok {
			tags = append(tags, tag)
		}
	}
	return tags, err
}

// RevokeTag takes a grant back by the tag of its session.
func (s *Store) RevokeTag(ctx context.Context, tag string, id ID) error {
	return s.o.Registry.Delete(ctx, grantPrefix+tag+"."+id.String()+".json")
}
