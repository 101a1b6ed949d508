//go:build !unix

package tool

import (
	"os"
	"path/filepath"
)

// shellCandidates lists shells in the order of preference: Git's bash where it
// installs itself, then what PATH has. The bash.exe of the system folder, which
// starts a Linux of its own, comes only by way of PATH.
func shellCandidates() []string {
	var list []string
	for _, variable := range []string{"ProgramFiles", "ProgramFiles(x86)"} {
		if dir := os.Getenv(variable); dir != "" {
			list = append(list, filepath.Join(dir, "Git", "bin", "bash.exe"))
		}
	}
	return append(list, "bash", "sh")
}
