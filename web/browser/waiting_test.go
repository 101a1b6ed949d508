package browser

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/tool"
)

// askSecrets asks about calls that name a secret.
func askSecrets(_ context.Context, call *tool.Call) agent.Verdict {
	if bytes.Contains(call.Arguments, []byte("secret")) {
		return agent.Verdict{Decision: agent.Ask, Reason: "it is a secret"}
	}
	return agent.Verdict{}
}

// TestWaiting: what a person says into a running turn, and the questions of the
// turn, on a page that was reloaded in between.
func TestWaiting(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[
		{"match":"go on","text":"It went on."},
		{"match":"mind the tides","text":"The tides are minded."},
		{"match":"at the end","text":"This is the end.","usage":{"input":1200,"output":30}},
		{"match":"secret","toolCalls":[{"name":"read","arguments":{"path":"secret.txt"}}]},
		{"match":"secret","text":"It says hello."},
		{"text":"Good.","repeat":true}]}`)
	w.put("greeter/secret.txt", "hello\n")
	id := w.create("read")
	b := w.open(id)

	release := w.hold("go on")
	b.send("go on")
	b.see(".round.stop", "")
	b.write("mind the tides")
	b.press(kb.Enter)
	b.see(".queued-text", "mind the tides")
	b.see(".queued .faint", "goes in next")
	b.write("take this back")
	b.press(kb.Enter)
	b.see(".queued", "take this back")
	b.axe("messages that wait")
	b.picture("queued-messages")
	b.click(`.queued li:last-child button[aria-label="Remove"]`, "")
	b.gone(".queued-text", "take this back")
	b.write("take this back too")
	b.press(kb.Enter)
	b.see(".queued-text", "take this back too")
	b.click(`.queued li:last-child button[aria-label="Take back into the box"]`, "")
	b.gone(".queued-text", "take this back too")
	b.until("it is in the box", "document.querySelector('#composer').value === 'take this back too'")
	b.focus("#composer")
	b.do("go on writing", keys(kb.End), keys(", or not"))
	b.press(kb.Enter)
	b.see(".queued-text", "or not")
	b.click(".queued button", "Take back")
	b.gone(".queued", "")
	b.until("they are in the box again", "document.querySelector('#composer').value === 'mind the tides\\n\\ntake this back too, or not'")
	b.press(kb.Enter)
	b.see(".queued", "mind the tides")
	release()
	b.see(".row.assistant", "It went on.")
	b.see(".row.assistant", "The tides are minded.")
	b.idle()

	b.send("tell a secret")
	b.see(".question", "Run read?")
	b.do("reload", chromedp.Reload()) // a question is there for whoever comes
	b.see(".question", "it is a secret")
	b.click(".question button", "Allow")
	b.see(".row.assistant", "It says hello.")
	b.gone(".question", "")
	b.idle()
	b.see(".usage", "tokens in")
	if got, want := b.said(), saidIn(messages(t, w.live(id).Log().Path())); !slices.Equal(got, want) {
		t.Errorf("the page says\n%q\nthe file\n%q", got, want)
	}
}
