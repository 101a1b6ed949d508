// Package modeltest tests providers, and what is built on them.
//
// It holds a provider server for the wires of package agent/model's providers that
// answers from a script and keeps every request as the bytes that arrived ([Server] for tests,
// [Handler] without a test), readers of recorded requests, a list of heads that
// are easily damaged on their way ([Heads]), and a suite that every
// implementation of [agent.Model] passes ([Run]).
//
// The server is as strict as the providers that people use: it refuses a
// conversation with unanswered tool calls, empty messages or an empty list of
// tools, because a test that such a request passes proves nothing. It listens on
// the loopback interface only. Nothing here may import a maker's SDK: the wire
// is written and read by hand, so that it can contradict one.
package modeltest
