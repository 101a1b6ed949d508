package piweb_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/completion"
	"github.com/piweb-go/piweb/completion/hostile"
)

// written is a token that names an id, as somebody may write it.
func written(id string) string { return completion.Format("@", "file", id) }

// Names that attack stay in the message as they were typed, and no text comes
// along.
func TestHostileNamesAtTheDoor(t *testing.T) {
	w := newWorld(t, agreeing(t))
	hostile.Make(t, w.project)
	w.put(".pi/agent/piweb.json", `{"mentions":{"documents":true}}`)
	s := w.create("read")
	for _, id := range hostile.Names(w.project) {
		typed := "see " + written(id) + " ."
		typed = strings.ToValidUTF8(typed, "\uFFFD") // as every wire makes it
		w.say(s, typed)
		if got := w.said(); got != typed {
			t.Errorf("%q became %q", typed, got)
		}
	}
	w.say(s, "@file.txt")
	if got := w.said(); !strings.Contains(got, "inside") {
		t.Errorf("an honest file does not come along: %q", got)
	}
}

// The same while a racer swaps files and folders for links to the outside: what
// goes to the model never holds a text of there, and what can only be a link to
// there is never named.
func TestRacingRenamerAtTheDoor(t *testing.T) {
	messages := 40
	if testing.Short() {
		messages = 8
	}
	w := newWorld(t, agreeing(t))
	hostile.Make(t, w.project)
	w.put(".pi/agent/piweb.json", `{"mentions":{"documents":true}}`)
	s := w.create("read")
	swaps := hostile.Race(t, w.project)
	tries, inside, named := 0, 0, 0
	none := func() bool { return named == 0 || inside == 0 || swaps() < 10 } // a busy machine lets one side sleep
	for n := 0; n < messages || none() && n < 50*messages; n++ {
		var typed strings.Builder
		for n := range completion.MaxResolved / 8 { // each spelling is resolved by itself
			around := strings.Repeat("./", n)
			for _, id := range append([]string{"link-out/f.txt", "flink-out", "flink-git"}, hostile.Racing...) {
				fmt.Fprintf(&typed, "%s\n", written(around+id))
				tries++
			}
		}
		w.say(s, typed.String())
		got := w.said()
		if strings.Contains(got, hostile.Secret) {
			t.Fatalf("what lies outside went to the model: %q", got)
		}
		if strings.Contains(got, "@link") || strings.Contains(got, "@flink") || strings.Contains(got, ".git") {
			t.Fatalf("a link to the outside is named: %q", got)
		}
		inside += strings.Count(got, "inside")
		named += strings.Count(got, "@d\n") + strings.Count(got, "@d/") + strings.Count(got, "@file.txt")
	}
	t.Logf("%d tries in %d messages, %d swaps, %d named, %d texts came along, no leak", tries, messages, swaps(), named, inside)
	if none() {
		t.Error("the race was none")
	}
}
