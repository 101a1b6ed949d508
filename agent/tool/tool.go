package tool

import (
	"context"
	"encoding/json"
	"io"

	"github.com/piweb-go/piweb/internal/confine"
	"github.com/piweb-go/piweb/message"
)

// Call is one call of a tool by a model, as the tool sees it.
type Call struct {
	ID        string          // the provider's id of the call
	Name      string          // name of the tool
	Arguments json.RawMessage // a JSON object, already checked against the tool's schema
	CWD       string          // the session's working directory, absolute

	// Root, if not nil, is the folder that file tools do not leave: it is CWD or a
	// folder above it, held open. See [Confined].
	Root *confine.Root

	// Env holds the variables that the session gives to child processes, such
	// as PI_SESSION_ID. They come on top of the process's environment.
	Env []string

	// Update, if not nil, is told of partial results while the tool runs. It
	// may be called from any goroutine and never blocks for long.
	Update func(Result)

	// Sink, if not nil, takes the whole of a long output while it streams.
	Sink io.Writer

	// Links, if not nil, opens what URLs of the session name, such as
	// artifact://3.
	Links Links
}

// Links opens URLs that stand for what a session keeps beside its file.
type Links interface {
	// Handles tells whether a name is such a URL, by its letters alone.
	Handles(name string) bool
	// OpenURL opens it for reading. An extracted one is a small answer that was
	// taken out of something larger, and is shown whole or not at all.
	OpenURL(ctx context.Context, url string) (body io.ReadCloser, extracted bool, err error)
}

// Output is where a tool writes the whole of an output that may be long. It is
// never nil.
func (c *Call) Output() io.Writer {
	if c.Sink == nil {
		return io.Discard
	}
	return c.Sink
}

// Report hands a partial result to the listener, if there is one.
func (c *Call) Report(r Result) {
	if c.Update != nil {
		c.Update(r)
	}
}

// Result is what a tool answers. A tool that fails in a way that its model can
// act on returns a Result with IsError; a returned error becomes such a Result
// with the error's text.
type Result struct {
	Content message.Content
	Details json.RawMessage // a JSON object or nil
	IsError bool
	// Preview is something to show to people with the end of the call, a JSON
	// object or nil. It is told and never recorded.
	Preview json.RawMessage
	// Terminate asks to stop the run; it counts only if every result of the
	// batch asks.
	Terminate bool
}

// Text returns a successful result of one text block.
func Text(s string) Result {
	return Result{Content: message.Content{message.Text(s)}}
}

// Error returns a failed result of one text block with empty details, the shape
// that pi gives to a thrown error.
func Error(s string) Result {
	return Result{Content: message.Content{message.Text(s)}, Details: json.RawMessage("{}"), IsError: true}
}

// Runner is the contract that every tool of this package keeps; package agent
// asks for the same through its own interface.
type Runner interface {
	// Declaration is what the model is told. It never changes.
	Declaration() message.ToolDeclaration
	// Sequential says that no other call of the batch may run beside this one.
	Sequential() bool
	// Run executes one call. It returns soon after ctx is done.
	Run(ctx context.Context, call *Call) (Result, error)
}
