// Package subagent delegates: it starts children from profiles, bounds what a
// tree of them may spend, and sees to it that each result is delivered once.
//
// A child is a session like any other. Its file is made when it is dispatched,
// before anything runs: the header names the parent, the second line holds what
// it may do for ever (package policy), then come its status, its conversation
// and its result. What the file says is what counts; the run table of a
// [Manager] only knows which children this process is running.
//
// What may be touched here: profiles in force, the control tools, the queue,
// budgets, the life of a child, delivery. What not: how a session runs, which is
// behind [Host], and what a child may do, which is package policy's.
//
// Source of the rules: pi-web 0.9.3, "Subagents", without its defects D2 to D9,
// D13 to D15, D17 and D19, each of which has a test that names it.
package subagent
