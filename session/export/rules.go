package export

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
)

const (
	rulePrivateKey    = "private-key"
	ruleJWT           = "jwt"
	ruleBearer        = "bearer"
	ruleBasic         = "basic-auth"
	ruleAuthorization = "authorization"
	ruleCookie        = "cookie"
	ruleURL           = "url-password"
	ruleNamed         = "named-secret"
)

// known is a kind of key with a beginning of its own.
type known struct {
	rule, prefix string
	rest         int               // least length of what follows, in bytes
	of           func(c byte) bool // what may follow
}

// keys are tried on every word; the first letter picks the few that can fit.
var keys = byFirst([]known{
	{"anthropic-key", "sk-ant-", 20, wordByte},
	{"openai-key", "sk-proj-", 20, wordByte},
	{"openai-key", "sk-svcacct-", 20, wordByte},
	{"openai-key", "sk-admin-", 20, wordByte},
	{"openrouter-key", "sk-or-v1-", 20, wordByte},
	{"openai-key", "sk-", 20, alnum},
	{"google-key", "AIza", 35, wordByte},
	{"google-token", "ya29.", 20, wordByte},
	{"google-secret", "GOCSPX-", 20, wordByte},
	{"xai-key", "xai-", 40, alnum},
	{"groq-key", "gsk_", 40, alnum},
	{"perplexity-key", "pplx-", 40, alnum},
	{"replicate-token", "r8_", 30, alnum},
	{"huggingface-token", "hf_", 30, alnum},
	{"nvidia-key", "nvapi-", 40, wordByte},
	{"tavily-key", "tvly-", 20, wordByte},
	{"langsmith-key", "lsv2_", 30, wordByte},
	{"aws-key", "AKIA", 16, upperDigit},
	{"aws-key", "ASIA", 16, upperDigit},
	{"aws-key", "ABIA", 16, upperDigit},
	{"aws-key", "ACCA", 16, upperDigit},
	{"github-token", "ghp_", 30, alnum},
	{"github-token", "gho_", 30, alnum},
	{"github-token", "ghu_", 30, alnum},
	{"github-token", "ghs_", 30, wordByte},
	{"github-token", "ghr_", 30, alnum},
	{"github-token", "github_pat_", 22, wordByte},
	{"gitlab-token", "glpat-", 20, wordByte},
	{"gitlab-token", "gldt-", 20, wordByte},
	{"gitlab-token", "glrt-", 20, wordByte},
	{"gitlab-token", "glptt-", 20, wordByte},
	{"slack-token", "xoxb-", 10, wordByte},
	{"slack-token", "xoxa-", 10, wordByte},
	{"slack-token", "xoxp-", 10, wordByte},
	{"slack-token", "xoxr-", 10, wordByte},
	{"slack-token", "xoxs-", 10, wordByte},
	{"slack-token", "xoxe-", 10, wordByte},
	{"slack-token", "xapp-", 10, wordByte},
	{"stripe-key", "sk_live_", 16, alnum},
	{"stripe-key", "sk_test_", 16, alnum},
	{"stripe-key", "rk_live_", 16, alnum},
	{"stripe-key", "rk_test_", 16, alnum},
	{"stripe-secret", "whsec_", 20, alnum},
	{"npm-token", "npm_", 36, alnum},
	{"pypi-token", "pypi-", 50, wordByte},
	{"docker-token", "dckr_pat_", 20, wordByte},
	{"docker-token", "dckr_oat_", 20, wordByte},
	{"digitalocean-token", "dop_v1_", 40, hexByte},
	{"digitalocean-token", "doo_v1_", 40, hexByte},
	{"digitalocean-token", "dor_v1_", 40, hexByte},
	{"shopify-token", "shpat_", 32, hexByte},
	{"shopify-token", "shpss_", 32, hexByte},
	{"shopify-token", "shppa_", 32, hexByte},
	{"shopify-token", "shpca_", 32, hexByte},
	{"sendgrid-key", "SG.", 40, wordByte},
	{"mailgun-key", "key-", 32, hexByte},
	{"databricks-token", "dapi", 32, hexByte},
	{"linear-key", "lin_api_", 30, alnum},
	{"notion-token", "ntn_", 40, alnum},
	{"notion-token", "secret_", 43, alnum},
	{"vault-token", "hvs.", 24, wordByte},
	{"vault-token", "hvb.", 24, wordByte},
	{"figma-token", "figd_", 30, wordByte},
	{"atlassian-token", "ATATT3", 60, wordByte},
	{"supabase-key", "sbp_", 40, hexByte},
	{"planetscale-token", "pscale_tkn_", 30, wordByte},
	{"age-key", "AGE-SECRET-KEY-1", 40, alnum},
})

func byFirst(list []known) (t [256][]known) {
	for _, k := range list {
		t[k.prefix[0]] = append(t[k.prefix[0]], k)
	}
	return t
}

// The kinds of bytes that keys are made of.

func lower(c byte) bool      { return c >= 'a' && c <= 'z' }
func upper(c byte) bool      { return c >= 'A' && c <= 'Z' }
func digit(c byte) bool      { return c >= '0' && c <= '9' }
func alnum(c byte) bool      { return lower(c) || upper(c) || digit(c) }
func upperDigit(c byte) bool { return upper(c) || digit(c) }
func hexByte(c byte) bool    { return digit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }
func wordByte(c byte) bool   { return alnum(c) || c == '_' || c == '-' }

// span is the end of the run of bytes of a kind that begins at i.
func span(s string, i int, of func(byte) bool) int {
	for i < len(s) && of(s[i]) {
		i++
	}
	return i
}

// afterEscape tells whether a text ends in an escaped line break or tab. JSON
// inside a text is full of them, and their letter belongs to no word.
func afterEscape(before string) bool {
	n := len(before)
	return n > 1 && before[n-2] == '\\' && strings.IndexByte("nrt", before[n-1]) >= 0
}

// words looks at every run of letters, digits, '_' and '-'.
func (f *finder) words() {
	const shortest = 10 // of a word that can begin a key
	for i := 0; i < len(f.text); {
		if !wordByte(f.text[i]) {
			i++
			continue
		}
		end := span(f.text, i, wordByte)
		start := i
		if afterEscape(f.text[:i+1]) {
			start++
		}
		if end-start >= shortest || end < len(f.text) && f.text[end] == '.' {
			f.word(start, end)
		}
		i = end
	}
}

func (f *finder) word(start, end int) {
	if start >= end {
		return
	}
	word := f.text[start:end]
	for _, k := range keys[word[0]] {
		if !strings.HasPrefix(f.text[start:], k.prefix) {
			continue
		}
		from := start + len(k.prefix)
		to := span(f.text, from, k.of)
		if strings.HasSuffix(k.prefix, ".") { // these go on behind further dots
			for to+1 < len(f.text) && f.text[to] == '.' && wordByte(f.text[to+1]) {
				to = span(f.text, to+1, wordByte)
			}
		}
		if to-from >= k.rest && (to == len(f.text) || !wordByte(f.text[to])) && genuine(f.text[from:to]) {
			f.add(k.rule, start, to)
			return
		}
	}
	switch {
	case strings.HasPrefix(word, "eyJ"):
		f.jwt(start)
	case strings.HasPrefix(word, "LS0tLS1CRUdJTi"): // base64 of "-----BEGIN"
		to := span(f.text, start, base64Byte)
		head, _ := base64.StdEncoding.DecodeString(f.text[start : start+min(60, to-start)/4*4])
		if strings.Contains(string(head), "PRIVATE KEY") {
			f.add(rulePrivateKey, start, to)
		}
	case len(word) == 35 && strings.HasPrefix(word, "AA") && start > 8 && f.text[start-1] == ':' && digit(f.text[start-2]):
		from := start - 1
		for from > 0 && digit(f.text[from-1]) {
			from--
		}
		if start-1-from >= 8 && genuine(word) {
			f.add("telegram-token", from, end)
		}
	}
}

// genuine tells keys from the examples of a manual: a key has digits and letters
// and none of the words that stand in for one.
func genuine(rest string) bool {
	hasDigit, hasLetter := false, false
	for i := range len(rest) {
		hasDigit = hasDigit || digit(rest[i])
		hasLetter = hasLetter || lower(rest[i]) || upper(rest[i])
	}
	return hasDigit && hasLetter && !standIn(rest)
}

// jwt checks the three parts: the first two must be JSON objects.
func (f *finder) jwt(start int) {
	end := start
	for part := range 3 {
		to := span(f.text, end, wordByte)
		if part < 2 {
			raw, err := base64.RawURLEncoding.DecodeString(f.text[end:to])
			if err != nil || len(raw) == 0 || raw[0] != '{' || !json.Valid(raw) {
				return
			}
			if to == len(f.text) || f.text[to] != '.' {
				if part == 0 {
					return
				}
				f.add(ruleJWT, start, to)
				return
			}
			to++
		}
		end = to
	}
	f.add(ruleJWT, start, end)
}

// pem is a private key block. Its body may have line numbers, escaped line
// breaks, headers and indentation; without an end it goes as far as long base64
// lines do, so that a mention of the marker costs nothing but itself.
var pem = regexp.MustCompile(`^-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----` +
	`(?:[A-Za-z0-9+/=\s\\:,.|>"'-]*?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|(?:(?:\s|\\n|\\r)*[A-Za-z0-9+/=]{32,})+)`)

func (f *finder) privateKeys() {
	const begin = "-----BEGIN "
	for at := 0; ; {
		i := strings.Index(f.text[at:], begin)
		if i < 0 {
			return
		}
		at += i
		if m := pem.FindStringIndex(f.text[at:]); m != nil {
			f.add(rulePrivateKey, at, at+m[1])
			at += m[1]
			continue
		}
		at += len(begin)
	}
}

var (
	authHeader = regexp.MustCompile(`(?i)\b(?:proxy-)?authorization\\?["']?\s*[:=]\s*\\?["']?(?:(?:basic|bearer|token|digest|negotiate|apikey|key|aws4-hmac-sha256)\s+)?([^\s"'\\<>${}\x60][^\s"'\\\x60]*)`)
	bearer     = regexp.MustCompile(`(?i)\b(?:bearer|token)\s+([A-Za-z0-9._~+/=-]{16,})`)
	basic      = regexp.MustCompile(`(?i)\bbasic\s+([A-Za-z0-9+/=]{6,})`)
	cookie     = regexp.MustCompile(`(?i)\b(?:set-)?cookie\\?["']?:\s*\\?["']?([^\s"'\\=;,<>]+=[^\r\n"'\\]*)`)
	cookiePart = regexp.MustCompile(`[^\s=;,]+=([^\s;,]*)`)
)

// loud are the words of headers in capitals.
var loud = map[string]string{"uthorization": "UTHORIZATION", "earer ": "EARER ", "oken ": "OKEN ", "asic ": "ASIC ", "ookie": "OOKIE"}

// headers finds what HTTP clients and their logs show of authentication. The
// expressions are slow, so only lines that hold their word are read.
func (f *finder) headers() {
	for at := 0; at < len(f.text); {
		end := at + strings.IndexByte(f.text[at:], '\n')
		if end < at {
			end = len(f.text)
		}
		f.header(at, f.text[at:end])
		at = end + 1
	}
}

func (f *finder) header(at int, line string) {
	each := func(word string, re *regexp.Regexp, fn func(start, end int, v string)) {
		if strings.Contains(line, word) || strings.Contains(line, loud[word]) {
			for _, m := range re.FindAllStringSubmatchIndex(line, -1) {
				fn(at+m[2], at+m[3], line[m[2]:m[3]])
			}
		}
	}
	each("uthorization", authHeader, func(start, end int, v string) {
		if len(v) >= 16 && genuine(v) {
			f.add(ruleAuthorization, start, end)
		}
	})
	token := func(start, end int, v string) {
		if genuine(v) && (random(v) || hexKey(v)) {
			f.add(ruleBearer, start, end)
		}
	}
	each("earer ", bearer, token)
	each("oken ", bearer, token)
	each("asic ", basic, func(start, end int, v string) {
		raw, err := base64.StdEncoding.DecodeString(v)
		if user, pass, ok := strings.Cut(string(raw), ":"); err == nil && ok && plain(user) && plain(pass) {
			f.add(ruleBasic, start, end)
		}
	})
	each("ookie", cookie, func(start, end int, _ string) { f.cookies(start, end) })
}

// cookieWords are attributes of a cookie, not cookies.
var cookieWords = map[string]bool{"path": true, "domain": true, "expires": true, "max-age": true, "samesite": true, "priority": true}

func (f *finder) cookies(start, end int) {
	for _, m := range cookiePart.FindAllStringSubmatchIndex(f.text[start:end], -1) {
		name, _, _ := strings.Cut(f.text[start+m[0]:start+m[1]], "=")
		if v := f.text[start+m[2] : start+m[3]]; !cookieWords[strings.ToLower(name)] && len(v) >= 8 && !reference(v) {
			f.add(ruleCookie, start+m[2], start+m[3])
		}
	}
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return s != ""
}

// hexKey tells whether a text is a run of hex digits as long as a key.
func hexKey(s string) bool { return len(s) >= 32 && span(s, 0, hexByte) == len(s) }

// urls finds passwords in addresses. The user's name stays: it says whose
// password was there.
func (f *finder) urls() {
	for at := 0; ; {
		i := strings.Index(f.text[at:], "://")
		if i < 0 {
			return
		}
		at += i + len("://")
		end := at
		for end < len(f.text) && strings.IndexByte("/?#\"'<>`\\ \t\r\n", f.text[end]) < 0 {
			end++
		}
		host := strings.LastIndexByte(f.text[at:end], '@')
		if host < 0 {
			continue
		}
		if colon := strings.IndexByte(f.text[at:at+host], ':'); colon >= 0 {
			if v := f.text[at+colon+1 : at+host]; !reference(v) && !placeholder(v) {
				f.add(ruleURL, at+colon+1, at+host)
			}
		}
		at = end
	}
}
