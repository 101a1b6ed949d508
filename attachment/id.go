package attachment

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// idPrefix starts every id.
const idPrefix = "att_"

// idLength is the length of an id: the prefix and 16 bytes in base64url.
const idLength = len(idPrefix) + 22

// ID names an attachment. It can be compared and used as a key of a map; the zero
// ID names nothing. Having an ID is no right to what it names.
type ID struct{ s string }

// newID makes an id that nobody can guess.
func newID() ID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime ends the program instead
	return ID{idPrefix + base64.RawURLEncoding.EncodeToString(b[:])}
}

// ParseID reads an id, exactly as it is made: "att_" and 22 characters of
// base64url. The error matches ErrUnknown, because such an attachment cannot
// exist.
func ParseID(s string) (ID, error) {
	digits, ok := strings.CutPrefix(s, idPrefix)
	if ok && len(s) == idLength && !strings.ContainsAny(digits, "\r\n") {
		if b, err := base64.RawURLEncoding.Strict().DecodeString(digits); err == nil && len(b) == 16 {
			return ID{s}, nil
		}
	}
	return ID{}, fmt.Errorf("%w: %q is no id of one", ErrUnknown, clip(s, 64))
}

// looksLikeID tells whether s is meant as an id: "att_" and at least one of the
// characters of ids. Judging whether it is a good one is ParseID's.
func looksLikeID(s string) bool {
	digits, ok := strings.CutPrefix(s, idPrefix)
	if !ok || digits == "" {
		return false
	}
	for i := range len(digits) {
		if !idChar(digits[i]) {
			return false
		}
	}
	return true
}

func idChar(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// maxIDs bounds how many ids of one text are looked at.
const maxIDs = 100

// IDsIn finds the ids that a text names anywhere, each once, the first hundred. It
// is for texts that hand attachments over; whether they may be is asked for each.
func IDsIn(text string) (ids []ID) {
	for at := 0; len(ids) < maxIDs; {
		i := strings.Index(text[at:], idPrefix)
		if i < 0 {
			break
		}
		at += i
		if end := at + idLength; end <= len(text) && (end == len(text) || !idChar(text[end])) && (at == 0 || !idChar(text[at-1])) {
			if id, err := ParseID(text[at:end]); err == nil && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		at += len(idPrefix)
	}
	return ids
}

// String returns the id as it is written.
func (id ID) String() string { return id.s }

// IsZero tells whether id names nothing.
func (id ID) IsZero() bool { return id.s == "" }

// MarshalText writes the id.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.s), nil }

// UnmarshalText reads what MarshalText writes, and nothing else.
func (id *ID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseID(string(text))
	return err
}

// clip shortens what an error quotes.
func clip(s string, most int) string {
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
