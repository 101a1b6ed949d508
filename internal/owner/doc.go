// Package owner is a door between the programs of one user on one machine: one
// that holds something listens at it, another asks. It carries lines of JSON and
// knows nothing of what they mean.
//
// The door is a socket of the file system in a folder that only the user can
// enter. Who asks must know the key, which the listening program gives to the user
// alone, for example in a file that nobody else can read; who asks looks before
// whether the socket is the user's. Nothing is reachable over the network.
//
// A conversation is one question, any number of answers, and meanwhile any number
// of further words of who asked. Every line is bounded, and so is the number of
// conversations.
package owner
