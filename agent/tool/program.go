package tool

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/piweb-go/piweb/internal/ignore"
)

// grep and find hand the heavy part of a search to ripgrep and fd where these are
// installed (pi 1.6.0, "Tools"). A program only proposes names; the rules, the globs,
// the lines, the limits and the order are ours in both ways, so that a result does
// not tell which way it came. Whatever goes wrong, be it one folder that may not be
// read, makes us search ourselves, silently: then the answer says what was left out.

const (
	maxProposals = 16 << 20 // bytes of names that a program may print
	programGrace = time.Second
)

// errProposals is for a program that cannot be of use.
var errProposals = errors.New("tool: the program prints too much")

// findProgram is the path of a program that the user has installed, or "". Only
// absolute entries of PATH count, and none that lies in a folder of the session: what
// a project brings along is not run for a search.
func findProgram(environ []string, within []string, names ...string) string {
	path := ""
	for _, variable := range environ {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, name := range names {
			if runtime.GOOS == "windows" {
				name += ".exe"
			}
			at := filepath.Join(dir, name)
			info, err := os.Stat(at)
			if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
				continue
			}
			if !slices.ContainsFunc(within, func(folder string) bool { return liesBelow(at, folder) || liesBelow(realPath(at), realPath(folder)) }) {
				return at
			}
		}
	}
	return ""
}

// liesBelow compares two clean paths by their letters.
func liesBelow(path, folder string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(folder, string(filepath.Separator)))
	return ok && (rest == "" || os.IsPathSeparator(rest[0]))
}

// propose runs a program in a folder and returns the names that it prints, each
// ended by a NUL, sorted. none is the status that says that there are none. ok is false if
// anything went wrong.
func propose(ctx context.Context, opts Options, dir, program string, none int, args ...string) (names []string, ok bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := &bounded{limit: maxProposals, full: cancel}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.WaitDelay = dir, programEnv(opts), out, programGrace
	if err := cmd.Run(); err != nil {
		exit, ended := errors.AsType[*exec.ExitError](err)
		return nil, ended && none != 0 && exit.ExitCode() == none && len(out.text) == 0 && ctx.Err() == nil
	}
	for name := range bytes.SplitSeq(out.text, []byte{0}) {
		if len(name) > 0 {
			names = append(names, filepath.ToSlash(strings.TrimPrefix(string(name), "."+string(filepath.Separator))))
		}
	}
	slices.Sort(names)
	return names, ctx.Err() == nil
}

// programEnv is what a program gets of the environment: no key of a provider, no
// option of its own, and no home, whose rules of git are applied by us.
func programEnv(opts Options) []string {
	var env []string
	for _, variable := range opts.Environ() {
		switch name, _, _ := strings.Cut(variable, "="); name {
		case "SystemRoot", "LANG", "LC_ALL":
			env = append(env, variable)
		}
	}
	return env
}

// shared opens the rules of a folder. ok is false where a program may leave out what
// they keep: it knows no rules without case, and none above the folder.
func shared(root string, rules ignore.Options) (open *ignore.Rules, ok bool) {
	if overruled(root, rules) {
		return nil, false
	}
	open, err := ignore.Open(root, rules)
	return open, err == nil && !open.Root().FoldsCase()
}

// overruled says that an ignore file above a folder may bring back what one in it
// leaves out, which a program that begins in the folder would not know.
func overruled(root string, rules ignore.Options) bool {
	for at := filepath.Dir(root); ; at = filepath.Dir(at) {
		for _, name := range rules.Files {
			if exists(filepath.Join(at, name)) {
				return true
			}
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// bounded keeps what a program prints, up to a limit.
type bounded struct {
	text  []byte
	limit int
	full  func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(b.text)+len(p) > b.limit {
		b.full()
		return 0, errProposals
	}
	b.text = append(b.text, p...)
	return len(p), nil
}

// proposeFiles asks ripgrep for the files of a folder that may hold a line that
// matches: those that hold the text that each such line has. ripgrep is told of the
// rules below the folder only, as it reads those above it wrongly when it begins
// there; ours decide on each name in the end. ok is false where we have to
// search ourselves.
func proposeFiles(ctx context.Context, opts Options, cwd, root string, s search, rules ignore.Options) (files []string, ok bool) {
	need := string(s.matcher.need)
	if need == "" || strings.ContainsAny(need, "\x00\n\r") {
		return nil, false
	}
	open, ok := shared(root, rules)
	if !ok {
		return nil, false
	}
	program := findProgram(opts.Environ(), []string{cwd, root}, "rg")
	if program == "" {
		return nil, false
	}
	args := []string{"--no-config", "--files-with-matches", "--null", "--hidden", "--text", "--encoding=none", "--color=never",
		"--no-follow", "--no-ignore-parent", "--no-ignore-global", "--no-ignore-exclude", "--glob=!.git", "--fixed-strings"}
	if s.matcher.fold {
		args = append(args, "--ignore-case")
	} else {
		args = append(args, "--case-sensitive")
	}
	names, ok := propose(ctx, opts, root, program, 1, append(args, "--regexp="+need, "--", "."+string(filepath.Separator))...)
	if !ok {
		return nil, false
	}
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name)))
		if err == nil && info.Mode().IsRegular() && !open.Match(name, false) {
			files = append(files, name)
		}
	}
	return files, true
}

// proposeEntries asks fd for all that lies in a folder. ok is false where we have to
// search ourselves.
func proposeEntries(ctx context.Context, opts Options, cwd, root string, rules ignore.Options) (entries []ignore.Entry, ok bool) {
	open, ok := shared(root, rules)
	if !ok {
		return nil, false
	}
	program := findProgram(opts.Environ(), []string{cwd, root}, "fd", "fdfind")
	if program == "" {
		return nil, false
	}
	names, ok := propose(ctx, opts, root, program, 0, "--hidden", "--no-require-git", "--no-global-ignore-file", "--no-ignore-parent", "--no-follow",
		"--exclude=.git", "--color=never", "--print0", "--", "")
	if !ok {
		return nil, false
	}
	for _, name := range names {
		path, isDir := strings.CutSuffix(name, "/")
		e := ignore.EntryAt(path, 0)
		if isDir {
			e = ignore.EntryAt(path, os.ModeDir)
		}
		if !open.Match(path, isDir) {
			entries = append(entries, e)
		}
	}
	return entries, true
}
