// Command made writes a session of each kind with package session, for the interop
// check, and goes on in files of other versions and with damage: made DIR CWD. It
// prints the paths, one to a line.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: made DIR CWD")
		os.Exit(2)
	}
	for _, k := range kinds {
		path, err := write(k, os.Args[1], os.Args[2])
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", k.name, err)
			os.Exit(1)
		}
		fmt.Println(path)
	}
	for _, f := range founds {
		path, err := f.goOn(os.Args[1], os.Args[2])
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", f.name, err)
			os.Exit(1)
		}
		fmt.Println(path)
	}
}

// kind is a session that is written step by step.
type kind struct {
	name string
	more func(w *writer)
}

// picture is a PNG of one pixel.
const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

var kinds = []kind{
	{"linear", func(w *writer) { w.turn("again 漢字") }},
	{"named", func(w *writer) { w.add(session.SessionInfo{Name: "a name 名前"}) }},
	{"branched", func(w *writer) {
		w.turn("left")
		w.goTo(w.first)
		w.turn("right")
	}},
	{"second-root", func(w *writer) {
		w.goTo(w.user)
		w.turn("from the beginning")
	}},
	{"leaf-is-label", func(w *writer) { w.add(session.Label{TargetID: w.first, Label: "here"}) }},
	{"branch-summary", func(w *writer) {
		w.turn("left")
		left := w.s.Leaf()
		w.goTo(w.first)
		w.add(session.BranchSummary{FromID: left, Summary: "what was left"})
		w.turn("on")
	}},
	{"compacted", func(w *writer) {
		kept := w.turn("kept")
		w.add(session.Compaction{Summary: "what was before", FirstKeptEntryID: kept, TokensBefore: 1000})
		w.turn("after")
	}},
	{"compacted-twice", func(w *writer) {
		kept := w.turn("kept by the first")
		w.add(session.Compaction{Summary: "what was before", FirstKeptEntryID: kept, TokensBefore: 1000})
		kept = w.turn("kept by the second")
		w.add(session.Compaction{Summary: "what was before that", FirstKeptEntryID: kept, TokensBefore: 2000})
		w.turn("after")
	}},
	{"compacted-nested-kept", func(w *writer) {
		w.add(session.Compaction{Summary: "what was before", FirstKeptEntryID: w.user, TokensBefore: 1000})
		w.turn("between")
		w.add(session.Compaction{Summary: "what was before that", FirstKeptEntryID: w.user, TokensBefore: 2000})
		w.turn("after")
	}},
	{"compacted-bad-kept", func(w *writer) {
		w.add(session.Compaction{Summary: "keeps what is not there", FirstKeptEntryID: "ffffffff", TokensBefore: 1000})
		w.turn("after")
	}},
	{"compacted-keeps-nothing", func(w *writer) {
		w.add(session.Compaction{Summary: "everything before", TokensBefore: 1000})
		w.turn("after")
	}},
	{"context-edit", func(w *writer) {
		dropped := w.turn("dropped")
		changed := w.turn("changed")
		w.add(session.ContextEdit{TargetID: dropped})
		w.add(session.ContextEdit{TargetID: changed, Replacement: &session.Replacement{Content: json.RawMessage(`"other words"`)}})
	}},
	{"custom", func(w *writer) {
		w.add(session.Custom{CustomType: "someone:note", Data: json.RawMessage(`{"any":["thing",1.50]}`)})
		w.add(session.CustomMessage{CustomType: "someone:said", Content: message.Content{message.Text("said by an extension")}, Display: true})
		w.turn("and on")
	}},
	{"images", func(w *writer) {
		w.add(session.Message(&message.User{Content: message.Content{message.Text("look"), {Type: message.TypeImage, Data: picture, MimeType: "image/png"}}, Timestamp: 1}))
		w.add(answer("seen"))
	}},
	{"tools-changed", func(w *writer) {
		text := "changed"
		w.add(session.Message(&message.System{Sections: &message.Sections{{Name: "preamble", Text: &text}}, ToolsAdded: []message.ToolDeclaration{tool("read"), tool("bash")}, Timestamp: 1}))
		w.turn("with two tools")
		w.add(session.Message(&message.System{Sections: &message.Sections{{Name: "preamble"}}, ToolsAdded: []message.ToolDeclaration{tool("edit")}, ToolsRemoved: []message.ToolName{{Name: "bash"}}, Timestamp: 1}))
		w.turn("with others")
	}},
	{"commands", func(w *writer) {
		zero := 0
		w.add(session.Message(&message.BashExecution{Command: "ls", Output: "x\ny", ExitCode: &zero, Timestamp: 1}))
		w.add(session.Message(&message.BashExecution{Command: "secret", Output: "z", ExitCode: &zero, ExcludeFromContext: true, Timestamp: 1}))
		w.add(session.UsageRecord{Kind: "cache_warm", Provider: "p", Model: "m", Note: "a note"})
		w.turn("and on")
	}},
	{"calls", func(w *writer) {
		call := answer("calling").(session.MessagePayload).Message.(*message.Assistant)
		call.Content, call.StopReason = append(call.Content, message.ToolCall("c1", "read", json.RawMessage(`{"path":"a 漢.txt","n":1.5}`))), message.StopToolUse
		w.add(session.Message(&message.User{Content: message.Content{message.Text("read it")}, Timestamp: 1}), session.Message(call),
			session.Message(&message.ToolResult{ToolCallID: "c1", ToolName: "read", Content: message.Content{message.Text("what is in it"), {Type: message.TypeImage, Data: picture, MimeType: "image/png"}}, Details: json.RawMessage(`{"a":1.50}`), Timestamp: 1, DurationMs: 3}),
			answer("done"))
	}},
	{"settings-changed", func(w *writer) {
		w.add(session.ModelChange{Provider: "other", ModelID: "model"}, session.ThinkingLevelChange{ThinkingLevel: "high"})
		w.turn("with other settings")
	}},
}

type writer struct {
	s     *session.Session
	user  session.ID // the first question
	first session.ID // its answer
	err   error
}

func write(k kind, dir, cwd string) (string, error) {
	s, err := session.Create(session.NewSession{Dir: dir, CWD: cwd, ID: "made-" + k.name}, session.Options{})
	if err != nil {
		return "", err
	}
	w := &writer{s: s}
	w.add(session.ModelChange{Provider: "p", ModelID: "m"}, session.ThinkingLevelChange{ThinkingLevel: "off"})
	w.user = w.turn("hello")
	w.first = s.Leaf()
	k.more(w)
	return s.Path(), errors.Join(w.err, s.Sync(), s.Close())
}

// add appends entries and returns the first one.
func (w *writer) add(p ...session.Payload) session.ID {
	ids, err := w.s.Append(p...)
	w.err = errors.Join(w.err, err)
	if len(ids) == 0 {
		return ""
	}
	return ids[0]
}

// turn is a question and its answer; it returns the question.
func (w *writer) turn(text string) session.ID {
	return w.add(session.Message(&message.User{Content: message.Content{message.Text(text)}, Timestamp: 1}), answer("answer to "+text))
}

func tool(name string) message.ToolDeclaration {
	return message.ToolDeclaration{Name: name, Description: "the tool " + name, Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}
}

func answer(text string) session.Payload {
	return session.Message(&message.Assistant{Content: message.Content{message.Text(text)}, API: "x", Provider: "p", Model: "m", StopReason: message.StopEnd, Timestamp: 1})
}

func (w *writer) goTo(id session.ID) {
	_, err := w.s.MoveLeaf(id)
	w.err = errors.Join(w.err, err)
}
