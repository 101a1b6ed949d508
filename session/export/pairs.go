package export

import "strings"

// Pairs are a name and a value: NAME=value of an environment file, "name": "value"
// of JSON, name: value of YAML, --name value of a command line. Whether the value
// is a secret is told by the name, and how much is asked of the value depends on
// how it is written: a line of an environment file is data, a line of a program is
// mostly not.

// weight says how sure a name makes us.
type weight int

const (
	noSecret   weight = iota
	someSecret        // key, token, secret: the value must look the part
	password          // the value may be a word
)

// qualified are the parts in front of "key" that make a secret of it. In capitals,
// as in an environment file, any part does, except the harmless ones.
var (
	qualified = set("api", "access", "secret", "private", "auth", "encryption", "signing", "master", "account", "storage", "shared", "service", "subscription", "admin", "app", "client", "license")
	harmless  = set("public", "primary", "foreign", "cache", "sort", "partition", "hot", "shortcut", "range", "group", "index", "object", "s3object", "host", "known", "row", "column", "unique", "translation", "i18n")
)

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// lastLetters end the names that can mean a secret: a quick look before a slow one.
var lastLetters = set("ord", "swd", "ase", "ode", "ass", "pwd", "ret", "ial", "als", "ken", "key", "uth")

// nameWeight judges a name by its last part: DB_PASSWORD, apiKey, client-secret,
// services.mail.token.
func nameWeight(name string) weight {
	if len(name) < 3 || !lastLetters[strings.ToLower(name[len(name)-3:])] {
		return noSecret
	}
	name = name[strings.LastIndexByte(name, '.')+1:]
	parts := nameParts(name)
	if len(parts) == 0 {
		return noSecret
	}
	last, before := parts[len(parts)-1], ""
	if len(parts) > 1 {
		before = parts[len(parts)-2]
	}
	capitals := strings.ToUpper(name) == name
	switch last {
	case "password", "passwd", "passphrase", "passcode":
		return password
	case "pass", "pwd":
		if before != "" && (capitals || before == "db" || before == "user" || before == "smtp") {
			return password
		}
	case "secret", "credential", "credentials":
		return someSecret
	case "token":
		if before != "csrf" && before != "next" && before != "page" && before != "continuation" {
			return someSecret
		}
	case "apikey", "accesskey", "secretkey", "accountkey", "authkey", "privatekey", "authtoken", "accesstoken", "refreshtoken", "idtoken", "clientsecret":
		return someSecret
	case "key":
		if qualified[before] || capitals && before != "" && !harmless[before] {
			return someSecret
		}
	case "auth":
		if strings.HasPrefix(name, "_") { // npm's own
			return someSecret
		}
	}
	return noSecret
}

// nameParts splits at '_', '-' and where capitals begin a new part.
func nameParts(name string) (parts []string) {
	from := 0
	cut := func(to int) {
		if to > from {
			parts = append(parts, strings.ToLower(name[from:to]))
		}
		from = to
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_' || c == '-':
			cut(i)
			from = i + 1
		case upper(c) && i > 0 && (lower(name[i-1]) || digit(name[i-1])):
			cut(i)
		}
	}
	cut(len(name))
	return parts
}

// pairs looks at every '=' and ':', and at options of command lines.
func (f *finder) pairs() {
	for i := 0; i < len(f.text); i++ {
		switch f.text[i] {
		case '=', ':':
			f.pair(i)
		case '-':
			if i > 0 && f.text[i-1] == '-' && (i == 1 || !wordByte(f.text[i-2]) || afterEscape(f.text[:i-1])) {
				f.option(i + 1)
			}
		}
	}
}

// option handles --name value; --name=value is a pair.
func (f *finder) option(from int) {
	end := span(f.text, from, wordByte)
	if end == from || end+1 >= len(f.text) || f.text[end] != ' ' {
		return
	}
	if w := nameWeight(f.text[from:end]); w != noSecret {
		f.value(end+1, w, written{option: true})
	}
}

// written says how a pair is written.
type written struct {
	line   bool // a capital name at the beginning of a line: an environment file
	tight  bool // no space around the sign
	option bool // --name value, or a query of an address
	ends   bool // an unquoted value that ends its line
}

const (
	nameLimit  = 80       // of a name, in bytes
	valueLimit = 16 << 10 // of a quoted value, in bytes
)

func (f *finder) pair(sign int) {
	end := sign
	if f.text[sign] == '=' && end > 0 && (f.text[end-1] == ':' || f.text[end-1] == '+' || f.text[end-1] == '?') {
		end-- // := += ?=
	}
	spaced := end
	for end > 0 && end > spaced-3 && f.text[end-1] == ' ' {
		end--
	}
	var how written
	how.tight = end == sign
	if end > 0 && strings.IndexByte("\"'`", f.text[end-1]) >= 0 {
		if end--; end > 0 && f.text[end-1] == '\\' {
			end--
		}
	}
	start := end
	for start > 0 && end-start < nameLimit && (wordByte(f.text[start-1]) || f.text[start-1] == '.') {
		start--
	}
	if start < end && afterEscape(f.text[:start+1]) {
		start++
	}
	if start >= end {
		return
	}
	w := nameWeight(f.text[start:end])
	if w == noSecret {
		if start > 0 && strings.IndexByte("?&", f.text[start-1]) >= 0 && querySecret[strings.ToLower(f.text[start:end])] {
			w = someSecret
		} else {
			return
		}
	}
	from := sign + 1
	if from < len(f.text) && f.text[from] == '=' {
		return // a comparison
	}
	if from < len(f.text) && f.text[from] == '>' {
		from++ // =>
	}
	for n := 0; from < len(f.text) && n < 8 && (f.text[from] == ' ' || f.text[from] == '\t'); n++ {
		from++
		how.tight = false
	}
	name := f.text[start:end]
	how.line = strings.ToUpper(name) == name && f.text[sign] == '=' && how.tight && f.lineStart(start)
	how.option = start > 0 && strings.IndexByte("?&", f.text[start-1]) >= 0 || strings.HasPrefix(name, "--") ||
		strings.ToUpper(name) == name && f.text[sign] == '=' && how.tight || // NAME=value in front of a command
		strings.Contains(name, "-") && f.text[sign] == ':' // a header
	f.value(from, w, how)
}

// querySecret are names that mean a secret only in the query of an address.
var querySecret = set("key", "sig", "signature", "x-amz-signature", "x-goog-signature", "code", "auth")

// lineStart tells whether only what may stand before a variable stands before it
// on its line.
func (f *finder) lineStart(at int) bool {
	from := max(0, at-40)
	from += strings.LastIndexByte(f.text[from:at], '\n') + 1
	if i := strings.LastIndex(f.text[from:at], `\n`); i >= 0 {
		from += i + 2
	}
	switch strings.TrimSpace(f.text[from:at]) {
	case "", "export", "set", "-", "+", "Environment=", "ENV", "ARG":
		return true
	}
	return false
}

// value finds where the value at a place ends and judges it.
func (f *finder) value(from int, w weight, how written) {
	if from >= len(f.text) {
		return
	}
	quote := f.text[from : from+1]
	if quote == `\` && from+1 < len(f.text) && strings.IndexByte("\"'", f.text[from+1]) >= 0 {
		quote = f.text[from : from+2]
	}
	if strings.Contains("\"'`", quote[len(quote)-1:]) && quote != "" {
		from += len(quote)
		line := f.text[from:min(len(f.text), from+valueLimit)]
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
		}
		if n := closing(line, quote); n >= 0 && secretValue(line[:n], w, how, true) {
			f.add(ruleNamed, from, from+n)
		}
		return
	}
	stop := " \t\r\n\"'`<>\\,;&)]}|#"
	if how.line {
		stop = " \t\r\n\\"
	}
	end := from
	for end < len(f.text) && end-from < valueLimit && strings.IndexByte(stop, f.text[end]) < 0 {
		end++
	}
	how.ends = end == len(f.text) || strings.IndexByte("\r\n", f.text[end]) >= 0 || strings.HasPrefix(f.text[end:], `\n`)
	if secretValue(f.text[from:end], w, how, false) {
		f.add(ruleNamed, from, end)
	}
}

// closing finds the end of a quoted value.
func closing(line, quote string) int {
	for i := 0; i < len(line); i++ {
		if strings.HasPrefix(line[i:], quote) {
			return i
		}
		if line[i] == '\\' && len(quote) == 1 {
			i++
		}
	}
	return -1
}

// secretValue judges a value under a name that means a secret.
func secretValue(v string, w weight, how written, quoted bool) bool {
	switch {
	case v == "" || reference(v) || placeholder(v) || strings.ContainsAny(v, " \t") && w != password:
		return false
	case path(v) && !random(v):
		return false
	}
	digits, letters, others, mixed := kinds(v)
	solid := digits && letters || others && (digits || letters) || mixed
	data := how.line || how.option || quoted && how.tight
	if w == password {
		switch {
		case how.line || how.option:
			return len(v) >= 3
		case strings.ContainsAny(v, " \t"):
			return false // a sentence about a password
		case quoted:
			return len(v) >= 5 && (digits || others && solid) && !program(v)
		}
		return len(v) >= 5 && digits && letters && how.ends && !program(v)
	}
	switch {
	case !digits || !letters:
		return data && len(v) >= 20 && mixed && !program(v)
	case how.line || how.option || quoted:
		return len(v) >= 8 && solid && (quoted || how.option || !program(v))
	}
	return len(v) >= 12 && how.ends && (random(v) || hexKey(v)) && !program(v)
}

// kinds tells what a value is made of.
func kinds(v string) (digits, letters, others, mixed bool) {
	var low, up bool
	for i := range len(v) {
		c := v[i]
		low, up = low || lower(c), up || upper(c)
		digits = digits || digit(c)
		others = others || !alnum(c) && c != '_' && c != '-' && c != '.'
	}
	return digits, low || up, others, low && up
}

// reference tells whether a value names another place instead of being one.
func reference(v string) bool {
	if v == "" || strings.HasPrefix(v, markBegin) {
		return true
	}
	switch v[0] {
	case '$', '%', '<', '{', '[', '*', '(', '@', '!':
		return !(v[0] == '$' && strings.HasPrefix(v, "$2")) // a bcrypt hash
	}
	return strings.HasPrefix(v, "...") || strings.HasPrefix(v, "…") || strings.HasPrefix(v, "process.env") || strings.HasPrefix(v, "os.") ||
		strings.HasPrefix(v, "env.") || strings.HasPrefix(v, "vault:") || strings.HasPrefix(v, "op://") || strings.HasPrefix(v, "secretKeyRef")
}

// standsIn are words that a manual writes where a secret belongs.
var standsIn = []string{"your", "xxxx", "example", "placeholder", "changeme", "change-me", "change_me", "redacted", "dummy", "insert", "****", "....", "goes-here", "goes_here", "1234567890abcdef"}

func standIn(v string) bool {
	v = strings.ToLower(v)
	for _, w := range standsIn {
		if strings.Contains(v, w) {
			return true
		}
	}
	return false
}

// words that are no value of a secret although they stand where one would.
var placeholders = set("password", "passwd", "pass", "pwd", "secret", "token", "key", "apikey", "api_key", "api-key", "string", "number", "boolean", "bool",
	"null", "nil", "none", "true", "false", "undefined", "required", "optional", "test", "todo", "value", "text", "hidden", "bearer", "user", "yes", "no")

func placeholder(v string) bool {
	return placeholders[strings.ToLower(strings.Trim(v, `"',;:.`))] || standIn(v)
}

// path tells whether a value is a path of a file or an address without a secret.
func path(v string) bool {
	for _, begin := range []string{"/", "./", "../", "~/", `C:\`, "http://", "https://", "file:"} {
		if strings.HasPrefix(v, begin) {
			return true
		}
	}
	return strings.HasSuffix(v, ".json") || strings.HasSuffix(v, ".pem") || strings.HasSuffix(v, ".key") || strings.HasSuffix(v, ".txt")
}

// program tells whether an unquoted value reads like a piece of a program: a call,
// a field of something, an index.
func program(v string) bool {
	if strings.ContainsAny(v, "()[]{}") || strings.HasPrefix(v, "&") || strings.Contains(v, "::") {
		return true
	}
	head, rest, dotted := strings.Cut(v, ".")
	return dotted && head != "" && rest != "" && !digit(head[0]) && !digit(rest[0]) && span(head, 0, wordByte) == len(head) && !random(v)
}
