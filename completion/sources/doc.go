// Package sources holds the providers of completion that are not files: what a
// session can be told at the start of a line, other sessions, attachments and the
// profiles of subagents.
//
// Each takes a small interface, which the room that owns the things implements;
// nothing here reads a disk or knows how they are kept. A program adds a provider
// of its own beside them: see the example of package completion.
//
// What may be touched here: filtering, labels, tokens, and the asking of the
// owners. What not: who owns what. An owner answers only for the session of the
// scope that it is given, and checks that scope again when a token is resolved.
package sources
