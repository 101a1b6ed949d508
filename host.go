package piweb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/piweb-go/piweb/account"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/config"
	"github.com/piweb-go/piweb/extension/mcp"
	"github.com/piweb-go/piweb/internal/confine"
	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/resource"
	"github.com/piweb-go/piweb/wrapper"
)

// host gives live sessions their settings, texts, tools and models. It reads the
// configuration anew for every question and keeps nothing; how long an answer
// holds is up to the session that asked.
type host struct {
	agentDir   string
	home       string
	lookup     func(string) (string, bool)
	sessionDir string
	providers  model.Registry
	confine    bool // file tools stay in the session's folder
	locks      *tool.Locks
	pictures   *media.Admitter
	mover      *mover
	own        []agent.Factory // ours, set while the runtime is made
	extensions []agent.Factory // the embedding program's
	files      *attachments
	remembers  *memories
	owners     *account.Owners
	servers    *mcp.Pool // nil where MCP is off
	edits      *edits
}

func newHost(cfg Config) (*host, error) {
	home, err := userHome(cfg)
	if err != nil {
		return nil, err
	}
	h := &host{home: home, lookup: cfg.Lookup, sessionDir: cfg.SessionDir, providers: cfg.Providers, locks: &tool.Locks{}, extensions: cfg.Extensions, confine: cfg.Confine, edits: newEdits()}
	if h.lookup == nil {
		h.lookup = os.LookupEnv
	}
	if cfg.AgentDir != "" {
		dir, err := filepath.Abs(cfg.AgentDir)
		if err != nil {
			return nil, fmt.Errorf("agent directory: %w", err)
		}
		over := h.lookup
		h.lookup = func(name string) (string, bool) {
			if name == config.EnvAgentDir {
				return dir, true
			}
			return over(name)
		}
	}
	h.agentDir = h.env("").AgentDir()
	if !cfg.NoMCP {
		h.servers = mcp.NewPool(mcp.Options{CacheDir: filepath.Join(h.agentDir, "piweb", "mcp"), Lookup: h.lookup, Environ: func() []string {
			return withoutKeys(h.config("").Models.KeyVariables())()
		}})
	}
	own, _ := config.ReadOwn(h.agentDir) // what is wrong in it is told with the configuration
	if cfg.Pictures.Input == 0 {
		cfg.Pictures.Input = own.PictureBytes
	}
	h.pictures = media.NewAdmitter(cfg.Pictures)
	if cfg.Externalize == "" {
		cfg.Externalize = own.Externalize
	}
	h.mover = &mover{agentDir: h.agentDir, when: cfg.Externalize, lookup: h.lookup, known: map[string]bool{}}
	return h, nil
}

func (h *host) env(cwd string) config.Env {
	return config.Env{Lookup: h.lookup, Home: h.home, Cwd: cwd}
}

func (h *host) config(cwd string) *config.Config {
	return config.Load(h.env(cwd), config.Options{SessionDir: h.sessionDir})
}

// Settings is the defaultTools setting of a folder. Where nothing is set, a confined
// session has all tools that can be kept to the folder: without bash it could not
// search with pi's default.
func (h *host) Settings(cwd string) (policy.Setting, error) {
	tools := h.config(cwd).Settings.DefaultTools
	set := policy.Setting{Given: tools.Set, Tools: tools.Names, From: tools.Source}
	if h.confine {
		set.Default, set.Why = tool.ConfinedNames(), "confined: what can be kept to the folder"
	}
	return set, nil
}

// Tools constructs the built-in tools that this program has.
func (h *host) Tools(cwd string, names []string) ([]agent.Tool, error) {
	cfg := h.config(cwd)
	set := cfg.Settings
	opts := tool.Options{Environ: withoutKeys(cfg.Models.KeyVariables()), ShellPath: set.ShellPath, ShellCommandPrefix: set.ShellCommandPrefix, Home: h.home, Locks: h.locks, Pictures: h.pictures}
	var tools []agent.Tool
	for _, name := range names {
		build, ok := tool.Lookup(name)
		if !ok {
			continue
		}
		t := build(opts)
		if h.confine {
			if t, ok = tool.Confined(t); !ok {
				continue // it could reach outside
			}
		}
		tools = append(tools, t)
	}
	return tools, nil
}

// Extensions are the factories that a normal session constructs: piweb's own, then
// those of the embedding program. A factory of ours is added here.
func (h *host) Extensions(_ string, loads policy.Loads) []agent.Factory {
	own := slices.Clone(h.own)
	if loads.MCP && h.servers != nil {
		own = append(own, h.servers.Factory(h.mcpPlace))
	}
	if loads.Extensions {
		own = append(own, h.attachmentTools()...)
		own = append(own, h.recallTools()...)
	}
	return append(own, h.extensions...)
}

// closeServers ends the MCP servers, and the watch over files.
func (h *host) closeServers() error {
	err := h.edits.close()
	if h.servers != nil {
		err = errors.Join(err, h.servers.Close())
	}
	return err
}

// mcpPlace is where the MCP servers of a folder are looked for.
func (h *host) mcpPlace(cwd string) mcp.Place {
	return mcp.Place{Cwd: cwd, AgentDir: h.agentDir, Home: h.home, Trusted: h.config(cwd).Trust.Trusted}
}

// Resources reads the texts that a policy lets in, and nothing else. SYSTEM.md
// and APPEND_SYSTEM.md of a project count only if the project is trusted.
func (h *host) Resources(_ context.Context, cwd string, loads policy.Loads) (wrapper.Resources, error) {
	var res wrapper.Resources
	cfg := h.config(cwd)
	place := h.place(cfg, cwd)
	if loads.ContextFiles {
		res.ContextFiles, res.Left = resource.ContextFiles(place)
	}
	prompt := func(find func(resource.Place) (resource.PromptFile, bool, []resource.Omission)) *resource.ContextFile {
		f, ok, left := find(place)
		res.Left = append(res.Left, left...)
		if !ok || f.Text == "" {
			return nil // pi takes an empty file for none
		}
		file := resource.ContextFile(f)
		return &file
	}
	if loads.SystemPrompt {
		res.System = prompt(resource.SystemPrompt)
	}
	if loads.AppendPrompt {
		res.Append = prompt(resource.AppendSystemPrompt)
	}
	if loads.Skills {
		var left []resource.Omission
		res.Skills, left = resource.Skills(place)
		res.Left = append(res.Left, left...)
	}
	if loads.Templates {
		var left []resource.Omission
		res.Templates, left = resource.Templates(place)
		res.Left = append(res.Left, left...)
	}
	if loads.MCP && h.servers != nil {
		for _, path := range mcp.Files(h.mcpPlace(cwd)) {
			if data, err := confine.ReadRegular(path, maxServersFile); err == nil {
				res.Also = append(res.Also, policy.SourceHash{Path: path, SHA256: policy.Hash(data)})
			}
		}
	}
	if loads.Skills || loads.Templates || loads.Extensions || loads.SystemPrompt || loads.AppendPrompt {
		res.Left = append(res.Left, untrusted(cfg.Trust)...)
	}
	return res, nil
}

// maxServersFile bounds an mcp.json that is looked at for changes.
const maxServersFile = 1 << 20

// place is where the resources of a folder are looked for.
func (h *host) place(cfg *config.Config, cwd string) resource.Place {
	lists := cfg.Settings.Resources
	return resource.Place{
		Cwd: cwd, AgentDir: h.agentDir, Home: h.home, Trusted: cfg.Trust.Trusted,
		Skills:    resource.Lists{Project: lists.Project.Skills, User: lists.User.Skills},
		Templates: resource.Lists{Project: lists.Project.Prompts, User: lists.User.Prompts},
		Packages:  resource.Packages{Project: packages(lists.Project.Packages), User: packages(lists.User.Packages)},
	}
}

func packages(list []config.Package) (out []resource.Package) {
	for _, p := range list {
		out = append(out, resource.Package(p))
	}
	return out
}

// untrusted lists what a project has and may not bring.
func untrusted(t config.Trust) (left []resource.Omission) {
	if t.Trusted {
		return nil
	}
	for _, path := range t.Needs {
		left = append(left, resource.Omission{Path: path, Reason: "the project is not trusted: " + t.Reason})
	}
	return left
}
