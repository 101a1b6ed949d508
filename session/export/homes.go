package export

import "strings"

// homeRoots are the folders that hold the homes of users, as they are written in
// paths, in JSON and in the folder names that pi makes of paths.
var homeRoots = []struct {
	root string
	sep  string // what ends the name, besides everything that ends a path
}{
	{"/home/", "/"},
	{"/Users/", "/"},
	{`:\Users\`, `\`},
	{`:\\Users\\`, `\`},
	{`:/Users/`, "/"},
	{"--home-", "-"},
	{"--Users-", "-"},
}

// nobody are folders beside the homes that belong to no user.
var nobody = map[string]bool{"shared": true, "public": true, "default": true, "all users": true}

// homes finds the names of users in paths. A path that only contains the word,
// such as src/home/page.go, is none: the root must begin the path.
func (f *finder) homes(more []string) {
	for _, h := range homeRoots {
		for at := 0; ; {
			i := strings.Index(f.text[at:], h.root)
			if i < 0 {
				break
			}
			start, from := at+i, at+i+len(h.root)
			at = from
			end := f.nameEnd(from, h.sep)
			for end > from && f.text[end-1] == '.' {
				end-- // of a sentence
			}
			if end == from || nobody[strings.ToLower(f.text[from:end])] || f.text[from] == '.' {
				continue
			}
			if start, ok := f.pathStart(start, h.root); ok {
				f.add(RuleHome, start, end)
				at = end
			}
		}
	}
	for _, home := range more {
		f.home(strings.TrimRight(home, `/\`))
	}
}

// nameEnd is where the name that begins at i ends. Names with a space are read
// where a backslash follows; in a folder name of pi the name ends at a dash, and
// the whole must end as pi ends it, because --home-dir is an option of a program.
func (f *finder) nameEnd(i int, sep string) int {
	if sep == "-" {
		end := span(f.text, i, func(c byte) bool { return c != '-' && nameByte(c) })
		all := span(f.text, end, func(c byte) bool { return strings.IndexByte("/\\\"'` \t\r\n", c) < 0 })
		if !strings.HasSuffix(f.text[end:all], "--") {
			return i
		}
		return end
	}
	end := span(f.text, i, nameByte)
	if sep == `\` {
		if long := span(f.text, i, func(c byte) bool { return c == ' ' || nameByte(c) }); long < len(f.text) && f.text[long] == '\\' {
			return long
		}
	}
	return end
}

// home finds one folder.
func (f *finder) home(home string) {
	for at := 0; len(home) > 1; {
		i := strings.Index(f.text[at:], home)
		if i < 0 {
			return
		}
		start, end := at+i, at+i+len(home)
		at = end
		if end == len(f.text) || !nameByte(f.text[end]) {
			if boundary(f.text[:start]) {
				f.add(RuleHome, start, end)
			}
		}
	}
}

// pathStart tells whether a path begins at a root, and where the part begins that
// becomes "~".
func (f *finder) pathStart(start int, root string) (int, bool) {
	switch {
	case root[0] == '-':
		return start + len("--"), start == 0 || !wordByte(f.text[start-1])
	case root[0] == ':': // a drive's letter stands before it
		drive := start - 1
		ok := drive >= 0 && (lower(f.text[drive]) || upper(f.text[drive])) && (drive == 0 || !wordByte(f.text[drive-1]) || afterEscape(f.text[:drive]))
		return drive, ok
	}
	for _, mount := range []string{"/mnt/c", "/c", "file://"} {
		if before, ok := strings.CutSuffix(f.text[:start], mount); ok {
			if mount == "file://" {
				return start, true
			}
			if boundary(before) {
				return len(before), true
			}
		}
	}
	return start, boundary(f.text[:start])
}

// boundary tells whether a path can begin behind a text.
func boundary(before string) bool {
	if before == "" {
		return true
	}
	c := before[len(before)-1]
	if afterEscape(before) {
		return true
	}
	return !wordByte(c) && strings.IndexByte(`./\~)]}`, c) < 0 && c < 0x80
}

// nameByte tells what a user's folder may be called, other alphabets included.
func nameByte(c byte) bool { return wordByte(c) || c == '.' || c == '+' || c >= 0x80 }
