package session

import "github.com/piweb-go/piweb/internal/structure"

// setID puts an id, or null for the empty one, into a field of an entry. Every
// other byte stays as it is.
func setID(raw []byte, key string, id ID) ([]byte, error) {
	if id == "" {
		return structure.Set(raw, key, []byte("null"))
	}
	return structure.SetText(raw, key, string(id))
}
