package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/policy"
	"github.com/spf13/cobra"
)

func (a *app) explainCommand() *cobra.Command {
	var prompt, verify, history bool
	var head string
	var o piweb.ExplainOptions
	cmd := &cobra.Command{
		Use: "explain ID|FILE", Short: "Say what a session may do, and why, in five steps", Long: helpExplain,
		Args:              wantArgs(1, "one session: an id, the beginning of one, or a file"),
		Example:           "  piweb explain 01a22868\n  piweb explain ./session.jsonl --prompt\n  piweb explain 01a22868 --history\n  piweb explain 01a22868 --verify --json",
		ValidArgsFunction: a.completeSessions,
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			asked := 0
			for _, f := range []string{"prompt", "verify", "history", "sent"} {
				if cmd.Flags().Changed(f) {
					asked++
				}
			}
			if asked > 1 {
				return usage("--prompt, --sent, --verify and --history each print one thing and nothing else: give one of them")
			}
			path, err := rt.Find(cwd(), args[0])
			if err != nil {
				return err
			}
			if head != "" {
				h, err := rt.SentHead(path, head)
				if err != nil {
					return err
				}
				return a.printHead(h)
			}
			x, err := rt.Explain(cmd.Context(), path, o)
			if err != nil {
				return err
			}
			if history {
				return a.history(x.Record.History)
			}
			return a.explain(x, prompt, verify)
		}),
	}
	cmd.Flags().BoolVar(&prompt, "prompt", false, "print the exact system prompt and nothing else")
	cmd.Flags().BoolVar(&verify, "verify", false, "hold the receipts of the file against the file")
	cmd.Flags().BoolVar(&history, "history", false, "tell every choice, declaration and receipt of the file, in order")
	cmd.Flags().StringVar(&head, "sent", "", "print the exact system prompt that was sent with this SHA-256 (or its first 8 digits)")
	cmd.Flags().StringVar(&o.CWD, "cwd", "", "folder to work in where the session's own is gone")
	cmd.Flags().StringVar(&o.Model, "model", "", "ask about this model instead of the session's")
	return cmd
}

func (a *app) explain(x *piweb.Explanation, prompt, verify bool) error {
	switch {
	case prompt && x.Load.Error != "":
		return fmt.Errorf("the prompt cannot be made: %s", x.Load.Error)
	case prompt:
		return a.printHead(x.Load.Head)
	case verify:
		return a.verify(x)
	case a.json:
		return a.printJSON(x)
	}
	a.printRead(x.Read)
	a.printDecide(x.Decide)
	a.printLoad(x.Load, x.Decide.Loads)
	a.printAsk(x.Ask)
	a.printRecord(x.Record)
	return nil
}

// printHead prints a prompt as the bytes that it is.
func (a *app) printHead(h piweb.Head) error {
	if a.json {
		return a.printJSON(h)
	}
	a.printf("%s", h.Text)
	return nil
}

func (a *app) history(moments []policy.Moment) error {
	if a.json {
		return a.printJSON(moments)
	}
	if len(moments) == 0 {
		a.printf("nothing in this file bears on its policy: the settings decide\n")
	}
	for _, m := range moments {
		text := m.Text
		if m.What == policy.WhatReceipt {
			text += fmt.Sprintf(" (%s…), %s", m.Head[:min(12, len(m.Head))], m.Model)
		}
		a.printf("line %-6d%-12s%-13s%s\n", m.Line, oneLine(string(m.What)), kindWords(m.Kind), oneLine(text))
	}
	return nil
}

func (a *app) verify(x *piweb.Explanation) error {
	ok := x.Record.OK()
	if a.json {
		if err := a.printJSON(x.Record); err != nil {
			return err
		}
	} else {
		a.printReceipts(x.Record)
	}
	if !ok {
		return silent{errDiffers}
	}
	return nil
}

func (a *app) line(key, format string, args ...any) {
	a.printf("  %-10s%s\n", key, oneLine(fmt.Sprintf(format, args...)))
}

func (a *app) printRead(r piweb.ReadStep) {
	a.printf("1 read\n")
	a.line("file", "%s", r.Path)
	a.line("session", "%s%s", cmp.Or(r.ID, "(none yet)"), orNothing(", named ", r.Name))
	a.line("entries", "%d, %d of them on the branch to the leaf %s", r.Entries, r.Branch, cmp.Or(string(r.Leaf), "(none)"))
	a.line("context", "%s", count(r.Context, "message"))
	if r.Version != 3 && r.Version != 0 {
		a.line("version", "%d; the first prompt writes the file anew as version 3 and keeps the old one beside it", r.Version)
	}
	a.printDiagnostics(r.Diagnostics)
}

func (a *app) printDecide(d piweb.DecideStep) {
	a.printf("\n2 decide\n")
	a.line("policy", "%s, by %s: %s", kindWords(d.Kind), d.Source, toolWords(d.Tools))
	a.printf("%s", indentTrail(d.Trail))
	if d.Error != "" {
		a.line("refused", "%s", d.Error)
	}
}

func (a *app) printLoad(l piweb.LoadStep, loads policy.Loads) {
	a.printf("\n3 load\n")
	for _, p := range l.Problems {
		a.line("problem", "%s", p)
	}
	if l.Warning != "" {
		a.line("note", "%s", l.Warning)
	}
	if l.Error != "" {
		a.line("nothing", "%s", l.Error)
		return
	}
	a.line("folder", "%s", l.Folder)
	for _, s := range l.Sources {
		a.line("text", "%s (sha256 %s…)", s.Path, s.SHA256[:12])
	}
	for _, o := range l.Left {
		a.line("left out", "%s: %s", o.Path, o.Reason)
	}
	var tools []string
	for _, t := range l.Tools {
		tools = append(tools, t.Name)
	}
	a.line("tools", "%s", toolWords(tools))
	if l.Confined {
		a.line("confined", "file tools cannot leave the folder; bash could, so it is left out; tools of extensions and MCP servers are not confined")
	}
	if len(l.Missing) > 0 {
		a.line("missing", "%s: allowed, and not in this program yet", strings.Join(l.Missing, ", "))
	}
	a.line("pluggable", "%s", pluggable(loads))
	a.line("project", "%s", l.Trust)
	if l.Head.Bytes == 0 {
		a.line("prompt", "empty: no system message is sent")
	} else {
		a.line("prompt", "%d bytes, sha256 %s… (--prompt prints it)", l.Head.Bytes, l.Head.SHA256[:12])
	}
}

func pluggable(l policy.Loads) string {
	if !l.Extensions && !l.Skills && !l.Templates && !l.MCP {
		return "off: no extension, skill, template or MCP server is even looked for"
	}
	return "allowed by the policy"
}

func (a *app) printAsk(s piweb.AskStep) {
	a.printf("\n4 ask\n")
	if s.Error != "" {
		a.line("model", "none: %s", s.Error)
	} else {
		a.line("model", "%s, thinking %s", s.Model, s.Thinking)
	}
	if s.Notice != "" {
		a.line("note", "%s", s.Notice)
	}
	system := "no system message"
	if s.System {
		system = "the prompt as system message"
	}
	tools := "no tools field"
	if len(s.Tools) > 0 {
		tools = "the tools " + strings.Join(s.Tools, ", ")
	}
	a.line("request", "%s, %s of the conversation, then yours, %s", system, count(s.Messages, "message"), tools)
}

func (a *app) printRecord(r piweb.RecordStep) {
	a.printf("\n5 record\n")
	a.printReceipts(r)
	a.line("next", "%s", r.Next)
}

func (a *app) printReceipts(r piweb.RecordStep) {
	if len(r.Receipts) == 0 {
		a.line("receipts", "none: no request of this file was sent by piweb")
	}
	for _, c := range r.Receipts {
		word := "holds"
		if !c.OK() {
			word = "DIFFERS"
		}
		a.line(word, "line %d: %s by %s, %s of prompt, %s, %s", c.Line, kindWords(c.Receipt.Policy.Kind),
			c.Receipt.Policy.Source, count(c.Receipt.System.Bytes, "byte"), count(len(c.Receipt.Tools), "tool"), c.Receipt.Model)
		for _, d := range c.Differences {
			a.line("", "%s", d)
		}
		for _, n := range c.Notes {
			a.line("", "(%s)", n)
		}
	}
	for _, e := range r.Edited {
		a.line("edited", "%s reads differently than at the last request", e)
	}
}

func orNothing(before, s string) string {
	if s == "" {
		return ""
	}
	return before + s
}
