package piweb_test

import (
	"strings"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/attachment"
	"github.com/piweb-go/piweb/completion"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/toolselect"
)

// offered are the items of a kind that a session is offered behind an @.
func (w *world) offered(s *piweb.Session, kind, text string) (all []completion.Item) {
	w.t.Helper()
	scope, err := w.rt.CompletionScope("", s)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, item := range w.rt.Completion().Complete(w.t.Context(), completion.Query{Scope: scope, Trigger: "@", Text: text}).Items {
		if item.Kind == kind {
			all = append(all, item)
		}
	}
	return all
}

// A session is offered its own attachments, and a token becomes the marker; those
// of another session are neither offered nor named.
func TestAttachmentsAreCompleted(t *testing.T) {
	w := newWorld(t, agreeing(t))
	s, other := w.create("read"), w.create("read")
	if got := w.offered(s, "attachment", ""); len(got) != 0 {
		t.Errorf("nothing was attached: %+v", got)
	}
	store, err := w.rt.Attachments()
	if err != nil {
		t.Fatal(err)
	}
	put := func(s *piweb.Session, name, mimeType string) attachment.Descriptor {
		d, err := store.Put(t.Context(), attachment.New{SessionID: s.ID(), Name: name, MimeType: mimeType, Origin: attachment.Upload}, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	mine, foreign := put(s, "photo [of] Ada 文.png", "image/png"), put(other, "photo of others.png", "image/png")
	got := w.offered(s, "attachment", "photo")
	if len(got) != 1 || got[0].ID != mine.ID.String() || got[0].Label != mine.Name || got[0].Detail != "image/png · 1 B" || !strings.HasPrefix(got[0].PreviewURL, "/api/attachments/"+mine.ID.String()) {
		t.Fatalf("%+v", got)
	}
	typed := "see " + got[0].InsertText + ", not @attachment:" + foreign.ID.String() + " @attachment:../x"
	w.say(s, typed)
	if got, want := w.said(), "see "+attachment.Marker(mine)+", not @attachment:"+foreign.ID.String()+" @attachment:../x"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Profiles are offered where the session may start them.
func TestProfilesAreCompleted(t *testing.T) {
	w, s := delegating(t, `{"steps":[{"text":"ok","repeat":true}]}`)
	w.put(".pi/agent/agents/reviewer.md", "---\ndescription: Reads changes\n---\nRead.")
	got := w.offered(s, "profile", "revi")
	if len(got) != 1 || got[0].InsertText != "@profile:reviewer" || got[0].Detail != "Reads changes" {
		t.Fatalf("%+v", got)
	}
	w.say(s, "ask @profile:reviewer, not @profile:nobody")
	if got := w.said(); got != "ask the subagent profile reviewer, not @profile:nobody" {
		t.Errorf("%q", got)
	}
	chat := w.create()
	w.choose(chat, toolselect.ChatOnly())
	if p, _ := chat.Policy(); p.Kind != policy.ChatOnly {
		t.Fatalf("%v", p)
	}
	if got := w.offered(chat, "profile", "revi"); len(got) != 0 {
		t.Errorf("chat-only is offered %+v", got)
	}
	if err := w.rt.SubagentSettings().SetBuiltIn(false); err != nil {
		t.Fatal(err)
	}
	if got := w.offered(s, "profile", "revi"); len(got) != 0 {
		t.Errorf("switched off, there is %+v", got)
	}
}
