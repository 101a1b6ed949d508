package piweb_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/agent/model/anthropic"
	"github.com/piweb-go/piweb/agent/model/google"
	"github.com/piweb-go/piweb/agent/model/openai"
)

// TestPicturesOnTheWire keeps, per wire, what providers get of parallel reads between
// whose results another one stands, after a reload in another process, when the model
// does not see, and back (T1, T8, T12, B1, B12; cases 1, 9, 10, 12, 20). The goldens
// are in testdata/wire: `go test . -run PicturesOnTheWire -update` writes them.
func TestPicturesOnTheWire(t *testing.T) {
	for _, ref := range []string{
		openai.API + "/sees",
		openai.ResponsesAPI + "/sees", openai.ResponsesAPI + "/lifts",
		anthropic.API + "/sees", anthropic.API + "/lifts",
		google.API + "/sees", google.API + "/gemini-3-pro",
	} {
		t.Run(ref, func(t *testing.T) {
			api, name, _ := strings.Cut(ref, "/")
			g := newGallery(t, twoAtOnce)
			var kept strings.Builder
			keep := func(stage string) { fmt.Fprintf(&kept, "== %s\n%s\n", stage, g.spelt(g.last().Body)) }
			s := g.start(ref)
			g.say(s, "look")
			keep("read at once, with another call between them")
			path := s.Log().Path()
			if err := g.rt.Release(s); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(g.project, "a.png")); err != nil { // what was read is a snapshot
				t.Fatal(err)
			}
			g.reopen(path, ref, "say after reload")
			keep("reloaded, and the file is gone")
			g.reopen(path, api+"/blind", "say blind")
			if body := string(g.last().Body); strings.Contains(body, `"image`) || strings.Contains(body, "base64,") {
				t.Error("a picture went to a model that takes none")
			}
			keep("a model that takes no pictures")
			g.reopen(path, ref, "say again")
			keep("back to the model that sees")
			compareGolden(t, "pictures-"+api+"-"+name, kept.String())
		})
	}
}

var longBase64 = regexp.MustCompile(`[A-Za-z0-9+/]{60,}={0,2}`)

// spelt is the conversation of a body, a line per message in the spelling of the
// wire. The head is left out, which other goldens hold, and a picture is named by
// its file and its hash.
func (g *gallery) spelt(body []byte) string {
	g.t.Helper()
	var b struct{ Messages, Input, Contents []json.RawMessage }
	if err := json.Unmarshal(body, &b); err != nil {
		g.t.Fatal(err)
	}
	var out strings.Builder
	for _, m := range append(append(b.Messages, b.Input...), b.Contents...) {
		var who struct{ Role string }
		if err := json.Unmarshal(m, &who); err != nil {
			g.t.Fatal(err)
		}
		if who.Role == "system" || who.Role == "developer" {
			continue
		}
		line := longBase64.ReplaceAllStringFunc(string(bytes.TrimSpace(m)), func(data string) string {
			raw, err := base64.StdEncoding.DecodeString(data)
			if err != nil {
				g.t.Errorf("not base64: %.80s", data)
			}
			return fmt.Sprintf("%s, %d bytes, sha256 %.8x", g.which(data), len(raw), sha256.Sum256(raw))
		})
		out.WriteString(strings.ReplaceAll(line, g.home, "HOME") + "\n")
	}
	return out.String()
}
