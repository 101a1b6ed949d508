// Package media is about pictures: it admits them, bounds them, describes them,
// and places them in a request.
//
// A picture comes from a file that a tool reads, from a tool's result, or from a
// user, and nothing that is said of it is believed: its bytes decide what it is,
// its header is judged before anything is decoded, and it is decoded as a whole
// before it may go into a session. What is stored is bounded, upright, and
// without metadata, so that any program can go on with the session.
//
// Which pictures a model sees is decided anew for each request, from the history
// and from what the model in force can take: nothing of that is ever written
// down, and a picture that cannot go out becomes a short text. One bad picture
// must never make a session unusable.
//
// An [Admitter] has a cache and decodes one picture at a time; share one among
// the sessions of a program. Nothing here logs, and no error holds a picture's
// bytes.
//
// Source of the rules: the picture specification 1.1–1.13; pi 1.6.0, "Built-in
// tools" (limits of what is stored).
package media
