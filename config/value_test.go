package config

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestValueTemplates(t *testing.T) {
	vars := map[string]string{"A": "1", "B_2": "two", "EMPTY": "", "日本": "x", "É": "y"}
	env := Env{Lookup: func(n string) (string, bool) { v, ok := vars[n]; return v, ok }}
	for _, c := range []struct {
		name, in, want string
		missing        string
	}{
		{"literal", "sk-abc", "sk-abc", ""},
		{"variable", "$A", "1", ""},
		{"in braces", "${B_2}", "two", ""},
		{"inside text", "x-$A-${B_2}y", "x-1-twoy", ""},
		{"name ends at a sign", "$A.b", "1.b", ""},
		{"longest name", "$AB", "", "AB"},
		{"unset", "$NOPE", "", "NOPE"},
		{"empty counts as unset", "${EMPTY}", "", "EMPTY"},
		{"several missing, each once, in order", "$Z$Y${Z}$A", "", "Z, Y"},
		{"escaped dollar", "a$$b", "a$b", ""},
		{"escaped dollar before a name", "$$A", "$A", ""},
		{"escaped bang", "$!cmd", "!cmd", ""},
		{"bang inside", "a!b", "a!b", ""},
		{"dollar at the end", "a$", "a$", ""},
		{"dollar before a digit", "$1", "$1", ""},
		{"dollar before a blank", "a $ b", "a $ b", ""},
		{"open brace", "${A", "${A", ""},
		{"empty braces", "${}", "${}", ""},
		{"odd name in braces", "${a-b}$A", "${a-b}1", ""},
		{"digit first in braces", "${1A}", "${1A}", ""},
		{"names are ASCII", "$É", "$É", ""},
		{"value is not expanded again", "$A", "1", ""},
		{"three dollars", "$$$A", "$1", ""},
		{"blanks stay", " k ", " k ", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &resolver{}
			got, err := r.resolve(context.Background(), parseTemplate(c.in), "the key of p", env.over(nil))
			if c.missing != "" {
				if err == nil || !strings.Contains(err.Error(), c.missing) || !strings.Contains(err.Error(), "the key of p") {
					t.Errorf("error %v does not name %s", err, c.missing)
				}
				return
			}
			if err != nil || got.Reveal() != c.want {
				t.Errorf("%q, %v; want %q", got.Reveal(), err, c.want)
			}
		})
	}
}

func TestValueOwnEnvironmentWins(t *testing.T) {
	env := Env{Lookup: func(n string) (string, bool) { return "process", true }}
	own := map[string]Secret{"A": NewSecret("own"), "E": {}}
	r := &resolver{}
	got, err := r.resolve(context.Background(), parseTemplate("$A $B $E"), "k", env.over(own))
	if err != nil || got.Reveal() != "own process process" {
		t.Errorf("%q, %v", got.Reveal(), err)
	}
}

func TestPropertyTemplateWithoutDollarIsLiteral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[^$!\x00][^$]*`).Draw(t, "text")
		got, err := (&resolver{}).resolve(context.Background(), parseTemplate(text), "k", Env{}.over(nil))
		if err != nil || got.Reveal() != text {
			t.Fatalf("%q became %q, %v", text, got.Reveal(), err)
		}
		doubled := strings.ReplaceAll(rapid.String().Filter(func(s string) bool { return s != "" && s[0] != '!' }).Draw(t, "any"), "$", "$$")
		got, err = (&resolver{}).resolve(context.Background(), parseTemplate(doubled), "k", Env{}.over(nil))
		if err != nil || got.Reveal() != strings.ReplaceAll(doubled, "$$", "$") {
			t.Fatalf("%q became %q, %v", doubled, got.Reveal(), err)
		}
	})
}

func TestCommandIsRemembered(t *testing.T) {
	var runs atomic.Int32
	r := &resolver{timeout: time.Minute, run: func(ctx context.Context, command string) (string, error) {
		if runs.Add(1) == 1 {
			return "", errors.New("locked")
		}
		return " key \r\n", nil
	}}
	tpl := parseTemplate("!get")
	if _, err := r.remembered(context.Background(), tpl, "k", nil); err == nil {
		t.Fatal("the failure was lost")
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			got, err := r.remembered(context.Background(), tpl, "k", nil)
			if err != nil || got.Reveal() != "key" {
				t.Errorf("%q, %v", got.Reveal(), err)
			}
		})
	}
	wg.Wait()
	if n := runs.Load(); n != 2 {
		t.Errorf("%d runs: a failure is not remembered, an answer is", n)
	}
	r.resolve(context.Background(), tpl, "k", nil)
	r.resolve(context.Background(), tpl, "k", nil)
	if n := runs.Load(); n != 4 {
		t.Errorf("%d runs: resolve asks every time", n)
	}
}

func TestCommandFailures(t *testing.T) {
	for _, c := range []struct {
		name, out string
		err       error
		want      string
	}{
		{"fails", "half a key", errors.New("exit status 3"), "exit status 3"},
		{"prints nothing", " \n", nil, "printed nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &resolver{timeout: time.Minute, run: func(context.Context, string) (string, error) { return c.out, c.err }}
			_, err := r.resolve(context.Background(), parseTemplate("!cat secret-path"), "the key of p", nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "the key of p") {
				t.Errorf("%v", err)
			}
			if err != nil && (strings.Contains(err.Error(), "secret-path") || strings.Contains(err.Error(), "half")) {
				t.Errorf("the error repeats the command or its output: %v", err)
			}
		})
	}
}

func TestShellCommands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a POSIX shell")
	}
	defer goleak.VerifyNone(t)
	r := &resolver{run: runShell, timeout: 10 * time.Second}
	for _, c := range []struct{ name, command, want, err string }{
		{"prints", "!printf ' k e y \\n\\n'", "k e y", ""},
		{"pipes and quotes", `!printf '%s' "a'b" | tr a-z A-Z`, "A'B", ""},
		{"standard error is dropped", "!echo noise >&2; echo key", "key", ""},
		{"exit code", "!echo key; exit 3", "", "exit status 3"},
		{"killed", "!kill -9 $$", "", "killed"},
		{"no such program", "!no-such-program-here", "", "exit status 127"},
		{"reads no input", "!cat; echo key", "key", ""},
		{"prints without end", "!yes", "", "more than 65536 bytes"},
		{"empty command", "!", "", "is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := r.resolve(context.Background(), parseTemplate(c.command), "k", nil)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%q, %v; want error %q", got.Reveal(), err, c.err)
				}
				return
			}
			if err != nil || got.Reveal() != c.want {
				t.Errorf("%q, %v; want %q", got.Reveal(), err, c.want)
			}
		})
	}
}

func TestShellCommandTimeLimit(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a POSIX shell")
	}
	defer goleak.VerifyNone(t)
	r := &resolver{run: runShell, timeout: 100 * time.Millisecond}
	start := time.Now()
	// The child of the shell holds the pipe and has to go as well.
	_, err := r.resolve(context.Background(), parseTemplate("!sleep 30; echo late"), "the key of p", nil)
	if err == nil || !strings.Contains(err.Error(), "did not end within 100ms") {
		t.Errorf("%v", err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.resolve(ctx, parseTemplate("!echo key"), "k", nil); err == nil {
		t.Error("ran although the caller had given up")
	}
}
