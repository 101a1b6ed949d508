// Package chatonly says what Chat Only is: what a session without tools does not
// load, and the exact text that stands at the head of its requests.
//
// Chat Only is a promise about bytes. The head is the context files and nothing
// else: no identity, no list of tools, no working folder, no date, not even a
// newline at the end; where there are no context files there is no head, and
// the request has no system message (spec/policy.md §2, RULINGS 10 and 11).
//
// What may be touched here: values that are handed in. What may not: files,
// sessions, providers. Whether a session is Chat Only is decided in package
// policy; that nothing is loaded is the loader's to keep and to show.
package chatonly
