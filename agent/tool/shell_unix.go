//go:build unix

package tool

// shellCandidates lists shells in the order of preference; a name without a
// folder is looked for on PATH.
func shellCandidates() []string { return []string{"/bin/bash", "bash", "sh"} }
