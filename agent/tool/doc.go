// Package tool holds the built-in tools of a coding agent: read, bash, edit,
// write, grep, find and ls, under the names, parameters, limits and result
// shapes of pi.
//
// A tool is a [Runner] that a composed system prompt can also describe, a
// [Tool]. [Builtin] builds the whole set from one [Options], which carries all
// that a tool needs from outside; there is no global state, and tools of one
// set may be called from many goroutines. What a model reads — descriptions,
// parameters, snippets, guidelines — lives in prose/, one file per tool.
//
// A tool touches the files and starts the processes that its call names, with
// the rights of the process: this room has no idea of permission, policy or
// session; a call may bring the folder that it does not leave, see [Confined] and
// reach.go. Whether a call may run is decided before, by the gates of package
// agent; where a long output is kept is decided by who sets [Call.Sink]. A
// failure that a model can act on is a result, not an error, and says what
// went wrong, where, and what to try.
//
// [Coerce] and [Check] serve calls of any tool, not only of these: they turn
// arguments into what a declaration asks for, or say which of them do not fit.
//
// Reading is generous about names, writing is literal: see path.go. Output is
// cut on whole lines, see truncate.go, and memory stays bounded however long a
// file or an output is, see lines.go and window.go.
//
// grep and find need no other program. They leave out what ripgrep and fd leave
// out, by the rules of package ignore, and find their results in the order of
// paths, so that the same call gives the same answer: see glob.go and scan.go.
// Where the user has these programs they do the heavy part, with the same answer:
// see program.go.
//
// Source of the shapes: spec/pi.md §4.
package tool
