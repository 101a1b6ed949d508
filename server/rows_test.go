package server

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/offline"
)

// rows are what the existing client's own tests assert of HTTP and streams (web
// specification §6), the weaknesses of its server (§7), and the rows of routes
// (policy specification §7), each with what proves it here. A test of another
// package stands behind its folder. Where piweb is otherwise on purpose, the row
// says how.
var rows = []struct{ row, tests string }{
	// §6, router and envelope
	{"known method and path, id, base path", "TestRouter TestRequests"},
	{"unknown path, wrong method, unknown session", "TestRequests TestRouter"},
	{"auth rejects", "TestRequests TestSignIn"},
	{"of two routes that fit the literal one wins (departure: no wildcards, no injected routes)", "TestRouter"},
	{"stopped, not found, unknown question, missing input, other error", "TestErrorTable TestPanic"},
	{"body valid, missing source, wrong type, bad JSON", "TestRequests"},
	{"version absent, same major, other major", "TestRequests"},
	// §6, sessions and commands
	{"create; without source; while it ends", "TestCreate TestRequests TestRefusedWhileItEnds"},
	{"source recorded (departure: the folder is the source, and stands in the file)", "TestCreate TestRequests"},
	{"messages, steer, follow_up, models, thinking, abort are forwarded", "TestStreamTurns TestQueueRoutes TestModels TestThinking TestRunningRefuses"},
	{"validation failure forwards nothing", "TestNothingForwarded"},
	{"a refusal of the agent (departure: named by its own code instead of 502)", "TestErrorTable TestRunningRefuses"},
	{"stopped or missing session", "TestErrorTable TestRequests"},
	{"clear_queue answers what was cleared (departure: nothing waits where nothing is live)", "TestQueueRoutes TestRequests"},
	{"ui-response, known and unknown id", "TestAskOverReconnects TestRequests"},
	{"fork: ok, invalid, missing (departure: in the same session, whose id stays)", "TestRequests"},
	{"the old address of the model", "TestRequests"},
	{"queries are wrapped under their key; hidden providers", "TestRequests TestMessagesAndState TestUsageAndCompaction TestHiddenProviders"},
	{"logs: all, level, limit, ids, 404", "TestLogLines TestRequests"},
	{"ui-rpc (departure: no command of the host is registered)", "TestUIRPC TestRequests"},
	{"list: newest first, cwd, pages, bad cursor and limit, q", "TestList TestRequests"},
	{"list: store failure", "TestListFailure"},
	{"list: titles", "TestList session/catalog.TestReadIsWhatAnOpenedSessionTells"},
	{"activity", "TestListOfLiveSessions TestAskOverReconnects"},
	{"delete, rename, favourites", "TestRequests TestRename TestDeleteRunning TestManageSwitchedOff TestFavoritesSurviveBadJSON"},
	// §6, streams and the life of a session
	{"frame encoding, headers", "TestStreamHeadersAndSticky TestHeartbeat"},
	{"disconnect unsubscribes", "TestClientLeaves"},
	{"session end: final frame, then close", "TestStopWhileItRuns TestGracefulStop"},
	{"stream of an unknown session (departure: one that is not live waits instead of 409)", "TestStreamBeforeTheSessionIsLive TestRows"},
	{"e2e prompt", "TestStreamTurns"},
	{"reconnect with Last-Event-ID, then a new prompt", "TestReconnectAfterTheEnd TestNothingOldAfterAbort"},
	{"several subscribers, one leaves, one is slow", "TestTwoTabsGetTheSame TestClientLeaves TestStalledReaderIsCut TestManyTabsManySessions"},
	{"readiness (departure: ready from the first moment)", "TestStreamHeadersAndSticky"},
	{"snapshot: late, busy at start and end only, before finish, title", "TestLateSubscriberGetsTheRunningTurn TestStreamTurns wire.TestFrames TestTitleOfTheSnapshot"},
	{"state bridge", "TestSharedState"},
	{"queue is sticky, an empty one overwrites", "TestQueueRoutes wire.TestSticky"},
	{"logs: backfill for who comes, only if there are any", "TestLogLines"},
	{"a command without a turn", "TestCommandWithoutATurn"},
	{"idle timeout, stop twice", "TestListOfLiveSessions ../cmd/piweb.TestIdleTimeout"},
	{"attachment event (departure: each one is told)", "wire.TestFrames TestAttachmentEvents"},
	{"stream before prompt, ids of the stream before, hang up at the end, resume", "TestClientsDay"},
	{"translation table", "wire.TestFrames wire.TestAnyOrder TestRetryIsOneTurn"},
	// §6, upload, raw, history, completion over HTTP
	{"upload", "TestUploadAndFetch TestUploadRefusals"},
	{"raw", "TestRaw"},
	{"history has fresh addresses", "TestUploadAndFetch"},
	{"catalogue (departure: there is none)", "TestRequests"},
	{"completion, end to end", "TestCompletionOverHTTP TestHostileNamesOverHTTP"},
	// §7
	{"W1", "TestOwnersOverHTTP"},
	{"W2", "../attachment.TestW2Traversal TestHostileIDs"},
	{"W3", "TestW3History ../attachment.TestW3Markers"},
	{"W4", "../attachment.TestW4DamagedDescriptor"},
	{"W5", "../attachment.TestW5Faults"},
	{"W6", "TestRaw ../attachment.TestW6MissingBytes"},
	{"W7", "../attachment.TestW7Notes"},
	{"W8", "TestPromptBeforeAnyStream TestLateSubscriberGetsTheRunningTurn TestReconnectMidTurn TestStalledReaderIsCut TestTurnTooLongToKeep"},
	{"W9", "TestUploadAndFetch ../attachment.TestW9Delete"},
	{"W10", "../attachment.TestW10Judge"},
	{"W11", "../attachment.TestW11Strip"},
	{"W12", "TestCompletionOverHTTP TestHostileNamesOverHTTP"},
	{"W13", "TestW13Limits TestLargeBodies"},
	{"W14", "TestRequests"},
	{"W15", "TestBytesPerKeystroke"},
	{"W16", "TestW16History ../attachment.TestW16MarkersAreLinear"},
	{"W17", "TestW17ActiveTypes TestRaw"},
	{"W18", "TestW13Limits ../attachment.TestW18Links"},
	{"W19", "TestW19"},
	{"W20", "TestCompletionOverHTTP TestHostileNamesOverHTTP"},
	{"W21", "TestW21"},
	{"W22", "wire.TestAnyOrder TestNothingOldAfterAbort TestRetryIsOneTurn"},
	{"W23", "TestW23"},
	{"W24", "BenchmarkW24"},
	{"W25", "TestRequests TestErrorTable"},
	{"W26", "TestRacingRenamerOverHTTP"},
	// what public reports say of other servers (pains G3, G5, G6, B7, B8)
	{"G3: one writer, followers live, take-over is explicit", "session.TestSecondWriterIsRefused ...TestHeldElsewhere ...TestTakeOver ...TestDeadHolder TestFollowersSeeOthers"},
	{"G5: ids, a bounded ring, an explicit gap, replay of the session alone", "TestReconnectMidTurn TestReconnectAfterTheEnd TestTurnTooLongToKeep TestIDsGrowOverLives TestB7Replay"},
	{"G6: search over all content, cancellable", "TestSearch TestSearchIsCancelled session/catalog.TestSearchIsTheNaiveOne session/catalog.TestCancelIsSeenWithinASlice"},
	{"B7: unauthenticated; all interfaces", "TestB7Unauthenticated"},
	{"B7: text/plain and rebinding", "TestB7RebindingAndContentTypes"},
	{"B7: no Origin", "TestB7Origins"},
	{"B7: names of uploads, ids of others", "TestB7Uploads TestIsolation TestB7GuessedFiles"},
	{"B7: traversal", "TestB7Traversal"},
	{"B7: links, siblings with the same beginning, .. behind a link", "TestB7Links"},
	{"B7: state is data", "TestB7StateIsData"},
	{"B7: replay by a guessed id", "TestB7Replay"},
	{"B8: two writers: one wins, the other follows", "session.TestSecondWriterIsRefused session.TestTwoProcesses"},
	{"B8: rewriters with one temporary name", "../internal/durable.TestManyRewriters session.TestTwoProcesses"},
	{"B8: a permission error is not busy", "session.TestNoLeaveToWrite"},
	{"B8: one drives, others watch", "TestFollowersSeeOthers ...TestPromptElsewhere"},
	{"B8: reopening resumes no turn", "...TestReopeningNeverResumesATurn"},
	// routes of the policy specification
	{"RT1", "TestRT1"}, {"RT2", "TestRT2"}, {"RT3", "TestRT3"}, {"RT4", "TestRT4"}, {"RT5", "TestRT5"}, {"RT6", "TestRT6"},
	{"RT7", "TestRT7"}, {"RT8", "TestRT8"}, {"RT9", "TestRT9"}, {"RT10", "TestRT10"},
}

// TestRows: what the rows name exists.
func TestRows(t *testing.T) {
	known := map[string]map[string]bool{}
	functions := func(dir string) map[string]bool {
		if known[dir] != nil {
			return known[dir]
		}
		found := map[string]bool{}
		files, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
					found[fn.Name.Name] = true
				}
			}
		}
		known[dir] = found
		return found
	}
	for _, r := range rows {
		for _, name := range strings.Fields(r.tests) {
			dir := "."
			if i := strings.LastIndex(name, "."); i >= 0 {
				dir, name = name[:i], name[i+1:]
				if strings.HasPrefix(dir, "session") {
					dir = "../" + dir
				}
			}
			if !functions(dir)[name] {
				t.Errorf("%s: there is no %s in %s", r.row, name, dir)
			}
		}
	}
	w := newWorld(t, slowTalk(t))
	if a := w.do(404, "GET", "/api/sessions/none/stream"); a.code() != "SESSION_NOT_FOUND" {
		t.Errorf("the stream of an unknown session: %s", a.body)
	}
}

func TestRouter(t *testing.T) {
	var rt router
	hit := ""
	add := func(method, path string) {
		rt.add(method, path, func(http.ResponseWriter, *http.Request, map[string]string) error {
			hit = method + " " + path
			return nil
		})
	}
	add("GET", "a")
	add("POST", "a")
	add("GET", "a/special")
	add("GET", "a/:id")
	add("DELETE", "a/:id")
	add("GET", "a/:id/b/:other")
	add("GET", "x/*/y")
	for name, c := range map[string]struct {
		method, path, want, args string
		status                   int
		allow                    string
	}{
		"literal":                 {"GET", "a", "GET a", "map[]", 0, ""},
		"method":                  {"POST", "/a", "POST a", "map[]", 0, ""},
		"duplicate slashes":       {"GET", "//a///x//", "GET a/:id", "map[id:x]", 0, ""},
		"literal before id":       {"GET", "a/special", "GET a/special", "map[]", 0, ""},
		"id":                      {"GET", "a/7", "GET a/:id", "map[id:7]", 0, ""},
		"two":                     {"GET", "a/7/b/8", "GET a/:id/b/:other", "map[id:7 other:8]", 0, ""},
		"encoded":                 {"GET", "a/%E6%BC%A2%20x", "GET a/:id", "map[id:漢 x]", 0, ""},
		"an encoded slash":        {"GET", "a/b%2Fc", "GET a/:id", "map[id:b/c]", 0, ""},
		"dots are an id":          {"GET", "a/..", "GET a/:id", "map[id:..]", 0, ""},
		"a star is a star":        {"GET", "x/*/y", "GET x/*/y", "map[]", 0, ""},
		"a star is nothing else":  {"GET", "x/1/y", "", "", 404, ""},
		"HEAD":                    {"HEAD", "a/7", "GET a/:id", "map[id:7]", 0, ""},
		"unknown":                 {"GET", "b", "", "", 404, ""},
		"below":                   {"GET", "a/7/b", "", "", 404, ""},
		"wrong method":            {"PUT", "a/7", "", "", 405, "DELETE, GET, HEAD"},
		"OPTIONS":                 {"OPTIONS", "a", "", "", 405, "GET, HEAD, POST"},
		"bad encoding":            {"GET", "a/%zz", "", "", 400, ""},
		"half an encoding":        {"GET", "a/%4", "", "", 400, ""},
		"a reserved word":         {"DELETE", "a/favorites", "", "", 404, ""},
		"a method in small":       {"get", "a", "", "", 405, "GET, HEAD, POST"},
		"the empty path":          {"GET", "", "", "", 404, ""},
		"a zero byte in an id":    {"GET", "a/%00", "GET a/:id", "map[id:\x00]", 0, ""},
		"not UTF-8 is kept as is": {"GET", "a/%ff", "GET a/:id", "map[id:\xff]", 0, ""},
	} {
		hit = ""
		r, args, p := rt.find(c.method, c.path)
		if p != nil {
			if p.status != c.status || p.allow != c.allow {
				t.Errorf("%s: %d %s, Allow %q", name, p.status, p.code, p.allow)
			}
			continue
		}
		_ = r.handle(nil, nil, nil)
		if got := fmt.Sprint(args); hit != c.want || got != strings.ReplaceAll(c.args, "map[]", fmt.Sprint(map[string]string(nil))) {
			t.Errorf("%s: %s %s, want %s %s", name, hit, got, c.want, c.args)
		}
	}
}

// TestNothingForwarded: a request that is no good reaches neither the file nor the
// model.
func TestNothingForwarded(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	path := w.sessionFile("a", "one", "2026-01-02T03:04:05.000Z", "one")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ method, path, body string }{
		{"POST", "messages", `{}`}, {"POST", "messages", `{"message":1}`}, {"POST", "messages", `{"message":"x","images":[{}]}`}, {"POST", "steer", `{}`},
		{"POST", "follow_up", `{"message":null}`}, {"POST", "models", `{"provider":"rec"}`}, {"POST", "thinking", `{"level":"a lot"}`}, {"PUT", "tools", `{"tools":["rm"]}`},
		{"POST", "messages", `{"message":"x","attachmentIds":["att_nobody"]}`}, {"POST", "navigate", `{}`}, {"POST", "fork", `{"entryId":7}`},
		{"POST", "subagents", `{}`}, {"PUT", "budget", `{"total":-1}`}, {"PUT", "labels/0000000a", `{"label":7}`},
	} {
		if a := w.send(w.ask(c.method, "/api/sessions/one/"+c.path, c.body)); a.status != 400 {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, a.status, a.body)
		}
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Errorf("the file was written to: %s", after[len(before):])
	}
	if n := len(w.provider.Requests()); n > 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

// TestListFailure: a folder that cannot be listed is an error of the server, not an
// empty list, and tells no path.
func TestListFailure(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	w.put(".pi/agent/sessions", "this is no folder")
	a := w.do(500, "GET", "/api/sessions")
	if a.code() != "INTERNAL" || strings.Contains(string(a.body), w.home) {
		t.Errorf("%s", a.body)
	}
}

// TestTitleOfTheSnapshot: the snapshot has the session's name, from its file, and
// when it changes.
func TestTitleOfTheSnapshot(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	const at = "2026-01-02T03:04:05.000Z"
	w.sessionFile("a", "named", at, "x", `{"type":"session_info","id":"0000000d","parentId":"0000000b","timestamp":"`+at+`","name":"Blue"}`)
	tb := w.open("named", "", "")
	title := func(frames []frame) string {
		last := ""
		for _, f := range frames {
			if s, ok := f.field("snapshot").(map[string]any); ok {
				last, _ = s["title"].(string)
			}
		}
		return last
	}
	tb.wait("the name", func(frames []frame) bool { return title(frames) == "Blue" })
	w.do(200, "POST", "/api/sessions/rename", `{"sessionId":"named","name":"Red"}`)
	tb.wait("the new name", func(frames []frame) bool { return title(frames) == "Red" })
	late := w.open("named", "", "")
	late.wait("the new name at once", func(frames []frame) bool { return title(frames) == "Red" })
}

// TestAttachmentEvents: a page is told of each file that the session gets.
func TestAttachmentEvents(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`["read"]`)
	tb := w.open(id, "", "")
	for i := range 3 {
		name := fmt.Sprintf("%d.txt", i)
		body := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--\r\n"
		if a := w.send(w.ask("POST", "/api/sessions/"+id+"/attachments", body).with("Content-Type", "multipart/form-data; boundary=b")); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	var names []string
	tb.wait("three files", func(frames []frame) bool {
		names = nil
		for _, f := range frames {
			if f.control() == "attachment" {
				names = append(names, fmt.Sprint(f.field("attachment").(map[string]any)["name"]))
			}
		}
		return len(names) == 3
	})
	if !slices.Equal(names, []string{"0.txt", "1.txt", "2.txt"}) {
		t.Errorf("told of %v", names)
	}
}

// TestW19: bad addresses and unknown sources are the client's mistakes, and a wrong
// method says which there are.
func TestW19(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	for path, want := range map[string]string{"/api/sessions/%zz/state": "400 ", "/api/%": "400 ", "/api/sessions/a%2": "400 ", "/api/nothing": "404 NOT_FOUND"} {
		a := w.rawGet(path) // a broken encoding is refused before anything of ours runs
		if got := fmt.Sprintf("%d %s", a.status, a.code()); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if a := w.do(400, "POST", "/api/sessions", `{"source":"no/such/source"}`); a.code() != "VALIDATION_FAILED" {
		t.Errorf("an unknown source: %s", a.body)
	}
	for _, r := range w.server.routes.routes {
		path := "/api"
		for _, s := range r.segments {
			path += "/" + strings.TrimPrefix(s, ":")
		}
		if a := w.send(w.ask("OPTIONS", path).with("Content-Type", "application/json")); a.status != 405 || !slices.Contains(strings.Split(a.header.Get("Allow"), ", "), r.method) {
			t.Errorf("OPTIONS %s: %d, Allow %q without %s", path, a.status, a.header.Get("Allow"), r.method)
		}
	}
}

// rawGet asks for a path that no client of the standard library would send.
func (w *world) rawGet(path string) answer {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), "GET", w.http.URL, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.URL.Opaque = path
	req.Header.Set("Authorization", "Bearer "+testToken)
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	out := answer{status: res.StatusCode, header: res.Header}
	_ = json.NewDecoder(res.Body).Decode(&out.json)
	return out
}

// TestW21: a model that never answers holds up no request, and a hundred thousand
// remarks take no more room than a few.
func TestW21(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`["read"]`)
	tb := w.open(id, "", "")
	w.say(id, "for ever")
	base := "/api/sessions/" + id
	for _, path := range []string{"/state", "/messages", "/stats", "/usage", "/policy", "/tools", "/tree", "/logs", "/commands", "/models"} {
		w.do(200, "GET", base+path)
	}
	s, ok := w.rt.Live(w.do(200, "GET", base+"/state").str("state", "sessionFile"))
	if !ok {
		t.Fatal("the session is not live")
	}
	for i := range 100_000 {
		s.Tell(fmt.Sprintf("remark %d", i))
	}
	feed := w.server.feeds.peek(keyOf(s.Log().Path()))
	w.until("the remarks are through", func() bool {
		feed.mu.Lock()
		defer feed.mu.Unlock()
		return len(feed.logs) == maxLogs && feed.logs[maxLogs-1].Msg == "remark 99999"
	})
	feed.mu.Lock()
	if feed.bytes > feed.limit || len(feed.logs) > maxLogs {
		t.Errorf("the feed holds %d bytes and %d lines", feed.bytes, len(feed.logs))
	}
	feed.mu.Unlock()
	w.do(200, "POST", base+"/abort")
	w.idle(id)
	tb.close()
}

// TestW23: ten thousand names in one message are resolved in bounded time, and ten
// thousand ids are refused as one.
func TestW23(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`["read"]`)
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = fmt.Sprintf("att_%022d", i)
	}
	body, _ := json.Marshal(map[string]any{"message": "x", "attachmentIds": ids})
	if a := w.do(400, "POST", "/api/sessions/"+id+"/messages", string(body)); a.code() != "INVALID_ATTACHMENT" {
		t.Errorf("ten thousand ids: %.300s", a.body)
	}
	done := make(chan answer, 1)
	go func() {
		text, _ := json.Marshal(map[string]string{"message": strings.Repeat("@file:go.mod @attachment:att_x ", 5_000)})
		done <- w.send(w.ask("POST", "/api/sessions/"+id+"/messages", string(text)))
	}()
	select {
	case a := <-done:
		if a.status != 200 {
			t.Errorf("ten thousand names: %d %.300s", a.status, a.body)
		}
	case <-time.After(60 * time.Second):
		t.Fatal("ten thousand names are not resolved after a minute")
	}
	w.idle(id)
}

// TestRT7: what is deleted takes its subagents with it, wherever they are in the
// tree; a fork stays, and its file is not written to (departure: a header that
// names a deleted file is left as it is, because the file can come back).
func TestRT7(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	const at = "2026-01-02T03:04:05.000Z"
	top := w.sessionFile("a", "top", at, "top")
	child := func(id, parent, parentPath string) string {
		path := w.sessionFile("a", id, at, id, `{"type":"custom","id":"0000000c","parentId":"0000000b","timestamp":"`+at+`","customType":"pi-web:subagent","data":{"version":1,"parentSessionId":"`+parent+
			`","parentSessionPath":"`+parentPath+`","profile":"p","policy":{"appendSystemPrompt":[],"tools":["read"],"loadSkills":false,"loadExtensions":false}}}`)
		withParent(t, path, parentPath)
		return path
	}
	mid := child("mid", "top", top)
	low := child("low", "mid", mid)
	fork := w.sessionFile("a", "fork", at, "fork")
	withParent(t, fork, mid)
	before, err := os.ReadFile(fork)
	if err != nil {
		t.Fatal(err)
	}
	a := w.do(200, "POST", "/api/sessions/delete", `{"sessionId":"mid"}`)
	if list, _ := a.json["trashed"].([]any); len(list) != 2 {
		t.Errorf("trashed: %s", a.body)
	}
	for path, there := range map[string]bool{top: true, mid: false, low: false, fork: true} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
	if after, _ := os.ReadFile(fork); string(after) != string(before) {
		t.Error("the fork's file was written to")
	}
	w.do(200, "GET", "/api/sessions/fork/messages")
	w.do(200, "POST", "/api/trash/restore", `{"sessionId":"mid"}`)
	for _, path := range []string{mid, low} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("after the restore: %v", err)
		}
	}
}

// withParent names a parent in a file's header.
func withParent(t *testing.T, path, parent string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name, _ := json.Marshal(parent)
	text := strings.Replace(string(data), `"cwd":`, `"parentSession":`+string(name)+`,"cwd":`, 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRT9: pages of what was said: a default, a cap, and no number is none
// (departure: it is refused instead of read as the default).
func TestRT9(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	var more []string
	parent := "0000000b"
	for i := range 2500 {
		id := fmt.Sprintf("%08x", 0x1000+i)
		more = append(more, fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"m","timestamp":1}}`, id, parent))
		parent = id
	}
	w.sessionFile("a", "long", "2026-01-02T03:04:05.000Z", "one", more...)
	length := func(query string) int {
		t.Helper()
		list, _ := w.do(200, "GET", "/api/sessions/long/transcript"+query).json["messages"].([]any)
		return len(list)
	}
	for query, want := range map[string]int{"": transcriptLimit, "?limit=3": 3, "?limit=1000000": maxTranscriptLimit} {
		if got := length(query); got != want {
			t.Errorf("%q: %d messages, want %d", query, got, want)
		}
	}
	for _, limit := range []string{"NaN", "0", "-1", "1e3", "Infinity", ""} {
		if a := w.do(400, "GET", "/api/sessions/long/transcript?limit="+limit); a.code() != "INVALID_REQUEST" {
			t.Errorf("limit %q: %s", limit, a.body)
		}
	}
}

// TestTraversalOnEveryParameter: strings that attack paths, in the place of every
// parameter of every route, are answered as mistakes or as missing, and nothing
// from outside is told.
func TestTraversalOnEveryParameter(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	w.sessionFile("a", "one", "2026-01-02T03:04:05.000Z", "one")
	w.put("secret.txt", "TOP SECRET")
	attacks := []string{"..", "../..", "../../secret.txt", `..\..\secret.txt`, "/etc/passwd", w.home + "/secret.txt", "a\x00b", "CON", "~", strings.Repeat("x", 3000), "att_../../secret.txt", "%2e%2e%2f", "*", "\xff\xfe", "一/../二"}
	for _, r := range w.server.routes.routes {
		params := slices.Collect(func(yield func(int) bool) {
			for i, s := range r.segments {
				if strings.HasPrefix(s, ":") && !yield(i) {
					return
				}
			}
		})
		for _, at := range params {
			for _, attack := range attacks {
				path := "/api"
				for i, s := range r.segments {
					switch {
					case i == at:
						s = pathEscape(attack)
					case strings.HasPrefix(s, ":"):
						s = "one"
					}
					path += "/" + s
				}
				a := w.send(w.ask(r.method, path, `{}`))
				if a.status < 400 && r.method != "DELETE" || a.status >= 500 || strings.Contains(string(a.body), "TOP SECRET") {
					t.Errorf("%s %s: %d %.200s", r.method, path, a.status, a.body)
				}
			}
		}
	}
}

// pathEscape writes a segment so that nothing of it means anything in a path.
func pathEscape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02X", s[i])
	}
	return b.String()
}

// BenchmarkW24 lists a page of ten thousand sessions that are known already, beside
// the floor: reading the folder and looking at each file.
func BenchmarkW24(b *testing.B) {
	const sessions = 10_000
	w, dir := benchWorld(b, sessions)
	look := func() {
		names, err := os.ReadDir(dir)
		if err != nil {
			b.Fatal(err)
		}
		for _, n := range names {
			if _, err := os.Lstat(filepath.Join(dir, n.Name())); err != nil {
				b.Fatal(err)
			}
		}
	}
	list := func() {
		r, err := http.NewRequest("GET", "http://127.0.0.1/api/sessions", nil)
		if err != nil {
			b.Fatal(err)
		}
		rec := &discard{header: http.Header{}}
		if err := w.listSessions(rec, r, nil); err != nil || rec.status != 200 {
			b.Fatal(rec.status, err)
		}
	}
	list()
	look()
	var floor time.Duration
	for b.Loop() {
		list()
		b.StopTimer()
		start := time.Now()
		look()
		floor += time.Since(start)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(floor), "x-floor")
	b.ReportMetric(sessions, "sessions")
}

// discard is an answer that nobody reads.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }

func benchWorld(b *testing.B, sessions int) (*Server, string) {
	b.Helper()
	home := b.TempDir()
	dir := filepath.Join(home, ".pi", "agent", "sessions", "a")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range sessions {
		text := fmt.Sprintf(`{"type":"session","version":3,"id":"s%d","timestamp":"2026-01-02T03:04:05.000Z","cwd":%q}`+"\n"+
			`{"type":"message","id":"0000000a","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"one","timestamp":1}}`+"\n", i, home)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("s%d.jsonl", i)), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	rt, err := piweb.New(piweb.Config{Home: home, Lookup: func(string) (string, bool) { return "", false }, Providers: model.Registry{offline.API: offline.New}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { rt.Close() })
	s, err := New(Config{Runtime: rt, Token: testToken, DefaultCWD: home})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	return s, dir
}
