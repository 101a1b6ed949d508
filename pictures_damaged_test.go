package piweb_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model/openai"
	"github.com/piweb-go/piweb/fixtures/pictures"
)

// TestDamagedByAnOlderProgram: a session of oh-my-pi 13 to 17, which cut long strings
// whatever they were (can1357/oh-my-pi#389, #9902): a frame of a compaction and a
// picture end in the notice. Nothing is repaired and nothing breaks: the request has
// the summary, the whole picture, and a text for the one that was cut; frames are
// oh-my-pi's own and never part of a request; the lines stay as they are.
func TestDamagedByAnOlderProgram(t *testing.T) {
	const notice = `\n\n[Session persistence truncated large content]`
	cut := strings.Repeat("QUJD", 2000) + notice
	whole := base64.StdEncoding.EncodeToString(pictures.Tiny(3))
	var b strings.Builder
	line := func(id, parent, rest string) {
		if parent != "null" {
			parent = `"` + parent + `"`
		}
		fmt.Fprintf(&b, `{"id":%q,"parentId":%s,"timestamp":"2026-08-01T10:00:0%s.000Z",%s}`+"\n", id, parent, id[7:], rest)
	}
	b.WriteString(`{"type":"session","version":3,"id":"00000000-0000-7000-8000-0000000d0001","timestamp":"2026-08-01T10:00:00.000Z","cwd":"/srvx/shop"}` + "\n")
	line("a0000001", "null", `"type":"message","message":{"role":"user","content":[{"type":"text","text":"long ago"}],"timestamp":1}`)
	line("a0000002", "a0000001", `"type":"message","message":{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","data":"`+cut+`","mimeType":"image/png"},{"type":"image","data":"`+whole+`","mimeType":"image/png"}],"timestamp":2}`)
	line("a0000003", "a0000002", `"type":"compaction","summary":"what was said","firstKeptEntryId":"a0000002","tokensBefore":9,"preserveData":{"snapcompact":{"text":"the archive","frames":[{"data":"`+cut+`","mimeType":"image/png","cols":1},{"data":"`+whole+`","mimeType":"image/png","cols":1}]}}`)
	g := newGallery(t, `{"steps":[{"match":"hello","text":"ok","repeat":true}]}`)
	path := filepath.Join(g.home, "sessions", "s.jsonl")
	g.put("sessions/s.jsonl", b.String())
	s, err := g.rt.Open(t.Context(), path, piweb.OpenOptions{CWD: g.project, Model: openai.API + "/sees"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		g.say(s, "hello")
		body := string(g.last().Body)
		if n := strings.Count(body, whole); n != 1 {
			t.Errorf("the whole picture is there %d times", n)
		}
		if strings.Contains(body, "QUJD") || strings.Contains(body, "snapcompact") || strings.Contains(body, "the archive") {
			t.Errorf("damaged data went out: %.1500s", body)
		}
		if !strings.Contains(body, "what was said") || strings.Count(body, "image omitted") != 1 {
			t.Errorf("no summary or no note: %.1500s", body)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(after, []byte(b.String())) {
		t.Errorf("lines changed (%v)", err)
	}
}
