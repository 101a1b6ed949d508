package attachment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/piweb-go/piweb/attachment/handle"
	"github.com/piweb-go/piweb/blob"
	"github.com/piweb-go/piweb/message"
)

// Origin says where an attachment came from.
type Origin string

// The origins.
const (
	Upload     Origin = "upload"
	ToolOutput Origin = "tool-output"
)

// timeLayout is UTC with milliseconds, as pi-web writes it.
const timeLayout = "2006-01-02T15:04:05.000Z"

// Descriptor describes an attachment. Name is for display; it may hold anything
// and is never used as a path.
type Descriptor struct {
	ID        ID     `json:"id"`
	Name      string `json:"name"`
	MimeType  string `json:"mimeType"`
	Size      int64  `json:"size"` // bytes
	Origin    Origin `json:"origin"`
	SessionID string `json:"sessionId"`
	CreatedAt string `json:"createdAt"`         // UTC with milliseconds and Z
	Backend   string `json:"backend,omitempty"` // where the bytes are, with several backends
	SHA256    string `json:"sha256,omitempty"`  // hex; not in descriptors of others
}

// Info is the part that tools see.
func (d Descriptor) Info() handle.Info {
	return handle.Info{ID: d.ID.String(), Name: d.Name, MimeType: d.MimeType, Size: d.Size, Origin: string(d.Origin)}
}

// Kind is the type without its parameters, such as "image/png".
func (d Descriptor) Kind() string { return kindOf(d.MimeType) }

func kindOf(mimeType string) string {
	kind, _, _ := strings.Cut(mimeType, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// IsImage tells whether the type says that it is a picture.
func (d Descriptor) IsImage() bool { return strings.HasPrefix(d.Kind(), "image/") }

// record is a descriptor as its file has it, with what others wrote beside.
type record struct {
	Descriptor
	fields map[string]json.RawMessage
}

const (
	descriptorSuffix = ".att.json"
	metaSuffix       = ".meta.json"
	// maxDescriptor bounds a file that somebody else may have written, in bytes.
	maxDescriptor = 1 << 20
)

func parseRecord(id ID, data []byte) (record, error) {
	var r record
	bad := func(why string) (record, error) {
		return record{}, fmt.Errorf("%w: the descriptor of %s %s", ErrUnknown, id, why)
	}
	if err := json.Unmarshal(data, &r.fields); err != nil || r.fields == nil {
		return bad("is damaged")
	}
	if err := json.Unmarshal(data, &r.Descriptor); err != nil {
		return bad("is damaged")
	}
	// On a file system that ignores case another name may lead here.
	if r.ID != id {
		return bad("is that of another")
	}
	if r.Size < 0 || r.SessionID == "" {
		return bad("says nothing of its size or its session")
	}
	return r, nil
}

// encode writes the descriptor in pi-web's order, then what others had there.
func (r record) encode() ([]byte, error) {
	own, err := message.Marshal(r.Descriptor)
	if err != nil {
		return nil, err
	}
	out := bytes.NewBuffer(own[:len(own)-1])
	if ext, ok := r.fields["ext"]; ok {
		out.WriteString(`,"ext":`)
		out.Write(ext)
	}
	for key, value := range r.fields {
		switch key {
		case "id", "name", "mimeType", "size", "origin", "sessionId", "createdAt", "backend", "sha256", "ext":
			continue
		}
		name, err := message.Marshal(key)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(out, ",%s:%s", name, value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// readRecord reads a descriptor. Whatever keeps it from being read is ErrUnknown,
// but for a store that does not answer.
func readRecord(ctx context.Context, registry blob.Store, id ID) (record, error) {
	o, err := registry.Get(ctx, id.String()+descriptorSuffix)
	if errors.Is(err, blob.ErrNotFound) {
		return record{}, fmt.Errorf("%w: %s", ErrUnknown, id)
	}
	if err != nil {
		return record{}, err
	}
	defer o.Close()
	data, err := io.ReadAll(io.LimitReader(o, maxDescriptor+1))
	if err != nil {
		return record{}, err
	}
	if len(data) > maxDescriptor {
		return record{}, fmt.Errorf("%w: the descriptor of %s is too large", ErrUnknown, id)
	}
	return parseRecord(id, data)
}

// maxName is how many bytes of a name are kept.
const maxName = 1024

// cleanName makes a name storable: valid UTF-8 of a bounded length.
func cleanName(name string) string {
	name = cut(strings.ToValidUTF8(name, "\uFFFD"), maxName)
	if strings.TrimSpace(name) == "" {
		return "upload"
	}
	return name
}

// cut shortens valid UTF-8 to at most n bytes, between characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// octets is the type of what has none.
const octets = "application/octet-stream"

// cleanType makes a type that is safe in a header and in a marker.
func cleanType(mimeType string) string {
	kind, params, err := mime.ParseMediaType(mimeType)
	if err != nil || !strings.Contains(kind, "/") || len(kind) > 100 {
		return octets
	}
	if clean := mime.FormatMediaType(kind, params); clean != "" && len(clean) <= 255 {
		return clean
	}
	return kind
}

func stamp(t time.Time) string { return t.UTC().Format(timeLayout) }
