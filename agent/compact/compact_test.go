package compact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// writer is a model that keeps its requests and answers by a function.
type writer struct {
	info     agent.ModelInfo
	answer   func(n int, req agent.Request) ([]agent.Delta, error)
	mu       sync.Mutex
	requests []agent.Request
}

func (w *writer) Info() agent.ModelInfo { return w.info }

func (w *writer) Stream(_ context.Context, req agent.Request) iter.Seq2[agent.Delta, error] {
	w.mu.Lock()
	n := len(w.requests)
	w.requests = append(w.requests, req)
	w.mu.Unlock()
	deltas, err := w.answer(n, req)
	return func(yield func(agent.Delta, error) bool) {
		for _, d := range deltas {
			if !yield(d, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func said(text string) []agent.Delta {
	return []agent.Delta{agent.TextDelta{Text: text}, agent.UsageDelta{Usage: message.Usage{Input: 100, Output: 10}}, agent.Stop{Reason: message.StopEnd}}
}

// summing answers every request with a numbered summary.
func summing(window int) *writer {
	return &writer{info: agent.ModelInfo{API: "a", Provider: "p", ID: "m", ContextWindow: window, MaxTokens: 4096, Cost: agent.Price{Input: 1}},
		answer: func(n int, _ agent.Request) ([]agent.Delta, error) { return said(fmt.Sprintf("SUMMARY %d", n+1)), nil }}
}

func text(req agent.Request) string { return message.ContentOf(req.Messages[0]).PlainText() }

// record is a session for tests.
type record struct {
	*session.Session
	t testing.TB
}

func newRecord(t testing.TB, dir string) record {
	t.Helper()
	log, err := session.Create(session.NewSession{Dir: dir, CWD: dir}, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return record{log, t}
}

func (r record) add(payloads ...session.Payload) []session.ID {
	r.t.Helper()
	ids, err := r.Append(payloads...)
	if err != nil {
		r.t.Fatal(err)
	}
	return ids
}

func (r record) context() *session.Context {
	r.t.Helper()
	c, err := r.Context()
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func user(s string) session.Payload {
	return session.Message(&message.User{Content: message.Content{message.Text(s)}, Timestamp: 1})
}

func answered(s string, calls ...message.Block) session.Payload {
	stop := message.StopEnd
	if len(calls) > 0 {
		stop = message.StopToolUse
	}
	return session.Message(&message.Assistant{API: "a", Provider: "p", Model: "m", Content: append(message.Content{message.Text(s)}, calls...), StopReason: stop, Timestamp: 1})
}

func called(id, name, args string) message.Block {
	return message.Block{Type: message.TypeToolCall, ID: id, Name: name, Arguments: json.RawMessage(args)}
}

func result(id, name, s string) session.Payload {
	return session.Message(&message.ToolResult{ToolCallID: id, ToolName: name, Content: message.Content{message.Text(s)}, Timestamp: 1})
}

// long is a text of n tokens that begins with a word.
func long(word string, n int) string {
	return word + strings.Repeat(" x", n*charsPerToken/2)[len(word)%2:]
}

func TestCompaction(t *testing.T) {
	r := newRecord(t, t.TempDir())
	defer r.Close()
	decl := message.ToolDeclaration{Name: "read", Description: "d", Parameters: json.RawMessage(`{}`)}
	r.add(session.Message(&message.System{ToolsAdded: []message.ToolDeclaration{decl}, Writer: message.Piweb, Timestamp: 1}))
	r.add(user("first wish"), answered("looking", called("c1", "read", `{"path":"a.go"}`), called("c2", "write", `{"path":"b.go"}`)),
		result("c1", "read", strings.Repeat("y", 5000)), result("c2", "write", "ok"), answered("done"))
	kept := r.add(user(long("second", 30)), answered("sure"))
	w := summing(0)
	c := &Compactor{Model: w, Settings: Settings{Enabled: true, Keep: 30}}
	entry, done, err := c.Compact(t.Context(), r.context(), agent.ByHand, "mind the tests")
	if err != nil {
		t.Fatal(err)
	}
	req := w.requests[0]
	if string(req.Head) != systemText || len(req.Tools) != 0 || len(req.Messages) != 1 {
		t.Errorf("the request has head %q and %d tools", req.Head, len(req.Tools))
	}
	for _, want := range []string{"[User]: first wish", "[Assistant]: looking", `[Assistant called read]: {"path":"a.go"}`, "(3000 more bytes)", "mind the tests"} {
		if !strings.Contains(text(req), want) {
			t.Errorf("the request lacks %q:\n%s", want, text(req))
		}
	}
	if strings.Contains(text(req), "second") {
		t.Error("what is kept is summed up, too")
	}
	want := "SUMMARY 1\n\n<read-files>\na.go\n</read-files>\n\n<modified-files>\nb.go\n</modified-files>"
	if entry.Summary != want || entry.FirstKeptEntryID != kept[0] || entry.TokensBefore == 0 || *entry.FromHook {
		t.Errorf("entry %+v", entry)
	}
	var d details
	if err := json.Unmarshal(entry.Details, &d); err != nil || !slices.Equal(d.ReadFiles, []string{"a.go"}) || !slices.Equal(d.ModifiedFiles, []string{"b.go"}) ||
		d.Request.Model != "p/m" || d.Request.System.Bytes != len(systemText) || d.Request.Tools == nil {
		t.Errorf("details %s", entry.Details)
	}
	sys, err := message.Decode(entry.SystemMessage)
	if err != nil || len(sys.(*message.System).ToolsAdded) != 1 {
		t.Errorf("system message %s", entry.SystemMessage)
	}
	if done.Usage.Cost.Total == 0 || done.TokensAfter == 0 || done.TokensAfter >= done.TokensBefore {
		t.Errorf("told %+v", done)
	}
	r.add(entry)
	after := r.context()
	if len(after.Messages) != 4 { // system, summary, and what is kept
		t.Errorf("%d messages after it", len(after.Messages))
	}

	// The second one begins where the first kept part begins, with its summary.
	r.add(user(long("third", 40)), answered("yes"))
	entry, _, err = c.Compact(t.Context(), r.context(), agent.ByHand, "")
	if err != nil {
		t.Fatal(err)
	}
	second := text(w.requests[1])
	for _, want := range []string{"second", "[Assistant]: sure", "<previous-summary>\nSUMMARY 1\n</previous-summary>"} {
		if !strings.Contains(second, want) {
			t.Errorf("the second request lacks %q:\n%s", want, second)
		}
	}
	if !strings.HasPrefix(entry.Summary, "SUMMARY 2\n\n<read-files>\na.go") {
		t.Errorf("the files of the first are lost: %q", entry.Summary)
	}
}

func TestNothingToCompact(t *testing.T) {
	r := newRecord(t, t.TempDir())
	defer r.Close()
	c := &Compactor{Model: summing(0), Settings: Settings{Enabled: true, Keep: 1000}}
	for range 3 {
		if _, _, err := c.Compact(t.Context(), r.context(), agent.ByHand, ""); !errors.Is(err, agent.ErrNothingToCompact) {
			t.Fatalf("error %v", err)
		}
		r.add(user("short"), answered("too"))
	}
	r.add(user(long("one huge message", 5000)))
	if _, _, err := c.Compact(t.Context(), r.context(), agent.ByHand, ""); err != nil {
		t.Errorf("what stands before the huge one can go: %v", err)
	}
}

func TestSplitTurn(t *testing.T) {
	r := newRecord(t, t.TempDir())
	defer r.Close()
	r.add(user("earlier"), answered("done"), user("big task"))
	var last session.ID
	for i := range 6 {
		id := fmt.Sprint("c", i)
		last = r.add(answered(long(fmt.Sprint("step", i), 20), called(id, "read", `{}`)), result(id, "read", long("out", 20)))[0]
	}
	w := summing(0)
	c := &Compactor{Model: w, Settings: Settings{Enabled: true, Keep: 50}}
	entry, _, err := c.Compact(t.Context(), r.context(), agent.ByHand, "")
	if err != nil || len(w.requests) != 2 {
		t.Fatalf("%d requests, %v", len(w.requests), err)
	}
	if !strings.Contains(text(w.requests[0]), "earlier") || strings.Contains(text(w.requests[0]), "big task") || !strings.Contains(text(w.requests[1]), "big task") {
		t.Error("whole turns and the cut one are not told apart")
	}
	if !strings.HasPrefix(entry.Summary, "SUMMARY 1\n\n---\n\nThe beginning of the turn") || !strings.HasSuffix(entry.Summary, "SUMMARY 2") {
		t.Errorf("summary %q", entry.Summary)
	}
	r.add(entry)
	msgs := agent.History(r.context().Messages, w.info)
	if msgs[1].Role() != message.RoleAssistant || len(msgs) != 1+2*2 && len(msgs) != 1+2 {
		t.Errorf("kept %d messages from %s on, the last call is %s", len(msgs), msgs[1].Role(), last)
	}
}

// TestEveryMessageIsKeptOrToldOnce: over any number of compactions a message is in
// the context, or it was told to the summariser exactly once.
func TestEveryMessageIsKeptOrToldOnce(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		r := newRecord(t, dir)
		defer r.Close()
		w := summing(0)
		c := &Compactor{Model: w, Settings: Settings{Enabled: true, Keep: rapid.IntRange(1, 120).Draw(rt, "keep")}}
		var marks []string
		mark := func() string {
			m := fmt.Sprintf("<%d>", len(marks))
			marks = append(marks, m)
			return long(m, rapid.IntRange(1, 60).Draw(rt, "size"))
		}
		calls := 0
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0:
				r.add(user(mark()))
			case 1:
				r.add(answered(mark()))
			case 2:
				calls++
				id := fmt.Sprint("c", calls)
				r.add(answered(mark(), called(id, "read", `{}`)), result(id, "read", mark()))
			case 3:
				entry, _, err := c.Compact(t.Context(), r.context(), agent.ByHand, "")
				if errors.Is(err, agent.ErrNothingToCompact) {
					continue
				}
				if err != nil {
					rt.Fatal(err)
				}
				r.add(entry)
			}
		}
		var told, kept strings.Builder
		for _, req := range w.requests {
			told.WriteString(text(req))
		}
		for _, m := range r.context().Messages {
			if _, ok := m.(*message.CompactionSummary); !ok {
				kept.WriteString(message.ContentOf(m).PlainText())
			}
		}
		for _, m := range marks {
			if n := strings.Count(told.String(), m) + strings.Count(kept.String(), m); n != 1 {
				rt.Fatalf("message %s is there %d times", m, n)
			}
		}
		if unpaired(agent.History(r.context().Messages, w.info)) {
			rt.Fatal("a call and its result were parted")
		}
	})
}

// unpaired tells whether a repair had to make up a result.
func unpaired(msgs []message.Message) bool {
	for _, m := range msgs {
		if res, ok := m.(*message.ToolResult); ok && strings.HasPrefix(res.Content.PlainText(), "There is no result") {
			return true
		}
	}
	return false
}

func TestTokens(t *testing.T) {
	counted := func(n int64) session.Payload {
		return session.Message(&message.Assistant{Content: message.Content{message.Text("a")}, StopReason: message.StopEnd, Usage: message.Usage{TotalTokens: n}, Timestamp: 1})
	}
	failed := session.Message(&message.Assistant{Content: message.Content{}, StopReason: message.StopError, Usage: message.Usage{TotalTokens: 9}, Timestamp: 1})
	r := newRecord(t, t.TempDir())
	defer r.Close()
	c := &Compactor{Model: summing(1000), Settings: Settings{Enabled: true, Reserve: 100, Keep: 10}, Overhead: 7}
	check := func(what string, want int64) {
		t.Helper()
		if got := c.Tokens(r.context()); got != want {
			t.Errorf("%s: %d tokens, want %d", what, got, want)
		}
	}
	check("nothing", 7)
	r.add(user("12345678"))
	check("estimated", 7+2)
	r.add(user("123456789"))
	check("rounded up per message", 7+2+3)
	ids := r.add(counted(500))
	check("counted", 500)
	r.add(failed, user("1234"))
	check("counted, and what came later", 501)
	r.add(session.Message(&message.User{Content: message.Content{{Type: message.TypeImage, Data: "AAAA", MimeType: "image/png"}}}))
	check("a picture", 1501)
	c.Picture = func(message.Block) int { return 250 }
	check("a picture whose size is known", 751)
	r.add(session.ContextEdit{TargetID: ids[0]})
	check("an edit is newer than the count", 7+2+3+1+250)
	r.add(counted(900))
	check("counted anew", 900)
	if c.Due(r.context()) {
		t.Error("exactly at the limit is due")
	}
	r.add(user("1"))
	if !c.Due(r.context()) {
		t.Error("over the limit is not due")
	}
	c.Settings.Enabled = false
	if c.Due(r.context()) {
		t.Error("switched off is due")
	}
}

func TestLimitsOfSmallWindows(t *testing.T) {
	for _, x := range []struct{ window, reserve, keep int64 }{{0, 16384, 20000}, {8192, 4096, 2048}, {32768, 16384, 8192}, {200000, 16384, 20000}} {
		c := &Compactor{Model: summing(int(x.window)), Settings: Settings{Reserve: 16384, Keep: 20000}}
		if w, r, k := c.limits(); w != x.window || r != x.reserve || k != x.keep {
			t.Errorf("window %d: reserve %d, keep %d", w, r, k)
		}
	}
}

func TestFull(t *testing.T) {
	c := &Compactor{Model: summing(1000)}
	c.Model.(*writer).info.MaxTokens = 200
	for _, x := range []struct {
		name       string
		in, out    int64
		cut, wants bool
	}{
		{"fits", 500, 100, false, false}, {"more than the window", 1001, 1, false, true}, {"cut for want of room", 950, 30, true, true},
		{"cut at the model's own limit", 800, 200, true, false}, {"cut short for another reason", 100, 20, true, false},
	} {
		if got := c.Full(x.in, x.out, x.cut); got != x.wants {
			t.Errorf("%s: %v", x.name, got)
		}
	}
}

// TestSummaryThatDoesNotFit: a conversation too long for its own summary is
// shortened until the model takes it.
func TestSummaryThatDoesNotFit(t *testing.T) {
	r := newRecord(t, t.TempDir())
	defer r.Close()
	for i := range 400 {
		r.add(user(fmt.Sprintf("<%d> %s", i, strings.Repeat("日本", 500))), answered("ok"))
	}
	w := summing(64000)
	sizes := []int{}
	w.answer = func(n int, req agent.Request) ([]agent.Delta, error) {
		sizes = append(sizes, len(text(req)))
		if n < 2 {
			return nil, &agent.RequestError{Provider: "p", Status: 400, Message: "maximum context length exceeded"}
		}
		return said("short"), nil
	}
	c := &Compactor{Model: w, Settings: Settings{Enabled: true, Reserve: 16384, Keep: 1000}}
	if _, _, err := c.Compact(t.Context(), r.context(), agent.ByThreshold, ""); err != nil {
		t.Fatal(err)
	}
	room := c.room(16384)
	for i, n := range sizes {
		if n > room>>i+4000 {
			t.Errorf("request %d has %d bytes, room is %d", i, n, room>>i)
		}
	}
	if !strings.Contains(text(w.requests[2]), "earlier messages are left out") || !strings.Contains(text(w.requests[2]), "<3") {
		t.Error("the oldest go first, and it is said")
	}
}

func TestEmptySummary(t *testing.T) {
	r := newRecord(t, t.TempDir())
	defer r.Close()
	r.add(user(long("a", 50)), answered("b"), user(long("c", 50)))
	w := summing(0)
	w.answer = func(int, agent.Request) ([]agent.Delta, error) { return said("  "), nil }
	c := &Compactor{Model: w, Settings: Settings{Keep: 20}}
	if _, _, err := c.Compact(t.Context(), r.context(), agent.ByHand, ""); !errors.Is(err, ErrEmpty) {
		t.Errorf("error %v", err)
	}
}

func TestBranch(t *testing.T) {
	w := summing(0)
	c := &Compactor{Model: w}
	msgs := []message.Message{
		&message.User{Content: message.Content{message.Text("try this")}},
		&message.Assistant{Content: message.Content{message.Text("tried"), called("c", "edit", `{"path":"x.go"}`)}},
		&message.ToolResult{ToolName: "edit", Content: message.Content{message.Text("RESULT")}},
	}
	sum, err := c.Branch(t.Context(), msgs, "leaf0001", "")
	if err != nil || sum.FromID != "leaf0001" || !strings.HasPrefix(sum.Summary, "SUMMARY 1\n\n<modified-files>\nx.go") {
		t.Errorf("%+v %v", sum, err)
	}
	if strings.Contains(text(w.requests[0]), "RESULT") || !strings.Contains(text(w.requests[0]), "try this") {
		t.Error(text(w.requests[0]))
	}
	if _, err := c.Branch(t.Context(), msgs[2:], "x", ""); !errors.Is(err, agent.ErrNothingToCompact) {
		t.Errorf("error %v", err)
	}
}

// loop makes a Chat Only loop over a session that sums up with its own model.
func loop(t *testing.T, r record, w *writer, set Settings, told *[]agent.Event) *agent.Loop {
	t.Helper()
	sel := session.Custom{CustomType: "pi-web:tool-selection", Data: json.RawMessage(`{"version":1,"tools":[]}`)}
	r.add(sel)
	facts, err := policy.Gather(r.Session)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := policy.Resolve(facts)
	ledger, err := policy.ReadLedger(r.Session)
	if err != nil {
		t.Fatal(err)
	}
	l, err := agent.NewLoop(agent.Config{Transcript: r.Session, Model: w, Policy: p, Head: []byte("EXACT <head> & \"q\" \n"), Ledger: ledger,
		Compactor: &Compactor{Model: w, Settings: set}, Emit: func(e agent.Event) { *told = append(*told, e) }})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func prompt(t *testing.T, l *agent.Loop, s string) {
	t.Helper()
	a, err := l.Accept(&message.User{Content: message.Content{message.Text(s)}, Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Run(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

func isSummary(req agent.Request) bool { return string(req.Head) == systemText }

// TestHeadAfterCompaction: the exact head goes out unchanged before and after a
// summary, never with one, and the receipts say the same.
func TestHeadAfterCompaction(t *testing.T) {
	r := newRecord(t, t.TempDir())
	defer r.Close()
	w := summing(1000)
	w.answer = func(_ int, req agent.Request) ([]agent.Delta, error) {
		if isSummary(req) {
			return said("SUMMARY"), nil
		}
		return []agent.Delta{agent.TextDelta{Text: long("answer", 200)}, agent.Stop{Reason: message.StopEnd}}, nil
	}
	var told []agent.Event
	l := loop(t, r, w, Settings{Enabled: true, Reserve: 300, Keep: 100}, &told)
	for i := range 8 {
		prompt(t, l, fmt.Sprint("question ", i))
	}
	summaries, answers := 0, 0
	for i, req := range w.requests {
		if isSummary(req) {
			summaries++
			continue
		}
		answers++
		if string(req.Head) != "EXACT <head> & \"q\" \n" || len(req.Tools) != 0 {
			t.Errorf("request %d has head %q", i, req.Head)
		}
	}
	if summaries < 2 || answers != 8 {
		t.Errorf("%d summaries, %d answers", summaries, answers)
	}
	receipts := 0
	for e := range r.Entries() {
		if e.CustomType == policy.ReceiptType {
			receipts++
		}
	}
	if receipts != 1 {
		t.Errorf("%d receipts for one head", receipts)
	}
	ends := 0
	for _, e := range told {
		if e.Type == agent.CompactionEnd && e.Reason == string(agent.ByThreshold) && e.Compacted != nil {
			ends++
		}
	}
	if ends < 2 || ends > summaries { // a turn that is cut in two needs two
		t.Errorf("%d ends are told of %d summaries", ends, summaries)
	}
}

// TestOverflow: a request that does not fit leads to one summary and is sent once
// more; what does not help is the answer.
func TestOverflow(t *testing.T) {
	tooLong := &agent.RequestError{Provider: "p", Status: 400, Message: "prompt is too long"}
	for _, c := range []struct {
		name      string
		refuse    func(answer int) bool
		answers   int
		summaries int
		end       message.StopReason
	}{
		{"once", func(n int) bool { return n == 1 }, 2, 1, message.StopEnd},
		{"again and again", func(n int) bool { return n > 0 }, 2, 1, message.StopError},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRecord(t, t.TempDir())
			defer r.Close()
			w := summing(0)
			n := -1
			w.answer = func(_ int, req agent.Request) ([]agent.Delta, error) {
				if isSummary(req) {
					return said("SUMMARY"), nil
				}
				if n++; c.refuse(n) {
					return nil, tooLong
				}
				return said(long("fine", 100)), nil
			}
			var told []agent.Event
			l := loop(t, r, w, Settings{Enabled: true, Keep: 100_000}, &told)
			prompt(t, l, long("one", 100))
			w.requests = nil
			prompt(t, l, "two")
			answers, summaries := 0, 0
			for _, req := range w.requests {
				if isSummary(req) {
					summaries++
				} else {
					answers++
				}
			}
			c1 := r.context()
			last, _ := c1.Messages[len(c1.Messages)-1].(*message.Assistant)
			if answers != c.answers || summaries != c.summaries || last == nil || last.StopReason != c.end {
				t.Errorf("%d answers, %d summaries, the end is %+v", answers, summaries, last)
			}
		})
	}
}

// TestFailedSummary: what cannot be summed up does not end the run, and is not
// tried again in it.
func TestFailedSummary(t *testing.T) {
	r := newRecord(t, t.TempDir())
	defer r.Close()
	w := summing(100)
	asked := 0
	w.answer = func(_ int, req agent.Request) ([]agent.Delta, error) {
		if isSummary(req) {
			asked++
			return nil, errors.New("no summary today")
		}
		return said(long("fine", 80)), nil
	}
	var told []agent.Event
	l := loop(t, r, w, Settings{Enabled: true, Reserve: 20, Keep: 10}, &told)
	prompt(t, l, long("one", 60))
	prompt(t, l, long("two", 60))
	c := r.context()
	if last, ok := c.Messages[len(c.Messages)-1].(*message.Assistant); !ok || last.StopReason != message.StopEnd || asked == 0 {
		t.Errorf("asked %d times, the end is %+v", asked, last)
	}
	ends := 0
	for _, e := range told {
		if e.Type == agent.CompactionEnd && strings.Contains(e.ErrorMessage, "no summary today") {
			ends++
		}
	}
	if ends != asked {
		t.Errorf("%d failures told, %d asked", ends, asked)
	}
}
