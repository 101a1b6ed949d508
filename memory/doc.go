// Package memory keeps what was said and shown, and finds it again with its files.
//
// A [Service] stands in front of an [Engine], which keeps and finds memories: the
// embedded one, or a service over HTTP ([Upstream]). The Service adds what engines
// lose: which files belong to which session. A result gets those files of its
// session whose whole name stands in the result's own data. That says that the name
// is mentioned there, not that the file is why it was found.
//
// Every question names its user, who comes from authentication and never from a
// body, and every statement filters by that user. What a client calls a place, a URI,
// is recorded and never opened. Bodies reach an engine as the bytes that came in.
//
// An add goes in this order: files are written, the engine is asked, rows are
// written. A failure takes the files away again; what a crash leaves between is
// removed when the Service is opened the next time and an hour has passed.
//
// What may be touched here: the folder that Options names. What not: sessions and
// attachments, whose owners are asked by whoever wires this package; and memories
// hold no right to anything.
//
// Source of the rules: the memory gateway's specification, and EverOS' HTTP API for
// the vocabulary of bodies and answers.
package memory
