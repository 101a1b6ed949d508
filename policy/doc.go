// Package policy decides what a session may load, offer to the model and send.
//
// [Gather] reads the facts of a session file, [Resolve] turns facts into a
// [Policy] and a [Trail] that says why. Resolve is pure: the same facts give the
// same policy in every process, which is what lets a session be reopened days
// later as what it was. [Receipt] records what a request really carried, and
// [Verify] holds a file's receipts against what its entries say.
//
// Nothing here loads, builds or sends anything, and nothing widens: whatever
// cannot be decided is refused.
//
// Source of the rules: DESIGN "Policy"; the precedence of the pi-web wrapper
// with the departures that DESIGN names.
package policy
