// Package account knows who may use a server, and which session is whose.
//
// There are two files, both in <agent directory>/piweb-data, because nothing can
// make them again. "users" has one user a line with the hash of a token; "owners"
// has one line for each time that a session got an owner, and the last line about
// a session's file counts. A session file itself says nothing about its owner and is
// never touched for it: files of pi stay files of pi, and nobody becomes the owner
// of a session by writing something into one.
//
// A token is made here, has 130 random bits, and is shown once. Its SHA-256 is
// kept. A slow hash, as for passwords, would protect nothing: what slows a guess
// down matters where there is something to guess, and nobody tries 2¹³⁰ tokens; it
// would cost every request of a program tens of milliseconds instead. Hashes are
// compared in constant time, with every user's.
//
// What may be touched here: those two files, both written whole or by whole lines,
// readable by their owner alone. Files that somebody else could write are not
// believed. What a user may do is decided by those who ask; a session without an
// owner is nobody's, and nobody's sessions are for administrators.
package account
