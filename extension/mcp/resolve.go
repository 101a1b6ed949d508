package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// resolved is a server with its variables and commands put in. It holds secrets:
// it is never printed or kept.
type resolved struct {
	command string
	args    []string
	env     map[string]string
	url     string
	headers map[string]string
}

// valueTimeout is how long a command that prints a value may run.
const valueTimeout = 10 * time.Second

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// resolve puts in what the configuration only names. Errors name variables and
// fields, never values.
func (s Server) resolve(ctx context.Context, look func(string) (string, bool)) (resolved, error) {
	r := resolved{command: s.Command, args: slices.Clone(s.Args), env: map[string]string{}, headers: map[string]string{}}
	var err error
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if r.env[name], err = value(ctx, "env."+name, s.Env[name], look); err != nil {
			return r, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if r.headers[name], err = value(ctx, "headers."+name, s.Headers[name], look); err != nil {
			return r, err
		}
	}
	for i, a := range r.args {
		if r.args[i], err = interpolate(fmt.Sprintf("args.%d", i), a, look); err != nil {
			return r, err
		}
	}
	if r.url, err = interpolate("url", s.URL, look); err != nil {
		return r, err
	}
	if r.url != "" {
		err = checkURL(r.url)
	}
	return r, err
}

// value is a literal with ${NAME} in it, or "!command", whose output it is.
func value(ctx context.Context, field, s string, look func(string) (string, bool)) (string, error) {
	command, ok := strings.CutPrefix(s, "!")
	if !ok {
		return interpolate(field, s, look)
	}
	ctx, cancel := context.WithTimeout(ctx, valueTimeout)
	defer cancel()
	shell, flag := "sh", "-c"
	if runtime.GOOS == "windows" {
		shell, flag = "cmd", "/c"
	}
	cmd := exec.CommandContext(ctx, shell, flag, command)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return "", fmt.Errorf("the command for its %s did not end within %v", field, valueTimeout)
	}
	if err != nil {
		return "", fmt.Errorf("the command for its %s failed", field)
	}
	text := strings.TrimSpace(string(out))
	if text == "" {
		return "", fmt.Errorf("the command for its %s printed nothing", field)
	}
	return text, nil
}

func interpolate(field, s string, look func(string) (string, bool)) (string, error) {
	var missing []string
	out := variable.ReplaceAllStringFunc(s, func(m string) string {
		name := m[2 : len(m)-1]
		v, ok := look(name)
		if !ok || v == "" {
			missing = append(missing, name)
		}
		return v
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("its %s needs the environment variable %s, not set or empty", field, strings.Join(missing, ", "))
	}
	if strings.ContainsAny(out, "\x00\r\n") && field != "url" && strings.HasPrefix(field, "headers.") {
		return "", errors.New("its " + field + " holds a line break")
	}
	return out, nil
}
