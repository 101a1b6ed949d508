// Package killed holds a test alone: the real program is killed before each call
// that changes something on the disk, and what is left is held against the promises
// of package session. It builds the program with the tag "failpoint"; the program
// that ships has no failpoints.
package killed
