package browser

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var longTasks = flag.Bool("longtasks", false, "fail where scrolling a long session keeps the page busy for more than 100 ms; for a machine that does nothing else")

const longID = "00000000-0000-7000-8000-000000020000"

// longSession writes a session of n messages: questions, answers with lists, code
// and tables, calls and their results, of all lengths. It has a branch that was
// left: the entry "leftover". call is one of its calls, far from both ends.
func (w *world) longSession(n int) (call string) {
	w.t.Helper()
	r := rand.New(rand.NewPCG(13, 5))
	words := strings.Fields("the scanner keeps each entry as an offset and reads its bytes when they are asked for so nothing is lost 漢字 policy session branch leaf 🙂")
	text := func(n int) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(words[r.IntN(len(words))])
		}
		return b.String()
	}
	var out bytes.Buffer
	parent, made := any(nil), 0
	line := func(v map[string]any) {
		data, err := json.Marshal(v)
		if err != nil {
			w.t.Fatal(err)
		}
		out.Write(append(data, '\n'))
	}
	const stamp = "2026-01-01T00:00:00.000Z"
	line(map[string]any{"type": "session", "version": 3, "id": longID, "timestamp": stamp, "cwd": w.project})
	add := func(id string, m map[string]any) {
		m["timestamp"] = 1767225600000 + made*1000
		line(map[string]any{"type": "message", "id": id, "parentId": parent, "timestamp": stamp, "message": m})
	}
	say := func(m map[string]any) {
		made++
		id := fmt.Sprintf("%08x", made)
		add(id, m)
		parent = id
	}
	said := func(s string) []any { return []any{map[string]any{"type": "text", "text": s}} }
	answer := func(stop string, content []any) {
		say(map[string]any{"role": "assistant", "content": content, "api": "openai-completions", "provider": "local", "model": "coder", "stopReason": stop,
			"usage": map[string]any{"input": 1200, "output": 90, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 1290, "cost": map[string]any{"total": 0.003}}})
	}
	for made < n-3 {
		k := made + 1
		say(map[string]any{"role": "user", "content": said(fmt.Sprintf("Question %d: %s", k, text(4+r.IntN(50))))})
		if k == 41 {
			add("leftover", map[string]any{"role": "user", "content": said("Another question, on a branch that was left.")})
		}
		if r.IntN(2) == 0 {
			id := fmt.Sprintf("call_%d", k)
			if call == "" && k > 6000 {
				call = id
			}
			answer("toolUse", []any{map[string]any{"type": "thinking", "thinking": text(30)},
				map[string]any{"type": "toolCall", "id": id, "name": "bash", "arguments": map[string]any{"command": "go test ./... " + text(3)}}})
			say(map[string]any{"role": "toolResult", "toolCallId": id, "toolName": "bash", "isError": false, "content": said(fmt.Sprintf("result %d\n%s", k, strings.Repeat(text(8)+"\n", 1+r.IntN(40))))})
		}
		a := fmt.Sprintf("Answer %d. %s", k, text(10+r.IntN(200)))
		switch r.IntN(6) {
		case 0:
			a += fmt.Sprintf("\n\n```go\nfunc main() {\n\tfmt.Println(%d)\n}\n```\n", k)
		case 1:
			a += "\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
		case 2:
			a += "\n\n- a list\n- **of** things\n"
		}
		answer("stop", said(a))
	}
	for made < n-1 {
		say(map[string]any{"role": "user", "content": said(fmt.Sprintf("Question %d", made+1))})
	}
	answer("stop", said("The last answer there is."))
	w.put(".pi/agent/sessions/long/"+longID+".jsonl", out.String())
	return call
}

// scrollTo sets the place of the transcript, by an expression of its element t, and
// waits until what is seen there is drawn.
func (b *tab) scrollTo(js string) {
	b.t.Helper()
	get[bool](b, "((t) => (t.scrollTop = "+js+", true))(document.querySelector('.transcript'))")
	b.until("what is seen is drawn", drawnJS)
}

// drawnJS: no place of what is seen is without a row, or behind the last one.
const drawnJS = `((t) => {
	const box = t.getBoundingClientRect(), rows = [...t.querySelectorAll(".rowbox")].map((e) => e.getBoundingClientRect());
	if (!rows.length) return false;
	const top = t.scrollTop > 20 ? box.top : box.top + 20;
	const end = t.scrollHeight - t.scrollTop - t.clientHeight > 60 ? box.bottom : box.top;
	return rows[0].top <= top && rows.at(-1).bottom >= end;
})(document.querySelector('.transcript'))`

// watchJS notes, frame by frame, how many rows there are and how many are new, and
// counts what the browser calls long tasks: those of more than 50 ms.
const watchJS = `(() => {
	const w = (window.watch = {rows: 0, made: 0, frames: 0, tasks: 0});
	new PerformanceObserver((l) => (w.tasks += l.getEntries().length)).observe({type: "longtask"});
	let made = 0;
	new MutationObserver((all) => { for (const m of all) for (const n of m.addedNodes) if (n.classList?.contains("rowbox")) made++; }).observe(document.querySelector(".transcript"), {childList: true, subtree: true});
	const frame = () => {
		w.frames++;
		w.rows = Math.max(w.rows, document.querySelectorAll(".rowbox").length);
		w.made = Math.max(w.made, made);
		made = 0;
		requestAnimationFrame(frame);
	};
	frame();
	return true;
})()`

type watched struct {
	Rows, Made, Frames, Tasks int
}

// walkJS goes up in steps of so many pixels, as a wheel would, and says how far a
// row that is seen before and after each step was at most beside its place.
const walkJS = `(async (t, steps, by) => {
	const frame = () => new Promise((ok) => requestAnimationFrame(() => setTimeout(ok, 0)));
	let worst = 0;
	window.beside = [];
	for (let i = 0; i < steps; i++) {
		const box = t.getBoundingClientRect();
		const seen = (y) => y > box.top + 20 && y < box.bottom - 100;
		const row = [...t.querySelectorAll(".rowbox")].find((e) => ((y) => seen(y) && seen(y - by))(e.getBoundingClientRect().top));
		const at = row?.getBoundingClientRect().top;
		t.scrollTop += by;
		if (!row) { await frame(); continue; }
		for (let n = 0; n < 3; n++) {
			await frame();
			const off = row.isConnected ? row.getBoundingClientRect().top - at + by : 0;
			if (Math.abs(off) > 2) window.beside.push([i, n, off, at, row.dataset.key]);
			worst = Math.max(worst, Math.abs(off));
		}
	}
	return worst;
})(document.querySelector(".transcript"), %d, %d)`

// TestLongSession reads a session of 20 000 messages: at no moment are more than
// 200 rows in the page, no frame makes many of them, what is read stays where it
// is, and every place can be gone to.
//
// How long tasks take depends on the machine and on what else it does. It is printed,
// and judged with -longtasks: none may take more than 100 ms while one scrolls.
//
//	go test ./web/browser -run TestLongSession -v -longtasks
func TestLongSession(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[{"match":"one more","text":"The very last answer."}]}`)
	const n = 20_000
	call := w.longSession(n)
	b := w.enter()
	get[string](b, "location.hash = "+quote("#/s/"+longID))
	b.see(".rowbox", "The last answer there is.")
	b.until("all of it has come", "document.querySelector('.transcript').getAttribute('aria-busy') === 'false'")
	get[bool](b, watchJS)

	inView := func(text string) {
		t.Helper()
		b.until(quote(text)+" is in view", fmt.Sprintf(`all(".rowbox", %s).some((e) => ((r, v) => r.bottom > v.top && r.top < v.bottom)(e.getBoundingClientRect(), document.querySelector(".transcript").getBoundingClientRect()))`, quote(text)))
	}
	list := b.tasks(func() {
		t.Log("top, middle, end")
		b.scrollTo("0")
		inView("Question 1:")
		b.scrollTo("t.scrollHeight / 2")
		b.scrollTo("t.scrollHeight")
		inView("The last answer there is.")
		b.gone(".pill", "")

		t.Log("a walk up, through rows whose heights were guessed")
		b.scrollTo("t.scrollHeight * 0.7")
		b.see(".pill", "Jump to newest")
		for _, by := range []int{-120, -500, -3000, 150, 400} {
			if worst := get[float64](b, fmt.Sprintf(walkJS, 40, by)); worst > 2 {
				t.Errorf("in steps of %d a row was %.1f pixels beside its place: %s", by, worst, get[string](b, "JSON.stringify(window.beside.slice(0, 10))"))
			}
		}
	})
	longest := list[0]
	for _, one := range list {
		longest.wall = max(longest.wall, one.wall)
	}
	t.Logf("%d messages, %d tasks while scrolling: the longest had the processor for %v, and took %v", n, len(list), longest.cpu, longest.wall)
	if *longTasks && longest.cpu > 100*time.Millisecond {
		t.Errorf("a task had the processor for %v", longest.cpu)
	}
	if *longTasks && longest.wall > 100*time.Millisecond {
		t.Errorf("the page was busy for %v", longest.wall)
	}

	t.Log("what grows above does not move what is read")
	moved := get[float64](b, `(async (t) => {
		const box = () => t.getBoundingClientRect();
		const frame = () => new Promise((ok) => requestAnimationFrame(() => setTimeout(ok, 0)));
		while (![...t.querySelectorAll(".rowbox")].some((e, i) => i > 0 && ((y) => y > box().top + 20 && y < box().bottom - 100)(e.getBoundingClientRect().top))) { t.scrollTop -= 200; await frame(); }
		const rows = [...t.querySelectorAll(".rowbox")];
		const i = rows.findIndex((e) => ((y) => y > box().top + 20 && y < box().bottom - 100)(e.getBoundingClientRect().top));
		const at = rows[i].getBoundingClientRect().top;
		let worst = 0;
		for (const px of [300, 0, 40, 700]) { // a picture that comes, and goes
			rows[i - 1].style.paddingTop = px + "px";
			for (let n = 0; n < 3; n++) { await frame(); worst = Math.max(worst, Math.abs(rows[i].getBoundingClientRect().top - at)); }
		}
		return worst;
	})(document.querySelector(".transcript"))`)
	if moved > 2 {
		t.Errorf("a row was moved by %.1f pixels", moved)
	}

	t.Log("a place by its address, a search, the keyboard")
	get[string](b, "location.hash = "+quote("#/s/"+longID+"/00000029"))
	inView("Question 41:")
	b.until("the row has the focus", "document.activeElement?.dataset.key === '00000029'")
	// A memory names the call by which it was kept, a hit the entry.
	get[string](b, "location.hash = "+quote("#/s/"+longID+"/"+call))
	inView("result " + strings.TrimPrefix(call, "call_"))
	b.focus("#search")
	b.do("search", keys(`"on a branch that was"`))
	b.click(".hits .hit-item", "on a branch that was")
	b.see(".astray", "on another branch")
	b.click(".astray button.icon-button", "")
	b.focus("#search")
	get[bool](b, "(document.activeElement.select(), true)")
	question := "Question " + strings.TrimPrefix(call, "call_") + ":"
	b.do("search", keys(`"`+question+`"`))
	b.click(".hits .hit-item", question)
	inView(question)
	b.until("the words are marked", "CSS.highlights.get('looked-for')?.size > 0")
	b.size(1200, 700)
	b.scrollTo("t.scrollHeight * 0.3")
	b.focus(".transcript")
	b.press("m")
	b.send("one more")
	b.see(".rowbox", "The very last answer.")
	b.idle()
	b.gone(".pill", "")

	var got watched
	got = get[watched](b, "window.watch")
	t.Logf("%d messages: at most %d rows in the page, at most %d made in one frame of %d; %d tasks of more than 50 ms in all", n, got.Rows, got.Made, got.Frames, got.Tasks)
	if got.Rows > 200 || got.Rows < 10 {
		t.Errorf("%d rows were in the page", got.Rows)
	}
	if got.Made > 70 {
		t.Errorf("%d rows were made in one frame", got.Made)
	}
}
