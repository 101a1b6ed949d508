package export

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Redactor takes secrets out of texts. The zero value is ready; a Redactor does
// not change and may be used by several goroutines.
//
// What it replaces, by rule:
//
//	private-key      a PEM or PGP private key block, also in base64 as Kubernetes keeps it
//	aws-key          AWS access key ids (AKIA…, ASIA…, ABIA…, ACCA…)
//	…-key, …-token   keys with a known beginning and a random rest: Anthropic, OpenAI,
//	                 OpenRouter, Google, xAI, Groq, Perplexity, Replicate, Hugging Face,
//	                 NVIDIA, GitHub, GitLab, Slack, Stripe, npm, PyPI, Docker,
//	                 DigitalOcean, Shopify, SendGrid, Mailgun, Databricks, Linear,
//	                 Notion, Vault, Figma, Atlassian, Telegram, Tavily, LangSmith, age
//	jwt              three base64url parts of which the first two are JSON objects
//	bearer           "Bearer X" and "token X" with a random X
//	basic-auth       "Basic X" where X is base64 of user:password
//	authorization    the value of any other Authorization header
//	cookie           the values of Cookie and Set-Cookie headers
//	url-password     the password of scheme://user:password@host
//	named-secret     NAME=value, NAME: value, "name": "value", --name value, where the
//	                 name says that it is a secret (…_KEY, …_TOKEN, …_SECRET, PASSWORD,
//	                 apiKey, client_secret, …) and the value is no placeholder, no
//	                 reference ($X, ${X}, <x>), no path and no word of a program
//	home             the user's name in /home/NAME, /Users/NAME, C:\Users\NAME and in the
//	                 folder names that pi makes of them; it becomes ~
//
// A secret becomes "[redacted:rule]", the same for every value, so that nothing of
// it can be guessed from the mark. What comes next to it stays.
//
// What is random and explained by none of them is a doubt: 20 or more characters
// of mixed kinds, that are no digest (hex, "sha512-…", "h1:…"), no UUID, no id
// that a provider gives to a call or a message, no public key or certificate.
type Redactor struct {
	// Homes are further home folders, for those that are not below /home or
	// /Users; they become ~ too.
	Homes []string
	// Strict takes out doubts too, as "[redacted:doubt]".
	Strict bool
}

// The rules that callers tell apart.
const (
	RuleHome  = "home"  // a user's name in a path: private, but no secret
	RuleDoubt = "doubt" // random, and nothing explains it
)

// Match is a place in a text.
type Match struct {
	Rule       string
	Start, End int // bytes of the text that was given
}

// Secret tells whether a match is a secret for sure.
func (m Match) Secret() bool { return m.Rule != RuleHome && m.Rule != RuleDoubt }

// Redact returns the text without its secrets, and what it found, in order.
// Doubts are found too; they stay in the text unless the Redactor is strict.
// Redacting a text again changes nothing.
func (r Redactor) Redact(text string) (string, []Match) {
	// A mark changes what stands next to what, so the result is looked at again
	// until there is nothing more: that is what makes twice the same as once.
	const rounds = 10
	var taken []Match
	out := text
	for range rounds {
		more := r.certain(out)
		if len(more) == 0 && r.Strict {
			more = doubts(out)
		}
		if len(more) == 0 {
			break
		}
		taken = merge(append(taken, before(taken, more)...))
		out = replace(text, taken)
	}
	if r.Strict {
		return out, taken
	}
	return out, merge(append(slices.Clone(taken), before(taken, doubts(out))...))
}

// find is what Redact finds.
func (r Redactor) find(text string) []Match {
	_, matches := r.Redact(text)
	return matches
}

func replace(text string, matches []Match) string {
	var b strings.Builder
	at := 0
	for _, m := range matches {
		b.WriteString(text[at:m.Start])
		b.WriteString(mark(m.Rule))
		at = m.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// before turns places of a text in which some matches were replaced into places
// of the text before. A place inside of a mark is the whole that it stands for.
func before(taken, matches []Match) []Match {
	out := make([]Match, len(matches))
	i, shift := 0, 0 // matches passed, and how much longer the text was before them
	for n, m := range matches {
		pass := func(at int, end bool) int {
			for i < len(taken) {
				from := taken[i].Start - shift
				to := from + len(mark(taken[i].Rule))
				if at < from || at == from && end {
					break
				}
				if at < to {
					if end {
						return taken[i].End
					}
					return taken[i].Start
				}
				shift += taken[i].End - taken[i].Start - (to - from)
				i++
			}
			return at + shift
		}
		out[n] = Match{m.Rule, pass(m.Start, false), pass(m.End, true)}
	}
	return out
}

func mark(rule string) string {
	if rule == RuleHome {
		return "~"
	}
	return markBegin + rule + "]"
}

const markBegin = "[redacted:"

// certain finds what the rules know.
func (r Redactor) certain(text string) []Match {
	f := finder{text: text}
	f.words()
	f.pairs()
	f.privateKeys()
	f.headers()
	f.urls()
	f.homes(r.Homes)
	return merge(besideMarks(text, f.found))
}

func doubts(text string) []Match {
	f := finder{text: text}
	f.doubts()
	return besideMarks(text, f.found)
}

var marks = regexp.MustCompile(regexp.QuoteMeta(markBegin) + `[a-z-]+\]`)

// besideMarks leaves the marks in a text whole: what is found in a mark is
// nothing, and what reaches into one takes it along.
func besideMarks(text string, found []Match) []Match {
	if !strings.Contains(text, markBegin) {
		return found
	}
	places := marks.FindAllStringIndex(text, -1)
	var out []Match
	for _, m := range found {
		i, _ := slices.BinarySearchFunc(places, m.Start, func(p []int, at int) int { return cmp.Compare(p[1], at+1) })
		if i < len(places) && places[i][0] <= m.Start && m.End <= places[i][1] {
			continue
		}
		for ; i < len(places) && places[i][0] < m.End; i++ {
			m.Start, m.End = min(m.Start, places[i][0]), max(m.End, places[i][1])
		}
		out = append(out, m)
	}
	return out
}

// finder collects matches in one text.
type finder struct {
	text  string
	found []Match
}

func (f *finder) add(rule string, start, end int) {
	if start < end {
		f.found = append(f.found, Match{rule, start, end})
	}
}

// merge sorts matches and joins those that overlap under the name of the first;
// of two at the same place the more special rule gives the name.
func merge(found []Match) []Match {
	slices.SortStableFunc(found, func(a, b Match) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), cmp.Compare(rank(a.Rule), rank(b.Rule)))
	})
	var out []Match
	for _, m := range found {
		last := len(out) - 1
		if last < 0 || m.Start >= out[last].End {
			out = append(out, m)
			continue
		}
		if out[last].Rule == RuleHome && m.Secret() {
			out[last].Rule = m.Rule
		}
		out[last].End = max(out[last].End, m.End)
	}
	return out
}

// rank puts the rules that know the kind of a secret before those that know only
// where it stands.
func rank(rule string) int {
	switch rule {
	case ruleNamed, ruleAuthorization, RuleHome:
		return 1
	}
	return 0
}
