// Package agent is the loop: it asks a model, runs the tools that the model
// calls, records what happened, and tells about it.
//
// One prompt is accepted (written and synced) and then run. Each turn builds one
// [Request] from the loadout's head and tools and from the transcript, records
// its receipt, streams the answer, runs the calls, and appends the results in
// the order of the calls. Events come out in pi's order and carry pi's names;
// an entry is in the file before any event speaks of it, except while it
// streams.
//
// The loop owns the order of its gates: policy, owner, budget, then the tool,
// then media, strip and artifact. They are fields, not a list, so that nobody
// can put one before another. Hooks and extensions never see the head or the
// tool declarations.
//
// Nothing here knows a provider's wire, a file's format or HTTP. The history is
// repaired for each request; what is in the file is never touched.
//
// Source of the rules: pi 1.6.0, "Agent loop", "Context building" (conversion
// and repair); DESIGN "Seams" and "Durability".
package agent
