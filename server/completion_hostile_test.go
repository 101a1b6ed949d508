package server

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	attack "github.com/piweb-go/piweb/completion/hostile"
)

// Names that attack are not shown, and what lies outside is not offered.
func TestHostileNamesOverHTTP(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	attack.Make(t, w.project)
	id := w.create("")
	base := "/api/sessions/" + id + "/completion"
	for _, name := range attack.Names(w.project) {
		if a := w.send(w.ask("GET", base+"/preview?path="+url.QueryEscape(name))); a.status != 404 || a.code() != "FILE_NOT_FOUND" {
			t.Errorf("preview of %q: %d %s", name, a.status, a.body)
		}
		if a := w.send(w.ask("GET", base+"?trigger=@&q="+url.QueryEscape(name))); a.status != 200 || strings.Contains(string(a.body), attack.Secret) {
			t.Errorf("completion of %q: %d %s", name, a.status, a.body)
		}
	}
	if a := w.do(200, "GET", base+"/preview?path=file.txt"); a.str("text") != "inside" {
		t.Errorf("an honest file is not shown: %s", a.body)
	}
	for _, q := range []string{attack.Secret, "!" + attack.Secret, "!.git/", "!link-git/", "!abs/"} {
		for _, item := range w.completed(id, "@", q).Items {
			if strings.Contains(item.ID, attack.Secret) || strings.HasPrefix(item.ID, ".git") {
				t.Errorf("%q offers %+v", q, item)
			}
		}
	}
}

// racing is how often a door is tried while a racer is at work.
var racing = flag.Int("racing", 3000, "requests of the racing test")

// The same while a racer swaps files and folders for links to the outside.
func TestRacingRenamerOverHTTP(t *testing.T) {
	tries := int64(*racing)
	if testing.Short() {
		tries = 1000
	}
	w := newWorld(t, slowTalk(t))
	attack.Make(t, w.project)
	id := w.create("")
	base := "/api/sessions/" + id + "/completion"
	w.do(200, "GET", base+"/triggers")
	swaps := attack.Race(t, w.project)
	asks := []string{"?trigger=@&q=" + attack.Secret, "?trigger=@&q=!" + attack.Secret, "?trigger=@&q=d/", "?trigger=@&q=f.txt"}
	for _, name := range append([]string{"link-out/f.txt", "link-git/f.txt", "flink-out", "flink-git"}, attack.Racing...) {
		asks = append(asks, "/preview?path="+url.QueryEscape(name))
	}
	var done, inside atomic.Int64
	var group sync.WaitGroup
	for n := range 4 {
		group.Go(func() {
			for k := n; done.Add(1) <= tries && !t.Failed(); k++ {
				a := w.send(w.ask("GET", base+asks[k%len(asks)]))
				switch {
				case strings.Contains(string(a.body), attack.Secret):
					t.Errorf("%s: %s", asks[k%len(asks)], a.body)
				case strings.Contains(string(a.body), `"text":"inside"`):
					inside.Add(1)
				case a.status != 200 && a.status != 404:
					t.Errorf("%s: %d %s", asks[k%len(asks)], a.status, a.body)
				}
			}
		})
	}
	group.Wait()
	t.Logf("%d requests, %d swaps, %d times the file was shown, no leak", tries, swaps(), inside.Load())
	if inside.Load() == 0 || swaps() < 10 {
		t.Error("the race was none")
	}
}

// A keystroke costs one answer of at most 30 items and a few kilobytes, however
// many files there are and match, and tells listeners of the session nothing.
func TestBytesPerKeystroke(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	for i := range 400 {
		w.put("project/a rather long folder name/another/session_manager_"+strings.Repeat("x", i%90)+string(rune('a'+i%26))+".go", "")
	}
	id := w.create("")
	w.say(id, "hello")
	w.idle(id)
	w.completed(id, "@", "s") // the index is there
	listener := w.open(id, "?piweb=1", "")
	heard := func() int {
		listener.mu.Lock()
		defer listener.mu.Unlock()
		return len(listener.frames)
	}
	w.until("the listener knows the state", func() bool { return heard() > 0 })
	before := heard()
	const word, most = "sessionmanager", 16 << 10
	largest := 0
	for n := range len(word) + 1 {
		a := w.do(200, "GET", "/api/sessions/"+id+"/completion?trigger=@&q="+word[:n])
		var got struct{ Items []json.RawMessage }
		if err := json.Unmarshal(a.body, &got); err != nil {
			t.Fatal(err) // more than one answer
		}
		if len(got.Items) == 0 || len(got.Items) > 30 || len(a.body) > most {
			t.Errorf("%q: %d items, %d bytes", word[:n], len(got.Items), len(a.body))
		}
		largest = max(largest, len(a.body))
	}
	t.Logf("1 answer for each of %d keystrokes, at most %d bytes", len(word)+1, largest)
	// What comes next is heard behind all that typing may have caused.
	w.say(id, "hello again")
	w.until("the message is heard", func() bool { return heard() > before })
	listener.mu.Lock()
	defer listener.mu.Unlock()
	for _, f := range listener.frames[before:] {
		if strings.Contains(fmt.Sprint(f.data), "session_manager") {
			t.Errorf("typing told the listeners %s", f.data)
		}
	}
}
