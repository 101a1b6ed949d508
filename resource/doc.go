// Package resource finds the files whose text becomes part of a prompt: context
// files such as AGENTS.md, SYSTEM.md and APPEND_SYSTEM.md, skills, prompt templates
// and the profiles of subagents.
//
// Discovery is a list of rules about names and folders, taken from pi 1.6.0
// (spec/pi.md §3.1 and §3.2, spec/policy.md §2.3), and one rule of ours about
// links (RULINGS 10): a link is followed when its real path lies in the agent
// directory, the user's home or the project, else the file is left out. What is
// left out is reported as an [Omission]; nothing disappears in silence, and
// nothing makes discovery fail.
//
// Text is text. It is taken from a file that was found by its name, once, whole,
// and is never looked at to see whether it might be the path of another file.
//
// What may be touched here: reading those files and the few of git that tell
// where a project begins. What may not: writing, joining texts into a prompt,
// deciding which of them a session gets, and trust, which the caller brings.
package resource
