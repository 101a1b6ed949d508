package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/piweb-go/piweb/session"
)

// found is a file of another version or with damage, as text, in which package session
// goes on: what it makes of such a file is what it wrote, and pi judges that. The
// text's CWD stands for the working directory.
type found struct {
	name string
	text string
}

const (
	head3 = `{"type":"session","version":3,"id":"made-NAME","timestamp":"2026-01-02T03:04:05.000Z","cwd":"CWD"}` + "\n"
	level = `{"type":"thinking_level_change","id":"11111111","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","thinkingLevel":"off"}` + "\n"
	first = `{"type":"message","id":"aaaaaaaa","parentId":"11111111","timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"q 漢字","timestamp":1}}` + "\n"
	reply = `{"type":"message","id":"bbbbbbbb","parentId":"aaaaaaaa","timestamp":"2026-01-02T03:04:07.000Z","message":{"role":"assistant","content":[{"type":"text","text":"a"}],"api":"x","provider":"p","model":"m","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":2}}` + "\n"
	whole = head3 + level + first + reply
)

// unnamed takes ids and parents out of lines, as version 1 had them.
func unnamed(lines string) string {
	for _, field := range []string{`"id":"11111111",`, `"id":"aaaaaaaa",`, `"id":"bbbbbbbb",`, `"parentId":null,`, `"parentId":"11111111",`, `"parentId":"aaaaaaaa",`} {
		lines = strings.ReplaceAll(lines, field, "")
	}
	return lines
}

const (
	hook       = `{"type":"message","id":"cccccccc","parentId":"bbbbbbbb","timestamp":"2026-01-02T03:04:08.000Z","message":{"role":"hookMessage","customType":"h","content":"a hook","display":true,"timestamp":3}}` + "\n"
	byNumber   = `{"type":"compaction","timestamp":"2026-01-02T03:04:08.000Z","summary":"what was before","firstKeptEntryIndex":2,"tokensBefore":9}` + "\n"
	futureLine = `{"type":"of_the_future","id":"cccccccc","parentId":"bbbbbbbb","timestamp":"2026-01-02T03:04:08.000Z","payload":1.50}` + "\n"
)

var founds = []found{
	{"v1", unnamed(`{"type":"session","id":"made-NAME","timestamp":"2025-01-02T03:04:05.000Z","cwd":"CWD","provider":"p","modelId":"m"}` + "\n" + level + first + reply + byNumber)},
	{"v2", strings.Replace(head3, `"version":3`, `"version":2`, 1) + level + first + reply + hook},
	{"v4-future", strings.Replace(head3, `"version":3`, `"version":4,"extra":{"a":1.50}`, 1) + level + first + reply + futureLine},
	{"header-only", head3},
	{"truncated-tail", whole + `{"type":"message","id":"cccccccc","parentId":"bbbbbbbb","timest`},
	{"truncated-in-a-character", whole + first[:strings.Index(first, "漢")+1]},
	{"no-final-newline", strings.TrimSuffix(whole, "\n")},
	{"malformed-middle", head3 + level + first + "{not json\n\n  \n" + reply},
	{"lost-middle-parent", head3 + level + first + strings.Replace(strings.TrimSuffix(reply, "}}\n"), "bbbbbbbb", "dddddddd", 1) + "\n" + strings.Replace(reply, `"parentId":"aaaaaaaa"`, `"parentId":"dddddddd"`, 1)},
	{"nul-run", head3 + level + first + strings.Repeat("\x00", 5000) + "\n" + reply},
	{"orphan-parent", head3 + level + first + strings.Replace(reply, `"parentId":"aaaaaaaa"`, `"parentId":"eeeeeeee"`, 1)},
	{"duplicate-ids-no-cycle", whole + strings.Replace(reply, `"text":"a"`, `"text":"again"`, 1)},
	{"two-headers", head3 + level + first + strings.Replace(head3, "made-NAME", "second", 1) + reply},
	{"blank-then-header", "\n\n" + whole},
	{"crlf", strings.ReplaceAll(whole, "\n", "\r\n")},
	{"u2028-in-text", strings.Replace(whole, "q 漢字", "a\u2028b\u2029c", 1)},
	{"numeric-timestamps", strings.ReplaceAll(whole, `"2026-01-02T03:04:06.000Z"`, "7")},
	{"null-content", strings.Replace(whole, `"content":"q 漢字"`, `"content":null`, 1)},
	{"repeated-keys", strings.Replace(whole, `"content":"q 漢字"`, `"content":"no","content":"yes","CONTENT":"no"`, 1)},
}

// goOn writes the file and one turn behind it.
func (f found) goOn(dir, cwd string) (string, error) {
	path := filepath.Join(dir, "2026-01-02T03-04-05-000Z_made-"+f.name+".jsonl")
	text := strings.ReplaceAll(strings.ReplaceAll(f.text, "CWD", cwd), "made-NAME", "made-"+f.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", err
	}
	s, err := session.Open(path, session.Options{})
	if err != nil {
		return "", fmt.Errorf("a file that another left: %w", err)
	}
	w := &writer{s: s}
	w.turn("gone on with")
	return path, errors.Join(w.err, s.Sync(), s.Close())
}
