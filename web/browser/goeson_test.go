package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// spyJS lets a test count and break the page's requests. window.breaks says what
// becomes of the next message: "before" it never leaves, "after" its answer is lost.
const spyJS = `(() => {
	window.streams = 0;
	window.breaks = "";
	window.fetch = new Proxy(window.fetch, {async apply(f, self, args) {
		const [url, init] = args;
		if (String(url).includes("/stream")) {
			if (window.breaks === "stream") throw new TypeError("no line");
			window.streams++;
		}
		const how = init?.method === "POST" && /\/(messages|steer|follow_up)$/.test(url) ? window.breaks : "";
		if (how === "before" || how === "after") window.breaks = "";
		if (how === "before") throw new TypeError("no line");
		const answer = await Reflect.apply(f, self, args);
		if (how === "after") throw new TypeError("the line broke");
		return answer;
	}});
	return true;
})()`

// TestGoesOn: a message whose answer is lost is neither lost nor doubled, a machine
// that slept is noticed, and a line that is back is used at once.
func TestGoesOn(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[{"text":"Good day.","repeat":true}]}`)
	id := w.create("read")
	b := w.open(id)
	get[bool](b, spyJS)
	once := func(text string) {
		t.Helper()
		b.see(".row.user .said", text)
		b.idle()
		if n := b.count(".row.user .said", text); n != 1 {
			t.Errorf("%q is shown %d times", text, n)
		}
		n := 0
		for _, l := range messages(t, w.live(id).Log().Path()) {
			if l.role == "user" && l.text == text {
				n++
			}
		}
		if n != 1 {
			t.Errorf("the file has %q %d times", text, n)
		}
	}

	// The answer is lost: the file says that it arrived, and the box empties itself.
	get[bool](b, `(window.breaks = "after", true)`)
	b.send("arrived all the same")
	b.until("the box is empty", "document.querySelector('#composer').value === ''")
	once("arrived all the same")

	// It never left: it is kept, over a reload too, and goes out once.
	get[bool](b, `(window.breaks = "before", true)`)
	b.send("kept for later")
	b.see(".strip.bad", "not known whether")
	b.axe("a message on its way")
	b.do("reload", chromedp.Reload())
	b.until("the text is there", "document.querySelector('#composer')?.value === 'kept for later'")
	get[bool](b, spyJS)
	b.focus("#composer")
	get[bool](b, `(window.breaks = "after", true)`)
	b.press(kb.Enter)
	b.until("the box is empty", "document.querySelector('#composer').value === '' && !document.querySelector('#composer').readOnly")
	once("kept for later")

	// The same words are another message when the first one is answered.
	b.send("kept for later")
	b.until("it is there twice", "all('.row.user .said', 'kept for later').length === 2")
	b.idle()

	// The machine slept: the clock jumped, and nothing else tells of it.
	b.until("the line stands", "document.querySelector('.lost') === null")
	get[bool](b, `(window.streams = 0, ((now) => { Date.now = () => now() + 3600_000; })(Date.now.bind(Date)), true)`)
	b.until("another line is opened", "window.streams > 0")
	b.send("after the sleep")
	once("after the sleep")

	// The line is away for long; when it is back, nobody waits for the next try.
	get[bool](b, `(window.breaks = "stream", ((now) => { Date.now = () => now() + 3600_000; })(Date.now.bind(Date)), true)`)
	b.see(".away", "piweb does not answer")
	b.axe("no line")
	get[bool](b, `(window.breaks = "", window.dispatchEvent(new Event("online")), true)`)
	b.gone(".away", "")
	b.send("back again")
	once("back again")
}

// TestKeyboardOnTheScreen: where a keyboard lies over the page, the composer stands
// above it.
func TestKeyboardOnTheScreen(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[{"text":"Good day.","repeat":true}]}`)
	b := w.open(w.create("read"))
	b.size(360, 740, chromedp.EmulateTouch)
	bottom := `document.querySelector(".composer").getBoundingClientRect().bottom`
	b.until("without a keyboard the composer is at the end of the page", bottom+" > 700")
	get[bool](b, `(Object.defineProperty(visualViewport, "height", {configurable: true, get: () => 400}), visualViewport.dispatchEvent(new Event("resize")), true)`)
	b.until("the composer is above the keyboard", bottom+" <= 400")
	get[bool](b, `(delete visualViewport.height, visualViewport.dispatchEvent(new Event("resize")), true)`)
	b.until("the composer is at the end of the page", bottom+" > 700")
}
