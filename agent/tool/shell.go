package tool

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// findShell is the shell that runs the commands of bash: the one of the
// settings, or the first of the system's that is there.
func findShell(fromSettings string) (string, error) {
	if fromSettings != "" {
		if _, err := os.Stat(fromSettings); err != nil {
			return "", fmt.Errorf("the shell of the setting shellPath cannot be used: %s: %s. Correct the setting, or remove it to use the system's shell",
				fromSettings, reason(err))
		}
		return fromSettings, nil
	}
	for _, candidate := range shellCandidates() {
		if path, err := exec.LookPath(candidate); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no shell was found: neither bash nor sh is there. Install bash, or name a shell in the setting shellPath")
}

// withheldFromCommands lists the variables of the environment that commands do
// not get. A name that ends in _ stands for all that begin with it.
//
// The first ones belong to the attachment store and to the way into the server,
// for which a command of a model has no use. The others describe the session:
// where piweb itself runs inside one, they would describe the wrong one.
func withheldFromCommands() []string {
	return []string{
		"PI_WEB_ATTACHMENT_", "PI_WEB_PASSWORD",
		"PI_SESSION_ID", "PI_SESSION_FILE", "PI_PROVIDER", "PI_MODEL", "PI_REASONING_LEVEL",
		"PIWEB_CALL",
	}
}

// commandEnv is the environment of a command: base less what is withheld, then
// the session's own variables, which win.
func commandEnv(base, session []string) []string {
	withheld := withheldFromCommands()
	env := slices.DeleteFunc(slices.Clone(base), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.ContainsFunc(withheld, func(w string) bool {
			return name == w || strings.HasSuffix(w, "_") && strings.HasPrefix(name, w)
		})
	})
	return append(env, session...)
}
