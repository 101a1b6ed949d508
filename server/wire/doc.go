// Package wire translates the events of a live session into the frames that the
// web client reads: what the vocabulary is, and nothing about how it travels.
//
// A [Translator] is fed with the numbered events of one session, in order, and
// answers with frames. Of kind uiMessageChunk are the pieces of an answer; of
// kind control is what is true of the session itself. Three controls are sticky,
// that is, a client that comes late gets their newest value first: status,
// state and queue, in this order.
//
// Rules that hold for every turn, whatever happens in it:
//
//   - a part is started before it grows, and at most one text part and one
//     reasoning part are open;
//   - part ids are never used twice;
//   - exactly one terminal chunk ends it, finish or abort; a failed turn says
//     error first, an aborted one says abort once;
//   - busy:false is said before the terminal chunk, and only when the session
//     takes the next prompt.
//
// Nothing here may know HTTP, read a clock or a file, or keep frames: package
// server does that. Frames of piweb's own vocabulary are marked as such, because
// the client takes a control that it does not know for an error.
//
// Source of the rules: the web specification §1.6 and §1.7, and its weakness W22.
package wire
