package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/piweb-go/piweb/session"
)

// maxBody is how many bytes a JSON body may have.
const maxBody = 8 << 20

// bodyTime is how long a client may take to send a body.
const bodyTime = 30 * time.Second

// form is the JSON object that a client sent. Its methods read one field each and
// note what is wrong; check says all of it at once. Fields that nobody reads are
// ignored. A field that is null is wrong, not absent.
type form struct {
	fields map[string]json.RawMessage
	wrong  []string
}

// readForm reads a body. An empty one is an object without fields.
func readForm(w http.ResponseWriter, r *http.Request) (*form, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil { // else the rest is waited for no longer than the guard said
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // not every writer has deadlines
	}
	if err != nil {
		if p := toProblem(err); p.code != "INTERNAL" {
			return nil, p
		}
		return nil, &problem{status: http.StatusBadRequest, code: "INVALID_JSON", text: "The body did not arrive as a whole.", cause: err}
	}
	f := &form{}
	if data = bytes.TrimSpace(data); len(data) == 0 {
		return f, nil
	}
	if !json.Valid(data) {
		return nil, refuse(http.StatusBadRequest, "INVALID_JSON", "The body is not JSON.")
	}
	if err := json.Unmarshal(data, &f.fields); err != nil || f.fields == nil {
		return nil, invalid("The body must be a JSON object.", "(root)")
	}
	return f, nil
}

func (f *form) bad(field string) {
	if !slices.Contains(f.wrong, field) {
		f.wrong = append(f.wrong, field)
	}
}

func (f *form) has(field string) bool { _, ok := f.fields[field]; return ok }

func (f *form) check() error {
	if len(f.wrong) == 0 {
		return nil
	}
	return invalid("These fields are missing or have the wrong type: "+strings.Join(f.wrong, ", ")+".", f.wrong...)
}

// str reads a string that must be there.
func (f *form) str(field string) string {
	if !f.has(field) {
		f.bad(field)
		return ""
	}
	return f.optional(field)
}

// optional reads a string that may be missing.
func (f *form) optional(field string) string {
	var s *string
	if raw, ok := f.fields[field]; ok && (json.Unmarshal(raw, &s) != nil || s == nil) {
		f.bad(field)
	}
	if s == nil {
		return ""
	}
	return *s
}

// choice reads a string that may be missing and is one of a few.
func (f *form) choice(field string, of ...string) string {
	before := len(f.wrong)
	s := f.optional(field)
	if !f.has(field) || len(f.wrong) > before {
		return s
	}
	for _, o := range of {
		if s == o {
			return s
		}
	}
	f.bad(field)
	return ""
}

// entry reads the id that a client chose for an entry, which may be missing. What is
// sent again under the same id is not done twice.
func (f *form) entry(field string) session.ID {
	s := f.optional(field)
	if !f.has(field) || slices.Contains(f.wrong, field) {
		return ""
	}
	id, err := session.ParseID(s)
	if err != nil {
		f.bad(field)
	}
	return id
}

// flag reads a boolean that may be missing.
func (f *form) flag(field string) bool {
	var b *bool
	if raw, ok := f.fields[field]; ok && (json.Unmarshal(raw, &b) != nil || b == nil) {
		f.bad(field)
	}
	return b != nil && *b
}

// maybe reads a boolean; nil where it is missing.
func (f *form) maybe(field string) *bool {
	if b := f.flag(field); f.has(field) {
		return &b
	}
	return nil
}

// number reads a number; nil where it is missing.
func (f *form) number(field string) *float64 {
	raw, ok := f.fields[field]
	if !ok {
		return nil
	}
	var n *float64
	if json.Unmarshal(raw, &n) != nil || n == nil {
		f.bad(field)
		return nil
	}
	return n
}

// object reads an object that must be there. What is none is an empty one, and
// noted.
func (f *form) object(field string) *form {
	o := &form{}
	if json.Unmarshal(f.fields[field], &o.fields) != nil || o.fields == nil {
		f.bad(field)
		o.fields = nil
	}
	return o
}

// take takes over what is wrong in an object.
func (f *form) take(field string, o *form) {
	if o.fields == nil {
		return // said already
	}
	for _, w := range o.wrong {
		f.bad(field + "." + w)
	}
}

// array reads the items of an array; nil where it is missing, or is none, which
// is noted.
func (f *form) array(field string) []json.RawMessage {
	raw, ok := f.fields[field]
	if !ok {
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil || items == nil {
		f.bad(field)
		return nil
	}
	return items
}

// list reads an array of strings; nil where it is missing.
func (f *form) list(field string) *[]string {
	items := f.array(field)
	if items == nil {
		return nil
	}
	out := []string{}
	for i, item := range items {
		var s *string
		if json.Unmarshal(item, &s) != nil || s == nil {
			f.bad(fmt.Sprintf("%s.%d", field, i))
			continue
		}
		out = append(out, *s)
	}
	return &out
}

// objects reads an array of objects that may be missing. What is no object is an
// empty one in the answer, and noted.
func (f *form) objects(field string) []*form {
	var out []*form
	for i, item := range f.array(field) {
		o := &form{}
		if json.Unmarshal(item, &o.fields) != nil || o.fields == nil {
			f.bad(fmt.Sprintf("%s.%d", field, i))
			o.fields = nil
		}
		out = append(out, o)
	}
	return out
}

// adopt takes over what is wrong in an object of a list.
func (f *form) adopt(field string, i int, o *form) {
	if o.fields == nil {
		return // said already
	}
	for _, w := range o.wrong {
		f.bad(fmt.Sprintf("%s.%d.%s", field, i, w))
	}
}
