package piweb

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/config"
	"github.com/piweb-go/piweb/extension/mcp"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/resource"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/wrapper"
)

// Loaded says what a session has loaded, from where, what was left out and why.
type Loaded struct {
	Folder    string           `json:"folder"`
	Kind      policy.Kind      `json:"kind"`
	Trust     Trust            `json:"trust"`
	Files     []LoadedFile     `json:"files"` // texts of the head
	Skills    []LoadedSkill    `json:"skills"`
	Templates []LoadedTemplate `json:"templates"`
	Servers   []LoadedServer   `json:"servers"` // MCP
	Tools     []LoadedTool     `json:"tools"`
	Commands  []LoadedCommand  `json:"commands"`
	Left      []Left           `json:"left"`
	// Newer names what reads differently on disk than in the session: a reload
	// would bring it.
	Newer []string `json:"newer"`
}

// Trust says whether a folder may bring more than context files.
type Trust struct {
	Trusted bool   `json:"trusted"`
	Reason  string `json:"reason"`
	// Ask says that nobody has decided and there is something to decide on.
	Ask bool `json:"ask"`
	// Brings are the files and folders that would load.
	Brings []string `json:"brings"`
}

// LoadedFile is a text of the head.
type LoadedFile struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // "context", "system" or "append"
}

// LoadedSkill is a skill that can be used.
type LoadedSkill struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Path        string         `json:"path"`
	Scope       resource.Scope `json:"scope"`
	Hidden      bool           `json:"hidden,omitempty"` // from the model
	Warnings    []string       `json:"warnings,omitempty"`
}

// LoadedTemplate is a prompt template.
type LoadedTemplate struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Hint        string         `json:"hint,omitempty"`
	Path        string         `json:"path"`
	Scope       resource.Scope `json:"scope"`
	Warnings    []string       `json:"warnings,omitempty"`
}

// LoadedServer is an MCP server.
type LoadedServer struct {
	Name      string       `json:"name"`
	Transport string       `json:"transport"`
	Source    string       `json:"source"` // the file that names it
	State     mcp.State    `json:"state"`
	Reason    string       `json:"reason,omitempty"`
	Version   string       `json:"version,omitempty"`
	Tools     []ServerTool `json:"tools"`
}

// ServerTool is a tool as its server names it.
type ServerTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	OnlyReads   bool   `json:"onlyReads"`
	Hidden      bool   `json:"hidden,omitempty"`
}

// LoadedTool is a tool that is offered to the model.
type LoadedTool struct {
	Name    string `json:"name"`
	Builtin bool   `json:"builtin"`
}

// LoadedCommand can be typed as /NAME.
type LoadedCommand struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Hint        string `json:"hint,omitempty"`
	Kind        string `json:"kind"`
	From        string `json:"from,omitempty"`
}

// Loaded says what a live session has loaded. It builds the engine if there is
// none.
func (r *Runtime) Loaded(ctx context.Context, s *Session) (Loaded, error) {
	l, err := s.Loadout(ctx)
	if err != nil {
		return Loaded{}, err
	}
	out := r.describe(l, s.Folder().Path)
	out.Newer = append(out.Newer, s.Newer()...)
	if l.Policy.Loads.MCP && r.host.servers != nil {
		servers, _ := mcp.Servers(r.host.mcpPlace(out.Folder))
		running := r.host.servers.Status()
		for _, cfg := range servers {
			st := mcp.Status{Server: cfg, State: mcp.Disabled}
			for _, run := range running {
				if run.Server.Name == cfg.Name && run.Server.Source == cfg.Source {
					st = run
				}
			}
			out.Servers = append(out.Servers, loadedServer(st))
		}
	}
	return out, nil
}

// LookAt says what a normal session of a folder would load. Nothing is started.
func (r *Runtime) LookAt(ctx context.Context, cwd string) (Loaded, error) {
	abs, err := filepath.Abs(cwd)
	if err != nil {
		return Loaded{}, err
	}
	setting, err := r.host.Settings(abs)
	if err != nil {
		return Loaded{}, err
	}
	p, _ := policy.Resolve(policy.Facts{Settings: setting})
	return r.lookAt(ctx, p, ReadStep{}, abs)
}

// LookAtSession says what a session would load if it were started. Nothing is.
func (r *Runtime) LookAtSession(ctx context.Context, path string) (Loaded, error) {
	p, _, err := r.Decide(path, "")
	if err != nil {
		return Loaded{}, err
	}
	h, err := session.ReadHeader(path)
	if err != nil {
		return Loaded{}, err
	}
	folder := wrapper.WorkingFolder(h.CWD, "")
	if folder.Err != nil {
		return Loaded{}, folder.Err
	}
	return r.lookAt(ctx, p, ReadStep{ID: h.ID, Path: path}, folder.Path)
}

func (r *Runtime) lookAt(ctx context.Context, p policy.Policy, s ReadStep, abs string) (Loaded, error) {
	l, err := wrapper.Load(ctx, r.host, p, r.peekEnv(s, p, abs))
	if err != nil {
		return Loaded{}, err
	}
	defer l.Close()
	out := r.describe(l, abs)
	if p.Loads.MCP && r.host.servers != nil {
		servers, _ := mcp.Servers(r.host.mcpPlace(abs))
		out.Servers = notStarted(servers)
	}
	return out, nil
}

func (r *Runtime) describe(l wrapper.Loadout, cwd string) Loaded {
	out := Loaded{Folder: cwd, Kind: l.Policy.Kind, Trust: r.Trust(cwd), Files: []LoadedFile{}, Skills: []LoadedSkill{}, Templates: []LoadedTemplate{},
		Servers: []LoadedServer{}, Tools: []LoadedTool{}, Commands: []LoadedCommand{}, Left: []Left{}, Newer: []string{}}
	if f := l.Resources.System; f != nil {
		out.Files = append(out.Files, LoadedFile{f.Path, "system"})
	}
	if f := l.Resources.Append; f != nil {
		out.Files = append(out.Files, LoadedFile{f.Path, "append"})
	}
	for _, f := range l.Resources.ContextFiles {
		out.Files = append(out.Files, LoadedFile{f.Path, "context"})
	}
	for _, s := range l.Resources.Skills {
		out.Skills = append(out.Skills, LoadedSkill{s.Name, s.Description, s.Path, s.Scope, s.Hidden, s.Warnings})
	}
	for _, t := range l.Resources.Templates {
		out.Templates = append(out.Templates, LoadedTemplate{t.Name, t.Description, t.Hint, t.Path, t.Scope, t.Warnings})
	}
	for _, t := range l.Tools {
		p := agent.PolicyTool(t)
		out.Tools = append(out.Tools, LoadedTool{p.Name, p.Builtin})
	}
	for _, c := range l.Commands() {
		out.Commands = append(out.Commands, LoadedCommand(c))
	}
	for _, o := range l.Left {
		out.Left = append(out.Left, Left{o.Path, o.Reason})
	}
	return out
}

func loadedServer(st mcp.Status) LoadedServer {
	out := LoadedServer{Name: st.Server.Name, Transport: st.Server.Transport(), Source: st.Server.Source, State: st.State, Reason: st.Reason, Version: st.Version, Tools: []ServerTool{}}
	for _, t := range st.Tools {
		out.Tools = append(out.Tools, ServerTool(t))
	}
	return out
}

// Trust says whether a folder is trusted, and what it would bring.
func (r *Runtime) Trust(cwd string) Trust {
	t := r.host.config(cwd).Trust
	return Trust{Trusted: t.Trusted, Reason: t.Reason, Ask: t.Undecided, Brings: append([]string{}, t.Needs...)}
}

// SetTrust records whether a folder is trusted; nil takes the decision back. Live
// sessions keep what they have until they are reloaded.
func (r *Runtime) SetTrust(cwd string, decision *bool) (Trust, error) {
	abs, err := filepath.Abs(cwd)
	if err == nil {
		err = config.SaveTrust(r.host.agentDir, abs, decision)
	}
	if err != nil {
		return Trust{}, err
	}
	return r.Trust(abs), nil
}

// ErrNoServer says that there is no MCP server of a name.
var ErrNoServer = errors.New("there is no such MCP server")

// Servers lists the MCP servers of a folder without starting them. left is what the
// files name and cannot be used.
func (r *Runtime) Servers(cwd string) (servers []LoadedServer, left []Left, err error) {
	abs, err := filepath.Abs(cwd)
	if err != nil {
		return nil, nil, err
	}
	if r.host.servers == nil {
		return nil, nil, fmt.Errorf("%w: MCP is switched off", ErrNoServer)
	}
	configured, out := mcp.Servers(r.host.mcpPlace(abs))
	for _, o := range out {
		left = append(left, Left{o.What, o.Why})
	}
	return notStarted(configured), left, nil
}

// notStarted describes servers by their configuration alone.
func notStarted(configured []mcp.Server) []LoadedServer {
	out := []LoadedServer{}
	for _, cfg := range configured {
		st := mcp.Status{Server: cfg, State: "not started"}
		if !cfg.Enabled {
			st.State = mcp.Disabled
		}
		out = append(out, loadedServer(st))
	}
	return out
}

// CheckServers starts the MCP servers of a folder, waits for their answers, and
// ends them. names picks some. left is what the files name and cannot be used.
func (r *Runtime) CheckServers(ctx context.Context, cwd string, names ...string) (servers []LoadedServer, left []Left, err error) {
	abs, err := filepath.Abs(cwd)
	if err != nil {
		return nil, nil, err
	}
	if r.host.servers == nil {
		return nil, nil, fmt.Errorf("%w: MCP is switched off", ErrNoServer)
	}
	states, out := r.host.servers.Check(ctx, r.host.mcpPlace(abs), names...)
	for _, st := range states {
		servers = append(servers, loadedServer(st))
	}
	for _, o := range out {
		left = append(left, Left{o.What, o.Why})
	}
	for _, name := range names {
		found := false
		for _, s := range servers {
			found = found || s.Name == name
		}
		if !found {
			return servers, left, fmt.Errorf("%w: %q; `piweb mcp list` shows those of %s", ErrNoServer, name, abs)
		}
	}
	return servers, left, nil
}
