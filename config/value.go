package config

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// commandTimeout is how long a key command may run (spec/pi.md §8).
const commandTimeout = 10 * time.Second

// RunFunc runs a command line of the user's shell and returns what it printed.
// Its errors must not repeat the command or its output.
type RunFunc func(ctx context.Context, command string) (output string, err error)

// template is the value of a key or header as pi writes it: a literal in which
// $NAME and ${NAME} stand for variables and $$ and $! for $ and !, or a command
// after a leading "!".
type template struct {
	command string
	parts   []part
}

type part struct {
	text     string
	variable bool
}

func parseTemplate(s string) template {
	if rest, ok := strings.CutPrefix(s, "!"); ok {
		return template{command: rest}
	}
	var t template
	literal := func(text string) {
		if n := len(t.parts); n > 0 && !t.parts[n-1].variable {
			t.parts[n-1].text += text
		} else if text != "" {
			t.parts = append(t.parts, part{text: text})
		}
	}
	for s != "" {
		before, after, found := strings.Cut(s, "$")
		literal(before)
		if !found {
			break
		}
		s = after
		switch {
		case strings.HasPrefix(s, "$"), strings.HasPrefix(s, "!"):
			literal(s[:1])
			s = s[1:]
		case strings.HasPrefix(s, "{"):
			name, rest, closed := strings.Cut(s[1:], "}")
			switch {
			case !closed:
				literal("$")
			case name != "" && nameLength(name) == len(name):
				t.parts = append(t.parts, part{name, true})
				s = rest
			default:
				literal("${" + name + "}")
				s = rest
			}
		default:
			if n := nameLength(s); n > 0 {
				t.parts = append(t.parts, part{s[:n], true})
				s = s[n:]
			} else {
				literal("$")
			}
		}
	}
	return t
}

// nameLength is the length of the variable name at the start of s.
func nameLength(s string) int {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}

// missing names the variables that are unset or empty, each once, in order.
func (t template) missing(look lookup) (names []string) {
	for _, p := range t.parts {
		if p.variable && !slices.Contains(names, p.text) {
			if _, ok := look(p.text); !ok {
				names = append(names, p.text)
			}
		}
	}
	return names
}

// lookup returns a variable that is set and not empty.
type lookup func(name string) (string, bool)

// over lets the env object of an auth.json entry win over the environment.
func (e Env) over(own map[string]Secret) lookup {
	return func(name string) (string, bool) {
		if v, ok := own[name]; ok && !v.IsZero() {
			return v.Reveal(), true
		}
		return e.value(name)
	}
}

// reasonMissing says which variables are wanted, never what they hold.
func reasonMissing(what string, names []string) string {
	noun := "environment variable"
	if len(names) > 1 {
		noun += "s"
	}
	return fmt.Sprintf("%s needs the %s %s, not set or empty", what, noun, strings.Join(names, ", "))
}

// resolver turns templates into values. Safe for concurrent use.
type resolver struct {
	run     RunFunc
	timeout time.Duration

	mu    sync.Mutex
	cache map[[sha256.Size]byte]*cached // by the hash of a command, which may hold a secret
}

type cached struct {
	mu    sync.Mutex
	value Secret
}

// resolve returns the value of t; what names it in errors.
func (r *resolver) resolve(ctx context.Context, t template, what string, look lookup) (Secret, error) {
	if t.command != "" {
		return r.command(ctx, t.command, what)
	}
	if names := t.missing(look); len(names) > 0 {
		return Secret{}, errors.New(reasonMissing(what, names))
	}
	var b strings.Builder
	for _, p := range t.parts {
		text := p.text
		if p.variable {
			text, _ = look(p.text)
		}
		b.WriteString(text)
	}
	if b.Len() == 0 {
		return Secret{}, fmt.Errorf("%s is empty", what)
	}
	return NewSecret(b.String()), nil
}

// command runs a command and takes its trimmed output. The error does not
// repeat the command: it may hold a secret itself.
func (r *resolver) command(ctx context.Context, command, what string) (Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	output, err := r.run(ctx, command)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Secret{}, fmt.Errorf("the command for %s did not end within %v", what, r.timeout)
	case err != nil:
		return Secret{}, fmt.Errorf("the command for %s failed: %w", what, err)
	}
	if output = strings.TrimSpace(output); output == "" {
		return Secret{}, fmt.Errorf("the command for %s printed nothing", what)
	}
	return NewSecret(output), nil
}

// remembered resolves like resolve, and keeps what a command printed for the
// life of the resolver, as pi does for auth.json. Unlike pi it does not remember
// a failure. Callers that want the same command wait for one run.
func (r *resolver) remembered(ctx context.Context, t template, what string, look lookup) (Secret, error) {
	if t.command == "" {
		return r.resolve(ctx, t, what, look)
	}
	key := sha256.Sum256([]byte(t.command))
	r.mu.Lock()
	c := r.cache[key]
	if c == nil {
		c = &cached{}
		put(&r.cache, key, c)
	}
	r.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.value.IsZero() {
		return c.value, nil
	}
	value, err := r.command(ctx, t.command, what)
	if err == nil {
		c.value = value
	}
	return value, err
}
