package catalog

import (
	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// eachText yields what a search looks through of an entry, given its valid JSON:
// the texts that people read in a conversation. The system prompt, thinking, the
// arguments of calls, pictures, and data of extensions are not among them.
func eachText(entry []byte, yield func(where, text string) bool) {
	one := func(where string, v []byte) bool {
		return len(v) == 0 || v[0] != '"' || yield(where, structure.Text(v))
	}
	switch structure.Text(structure.Get(entry, "type")) {
	case session.TypeMessage:
		messageTexts(structure.Get(entry, "message"), one)
	case session.TypeCustomMessage:
		contentTexts("custom", structure.Get(entry, "content"), one)
	case session.TypeCompaction, session.TypeBranchSummary:
		one("summary", structure.Get(entry, "summary"))
	case session.TypeSessionInfo:
		one("name", structure.Get(entry, "name"))
	case session.TypeLabel:
		one("label", structure.Get(entry, "label"))
	}
}

func messageTexts(m []byte, one func(string, []byte) bool) {
	role := structure.Text(structure.Get(m, "role"))
	switch message.Role(role) {
	case message.RoleSystem:
	case message.RoleBashExecution:
		_ = one(role, structure.Get(m, "command")) && one(role, structure.Get(m, "output"))
	case message.RoleBranchSummary, message.RoleCompactionSummary:
		one(role, structure.Get(m, "summary"))
	default:
		contentTexts(role, structure.Get(m, "content"), one)
	}
}

func contentTexts(where string, content []byte, one func(string, []byte) bool) {
	if len(content) == 0 || content[0] != '[' {
		one(where, content)
		return
	}
	more := true
	structure.Items(content, func(block []byte) {
		if more && structure.Text(structure.Get(block, "type")) == message.TypeText {
			more = one(where, structure.Get(block, "text"))
		}
	})
}
