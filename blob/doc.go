// Package blob keeps bytes: under a key that the caller chose ([Store]), or
// under their own hash ([Contents]).
//
// # Objects by key
//
// A [Store] puts, gets, describes, deletes and lists objects, and creates one
// only where there is none. [Dir] keeps each object as one file of a flat
// folder; package blob/s3 keeps them in a bucket. Both pass the suite of
// blob/blobtest, so a caller need not know which it has. What only one of them
// can do is asked for by a small interface: [Local] for a path on this machine,
// [Presigner] for an address that anybody can fetch from.
//
// What holds for every store: an object appears whole or not at all, also after
// a crash, a full disk or a cancelled context; what Put returned survives a power
// cut; a reader that has an object open keeps reading those bytes while it is
// replaced or deleted; nothing larger than one block is held in memory.
//
// # Bytes by hash
//
// [Ref] is a content reference as oh-my-pi writes it into session files,
// "blob:sha256:" and 64 hex digits. [Contents] is oh-my-pi's folder of such
// blobs, with three faults of that program mended: a blob that is there and whole
// is never written again, one that is being written is never seen, and one whose
// bytes do not match its name is never handed out.
//
// # What may be touched here
//
// Keys are checked by their letters before they become names of files
// ([CheckKey]), and files are opened without following a link, so that a key from
// a model or a session file leads nowhere else. What the bytes mean, who may see
// them, and when they may go belongs to the callers: attachments, media, memory.
// The package logs nothing.
//
// Source of the rules: oh-my-pi, "Blob store"; pi-web, "L0 object store".
package blob
