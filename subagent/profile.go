package subagent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/piweb-go/piweb/resource"
)

// Builtin is the source of the profiles that the program brings.
const Builtin resource.ProfileSource = "builtin"

// Profile is a profile of a source, and whether a stronger source hides it.
type Profile struct {
	resource.Profile
	Overridden bool
}

// builtins are the program's own profiles.
func builtins() []resource.Profile {
	reading := []string{"read", "grep", "find", "ls"}
	own := func(name, display, description string, tools ...string) resource.Profile {
		return resource.Profile{Name: name, Source: Builtin, DisplayName: display, Description: description, Enabled: true, Tools: tools, Prompt: described("profile-" + name)}
	}
	return []resource.Profile{
		own(DefaultProfile, "General purpose", "Does a task of several steps by itself and reports what it did.", "read", "bash", "edit", "write", "grep", "find", "ls"),
		own("explore", "Explore", "Finds things out by reading, changes nothing, and names files and symbols.", reading...),
		own("plan", "Plan", "Works out a plan that can be carried out, changes nothing.", reading...),
	}
}

// Profiles are all profiles of a working folder, of every source, sorted by
// display name: a stronger source hides a weaker one's profile of the same name,
// whatever its case. Those of a project that is not trusted are left out, as the
// omissions say (D14).
func (m *Manager) Profiles(cwd string) ([]Profile, []resource.Omission) {
	set, _ := m.settings.Read()
	found, left := resource.Profiles(m.host.Place(cwd))
	own := builtins()
	for i := range own {
		own[i].Enabled = !has(set.Disabled, own[i].Name)
	}
	var out []Profile
	for _, p := range append(own, found...) {
		for i := range out {
			if resource.SameName(out[i].Name, p.Name) {
				out[i].Overridden = true
			}
		}
		out = append(out, Profile{Profile: p})
	}
	slices.SortStableFunc(out, func(a, b Profile) int {
		return strings.Compare(strings.ToLower(a.DisplayName), strings.ToLower(b.DisplayName))
	})
	return out, left
}

// enabled are the profiles that are in force and switched on.
func (m *Manager) enabled(cwd string) []Profile {
	all, _ := m.Profiles(cwd)
	return slices.DeleteFunc(all, func(p Profile) bool { return p.Overridden || !p.Enabled })
}

// Resolve finds the profile that a name means in a working folder; "" means
// DefaultProfile. One that is switched off hides the weaker ones of its name.
func (m *Manager) Resolve(cwd, name string) (Profile, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		name = DefaultProfile
	}
	var names []string
	for _, p := range m.enabled(cwd) {
		if resource.SameName(p.Name, name) {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Profile{}, fmt.Errorf("%w: %q; there are %s", ErrProfile, name, strings.Join(names, ", "))
}
