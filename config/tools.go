package config

import (
	"fmt"
	"slices"
	"strings"
)

// Tools is what defaultTools says. Not set, set to some names, and set to none
// are three different things (RULINGS 7).
type Tools struct {
	Set     bool
	Names   []string // in order, each once; never nil when Set
	Unknown []string // those of Names that are no built-in tool
	Source  string   // the topmost file that had a say; "" when not Set
}

// BuiltinTools returns the tools of a session in which nothing is chosen.
func BuiltinTools() []string { return []string{"read", "bash", "edit", "write"} }

// isBuiltin knows every built-in tool of pi, also those that are off by default.
func isBuiltin(name string) bool {
	return slices.Contains([]string{"read", "bash", "powershell", "edit", "write", "grep", "find", "ls"}, name)
}

// Effective returns Names, or the built-in default where nothing is set.
func (t Tools) Effective() []string {
	if t.Set {
		return slices.Clone(t.Names)
	}
	return BuiltinTools()
}

// apply lays the list of a layer over t. Plain names replace what is below;
// "+name" and "-name" then add and remove in order; a list of only these starts
// from what is below, or from the built-in default (spec/pi.md §8).
//
// Three departures from pi 1.6.0, so that a list means what it says: an empty
// list in an upper layer is none, where pi keeps the lower layer's; "+name" over
// an empty list adds to none, where pi adds to the built-in default; and a value
// without any usable entry is ignored, where pi takes it for an empty list.
func (t *Tools) apply(l layer) (problems []*Problem) {
	list, ok := l.values["defaultTools"].([]any)
	if !ok {
		return nil
	}
	plain, changes := []string{}, []string{}
	for i, entry := range list {
		name, ok := entry.(string)
		bare := strings.TrimLeft(name, "+-")
		switch {
		case !ok:
			problems = append(problems, l.ignored(fmt.Sprintf("defaultTools.%d", i), "expected a string, found "+describe(entry)))
		case strings.TrimSpace(bare) == "" || len(name)-len(bare) > 1:
			problems = append(problems, l.ignored(fmt.Sprintf("defaultTools.%d", i), "expected a tool name, found "+describe(entry)))
		case bare != name:
			changes = append(changes, name)
		case !slices.Contains(plain, name):
			plain = append(plain, name)
		}
	}
	switch {
	case len(plain) > 0 || len(list) == 0:
	case len(changes) == 0:
		return problems
	default:
		plain = t.Effective()
	}
	for _, change := range changes {
		name := change[1:]
		if change[0] == '-' {
			plain = slices.DeleteFunc(plain, func(n string) bool { return n == name })
		} else if !slices.Contains(plain, name) {
			plain = append(plain, name)
		}
	}
	*t = Tools{Set: true, Names: plain, Source: l.path}
	for _, name := range plain {
		if !isBuiltin(name) {
			t.Unknown = append(t.Unknown, name)
		}
	}
	for _, name := range t.Unknown {
		if slices.Contains(list, any(name)) || slices.Contains(list, any("+"+name)) {
			problems = append(problems, &Problem{File: l.path, Path: "defaultTools",
				What: fmt.Sprintf("%q is not a built-in tool", name),
				Hint: "it counts only where an extension offers it", Warning: true, Err: ErrValue})
		}
	}
	return problems
}
