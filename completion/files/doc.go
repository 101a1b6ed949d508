// Package files offers the files of a working folder as a person types, and
// judges the paths that they send.
//
// An [Index] holds the names below one folder: first those that git tracks, read
// from git's own index without starting git, then everything else that no rule
// ignores, streaming in from a walk. It is complete: nothing depends on the order
// in which folders are met, and no number of files hides the rest. It is kept
// fresh by package watch, and by looking again where the system cannot watch.
// A search takes what is known at that moment and never waits for the index; an
// answer that may grow says so.
//
// The files of a folder lie together, so that a search does the work for their
// path once. What is offered are the names in which the letters of the query occur
// in order, whatever their case, normal form or width; the order is that of
// rank.go. A fast search equals a slow one over everything: the tests hold them
// against each other.
//
// Names are other people's text. The walk goes through package confine, follows
// no link, and never shows what .git holds; [Gate] judges a path when it is sent,
// by the path that its links lead to.
//
// What may be touched here: the index, matching, ranking, the gate, previews. What
// not: tokens and other providers (package completion), rules of ignoring (package
// internal/ignore). The package starts no process and writes nothing.
package files
