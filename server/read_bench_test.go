package server

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/offline"
)

// longSession writes a session of questions, answers with a call, and results, as a
// long day of work leaves it: nothing is compacted away.
func longSession(tb testing.TB, path string, messages int) (size int64) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, `{"type":"session","version":3,"id":"long","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}`)
	parent, text := "null", strings.Repeat(`a line of what it printed, with a \"word\" in it\n`, 60)
	for i := range messages {
		body := ""
		switch i % 3 {
		case 0:
			body = fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"question %d"}],"timestamp":1}`, i)
		case 1:
			body = fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":%q},{"type":"toolCall","id":"call%d","name":"bash","arguments":{"command":"ls -la %d"}}],"api":"x","provider":"rec","model":"m2","usage":{"input":100,"output":10,"cacheRead":5,"cacheWrite":0,"totalTokens":115,"cost":{"input":0.1,"output":0.2,"cacheRead":0,"cacheWrite":0,"total":0.3}},"stopReason":"toolUse","timestamp":1}`, text[:400], i, i)
		case 2:
			body = fmt.Sprintf(`{"role":"toolResult","toolCallId":"call%d","toolName":"bash","content":[{"type":"text","text":"%s"}],"isError":false,"timestamp":1}`, i-1, text)
		}
		fmt.Fprintf(w, `{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-01-01T00:00:00.000Z","message":%s}`+"\n", i, parent, body)
		parent = fmt.Sprintf("\"%08x\"", i)
	}
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		tb.Fatal(err)
	}
	return info.Size()
}

// BenchmarkLongSession asks for what a page asks first of a session of 20 000
// messages that is not live, the file being in the page cache.
func BenchmarkLongSession(b *testing.B) {
	const messages = 20_000
	home := b.TempDir()
	size := longSession(b, filepath.Join(home, ".pi/agent/sessions/--/long.jsonl"), messages)
	rt, err := piweb.New(piweb.Config{Home: home, Lookup: func(string) (string, bool) { return "", false }, Providers: model.Registry{offline.API: offline.New}})
	if err != nil {
		b.Fatal(err)
	}
	defer rt.Close()
	s, err := New(Config{Runtime: rt, Page: testPage, Token: testToken, DefaultCWD: home, Limits: Limits{UserRate: -1, AddressRate: -1}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	get := func(b *testing.B, path string) {
		r, err := http.NewRequestWithContext(b.Context(), "GET", web.URL+"/api/sessions/long"+path, nil)
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+testToken)
		a, err := web.Client().Do(r)
		if err != nil {
			b.Fatal(err)
		}
		defer a.Body.Close()
		if n, err := io.Copy(io.Discard, a.Body); err != nil || n == 0 || a.StatusCode != http.StatusOK {
			b.Fatal(a.Status, n, err)
		}
	}
	get(b, "/state")
	b.Logf("a session of %d messages, %.1f MB, not live", messages, float64(size)/(1<<20))
	for _, path := range []string{"/state", "/policy", "/tree", "/transcript"} {
		b.Run(path[1:], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				get(b, path)
			}
		})
	}
}
