package toolselect

import (
	"fmt"
	"slices"
	"strings"
)

// Preset is a named set of tools that people pick from.
type Preset string

// The presets. Configured stands for "choose nothing": the session follows the
// settings.
const (
	PresetNone       Preset = "none"
	PresetReadOnly   Preset = "read-only"
	PresetDefault    Preset = "default"
	PresetFull       Preset = "full"
	PresetConfigured Preset = "configured"
)

// Presets lists all presets in the order in which they are offered.
func Presets() []Preset {
	return []Preset{PresetNone, PresetReadOnly, PresetDefault, PresetFull, PresetConfigured}
}

// ParsePreset checks the name of a preset.
func ParsePreset(name string) (Preset, error) {
	if p := Preset(name); slices.Contains(Presets(), p) {
		return p, nil
	}
	names := make([]string, 0, 5)
	for _, p := range Presets() {
		names = append(names, string(p))
	}
	return "", fmt.Errorf("unknown preset %q; there are %s", name, strings.Join(names, ", "))
}

// Tools returns the tools of a preset in a fresh slice. ok is false for
// Configured, which is no list.
func (p Preset) Tools() (tools []string, ok bool) {
	switch p {
	case PresetNone:
		return []string{}, true
	case PresetReadOnly:
		return []string{"read", "grep", "find", "ls"}, true
	case PresetDefault:
		return []string{"read", "bash", "edit", "write"}, true
	case PresetFull:
		return Builtins(), true
	}
	return nil, false
}

// Selection returns what choosing the preset records; Configured clears.
func (p Preset) Selection() Selection {
	tools, ok := p.Tools()
	if !ok {
		return Clear()
	}
	return Selection{state: Pinned, tools: tools}
}

// PresetOf names the preset of a set of active tools. Tools that are not
// built-in are ignored, powershell counts as bash, and a set that is no preset
// is "default". It never answers Configured.
func PresetOf(active []string) Preset {
	if len(active) == 0 {
		return PresetNone
	}
	known := map[string]bool{}
	for _, n := range active {
		if n == "powershell" {
			n = "bash"
		}
		if IsBuiltin(n) {
			known[n] = true
		}
	}
	for _, p := range []Preset{PresetReadOnly, PresetDefault, PresetFull} {
		tools, _ := p.Tools()
		same := len(tools) == len(known)
		for _, t := range tools {
			same = same && known[t]
		}
		if same {
			return p
		}
	}
	return PresetDefault
}

// UsesPowerShell tells whether the shell of a session is PowerShell: on Windows,
// where the default tools name powershell and not bash.
func UsesPowerShell(goos string, defaultTools []string) bool {
	return goos == "windows" && slices.Contains(defaultTools, "powershell") && !slices.Contains(defaultTools, "bash")
}

// MapShell gives the names under which a selection's tools are activated: bash
// becomes powershell, or the reverse, duplicates removed. It changes nothing
// that is stored.
func MapShell(names []string, powershell bool) []string {
	from, to := "powershell", "bash"
	if powershell {
		from, to = to, from
	}
	out := make([]string, 0, len(names))
	for _, n := range names {
		if n == from {
			n = to
		}
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
