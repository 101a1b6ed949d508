package config

import (
	"path/filepath"
	"runtime"
	"strings"
)

// The variables that move directories (spec/pi.md §1.1, §8).
const (
	EnvAgentDir   = "PI_CODING_AGENT_DIR"
	EnvSessionDir = "PI_CODING_AGENT_SESSION_DIR"
)

// Env is the surroundings that configuration depends on. The zero value has no
// variables, no home and no working folder.
type Env struct {
	Lookup func(name string) (value string, ok bool) // as os.LookupEnv; nil: nothing is set
	Home   string                                    // the user's home folder, absolute
	Cwd    string                                    // the session's working folder, absolute
}

// value returns a variable that is set and not empty. pi takes an empty one for
// missing everywhere.
func (e Env) value(name string) (string, bool) {
	if e.Lookup == nil {
		return "", false
	}
	v, ok := e.Lookup(name)
	return v, ok && v != ""
}

// Expand replaces a leading "~" or "~/" by the home folder. Other users' homes
// ("~name") are not looked up.
func (e Env) Expand(path string) string {
	if e.Home == "" || !strings.HasPrefix(path, "~") {
		return path
	}
	switch rest := path[1:]; {
	case rest == "":
		return e.Home
	case rest[0] == '/', rest[0] == '\\' && runtime.GOOS == "windows":
		return filepath.Join(e.Home, rest)
	}
	return path
}

// Resolve expands path and makes it absolute: a relative one is relative to
// Cwd. The empty path stays empty.
func (e Env) Resolve(path string) string {
	if path == "" {
		return ""
	}
	path = e.Expand(path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.Cwd, path)
	}
	return filepath.Clean(path)
}

// AgentDir is $PI_CODING_AGENT_DIR with its tilde expanded, else
// <home>/.pi/agent. It need not exist.
func (e Env) AgentDir() string {
	if dir, ok := e.value(EnvAgentDir); ok {
		return e.Resolve(dir)
	}
	return filepath.Join(e.Home, ".pi", "agent")
}

// SessionRoot says where session files are kept.
type SessionRoot struct {
	Dir    string // absolute; need not exist
	Custom bool   // chosen by flag, variable or setting: one flat folder, no folder per project
	Source string // what chose it: "--session-dir", a variable, a settings file, or "default"
}

// sessionRoot decides by pi's precedence: flag, variable, setting, default.
func (e Env) sessionRoot(flag, agentDir string, setting, source string) SessionRoot {
	if flag != "" {
		return SessionRoot{e.Resolve(flag), true, "--session-dir"}
	}
	if dir, ok := e.value(EnvSessionDir); ok {
		return SessionRoot{e.Resolve(dir), true, EnvSessionDir}
	}
	if setting != "" {
		return SessionRoot{e.Resolve(setting), true, source}
	}
	return SessionRoot{Dir: filepath.Join(agentDir, "sessions"), Source: "default"}
}
