package browser

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/subagent"
)

// TestSubagents: a person switches subagents on, delegates a task with a file, sees
// it work and end below its parent, opens it, and finds a result that waits.
func TestSubagents(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[
		{"match":"look at the file","text":"The file greets people."},
		{"match":"Report of a subagent","text":"I have read the report."},
		{"match":"wait for ever","delayMs":60000,"text":"late"},
		{"text":"Good day.","repeat":true}]}`)
	w.put("greeter/notes 漢字.md", "what the notes say")
	id := w.create("read")
	b := w.open(id)
	b.send("hello")
	b.see(".row.assistant .markdown", "Good day.")
	b.idle()

	// Off at first; one click.
	b.see(".subagents", "Subagents are off")
	b.click(".subagents button", "Switch subagents on")
	b.see(".subagents button", "Delegate a task")
	if set, err := w.rt.SubagentSettings().Read(); err != nil || !set.BuiltIn {
		t.Fatalf("the switch: %+v (%v)", set, err)
	}

	// Delegate, with a file found by a part of its name.
	b.click(".subagents button", "Delegate a task")
	b.until("there are profiles", "document.querySelectorAll('dialog option').length >= 3")
	b.click("dialog button", "Delegate")
	b.see("dialog .strip", "Say what it is to do")
	b.fill("dialog textarea[name=task]", "look at the file")
	b.fill("dialog input[name=files]", "notes")
	b.see(".found-files button", "notes 漢字.md")
	b.axe("delegate")
	b.picture("delegate.png")
	b.click(".found-files button", "notes 漢字.md")
	b.see(".given-files", "notes 漢字.md")
	release := w.hold("look at the file")
	b.click("dialog button[type=submit]", "Delegate")
	b.gone("dialog", "")
	b.see(".subagents .badge", "works")
	b.see(".item.child .badge", "works")
	release()
	b.see(".subagents .badge", "done")
	b.see(".item.child .badge", "done")
	b.see(".item.child", "look at the file")
	b.see(".transcript", "I have read the report.")
	found := false
	for _, r := range w.provider.Requests() {
		found = found || strings.Contains(string(r.Body), "what the notes say")
	}
	if !found {
		t.Error("the file did not go along")
	}
	b.axe("a parent")
	b.picture("subagents.png")

	// It opens as a session that says whose it is.
	b.click(".item.child", "")
	b.see(".transcript", "The file greets people.")
	b.see(".subagents a", "Open its parent")
	b.axe("a child")
	b.picture("subagent.png")
	b.click(".subagents a", "Open its parent")
	b.see(".transcript", "I have read the report.")

	// One that runs is stopped.
	b.click(".subagents button", "Delegate a task")
	b.until("there are profiles", "document.querySelectorAll('dialog option').length >= 3")
	b.fill("dialog textarea[name=task]", "wait for ever")
	b.click("dialog button[type=submit]", "Delegate")
	b.see(".subagents .badge", "works")
	b.click(".subagents li button", "Stop")
	b.see(".subagents .badge", "stopped")

	// Profiles: off, on, and one of our own.
	b.idle()
	b.click(".subagents button", "Profiles")
	b.see(".agent-list", "Plan")
	b.axe("profiles")
	b.picture("profiles.png")
	// The answer to the switch comes when a profile is being written already.
	get[bool](b, `((fetch) => (window.fetch = async (url, o) => {
		const answer = await fetch(url, o);
		if (o?.method === "PATCH") await new Promise((go) => (window.letGo = go));
		return answer;
	}, true))(window.fetch)`)
	b.click(".agent-list li:nth-child(3) input", "")
	b.until("the switch was answered", "!!window.letGo")
	b.click("dialog button", "New profile")
	b.see("dialog h2", "New profile")
	b.fill("dialog input[name=name]", "reviewer")
	get[bool](b, "new Promise((ok) => (letGo(), setTimeout(() => ok(true), 50)))")
	if got := get[string](b, "document.querySelector('dialog input[name=name]')?.value ?? 'nothing'"); got != "reviewer" {
		t.Fatalf("the profile that is being written is named %q", got)
	}
	b.fill("dialog textarea[name=prompt]", "Review it.")
	b.axe("a profile")
	b.picture("profile.png")
	b.click("dialog button[type=submit]", "Save")
	b.see(".agent-list", "reviewer")
	data, err := os.ReadFile(w.home + "/.pi/agent/agents/reviewer.md")
	if err != nil || !strings.HasSuffix(string(data), "\nReview it.\n") {
		t.Errorf("the file: %s (%v)", data, err)
	}
	b.poll("plan is off in the settings", func() bool {
		list, _ := w.rt.Subagents().Profiles(w.project)
		return slices.ContainsFunc(list, func(p subagent.Profile) bool { return p.Name == "plan" && !p.Enabled })
	})
}

// fill types a text into a field.
func (b *tab) fill(css, text string) {
	b.t.Helper()
	b.click(css, "")
	b.do("type into "+css, keys(text))
}

// TestWaitingResult: after a restart nobody is woken; the result is shown, and goes
// in with the next message (RULINGS 38).
func TestWaitingResult(t *testing.T) {
	w := newWorld(t, startBrowser(t), `{"steps":[{"match":"the task","text":"The answer is 42."},{"text":"Good day.","repeat":true}]}`)
	if err := w.rt.SubagentSettings().SetBuiltIn(true); err != nil {
		t.Fatal(err)
	}
	id := w.create("read")
	s := w.live(id)
	path := s.Log().Path()
	yes := true
	r, err := w.rt.Subagents().Start(t.Context(), path, subagent.Spec{Task: "the task", Description: "Find the answer", Background: &yes})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.rt.Release(s); err != nil {
		t.Fatal(err)
	}
	if r, err = w.rt.Subagents().Wait(t.Context(), path, r.ID); err != nil || r.Status != subagent.Completed {
		t.Fatalf("%+v (%v)", r, err)
	}
	b := w.open(id)
	b.see(".waiting-results", "Find the answer")
	b.see(".pending-result", "waits for your next message")
	b.axe("a waiting result")
	b.picture("waiting-result.png")
	b.send("and?")
	b.see(".row.assistant .markdown", "Good day.")
	b.idle()
	b.gone(".waiting-results", "")
	b.see(".note", "The subagent “Find the answer” is done")
	if body := string(w.last().Body); strings.Count(body, "The answer is 42.") != 1 {
		t.Errorf("the parent was asked %s", body)
	}
}
