package catalog

import (
	"encoding/json"
	"strings"

	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"github.com/tidwall/gjson"
)

// eachText yields what a search looks through of an entry, given its valid JSON:
// the texts that people read in a conversation. The system prompt, thinking, the
// arguments of calls, pictures, and data of extensions are not among them.
func eachText(entry gjson.Result, yield func(where, text string) bool) {
	one := func(where string, v gjson.Result) bool {
		return v.Type != gjson.String || yield(where, text(v))
	}
	switch entry.Get("type").String() {
	case session.TypeMessage:
		m := entry.Get("message")
		if m.IsObject() {
			messageTexts(m, one)
		}
	case session.TypeCustomMessage:
		contentTexts("custom", entry.Get("content"), one)
	case session.TypeCompaction, session.TypeBranchSummary:
		one("summary", entry.Get("summary"))
	case session.TypeSessionInfo:
		one("name", entry.Get("name"))
	case session.TypeLabel:
		one("label", entry.Get("label"))
	}
}

func messageTexts(m gjson.Result, one func(string, gjson.Result) bool) {
	role := m.Get("role").String()
	switch message.Role(role) {
	case message.RoleSystem:
	case message.RoleBashExecution:
		_ = one(role, m.Get("command")) && one(role, m.Get("output"))
	case message.RoleBranchSummary, message.RoleCompactionSummary:
		one(role, m.Get("summary"))
	default:
		contentTexts(role, m.Get("content"), one)
	}
}

func contentTexts(where string, content gjson.Result, one func(string, gjson.Result) bool) {
	if !content.IsArray() {
		one(where, content)
		return
	}
	content.ForEach(func(_, block gjson.Result) bool {
		if !block.IsObject() || block.Get("type").String() != message.TypeText {
			return true
		}
		return one(where, block.Get("text"))
	})
}

// text is a JSON string as encoding/json reads it, which mends what is no UTF-8.
func text(v gjson.Result) string {
	if !strings.Contains(v.Raw, `\u`) {
		return strings.ToValidUTF8(v.Str, "\uFFFD")
	}
	var s string
	_ = json.Unmarshal([]byte(v.Raw), &s)
	return s
}
