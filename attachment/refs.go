package attachment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// The bounds of what a call's arguments may hold.
const (
	maxRefs    = 1000 // different attachments in one call
	maxNesting = 8    // JSON in strings in JSON in strings …
)

// Judge says why a tool must not be called with these arguments, or "". Every
// attachment that they name must be one that the session may use. Arguments name
// an attachment by a value, or a key, that is an id as a whole, by a signed
// address of ours, and by either inside JSON that is held in a string; at any
// depth. Prose that mentions an id passes: it gives nobody the bytes.
//
// Whatever cannot be judged is refused: a store that fails, a descriptor that is
// damaged, strings that nest too deeply.
func (c *Scope) Judge(ctx context.Context, args json.RawMessage) string {
	names, err := c.refs(args)
	if err != nil {
		return "the attachments in the arguments cannot be judged: " + err.Error()
	}
	for _, name := range names {
		if !c.Available() {
			return "attachment " + clip(name, 64) + " cannot be used: " + ErrUnavailable.Error()
		}
		id, err := ParseID(name)
		if err == nil {
			_, err = c.Find(ctx, id)
		}
		switch {
		case err == nil:
		case errors.Is(err, ErrForeign):
			return "attachment " + id.String() + " belongs to another session"
		case errors.Is(err, ErrUnknown):
			return "there is no attachment " + clip(name, 64)
		default:
			return "attachment " + id.String() + " cannot be checked at the moment"
		}
	}
	return ""
}

// MayName tells whether arguments could name an attachment at all. Where they
// cannot, there is nothing to judge.
func MayName(args json.RawMessage) bool {
	for _, sign := range []string{idPrefix, "/raw", `\`} {
		if bytes.Contains(args, []byte(sign)) {
			return true
		}
	}
	return false
}

// refs lists what a JSON value names as attachments, each once, in the order of
// its bytes. The work is bounded by the length of the value times maxNesting; the
// depth of objects and arrays does not matter, since only strings are looked at.
func (c *Scope) refs(args json.RawMessage) (list []string, err error) {
	type level struct {
		raw   []byte
		depth int
	}
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			list = append(list, name)
		}
	}
	for work := []level{{args, 0}}; len(work) > 0; {
		at := work[0]
		work = work[1:]
		for from, to := range literals(at.raw) {
			text, ok := unquote(at.raw[from:to])
			if !ok {
				return nil, errors.New("they are no JSON")
			}
			text = strings.TrimSpace(text)
			if looksLikeID(text) {
				add(text)
				continue
			}
			if c.Available() {
				if name, ours := c.store.o.Links.rawID(text); ours {
					add(name)
					continue
				}
			}
			if !mayHoldIDs(text) {
				continue
			}
			if at.depth == maxNesting {
				return nil, fmt.Errorf("JSON is nested in strings more than %d deep", maxNesting)
			}
			work = append(work, level{[]byte(text), at.depth + 1})
		}
		if len(list) > maxRefs {
			return nil, fmt.Errorf("they name more than %d", maxRefs)
		}
	}
	return list, nil
}

// mayHoldIDs tells whether a string is JSON that could name an attachment.
func mayHoldIDs(text string) bool {
	if len(text) < 2 || !strings.ContainsRune("{[\"", rune(text[0])) {
		return false
	}
	// An id can be spelled with escapes, down to its last character.
	if !strings.Contains(text, idPrefix) && !strings.Contains(text, `\`) {
		return false
	}
	return json.Valid([]byte(text))
}

// literals yields where the strings of a JSON value begin and end, keys included,
// with their quotes. It looks at every byte once.
func literals(raw []byte) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for i := 0; i < len(raw); i++ {
			if raw[i] != '"' {
				continue
			}
			from := i
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			if i >= len(raw) {
				i = len(raw) - 1 // no JSON; unquote says so
			}
			if !yield(from, i+1) {
				return
			}
		}
	}
}

func unquote(literal []byte) (s string, ok bool) {
	return s, json.Unmarshal(literal, &s) == nil
}
