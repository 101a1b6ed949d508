package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is how long a condition may take to come about.
const patience = time.Minute

// startBrowser starts the one browser of the test. It knows the loopback
// interface only, and nothing of whoever runs the test.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	path := findBrowser(t)
	alloc, stop := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.UserDataDir(profileDir(t)),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("disable-extensions", true),
		chromedp.Flag("disable-background-timer-throttling", true), chromedp.Flag("disable-renderer-backgrounding", true),
		chromedp.Flag("disable-backgrounding-occluded-windows", true), chromedp.Flag("password-store", "basic"),
		chromedp.Flag("use-mock-keychain", true), chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("lang", "en-US"),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.WindowSize(1440, 900))
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(func() {
		end, done := context.WithTimeout(ctx, patience)
		_ = chromedp.Cancel(end) // closes it; stop kills what is left
		done()
		cancel()
		stop()
		chromedp.FromContext(ctx).Allocator.Wait()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}

// profileDir is a folder for the browser. Processes of it may write there for a
// moment after it has ended, so the folder is taken away as soon as that succeeds.
func profileDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "piweb-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := os.RemoveAll(dir)
		for end := time.Now().Add(patience); err != nil && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			err = os.RemoveAll(dir)
		}
		if err != nil {
			t.Logf("the browser's folder is left: %v", err)
		}
	})
	return dir
}

// profile is a browser profile of its own: cookies, storage, tabs.
type profile struct {
	ctx context.Context // a tab that stays empty and keeps the profile
}

func newProfile(t *testing.T, browser context.Context) *profile {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	p := &profile{ctx}
	t.Cleanup(func() { endContext(t, ctx, cancel) })
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("make a profile: %v", err)
	}
	return p
}

func endContext(t *testing.T, ctx context.Context, cancel context.CancelFunc) {
	end, done := context.WithTimeout(ctx, patience)
	defer done()
	if err := chromedp.Cancel(end); err != nil {
		t.Logf("close a tab: %v", err)
	}
	cancel()
}

// tab is a page that a person looks at. When the test ends it must have written
// no error to its console and asked no other server.
type tab struct {
	t      *testing.T
	ctx    context.Context
	origin string

	mu       sync.Mutex
	problems []string
	// expected is set while during runs, and excused names the requests that were
	// under way meanwhile: the browser may tell later how one of them ended. open are
	// those that are under way now.
	expected *regexp.Regexp
	excused  map[network.RequestID]*regexp.Regexp
	open     map[network.RequestID]bool
}

// tab opens an empty tab that may ask one server.
func (p *profile) tab(t *testing.T, origin string) *tab {
	t.Helper()
	b := &tab{t: t, origin: origin, excused: map[network.RequestID]*regexp.Regexp{}, open: map[network.RequestID]bool{}}
	ctx, cancel := chromedp.NewContext(p.ctx, chromedp.WithListener(b.hear))
	b.ctx = ctx
	t.Cleanup(func() {
		if t.Failed() {
			b.keepPicture()
		}
		endContext(t, ctx, cancel)
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, text := range b.problems {
			t.Error(text)
		}
	})
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1440, 900)); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	return b
}

// hear notes what no page may do.
func (b *tab) hear(ev any) {
	switch e := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			var words []string
			for _, a := range e.Args {
				words = append(words, string(a.Value)+a.Description)
			}
			b.report("console: " + strings.Join(words, " "))
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
		b.report("exception: " + text)
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			b.reportOf(e.Entry.NetworkRequestID, "log: "+e.Entry.Text+" "+e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		b.mu.Lock()
		b.open[e.RequestID] = true
		if b.expected != nil {
			b.excused[e.RequestID] = b.expected
		}
		b.mu.Unlock()
		if url := e.Request.URL; !strings.HasPrefix(url, b.origin+"/") && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "blob:") && url != "about:blank" {
			b.report("a request to another place: " + url)
		}
	case *network.EventLoadingFinished:
		b.ended(e.RequestID)
	case *network.EventLoadingFailed:
		b.ended(e.RequestID)
	}
}

func (b *tab) ended(id network.RequestID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, id)
}

func (b *tab) report(text string) { b.reportOf("", text) }

// reportOf notes what was told of a request; "" is none.
func (b *tab) reportOf(id network.RequestID, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.excused[id]; e != nil && b.expected == nil && e.MatchString(text) {
		return
	}
	b.problems = append(b.problems, text)
}

// during lets the page report one kind of error while do runs, and of requests that
// were under way meanwhile, and wants it to.
func (b *tab) during(pattern string, do func()) {
	b.t.Helper()
	e := regexp.MustCompile(pattern)
	b.mu.Lock()
	before := len(b.problems)
	b.expected = e
	for id := range b.open {
		b.excused[id] = e
	}
	b.mu.Unlock()
	do()
	b.poll("the browser reports "+pattern, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		left, met := b.problems[:before:before], false
		for _, text := range b.problems[before:] {
			if e.MatchString(text) {
				met = true
			} else {
				left = append(left, text)
			}
		}
		if met {
			b.problems, b.expected = left, nil
		}
		return met
	})
}

func (b *tab) keepPicture() {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Logf("no picture of the page: %v", err)
		return
	}
	name := filepath.Join(b.t.ArtifactDir(), fmt.Sprintf("page-%d.png", time.Now().UnixNano()))
	if os.WriteFile(name, png, 0o644) == nil {
		b.t.Logf("the page is shown in %s", name)
	}
}

// do runs steps and fails the test if they cannot be done in time.
func (b *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// prelude is at hand in every expression: the visible elements of a selector,
// with a text inside if one is named.
const prelude = `(() => {
const all = (css, text) => [...document.querySelectorAll(css)].filter((e) =>
  e.checkVisibility({visibilityProperty: true}) && (!text || (e.innerText ?? e.textContent).includes(text)));
return (%s);
})()`

// eval runs an expression in the page. ok is false while there is no page to run
// it in, as in the middle of a reload.
func eval[T any](b *tab, js string) (v T, err error) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](fmt.Sprintf(prelude, js), chromedp.EvalAwaitPromise))
}

// get is eval where a page is there.
func get[T any](b *tab, js string) T {
	b.t.Helper()
	v, err := eval[T](b, js)
	if err != nil {
		b.t.Fatalf("%s: %v", js, err)
	}
	return v
}

func quote(s string) string {
	data, _ := json.Marshal(s) // a string always encodes
	return string(data)
}

// poll waits for a condition.
func (b *tab) poll(what string, cond func() bool) {
	b.t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			text, _ := eval[string](b, `document.body?.innerText ?? ""`)
			if len(text) > 1200 {
				text = text[:1200] + "…"
			}
			b.t.Fatalf("this did not come about: %s\nThe focus is on %s. The page says:\n%s", what, b.focused(), text)
		}
	}
}

// until waits for an expression to hold.
func (b *tab) until(what, js string) {
	b.t.Helper()
	b.poll(what, func() bool {
		ok, err := eval[bool](b, "!!("+js+")")
		return err == nil && ok
	})
}

// see waits for a visible element with a text.
func (b *tab) see(css, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("%q is seen in %s", text, css), fmt.Sprintf("all(%s, %s).length", quote(css), quote(text)))
}

// gone waits until there is no such element.
func (b *tab) gone(css, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("%q is gone from %s", text, css), fmt.Sprintf("!all(%s, %s).length", quote(css), quote(text)))
}

func (b *tab) count(css, text string) int {
	b.t.Helper()
	return get[int](b, fmt.Sprintf("all(%s, %s).length", quote(css), quote(text)))
}

// click presses the mouse on the first such element, once it can be hit there:
// not disabled, not moving, not covered. Where the element moved in the same moment
// and the click went beside it, it is clicked again, as a person would.
func (b *tab) click(css, text string) {
	b.t.Helper()
	for range 5 {
		at := b.aim(css, text)
		b.do("click "+css, chromedp.MouseClickXY(at[0], at[1]))
		if hit, err := eval[bool](b, "window.piwebHit !== false"); err != nil || hit { // an error: the page is another one now
			return
		}
	}
	b.t.Fatalf("%q in %s moved away from every click", text, css)
}

// aim finds where an element can be clicked, and has the page note whether the next
// click hits it.
func (b *tab) aim(css, text string) []float64 {
	b.t.Helper()
	var last, at []float64
	b.poll(fmt.Sprintf("%q can be clicked in %s", text, css), func() bool {
		var err error
		at, err = eval[[]float64](b, fmt.Sprintf(`((e) => {
			if (!e || e.disabled) return [];
			e.scrollIntoView({block: "nearest"});
			const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;
			const hit = document.elementFromPoint(x, y);
			if (!hit || !(e.contains(hit) || hit.contains(e))) return [];
			window.piwebHit = false;
			document.addEventListener("click", (c) => (window.piwebHit = e.contains(c.target) || (hit.contains(e) && hit.contains(c.target)) ||
				(!e.isConnected && !!c.target.closest(%[1]s))), {once: true, capture: true}); // a click on what merely surrounds both is one that was lost
			return [x, y];
		})(all(%[1]s, %[2]s)[0])`, quote(css), quote(text)))
		still := err == nil && len(at) == 2 && len(last) == 2 && at[0] == last[0] && at[1] == last[1]
		last = at
		return still
	})
	return at
}

// press sends a key, as kb names it, with modifiers.
func (b *tab) press(key string, modifiers ...chromedp.Modifier) {
	b.t.Helper()
	b.do("press "+key, keys(key, modifiers...))
}

// keys types a text. A key's character is part of its press, as at a keyboard:
// chromedp.KeyEvent sends it as an event of its own, which comes through even
// where the page has taken the press for itself.
func keys(text string, modifiers ...chromedp.Modifier) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, r := range text {
			var down input.DispatchKeyEventParams
			for _, e := range kb.Encode(r) {
				for _, m := range modifiers {
					e.Modifiers |= int64(m)
				}
				switch e.Type {
				case kb.KeyDown:
					down = *e
					continue
				case kb.KeyChar:
					down.Text, down.UnmodifiedText = e.Text, e.UnmodifiedText
					continue
				}
				for _, half := range []input.DispatchKeyEventParams{down, *e} {
					if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, half); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

// write puts a text into the composer, key by key, and leaves it there.
func (b *tab) write(text string) {
	b.t.Helper()
	b.click("#composer:not(:disabled)", "")
	b.do("write", keys(text))
	b.until("the composer holds the text", "document.activeElement.id === 'composer' && document.activeElement.value === "+quote(text))
}

// send writes a message and sends it, and waits until the server has answered: it
// took the message, which empties the composer, or the page says why not.
func (b *tab) send(text string) {
	b.t.Helper()
	b.write(text)
	b.press(kb.Enter)
	b.answered()
}

// answered waits until nothing is on its way from the composer. Before that the page
// looks as if nobody had written.
func (b *tab) answered() {
	b.t.Helper()
	b.until("the message was taken or refused", `((c) => c && !c.readOnly && (c.value === "" || document.querySelector(".composer .strip.bad")))(document.getElementById("composer"))`)
}

// unfocus takes the focus away, so that the next key is the page's. What has just
// closed may still give the focus back: wait for that first.
func (b *tab) unfocus() {
	b.t.Helper()
	b.until("nothing has the focus", "(document.activeElement.blur(), document.activeElement === document.body)")
}

// focused is what has the focus, as a selector-like text.
func (b *tab) focused() string {
	b.t.Helper()
	return get[string](b, `((e) => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + [...e.classList].map((c) => "." + c).join("") + " " + (e.getAttribute("aria-label") ?? e.innerText ?? "").slice(0, 40))(document.activeElement)`)
}

// tabTo presses Tab until an element with a selector has the focus.
func (b *tab) tabTo(css string, modifiers ...chromedp.Modifier) {
	b.t.Helper()
	var way []string
	for range 80 {
		b.press(kb.Tab, modifiers...)
		if get[bool](b, "document.activeElement.matches("+quote(css)+")") {
			return
		}
		way = append(way, b.focused())
	}
	b.t.Fatalf("%s is not reached by Tab; on the way were\n%s", css, strings.Join(way, "\n"))
}

func (b *tab) light() { b.t.Helper(); b.scheme("light") }

func (b *tab) dark() { b.t.Helper(); b.scheme("dark") }

// scheme sets what the person prefers; movement is in the way when colours are
// looked at.
func (b *tab) scheme(name string) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	}); err != nil {
		b.t.Fatal(err)
	}
	b.until("the page is "+name, "matchMedia('(prefers-color-scheme: "+name+")').matches")
}

func (b *tab) size(width, height int64, o ...chromedp.EmulateViewportOption) {
	b.t.Helper()
	b.do("change the window", chromedp.EmulateViewport(width, height, o...))
	b.until("the window has its size", fmt.Sprintf("innerWidth === %d", width))
}
