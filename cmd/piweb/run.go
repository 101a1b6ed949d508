package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/piweb-go/piweb/wrapper"
	"github.com/spf13/cobra"
)

// runFlags are the wishes of one `piweb run`.
type runFlags struct {
	session, cwd, model, thinking string
	fresh, named, takeOver        bool
	delegates                     bool
	agent                         string
	inputFiles, images            []string
	choice                        choice
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "run [PROMPT]", Short: "Send a prompt and print the answer", Long: helpRun,
		Example: "  piweb run \"what is in this folder?\"\n" +
			"  piweb run --session 01a22868 \"what did we decide?\"\n" +
			"  git diff | piweb run --tools read \"review this\" -\n" +
			"  piweb run --chat-only --json \"hello\"\n" +
			"  piweb run --image sketch.png \"what is wrong with this diagram?\"\n" +
			"  piweb run --agent explore --input-file notes.md \"what is missing in these notes?\"",
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			f.named = cmd.Flags().Changed("session")
			f.delegates = cmd.Flags().Changed("agent")
			return a.runPrompt(cmd.Context(), rt, &f, args)
		}),
	}
	fl := cmd.Flags()
	fl.StringVar(&f.session, "session", "", "go on with this session: an id, the beginning of one, or a file")
	fl.BoolVar(&f.fresh, "new", false, "start a new session (so it is without --session)")
	fl.BoolVar(&f.takeOver, "take-over", false, "answer here: a process that holds the session is asked to let go at its turn's end")
	fl.StringVar(&f.cwd, "cwd", "", "working folder of a new session, or of one whose own is gone (default: here)")
	fl.StringVar(&f.model, "model", "", "the model, as PROVIDER/ID or ID; "+piweb.OfflineModel+" needs nothing")
	fl.StringVar(&f.thinking, "thinking", "", "the thinking level: off, minimal, low, medium, high, xhigh or max")
	fl.StringVar(&f.agent, "agent", "", "have a subagent of this `PROFILE` do it; \"piweb agents list\" shows them")
	fl.StringArrayVar(&f.inputFiles, "input-file", nil, "with --agent: give it this text file whole; may be repeated")
	fl.StringArrayVar(&f.images, "image", nil, "show the model this picture (PNG, JPEG, GIF, WebP) with the prompt; may be repeated")
	_ = cmd.MarkFlagFilename("image", "png", "jpg", "jpeg", "gif", "webp")
	_ = cmd.RegisterFlagCompletionFunc("agent", a.completeAgents)
	f.choice.addTo(cmd, "tools", "the tools to ask for, comma-separated; recorded where nothing was chosen")
	_ = cmd.RegisterFlagCompletionFunc("session", a.completeSessions)
	_ = cmd.RegisterFlagCompletionFunc("model", a.completeModels)
	return cmd
}

func (a *app) completeModels(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	rt, err := a.runtime()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer rt.Close()
	var out []string
	for _, m := range rt.Models(cwd()) {
		out = append(out, m.Name)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) runPrompt(ctx context.Context, rt *piweb.Runtime, f *runFlags, args []string) error {
	if f.named && f.session == "" {
		return usage("--session is empty; name a session, or leave the flag out for a new one")
	}
	if f.named && f.fresh {
		return usage("--session goes on with a session and --new starts one; name one of them")
	}
	if err := piweb.CheckThinking(f.thinking); err != nil {
		return usage("%v", err)
	}
	switch {
	case len(f.inputFiles) > 0 && !f.delegates:
		return usage("--input-file goes with --agent; name a file in the prompt as @file instead")
	case f.delegates && f.agent == "":
		return usage("--agent is empty; `piweb agents` lists the profiles")
	case f.delegates && len(f.images) > 0:
		return usage("--image is for a prompt of your own; a subagent can read a picture of the folder that its task names")
	case f.delegates && f.takeOver:
		return usage("--take-over is for a prompt of your own; leave --agent out")
	}
	text, err := a.promptText(args)
	if err != nil && (len(f.images) == 0 || !errors.Is(err, wrapper.ErrEmpty)) {
		return err // pictures can stand alone
	}
	if f.delegates {
		return a.runAgent(ctx, rt, f, text)
	}
	if path, other, err := elsewhere(rt, f); err != nil {
		return err
	} else if other != nil {
		if len(f.images) > 0 && !f.takeOver {
			return usage("process %d holds the session, and pictures are admitted where it is answered; add --take-over, or attach them on its page", other.Holder.PID)
		}
		done, err := a.runElsewhere(ctx, f, other, path, text)
		if done || err != nil {
			return err
		}
	}
	s, err := openSession(ctx, rt, f)
	if err != nil {
		return err
	}
	for _, p := range rt.Problems(s.Folder().Path) {
		a.notef("note: %s\n", oneLine(p))
	}
	in := piweb.Input{Text: text}
	if in.Images, err = a.pictures(ctx, s, f.images); err != nil {
		return err
	}
	return a.converse(ctx, s, in)
}

// promptText is the argument; where it is missing, or ends in "-", standard input
// is read too. It is not read otherwise: a pipe that nobody closes would hold the
// program up, and a script's own input would be eaten.
func (a *app) promptText(args []string) (string, error) {
	reads := len(args) == 0 && !a.terminal()
	if n := len(args); n > 0 && args[n-1] == "-" {
		args, reads = args[:n-1], true
	}
	text := strings.Join(args, " ")
	if reads {
		const limit = 16 << 20 // bytes of piped input
		data, err := io.ReadAll(io.LimitReader(a.stdin, limit+1))
		if err != nil {
			return "", fmt.Errorf("read standard input: %w", err)
		}
		if len(data) > limit {
			return "", usage("standard input is longer than %d MiB; name a file in the prompt instead", limit>>20)
		}
		if in := strings.TrimRight(string(data), "\n"); in != "" {
			text = strings.TrimPrefix(text+"\n\n"+in, "\n\n")
		}
	}
	if strings.TrimSpace(text) == "" {
		return "", fmt.Errorf("%w; give it as argument, or with - on standard input: piweb run \"…\"", wrapper.ErrEmpty)
	}
	return text, nil
}

// terminal tells whether a person would have to type the input.
func (a *app) terminal() bool {
	f, ok := a.stdin.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err != nil || info.Mode()&os.ModeCharDevice != 0
}

func openSession(ctx context.Context, rt *piweb.Runtime, f *runFlags) (*piweb.Session, error) {
	o := piweb.OpenOptions{CWD: f.cwd, Model: f.model, Thinking: f.thinking}
	tools, given, err := f.choice.requested()
	if err != nil {
		return nil, err
	}
	if given {
		o.Tools = &tools
	}
	if f.named && f.choice.preset == string(toolselect.PresetConfigured) {
		return nil, usage("--preset configured is for a new session; `piweb tools %s --clear` takes a choice back", f.session)
	}
	if f.session == "" {
		dir := f.cwd
		if dir == "" {
			dir = cwd()
		}
		o.CWD = ""
		return rt.Create(ctx, dir, o)
	}
	path, err := rt.Find(cwd(), f.session)
	if err != nil {
		return nil, err
	}
	return rt.Open(ctx, path, o)
}

// stopSignals stop a run as pi does: what came is kept. A second one ends the
// program at once.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// converse sends one prompt and prints what happens.
func (a *app) converse(ctx context.Context, s *piweb.Session, in piweb.Input) error {
	// A reader that went away, as in `piweb run … | head`, must not kill the
	// program in the middle of a record: the write fails, and the run is stopped.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)

	asking, stopped, done := stopOnSignal(ctx, s.Abort)
	defer done()

	if warning := s.Folder().Warning; warning != "" {
		a.notef("note: %s\n", oneLine(warning))
	}
	sub := s.Subscribe(0)
	defer sub.Close()
	turn, err := s.Prompt(asking, in)
	if by := stopped.Load(); err != nil && by != nil {
		return by
	}
	if err != nil {
		return err
	}
	if stopped.Load() != nil {
		s.Abort() // it came while the prompt was accepted
	}
	p, err := a.follow(ctx, s, sub)
	if err != nil {
		return err
	}
	if err := turn.Wait(ctx); err != nil {
		return err
	}
	return a.ended(p, stopped.Load())
}

// ended says where the conversation is, and how the prompt ended.
func (a *app) ended(p *printer, by *stoppedBy) error {
	p.finish()
	switch {
	case p.aborted && by != nil:
		return silent{by}
	case p.aborted:
		return silent{errAborted}
	case p.failure != "":
		return a.failed(p.failure)
	}
	return nil
}

// stopOnSignal calls abort at the first signal that stops a run, and ends the
// context; the second one is the system's.
func stopOnSignal(ctx context.Context, abort func() bool) (asking context.Context, by *atomic.Pointer[stoppedBy], done func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, stopSignals...)
	asking, giveUp := context.WithCancelCause(ctx)
	end := make(chan struct{})
	by = &atomic.Pointer[stoppedBy]{}
	go func() {
		select {
		case sig := <-signals:
			signal.Stop(signals) // the next one is the system's
			why := &stoppedBy{sig}
			by.Store(why)
			giveUp(why)
			abort()
		case <-end:
		}
	}()
	return asking, by, func() {
		signal.Stop(signals)
		giveUp(nil)
		close(end)
	}
}

// follow prints the events of a prompt up to its end.
func (a *app) follow(ctx context.Context, s *piweb.Session, sub *wrapper.Subscription) (*printer, error) {
	p := newPrinter(a, s.Log().Path(), s.Log().Header().Raw)
	p.answer = func(askID string) { _ = s.Answer(askID, false) }
	for {
		e, err := sub.Next(ctx)
		if err != nil {
			return p, err
		}
		p.print(e)
		if a.out.failed() {
			s.Abort()
		}
		if e.Type == wrapper.PromptDone {
			return p, nil
		}
	}
}

// stoppedBy is the end by a signal.
type stoppedBy struct{ sig os.Signal }

func (s *stoppedBy) Error() string { return "stopped by a signal: " + s.sig.String() }

// code is the exit code that a shell expects.
func (s *stoppedBy) code() int {
	if n, ok := s.sig.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return exitAborted
}

// failed reports an answer that the model did not give. The events said it
// already where the command speaks JSON.
func (a *app) failed(why string) error {
	err := fmt.Errorf("%w: %s (the prompt is kept in the session; `piweb run --session …` goes on)", errProvider, why)
	if a.json {
		return silent{err}
	}
	return err
}

// choice is a choice of tools by flags.
type choice struct {
	name     string // of the flag that lists tools
	tools    []string
	preset   string
	chatOnly bool
	clear    bool
	cmd      *cobra.Command
}

func (c *choice) addTo(cmd *cobra.Command, name, what string) {
	c.name, c.cmd = name, cmd
	cmd.Flags().StringSliceVar(&c.tools, name, nil, what)
	cmd.Flags().StringVar(&c.preset, "preset", "", "a set of tools: none, read-only, default, full or configured")
	cmd.Flags().BoolVar(&c.chatOnly, "chat-only", false, "no tools and nothing pluggable")
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(toolselect.Builtins(), cobra.ShellCompDirectiveNoFileComp))
	presets := make([]string, 0, 5)
	for _, p := range toolselect.Presets() {
		presets = append(presets, string(p))
	}
	_ = cmd.RegisterFlagCompletionFunc("preset", cobra.FixedCompletions(presets, cobra.ShellCompDirectiveNoFileComp))
}

// selection is the choice that the flags make; given is false for none.
func (c *choice) selection() (sel toolselect.Selection, given bool, err error) {
	listed := c.cmd.Flags().Changed(c.name)
	n := 0
	for _, on := range []bool{listed, c.preset != "", c.chatOnly, c.clear} {
		if on {
			n++
		}
	}
	switch {
	case n > 1:
		return sel, false, usage("--%s, --preset, --chat-only and --clear exclude each other", c.name)
	case c.chatOnly:
		return toolselect.ChatOnly(), true, nil
	case c.clear:
		return toolselect.Clear(), true, nil
	case c.preset != "":
		p, err := toolselect.ParsePreset(c.preset)
		if err != nil {
			return sel, false, usage("%v", err)
		}
		return p.Selection(), true, nil
	case listed:
		names := trimmed(c.tools)
		if len(names) == 0 {
			return sel, false, usage("--%s names no tool; --chat-only is the session without tools", c.name)
		}
		sel, err := toolselect.Pin(names...)
		return sel, err == nil, err
	}
	return sel, false, nil
}

// requested is the choice as a list for a start.
func (c *choice) requested() (tools []string, given bool, err error) {
	sel, given, err := c.selection()
	if err != nil || !given || sel.State() != toolselect.Pinned {
		return nil, false, err
	}
	return sel.Tools(), true, nil
}

func trimmed(names []string) []string {
	var out []string
	for _, n := range names {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}
