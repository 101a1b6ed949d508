package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// DefaultID is the app and the project of those who name none.
const DefaultID = "default"

// maxID is how long the id of a session may be, in letters.
const maxID = 128

// Scope says whose memories are meant. Nothing ever crosses from one scope into
// another.
type Scope struct {
	User    string // as authentication says
	App     string // "" for default
	Project string // "" for default
}

var scopeID = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,128}$`)

// check fills the defaults in and refuses what is no scope.
func (s Scope) check() (Scope, error) {
	for _, id := range []struct {
		name string
		v    *string
	}{{"app_id", &s.App}, {"project_id", &s.Project}} {
		if *id.v == "" {
			*id.v = DefaultID
		}
		if !scopeID.MatchString(*id.v) || strings.Trim(*id.v, ".") == "" && len(*id.v) < 3 {
			return s, invalid("letters, digits, '_', '.' and '-' are allowed, 128 at most: %s", id.name)
		}
	}
	if s.User == "" || s.User == "." || s.User == ".." || len(s.User) > 512 || strings.ContainsRune(s.User, 0) {
		return s, forbidden("This is no name of a user.")
	}
	return s, nil
}

func checkSession(id string) error {
	if n := len([]rune(id)); n < 1 || n > maxID {
		return invalid("an id of 1 to %d letters is wanted: session_id", maxID)
	}
	return nil
}

var plainSegment = regexp.MustCompile(`^[a-zA-Z0-9_-]([a-zA-Z0-9_.-]{0,62}[a-zA-Z0-9_-])?$`)

// segment is a user as the name of a folder. A name that is not plain is replaced by
// its hash.
func segment(user string) string {
	if plainSegment.MatchString(user) && !deviceName(user) {
		return user
	}
	sum := sha256.Sum256([]byte(user))
	return "~" + hex.EncodeToString(sum[:16])
}

// resourceSession is the session that a resource's mapping stands in. A user whose
// name would make it too long is named by a hash.
func resourceSession(user, id string) string {
	name := "resource:" + user + ":" + id
	if len([]rune(name)) > maxID {
		sum := sha256.Sum256([]byte(user))
		name = "resource:" + hex.EncodeToString(sum[:16]) + ":" + id
	}
	return name
}
