package web

import (
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// entry is the line of a catalogue; a text that has no forms is "other".
type entry map[string]string

var (
	entryLine = regexp.MustCompile(`^  ("[^"]+"): (".*"|\{ .* \}),$`)
	formPart  = regexp.MustCompile(`\b(one|other): ("(?:[^"\\]|\\.)*")`)
	holeName  = regexp.MustCompile(`\{\w+\}`)
)

// catalogue reads a file of texts. It is data: a line that is neither an entry nor
// a comment is an error.
func catalogue(t *testing.T, file string) map[string]entry {
	t.Helper()
	all := map[string]entry{}
	text := func(quoted string) string {
		var s string
		if err := json.Unmarshal([]byte(quoted), &s); err != nil {
			t.Errorf("%s: %s: %v", file, quoted, err)
		}
		return s
	}
	inside := false
	for _, line := range strings.Split(read(t, file), "\n") {
		switch {
		case strings.HasPrefix(line, "export const "):
			inside = true
		case strings.HasPrefix(line, "}"):
			inside = false
		case !inside || line == "" || strings.HasPrefix(line, "  //"):
		default:
			m := entryLine.FindStringSubmatch(line)
			if m == nil {
				t.Errorf("%s: no entry: %s", file, line)
				continue
			}
			key, e := text(m[1]), entry{}
			if m[2][0] == '"' {
				e["other"] = text(m[2])
			} else {
				for _, f := range formPart.FindAllStringSubmatch(m[2], -1) {
					e[f[1]] = text(f[2])
				}
			}
			if all[key] != nil {
				t.Errorf("%s: %s is there twice", file, key)
			}
			if e["other"] == "" {
				t.Errorf("%s: %s has no text", file, key)
			}
			all[key] = e
		}
	}
	return all
}

// holes are what an entry wants to be told, in any of its forms. The number that
// chooses the form need not be in each.
func (e entry) holes() []string {
	var all []string
	for _, text := range e {
		all = append(all, holeName.FindAllString(text, -1)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestCataloguesAgree(t *testing.T) {
	en, zh := catalogue(t, "words/en.js"), catalogue(t, "words/zh-hans.js")
	for _, key := range slices.Sorted(maps.Keys(en)) {
		if zh[key] == nil {
			t.Errorf("zh-hans.js has no %s", key)
			continue
		}
		if a, b := en[key].holes(), zh[key].holes(); !slices.Equal(a, b) {
			t.Errorf("%s wants %v in English and %v in Chinese", key, a, b)
		}
		if zh[key]["one"] != "" {
			t.Errorf("%s has a form for one in Chinese, which has no such form", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(zh)) {
		if en[key] == nil {
			t.Errorf("zh-hans.js has %s, which en.js does not have", key)
		}
	}
}

var (
	asked  = regexp.MustCompile(`[^.\w](?:t|tx|say)\(\s*"([^"]+)"`)
	family = regexp.MustCompile("(?:\\b(?:t|tx|say)\\(`([A-Za-z]+\\.)\\$|\\bnamed\\(\\s*\"([A-Za-z]+)\")")
)

// Every key that a module asks for is there, and none is there that nothing asks for.
func TestKeysAreUsed(t *testing.T) {
	en := catalogue(t, "words/en.js")
	used := map[string]bool{}
	for _, file := range own(t, ".js") {
		code := read(t, file)
		for _, m := range asked.FindAllStringSubmatch(code, -1) {
			if en[m[1]] == nil {
				t.Errorf("%s asks for %s, which en.js does not have", file, m[1])
			}
		}
		for _, m := range family.FindAllStringSubmatch(code, -1) {
			prefix, any := m[1], false
			if prefix == "" {
				prefix = m[2] + "."
			}
			for key := range en {
				if strings.HasPrefix(key, prefix) {
					used[key], any = true, true
				}
			}
			if !any {
				t.Errorf("%s asks for one of %s…, and en.js has none", file, prefix)
			}
		}
		for _, l := range literals(code) {
			used[l.text] = true // a table of keys
		}
	}
	for _, key := range slices.Sorted(maps.Keys(en)) {
		if !used[key] {
			t.Errorf("nothing asks for %s", key)
		}
	}
}

// spoken are the attributes whose value a person reads or hears.
var spoken = map[string]bool{"aria-label": true, "title": true, "placeholder": true, "alt": true, "label": true, "aria-description": true}

// ownWords are texts of modules that no catalogue has, and why; "" is any module.
var ownWords = map[string][]string{
	// Names, and where a text is cut.
	"": {"piweb", "sha256", "· sha256", "piweb memory add", "…"},
	// Each language by its own name.
	"i18n.js": {"English", "简体中文"},
	// Words of the browser: selectors, types, keys.
	"composer.js": {"Files"},
	"markdown.js": {"<img src=\"\x00\" alt=\"\x00\">", "noopener noreferrer"},
	// What stands on the keys.
	"keymap.js": {"Alt+/", "Alt+ArrowUp", "Alt+ArrowDown", "Alt+Arrow", "Escape", "Enter", "Shift+Enter", "Alt+Enter", "Home", "End", "Tab", "Esc", "input, textarea, select"},
	// What people write after the fence of a code block.
	"code.js": {"bash c cpp csharp css diff dockerfile go ini java javascript json kotlin lua makefile markdown php powershell python",
		"ruby rust sql swift typescript xml yaml", "sh shell zsh console shellscript", "c++ cc hpp", "toml conf", "js jsx mjs cjs node",
		"jsonc json5 jsonl", "ts tsx", "html svg vue"},
	// Said to a model.
	"subagents.js": {"Go on where you were interrupted."},
	// Parts of the server's reasons, which are looked for.
	"policy.js": {"the tool \"\x00\"", "is not among"},
	// For other pages, which have no catalogue; ours says it by the code of the error.
	"upload.js": {"Authorization", "Bearer \x00", "The server's answer could not be read.",
		"The upload broke off: the server closed the connection, or does not answer.", "The upload was taken back."},
}

var (
	twoWords = regexp.MustCompile(`[A-Za-z’']{2,},? [A-Za-z’']{2,}`)
	sentence = regexp.MustCompile(`^[A-Z][a-z’']+(?:[ .,:…!?]|$)|…`)
	aKey     = regexp.MustCompile(`^[A-Za-z]+\.[\w-]*\x00?$`)
	wordIn   = regexp.MustCompile(`[A-Za-z]{2,}`)
)

// prose tells whether people would read this as words.
func (l literal) prose() bool {
	for _, r := range l.text {
		if unicode.Is(unicode.Han, r) {
			return true
		}
	}
	switch {
	case aKey.MatchString(l.text):
		return false
	case l.where == "text" || spoken[l.where]:
		return wordIn.MatchString(l.text)
	case l.where == "code":
		return twoWords.MatchString(l.text) || sentence.MatchString(l.text)
	}
	return false
}

// No module has words of its own: they would be English in every language.
func TestNoWordsInModules(t *testing.T) {
	for _, file := range own(t, ".js") {
		for _, l := range literals(read(t, file)) {
			text := strings.TrimSpace(l.text)
			if l.prose() && !slices.Contains(ownWords[""], text) && !slices.Contains(ownWords[path.Base(file)], text) {
				t.Errorf("%s:%d has words of its own in %s: %q", file, l.line, l.where, text)
			}
		}
	}
}
