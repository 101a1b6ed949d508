package attachment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/piweb-go/piweb/blob"
	"github.com/piweb-go/piweb/message"
)

// grantPrefix starts the key of a grant: "grant.<tag of the session>.<id>.json".
// pi-web passes such files over.
const grantPrefix = "grant."

func grantKey(session string, id ID) string {
	return grantPrefix + tagOf(session) + "." + id.String() + ".json"
}

func parseGrantKey(key string) (tag string, id ID, ok bool) {
	rest, ok := strings.CutPrefix(key, grantPrefix)
	if !ok {
		return "", ID{}, false
	}
	if rest, ok = strings.CutSuffix(rest, ".json"); !ok {
		return "", ID{}, false
	}
	tag, name, ok := strings.Cut(rest, ".")
	if !ok || len(tag) != 32 {
		return "", ID{}, false
	}
	id, err := ParseID(name)
	return tag, id, err == nil
}

// grant is what a grant's file says; its name is what counts.
type grant struct {
	Version    int    `json:"version"`
	Attachment ID     `json:"attachment"`
	SessionID  string `json:"sessionId"`
	GrantedBy  string `json:"grantedBy"`
	CreatedAt  string `json:"createdAt"`
}

// Grant lets the session to use an attachment that the session by may use: its
// fork, or a child that it hands files to. The right stands in the store and
// nowhere else. Granting again, or to the owner, changes nothing.
func (s *Store) Grant(ctx context.Context, by, to string, id ID) error {
	_, err := s.grant(ctx, by, to, id)
	return err
}

// grant is Grant, and tells whether there was none before.
func (s *Store) grant(ctx context.Context, by, to string, id ID) (fresh bool, err error) {
	d, err := s.Check(ctx, by, id)
	if err != nil {
		return false, err
	}
	if to == "" || to == d.SessionID {
		return false, nil
	}
	data, err := message.Marshal(grant{1, id, to, by, stamp(s.o.Now())})
	if err != nil {
		return false, err
	}
	_, err = s.o.Registry.Put(ctx, grantKey(to, id), strings.NewReader(string(data)), blob.PutOptions{IfAbsent: true, ContentType: "application/json"})
	if err == nil || errors.Is(err, blob.ErrExists) {
		s.index.grant(to, id, true)
	}
	if errors.Is(err, blob.ErrExists) {
		return false, nil
	}
	return err == nil, err
}

// Revoke takes a grant back. One that is not there is no error.
func (s *Store) Revoke(ctx context.Context, from string, id ID) error {
	err := s.o.Registry.Delete(ctx, grantKey(from, id))
	if err == nil {
		s.index.grant(from, id, false)
	}
	return err
}

// Check tells whether a session may use an attachment, and returns what the
// descriptor says now: ErrUnknown, ErrForeign, or an error of the store, which is
// a no as well.
func (s *Store) Check(ctx context.Context, session string, id ID) (Descriptor, error) {
	d, err := s.Head(ctx, id)
	if err != nil {
		return Descriptor{}, err
	}
	if d.SessionID == session {
		return d, nil
	}
	if session != "" {
		_, err = s.o.Registry.Stat(ctx, grantKey(session, id))
		if err == nil {
			return d, nil
		}
		if !errors.Is(err, blob.ErrNotFound) {
			return Descriptor{}, err
		}
	}
	return Descriptor{}, fmt.Errorf("%w: %s", ErrForeign, id)
}

// grantsOf lists the keys of the grants of an attachment.
func (s *Store) grantsOf(ctx context.Context, id ID) (keys []string, err error) {
	err = names(ctx, s.o.Registry, grantPrefix, func(key string) {
		if _, of, ok := parseGrantKey(key); ok && of == id {
			keys = append(keys, key)
		}
	})
	return keys, err
}
