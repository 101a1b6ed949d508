package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/piweb-go/piweb/message"
)

// maxTimeout is the longest timeout that a call may ask for, in seconds: what
// fits into 31 bits of milliseconds.
const maxTimeout = 2147483.647

// reportInterval is the least time between two partial results.
const reportInterval = 100 * time.Millisecond

// Bash is the tool bash: commands of the shell.
type Bash struct {
	described
	opts Options

	// Limits that tests change.
	quiet, drain time.Duration
	spillLimit   int // bytes
}

// NewBash builds the tool bash.
func NewBash(opts Options) *Bash {
	return &Bash{described: describe("bash"), opts: opts.withDefaults(), quiet: pipeQuiet, drain: drainLimit, spillLimit: maxSpillBytes}
}

// Sequential is false: commands of one batch run side by side, as in pi.
func (t *Bash) Sequential() bool { return false }

// Prepare accepts a timeout in quotes.
func (t *Bash) Prepare(args json.RawMessage) json.RawMessage { return Coerce(t.decl, args) }

type bashArgs struct {
	Command string   `json:"command"`
	Timeout *float64 `json:"timeout"` // seconds
}

// duration checks the timeout.
func (a bashArgs) duration() (time.Duration, error) {
	if a.Timeout == nil {
		return 0, nil
	}
	seconds := *a.Timeout
	if !(seconds > 0 && seconds <= maxTimeout) {
		return 0, fmt.Errorf("timeout is %s seconds; it must be more than 0 and at most %s. Leave it out for no limit",
			formatSeconds(seconds), formatSeconds(maxTimeout))
	}
	return max(time.Nanosecond, time.Duration(seconds*float64(time.Second))), nil
}

func formatSeconds(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) }

type bashDetails struct {
	Truncation     Truncation `json:"truncation"`
	FullOutputPath string     `json:"fullOutputPath,omitempty"`
}

// Run runs the command.
func (t *Bash) Run(ctx context.Context, call *Call) (Result, error) {
	var args bashArgs
	if failed, ok := decodeArgs(t, call, &args); !ok {
		return failed, nil
	}
	if strings.TrimSpace(args.Command) == "" {
		return Error("bash: command is empty. Give the command to run."), nil
	}
	timeout, err := args.duration()
	if err != nil {
		return Error(fmt.Sprintf("bash: %v.", err)), nil
	}
	shell, err := findShell(t.opts.ShellPath)
	if err != nil {
		return Error(fmt.Sprintf("bash: %v.", err)), nil
	}
	if info, err := os.Stat(call.CWD); err != nil || !info.IsDir() {
		return Error(fmt.Sprintf("bash: the working directory %s is not there any more. Nothing can run until it is back.", call.CWD)), nil
	}
	if ctx.Err() != nil {
		return Error("The command was stopped before it began."), nil
	}
	script := args.Command
	if strings.HasPrefix(script, "-") || strings.HasPrefix(script, "+") {
		script = " " + script // the shell would take it for an option
	}
	if t.opts.ShellCommandPrefix != "" {
		script = t.opts.ShellCommandPrefix + "\n" + script
	}

	out := newCapture(call, t.opts.TempDir, t.spillLimit)
	run := command{
		shell: shell, script: script, dir: call.CWD, timeout: timeout, quiet: t.quiet, drain: t.drain,
		env: commandEnv(t.opts.Environ(), call.Env),
	}
	end, err := run.run(ctx, out.write, reportInterval, func() { out.report(call) })
	out.finish()
	if err != nil {
		return Error(fmt.Sprintf("bash: the shell %s could not be started: %s.", shell, reason(err))), nil
	}
	return bashResult(end, out, args)
}

// bashResult puts output, notes and record together.
func bashResult(end ending, out *capture, args bashArgs) (Result, error) {
	text, details, err := out.shown()
	if err != nil {
		return Result{}, err
	}
	status := endStatus(end, args)
	if end.cause != endedItself {
		// What pi throws: no details, and no words for "no output".
		return Error(appendStatus(text, status)), nil
	}
	if text == "" {
		text = "(no output)"
	}
	result := Text(appendStatus(text, status))
	result.Details = details
	result.IsError = end.code != 0
	return result, nil
}

// appendStatus puts a status behind the output, or alone.
func appendStatus(text, status string) string {
	switch {
	case status == "":
		return text
	case text == "":
		return status
	}
	return text + "\n\n" + status
}

// endStatus says how the command ended, if there is something to say.
func endStatus(end ending, args bashArgs) string {
	var lines []string
	switch end.cause {
	case endedByTimeout:
		lines = append(lines, fmt.Sprintf("The command was stopped at its timeout of %s s.", formatSeconds(*args.Timeout)))
	case endedByAbort:
		lines = append(lines, "The command was stopped because the run was aborted.")
	case endedItself:
		switch {
		case end.signal != 0:
			lines = append(lines, fmt.Sprintf("The command ended with exit code %d (signal %d).", end.code, end.signal))
		case end.code != 0:
			lines = append(lines, fmt.Sprintf("The command ended with exit code %d.", end.code))
		}
	}
	switch {
	case end.afterExit:
		lines = append(lines, fmt.Sprintf("The shell itself had ended with exit code %d after %.1f s; processes that it left in the background were still writing.",
			end.code, end.exitedAt.Seconds()))
	case !end.exited:
		lines = append(lines, "Its processes did not end when they were killed and may still run.")
	case end.cutOff:
		lines = append(lines, "A process in the background was still writing; its output from here on is lost. Send the output of such processes to a file.")
	}
	return strings.Join(lines, " ")
}

// capture takes the output of a command: the end of it for the model, the whole
// of it for whoever keeps it.
type capture struct {
	spill spill // of the goroutine that writes; a slow sink must not hold up the others
	raw   int   // bytes

	mu      sync.Mutex // the writer writes, the reports read
	window  window
	path    string // of the spill
	changed bool   // since the last report
}

func newCapture(call *Call, tempDir string, limit int) *capture {
	c := &capture{spill: spill{dir: tempDir, limit: limit}}
	if call.Sink != nil {
		c.spill.sink = call.Output()
	}
	return c
}

func (c *capture) write(piece []byte) {
	c.raw += len(piece)
	c.spill.write(piece)
	c.mu.Lock()
	c.window.write(piece)
	cut := c.window.cut()
	c.mu.Unlock()
	// The raw size bounds what the spill holds back.
	if cut || c.raw > MaxBytes {
		c.spill.keep()
	}
	c.mu.Lock()
	c.path, c.changed = c.spill.path, true
	c.mu.Unlock()
}

// finish ends the output. Nothing is written any more.
func (c *capture) finish() {
	c.window.finish()
	if c.window.cut() {
		c.spill.keep()
	}
	c.spill.close()
}

// report tells the listener of the call what there is so far, if it is news.
func (c *capture) report(call *Call) {
	if call.Update == nil {
		return
	}
	c.mu.Lock()
	if !c.changed {
		c.mu.Unlock()
		return
	}
	c.changed = false
	t := c.window.truncation()
	path := c.path
	c.mu.Unlock()

	partial := Text(t.Content)
	if t.Truncated {
		// A record that cannot be encoded costs the record, not the output.
		partial.Details, _ = message.Marshal(bashDetails{t, path})
	}
	call.Report(partial)
}

// shown is what the model sees of a finished output, with the note and the
// record if it is cut.
func (c *capture) shown() (text string, details json.RawMessage, err error) {
	t := c.window.truncation()
	if !t.Truncated {
		return t.Content, nil, nil
	}
	path, where := c.spill.where(c.raw)
	details, err = message.Marshal(bashDetails{t, path})
	return fmt.Sprintf("%s\n\n[%s; %s]", t.Content, t.shownPart(c.window.lastLineBytes()), where), details, err
}

// shownPart says which part of an output its tail is. lastLine is the length of the
// last line, in bytes.
func (t Truncation) shownPart(lastLine int) string {
	if t.LastLinePartial {
		return fmt.Sprintf("Last %s of line %d, which has %s", formatSize(t.OutputBytes), t.TotalLines, formatSize(lastLine))
	}
	part := fmt.Sprintf("Lines %d-%d of %d", t.TotalLines-t.OutputLines+1, t.TotalLines, t.TotalLines)
	if t.TruncatedBy == CutBytes {
		part += fmt.Sprintf(", %s is the most at once", formatSize(MaxBytes))
	}
	return part
}
