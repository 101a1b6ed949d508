package attachment

import (
	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// EntryType is the custom entry that notes an attachment in a session's file: a
// reference, and a root for whoever collects what nobody names. It is never a
// right: that stands in the store.
const EntryType = "pi-web:attachment"

type entryData struct {
	Version    int        `json:"version"`
	Attachment Descriptor `json:"attachment"`
}

// Entry is the entry for an attachment.
func Entry(d Descriptor) (session.Custom, error) {
	d.Backend = ""
	data, err := message.Marshal(entryData{1, d})
	return session.Custom{CustomType: EntryType, Data: data}, err
}

// ParseEntry reads an entry. ok is false for other entries and for damaged ones.
// What it says was written by somebody: nothing is opened on its word.
func ParseEntry(c session.Custom) (d Descriptor, ok bool) {
	if c.CustomType != EntryType {
		return d, false
	}
	var data entryData
	if structure.Unmarshal(c.Data, &data) != nil || data.Version != 1 || data.Attachment.ID.IsZero() {
		return d, false
	}
	return data.Attachment, true
}
