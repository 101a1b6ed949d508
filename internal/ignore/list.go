package ignore

import "strings"

// list holds the rules of one file. The last that matches decides.
type list struct {
	rules []rule
	fold  bool

	// names finds the literal base names without looking at every rule: most
	// ignore files hold little else. Places are in ascending order.
	names map[string][]int
	rest  []int // places of all other rules
}

func (l *list) add(r rule) {
	place := len(l.rules)
	l.rules = append(l.rules, r)
	if r.kind != ruleLiteral || !r.byName {
		l.rest = append(l.rest, place)
		return
	}
	if l.names == nil {
		l.names = map[string][]int{}
	}
	l.names[r.text] = append(l.names[r.text], place)
}

// entry is what rules are asked about.
type entry struct {
	path  string // from the root of the file system, without a slash at the start
	name  int    // where the base name begins
	isDir bool   // a folder, not a link to one

	folded string // path in lower case, once it was needed
}

func (e *entry) spelled(fold bool) string {
	if !fold {
		return e.path
	}
	if e.folded == "" {
		e.folded = lowerIf(true, e.path)
	}
	return e.folded
}

// find is the place of the rule that decides, or -1 if none matches. The entries
// of the file's folder begin at base in the entry's path.
func (l *list) find(e *entry, base int) int {
	path := e.spelled(l.fold)
	name := path[e.name:]
	found := -1
	for places := l.names[name]; len(places) > 0; places = places[:len(places)-1] {
		if last := places[len(places)-1]; e.isDir || !l.rules[last].dirOnly {
			found = last
			break
		}
	}
	for i := len(l.rest) - 1; i >= 0 && l.rest[i] > found; i-- {
		r := &l.rules[l.rest[i]]
		if r.dirOnly && !e.isDir {
			continue
		}
		subject := name
		if !r.byName {
			subject = path[base:]
		}
		if r.match(subject) {
			found = l.rest[i]
			break
		}
	}
	return found
}

// without is the list less one rule.
func (l *list) without(place int) *list {
	rest := &list{fold: l.fold}
	for i, r := range l.rules {
		if i != place {
			rest.add(r)
		}
	}
	return rest
}

func (r *rule) match(subject string) bool {
	switch r.kind {
	case ruleLiteral:
		return subject == r.text
	case ruleSuffix:
		return strings.HasSuffix(subject, r.text)
	}
	return r.glob.match(subject)
}
