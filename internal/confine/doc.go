// Package confine is the one door to files that somebody else has named: a
// model in a tool call, a project in a link, a person in a prompt.
//
// A [Root] is a directory that is kept open; everything is opened through it by
// the operating system, component by component, so that a folder swapped for a
// link between check and use leads nowhere. On top of os.Root it takes absolute
// names, follows absolute links that stay inside, and hands out regular files
// only: a FIFO that would block, a device and a folder are refused after they
// were opened without blocking.
//
// [OpenWithin] and [RealWithin] answer the related question about files that we
// found ourselves: does the file behind this path lie in one of these roots?
//
// What may be touched here: reading, opening a folder to list it or to write in it,
// and errors that say what, where and why. What may not: writing, creating, walking,
// and any rule about which roots are allowed; that is the caller's. The package imports nothing of ours. It does
// not defend against mount points, hard links or the programs that a tool
// starts.
package confine
