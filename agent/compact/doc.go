// Package compact sums up what no longer fits: the beginning of a long
// conversation, and a branch that was left.
//
// A [Compactor] belongs to one model and its settings. It decides when a context
// is full ([Compactor.Due]), where to cut it, asks the model for a summary, and
// makes the entry; the loop records it. What is in the file is never touched: a
// later compaction begins where the kept part of the one before begins, with its
// summary as input, so nothing that was kept is ever lost.
//
// Requests for summaries are requests of this package and not of the session.
// They carry its own system text and the conversation as text, no tools, and
// never the head of the loadout; an exact head goes out with the answers of the
// session alone. They have no receipt, because a receipt says what a policy let
// through; the entry says of itself what was sent: details.request has the hash
// of the system text, the model, and that there were no tools.
//
// Nothing here may write to a session, know a provider or decide a policy.
//
// Source of the rules: pi 1.6.0, "Compaction".
package compact
