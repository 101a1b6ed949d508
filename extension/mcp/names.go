package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is the longest tool name that every provider takes.
const maxName = 64

// toolName spells mcp__server__tool with letters, digits and "_" only.
func toolName(server, tool string) string {
	return "mcp__" + spell(server) + "__" + spell(tool)
}

func spell(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
}

// source is a tool of a server by the names that these have.
type source struct{ server, tool string }

// names gives each tool its name for the model. Names that come out the same, and
// names that are too long, end in a hash of what they stand for, so that they are
// the same at every start and never another tool's.
func names(tools []source) []string {
	out := make([]string, len(tools))
	seen := map[string]int{}
	for i, t := range tools {
		out[i] = toolName(t.server, t.tool)
		seen[out[i]]++
	}
	for i, t := range tools {
		if seen[out[i]] > 1 || len(out[i]) > maxName {
			sum := sha256.Sum256([]byte(t.server + "\x00" + t.tool))
			mark := "_" + hex.EncodeToString(sum[:4])
			out[i] = out[i][:min(len(out[i]), maxName-len(mark))] + mark
		}
	}
	return out
}

// clean makes a text of a server fit to be shown and sent: what nobody can see
// goes, broken letters are repaired, and it ends after at most limit bytes.
func clean(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return -1
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r), r == '\u2028', r == '\u2029':
			// Cf holds zero-width letters, turns of direction and the tag letters
			// that spell hidden words.
			return -1
		case '\ufe00' <= r && r <= '\ufe0f', '\U000e0100' <= r && r <= '\U000e01ef':
			return -1 // variation selectors can carry hidden bytes
		}
		return r
	}, s)
	s = strings.TrimSpace(s)
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
