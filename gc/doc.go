// Package gc finds what no session names any more, and takes it away.
//
// Blobs, attachments, grants and whole outputs lie outside the session files that
// name them, so a session that is gone for good may leave some behind. A
// [Collector] marks what its roots name and sweeps its stores:
//
//   - A [Root] says what it names; [Folder] is the root of a folder of sessions. It
//     reads every file below it whatever it is: sessions, forks, the trash, backups,
//     archives, whole outputs, what other programs put there. A reference counts
//     wherever it stands. A root that cannot be read whole, or is not there, stops
//     the collection: what it names is not known.
//   - A [Store] lists what it keeps and removes one thing. A room that keeps things
//     registers by being one.
//
// Nothing goes at first sight. A run notes what it found unused, and only a later
// run, a grace period afterwards, removes it, if it was unused all along and nobody
// touched it. Before the first removal everything is marked once more. A thing is
// first taken out of its place and looked at again: who uses it in that moment
// touches it, and it is put back, or writes it anew, and no use is lost
// ([blob.Contents] and the session's companions keep their side of that). One lock
// keeps two collections apart. So a collection is safe beside running servers.
//
// The room reads everywhere and removes only through stores. It knows no
// configuration: which folders there are is its caller's.
package gc
