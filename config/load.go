package config

import (
	"errors"
	"time"
)

// Options are the wishes of one start. The zero value has none.
type Options struct {
	SessionDir string            // --session-dir
	Trust      *bool             // --approve (true), --no-approve (false); nil: not said
	Keys       map[string]Secret // explicit keys by provider id (--api-key)

	Run            RunFunc       // runs key commands; nil: the system's shell
	CommandTimeout time.Duration // of one key command; 0: 10 s
}

// Config is what holds for one working folder. It is not changed after loading
// and may be used by many goroutines.
type Config struct {
	AgentDir string
	Settings Settings
	Sessions SessionRoot
	Trust    Trust
	Models   *Models
	Own      Own        // what only piweb has
	Problems []*Problem // in the order in which files were read; empty when all is well
}

// Load reads the configuration for env.Cwd. It does not fail: what is broken is
// listed in Problems and replaced by defaults. No file is written, no command
// run.
//
// The order matters: the user's settings say how projects are trusted, trust
// says whether the project's settings count. Of a project that is not trusted
// only sessionDir is read, as in pi (spec/pi.md §1.1): the user's other program
// would look for the sessions there.
func Load(env Env, opts Options) *Config {
	c := &Config{AgentDir: env.AgentDir()}
	mine, problem := ReadOwn(c.AgentDir)
	c.Own = mine
	c.report(problem)
	globalPath, projectPath := settingsPaths(c.AgentDir, env.Cwd)

	global, problems := readLayer(globalPath)
	c.report(problems...)
	layers := []layer{global}

	saved := readTrust(c.AgentDir)
	c.report(saved.problem)
	own, _ := settingsFrom(env, global)
	c.Trust = decideTrust(env, saved, own.DefaultProjectTrust, opts.Trust)

	if env.Cwd != "" && projectPath != globalPath {
		project, problems := readLayer(projectPath)
		if !c.Trust.Trusted {
			project.values, problems = onlySessionDir(project.values), nil
		}
		c.report(problems...)
		layers = append(layers, project)
	}
	var moreProblems []*Problem
	c.Settings, moreProblems = settingsFrom(env, layers...)
	c.report(moreProblems...)
	c.Sessions = env.sessionRoot(opts.SessionDir, c.AgentDir, c.Settings.SessionDir, c.Settings.sessionSource)

	c.loadModels(env, opts)
	return c
}

func (c *Config) loadModels(env Env, opts Options) {
	file, problems := readModels(c.AgentDir)
	c.report(problems...)
	auth, authProblems := readAuth(c.AgentDir)
	c.report(authProblems...)

	r := &resolver{run: opts.Run, timeout: opts.CommandTimeout}
	if r.run == nil {
		r.run = runShell
	}
	if r.timeout <= 0 {
		r.timeout = commandTimeout
	}
	broken := ""
	if len(problems) > 0 {
		broken = problems[0].Error()
	}
	models, modelProblems := newModels(env, file, broken, auth, opts.Keys, r)
	c.report(modelProblems...)
	c.Models = models
}

func (c *Config) report(problems ...*Problem) {
	for _, p := range problems {
		if p != nil {
			c.Problems = append(c.Problems, p)
		}
	}
}

// Err joins the problems that set a whole file aside, or is nil.
func (c *Config) Err() error {
	var errs []error
	for _, p := range c.Problems {
		if !p.Warning {
			errs = append(errs, p)
		}
	}
	return errors.Join(errs...)
}

func onlySessionDir(values map[string]any) map[string]any {
	if dir, ok := values["sessionDir"]; ok {
		return map[string]any{"sessionDir": dir}
	}
	return nil
}
