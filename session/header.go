package session

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"
)

// Version is the version of the files that we write.
const Version = 3

// TimeLayout is how timestamps are written: UTC with milliseconds and Z.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Header is the first line of a file.
type Header struct {
	Version       int    // 1 where the file names none
	ID            string // session id
	Timestamp     string // as in the file; other writers use other shapes
	CWD           string // as in the file; may be empty or a path of another system
	ParentSession string // path of the session that this one came from, or empty
	Raw           json.RawMessage
}

// Created is the header's time, or the zero time where it has none that we read.
func (h Header) Created() time.Time { return parseTime(field(h.Raw, "timestamp")) }

// parseHeader reads a header; it is refused without a string id.
func parseHeader(raw []byte) (h Header, refused bool) {
	h = Header{Version: 1, Raw: raw}
	id := field(raw, "id")
	if id.Type != gjson.String {
		return Header{}, true
	}
	h.ID = strings.Clone(id.Str)
	h.Version = version(field(raw, "version"))
	h.Timestamp = strings.Clone(field(raw, "timestamp").String())
	h.CWD = stringField(raw, "cwd")
	h.ParentSession = stringField(raw, "parentSession")
	return h, false
}

// version reads the version as pi compares it: only a missing one is 1, and a
// number in quotes is that number. What is no number at all is no reason to
// migrate a file.
func version(v gjson.Result) int {
	switch v.Type {
	case gjson.Null:
		return 1
	case gjson.Number:
		return int(v.Int())
	}
	if n, err := strconv.Atoi(strings.TrimSpace(v.String())); err == nil && v.Type == gjson.String {
		return n
	}
	return Version
}

// stringField reads a string that stays valid after its line is gone.
func stringField(object []byte, key string) string {
	f := field(object, key)
	if f.Type != gjson.String {
		return ""
	}
	return strings.Clone(f.Str)
}

// parseTime reads an ISO time or Unix milliseconds.
func parseTime(v gjson.Result) time.Time {
	switch v.Type {
	case gjson.String:
		if t, err := time.Parse(time.RFC3339Nano, v.Str); err == nil {
			return t
		}
	case gjson.Number:
		return time.UnixMilli(v.Int()).UTC()
	}
	return time.Time{}
}

// headerJSON gives pi's key order.
type headerJSON struct {
	Type          string `json:"type"`
	Version       int    `json:"version"`
	ID            string `json:"id"`
	Timestamp     string `json:"timestamp"`
	CWD           string `json:"cwd"`
	ParentSession string `json:"parentSession,omitempty"`
}

// idPattern is what pi accepts as a chosen session id.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// maxIDLen bounds an id that becomes part of a file name. pi has no limit; file
// systems do.
const maxIDLen = 200

// ParseSessionID checks an id chosen by a caller.
func ParseSessionID(s string) (string, error) {
	if len(s) > maxIDLen || !idPattern.MatchString(s) {
		return "", fmt.Errorf("session id %.60q: want letters, digits, '.', '_' and '-', a letter or digit at both ends, at most %d characters", s, maxIDLen)
	}
	return s, nil
}

// FileName is the name of a session's file: the time of its header with ':' and
// '.' replaced by '-', an underscore, and the id.
func FileName(timestamp, id string) string {
	return strings.NewReplacer(":", "-", ".", "-").Replace(timestamp) + "_" + id + ".jsonl"
}

// DirName is the name of the folder that pi gives to the sessions of a working
// directory: one leading separator removed, every '/', '\' and ':' replaced by
// '-', between double dashes. cwd must be absolute; it is cleaned, and links are
// not resolved. The encoding is not injective.
func DirName(cwd string) string {
	cwd = filepath.ToSlash(filepath.Clean(cwd))
	cwd = strings.TrimPrefix(cwd, "/")
	return "--" + strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(cwd) + "--"
}

func newSessionID(o *Options) (string, error) {
	id, err := uuid.NewV7FromReader(o.rand())
	if err != nil {
		return "", fmt.Errorf("session: draw an id: %w", err)
	}
	return id.String(), nil
}
