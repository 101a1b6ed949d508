package piweb

import (
	"os"
	"slices"
	"strings"
)

// withoutKeys is the environment of programs that a model starts: without the
// variables that hold keys of providers. Whoever needs one there gives it another
// name, or sets it in the shell prefix of the settings.
func withoutKeys(names []string) func() []string {
	return func() []string {
		return slices.DeleteFunc(os.Environ(), func(pair string) bool {
			name, _, _ := strings.Cut(pair, "=")
			return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
		})
	}
}
