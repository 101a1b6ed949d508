// Package wrapper owns live sessions.
//
// A [Session] lives as long as its id and owns an engine: what was loaded under
// its policy, and the loop that runs on it. It is the one door for prompts and
// for changes of the policy. The policy is resolved before anything is loaded
// and again before every prompt, from the file; a change that crosses the Chat
// Only boundary, or takes a choice back, builds the engine anew, any other
// change applies in place. The event hub and its numbers survive both.
//
// One mutex covers admission and changes: check, append, sync, apply. State,
// policy, abort and subscribe never wait for it. A change that is refused was
// not recorded, and a change that was recorded is in force for the next prompt.
//
// A [Registry] holds the live sessions by the real path of their file, starts
// each one once however many ask, and closes those that nobody uses.
//
// Nothing here knows HTTP, and nothing here chooses models or reads settings: a
// [Host] does that.
//
// Source of the rules: the pi-web wrapper specification (changes of tools,
// registry and start lock, idle shutdown) with the departures of DESIGN.
package wrapper
