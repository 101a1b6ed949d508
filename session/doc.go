// Package session reads and writes session files: JSONL in pi's format, version
// 3, and versions 1 and 2 through a migration in memory.
//
// # The file
//
// The first value of a file is its header. Every further line is an entry with
// an id and the id of its parent; together they form a tree, and the last entry
// of the file is its leaf. The path from the root to the leaf is the branch, and
// the branch gives the context for a model. There is no stored leaf: to move it,
// something must be appended.
//
// # Rules of this package
//
// Opening, listing and walking never write. No existing line is rewritten, with
// two exceptions: the first append to a file of version 1 or 2 replaces it in one
// step by its migration and keeps the old file with the suffix ".bak", and [Move]
// changes the working directory in the header, and no other byte. Lines
// that we cannot read stay where they are and are reported as a [Diagnostic].
// Entries are kept as offsets; their bytes are read when they are asked for, so
// what we do not know survives byte for byte.
//
// A scan looks at the shape of every line and validates every record but the
// bodies of messages, which are most of a file; those are validated when they are
// read ([ErrDamaged]), and always where they stand last. A damaged message in the
// middle keeps its place in the tree, so that nothing before it is lost, and is left
// out of the context. A key that stands several times in an object counts with its
// last value, as in pi.
//
// A new session has no file before its first user or assistant message. Appends
// go through package internal/durable under a lock that is taken at the first
// write. pi takes no lock, so the end of the file is checked before each write,
// and entries of another writer are adopted.
//
// [Fork], [Clone], [ForkAll], [Import], [Move], [Trash] and [Restore] make, move
// and remove whole files. Each is done as a whole or leaves everything as it was,
// what a [Companion] keeps beside the file included; none replaces a file of
// somebody else.
//
// The package knows no policy, no tools and no provider. What an entry of a
// custom type means is said by the package that owns the type.
//
// Source of the rules: pi 1.6.0 session files (opening, migrations, context,
// writing), and DESIGN "Durability".
package session
