package memory

import (
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is how long the name of a stored file may be, in bytes.
const maxName = 200

// safeName makes the name of a file out of what a client called it. It is never
// empty and never leads anywhere.
func safeName(name string) string {
	name = strings.ToValidUTF8(base(name), "_")
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == utf8.RuneError, strings.ContainsRune(`/\:*?"<>|`, r):
			return '_'
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, name)
	name = strings.TrimRight(strings.TrimLeft(strings.TrimSpace(name), "."), ". ")
	if ext := path.Ext(name); len(name) > maxName && len(ext) <= 20 {
		name = cut(name[:len(name)-len(ext)], maxName-len(ext)) + ext
	}
	name = cut(name, maxName)
	if name == "" {
		return "file"
	}
	if deviceName(name) {
		return "_" + name
	}
	return name
}

// cut shortens at the border of a letter.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// deviceName tells whether Windows takes a name for a device.
func deviceName(name string) bool {
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	switch stem = strings.TrimSpace(stem); stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	return len(stem) == 4 && (strings.HasPrefix(stem, "COM") || strings.HasPrefix(stem, "LPT")) && stem[3] >= '0' && stem[3] <= '9'
}

// base is the last part of a path of any system.
func base(name string) string { return name[strings.LastIndexAny(name, `/\`)+1:] }

// nameOf is what an item of a message is called: by its own name, by its URI, or by
// its kind.
func nameOf(item contentItem) string {
	if n := base(strings.TrimSpace(item.Name)); n != "" && n != "." && n != ".." {
		return n
	}
	if u, err := url.Parse(item.URI); err == nil && item.URI != "" {
		p := u.Path
		if u.Opaque != "" {
			if p, err = url.PathUnescape(u.Opaque); err != nil {
				p = u.Opaque
			}
		}
		if n := base(strings.TrimRight(p, `/\`)); n != "" && n != "." && n != ".." {
			return n
		}
	}
	ext := strings.TrimLeft(base(item.Ext), ".")
	if ext == "" {
		ext = map[string]string{"image": "png", "audio": "mp3", "pdf": "pdf", "html": "html", "email": "eml"}[item.Type]
	}
	if ext == "" {
		return "attachment"
	}
	return "attachment." + ext
}
