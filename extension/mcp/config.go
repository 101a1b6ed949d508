package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/internal/confine"
)

// Bounds of a configuration.
const (
	maxConfig      = 1 << 20
	maxServers     = 100
	defaultTimeout = 60 * time.Second
	maxTimeout     = time.Hour
)

// Place is where a session works, as far as servers are concerned.
type Place struct {
	Cwd      string
	AgentDir string
	Home     string
	Trusted  bool // the project may bring servers
}

// Server is one entry of mcp.json.
type Server struct {
	Name        string
	Source      string // the file that defines it
	Project     bool   // that file is the project's
	Override    string // the project's file that changes what may be changed, or ""
	Enabled     bool
	Description string
	Timeout     time.Duration // of one request without progress

	Command string // a program; "" for a server with a URL
	Args    []string
	Env     map[string]string
	Dir     string // where it runs; "" for the working folder
	URL     string
	Headers map[string]string

	exposure string
	exposed  []exposure
}

// exposure is one line of toolExposure.
type exposure struct{ pattern, as string }

// Transport is "stdio" or "http".
func (s Server) Transport() string {
	if s.URL != "" {
		return "http"
	}
	return "stdio"
}

// hidden tells whether the configuration keeps a tool away. An exact name goes
// before a pattern, and the first pattern that fits decides. The other exposures
// of pi are about tools that piweb does not have; what they expose is declared.
func (s Server) hidden(tool string) bool {
	as := s.exposure
	found := false
	for _, e := range s.exposed {
		switch {
		case e.pattern == tool:
			return e.as == "hidden"
		case !found && strings.Contains(e.pattern, "*") && star(e.pattern, tool):
			as, found = e.as, true
		}
	}
	return as == "hidden"
}

// star matches a pattern in which "*" stands for any letters.
func star(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	last := parts[len(parts)-1]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return strings.HasSuffix(s, last)
}

// key tells servers apart: the same key is the same process.
func (s Server) key(p Place) string {
	dir := p.Cwd
	raw, _ := json.Marshal(struct {
		Server   Server
		Exposure string
		Exposed  string
		Dir      string
		Trusted  bool
	}{s, s.exposure, fmt.Sprint(s.exposed), dir, p.Trusted})
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

var serverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Servers reads the servers of a place: the user's, then those of a trusted
// project, which take the place of one with the same name. A project's entry that
// names neither command nor URL only changes whether, and which of its tools, a
// server of the user's is used. What is wrong is left out and told; the rest
// counts.
func Servers(p Place) ([]Server, []agent.LeftOut) {
	r := reader{place: p}
	for i, path := range Files(p) {
		r.file(path, i > 0 || p.AgentDir == "")
	}
	return r.servers, r.left
}

// Files are the files that name the servers of a place, there or not.
func Files(p Place) (out []string) {
	if p.AgentDir != "" {
		out = append(out, filepath.Join(p.AgentDir, "mcp.json"))
	}
	if p.Trusted && p.Cwd != "" {
		if path := filepath.Join(p.Cwd, ".pi", "mcp.json"); !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	return out
}

type reader struct {
	place   Place
	servers []Server
	left    []agent.LeftOut
}

func (r *reader) omit(what, format string, args ...any) {
	r.left = append(r.left, agent.LeftOut{What: what, Why: fmt.Sprintf(format, args...), Wrong: true})
}

func (r *reader) file(path string, project bool) {
	data, err := confine.ReadRegular(path, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		r.omit(path, "it cannot be read: %v", err)
		return
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return
	}
	if !gjson.ValidBytes(data) {
		r.omit(path, "it is not valid JSON")
		return
	}
	list := gjson.GetBytes(data, "mcpServers")
	if list.Exists() && !list.IsObject() {
		r.omit(path, "its mcpServers is no object")
		return
	}
	list.ForEach(func(name, entry gjson.Result) bool {
		if len(r.servers) >= maxServers {
			r.omit(path, "it names more than %d servers; the rest is left out", maxServers)
			return false
		}
		r.entry(path, project, name.String(), entry)
		return true
	})
}

func (r *reader) entry(path string, project bool, name string, v gjson.Result) {
	what := fmt.Sprintf("MCP server %q of %s", name, path)
	if !serverName.MatchString(name) {
		r.omit(what, "a server's name has 1 to 64 letters, digits, \"_\" and \"-\"")
		return
	}
	if !v.IsObject() {
		r.omit(what, "it is no object")
		return
	}
	at := -1
	for i, s := range r.servers {
		switch {
		case s.Name == name:
			at = i
		case sameName(s.Name, name):
			r.omit(what, "it differs from %q only in \"-\" and \"_\"", s.Name)
			return
		}
	}
	if at >= 0 && project && !r.servers[at].Project && !v.Get("command").Exists() && !v.Get("url").Exists() && !v.Get("type").Exists() {
		r.override(&r.servers[at], path, v)
		return
	}
	s, err := r.parse(v)
	if err != nil {
		r.omit(what, "%v", err)
		return
	}
	s.Name, s.Source, s.Project = name, path, project
	if at >= 0 {
		r.servers[at] = s
		return
	}
	r.servers = append(r.servers, s)
}

func sameName(a, b string) bool {
	return strings.ReplaceAll(a, "-", "_") == strings.ReplaceAll(b, "-", "_")
}

func (r *reader) override(s *Server, path string, v gjson.Result) {
	s.Override = path
	if e := v.Get("enabled"); e.IsBool() {
		s.Enabled = e.Bool()
	}
	if e := v.Get("exposure"); e.Type == gjson.String {
		s.exposure = e.String()
	}
	if e := v.Get("toolExposure"); e.IsObject() {
		s.exposed = exposures(e)
	}
}

func exposures(v gjson.Result) (out []exposure) {
	v.ForEach(func(pattern, as gjson.Result) bool {
		out = append(out, exposure{pattern.String(), as.String()})
		return len(out) < 1000
	})
	return out
}

func (r *reader) parse(v gjson.Result) (Server, error) {
	s := Server{Enabled: true, Timeout: defaultTimeout, Description: v.Get("description").String(), exposure: v.Get("exposure").String()}
	kind := v.Get("type").String()
	command, address := v.Get("command"), v.Get("url")
	switch {
	case kind == "sse":
		return s, errors.New("the old SSE transport is not supported; servers that have it often offer streamable HTTP at /mcp")
	case kind != "" && kind != "stdio" && kind != "http" && kind != "streamable-http":
		return s, fmt.Errorf("its type is %q; there are stdio and http", kind)
	case command.Exists() && address.Exists():
		return s, errors.New("it has a command and a url; only one can be meant")
	case (kind == "stdio" || kind == "" && command.Exists()) && command.Type == gjson.String && command.String() != "":
		s.Command = r.home(command.String())
	case (kind == "http" || kind == "streamable-http" || kind == "" && address.Exists()) && address.Type == gjson.String:
		s.URL = address.String()
	default:
		return s, errors.New("it needs a command (a program) or a url")
	}
	if v.Get("auth").Exists() || v.Get("oauth").Exists() && v.Get("headers.Authorization").Exists() {
		return s, errors.New("piweb cannot sign in with a provider's token; put it into headers")
	}
	var err error
	if s.Args, err = list(v, "args"); err != nil {
		return s, err
	}
	for i, a := range s.Args {
		s.Args[i] = r.home(a)
	}
	if s.Env, err = object(v, "env"); err != nil {
		return s, err
	}
	if s.Headers, err = object(v, "headers"); err != nil {
		return s, err
	}
	if s.URL != "" && !strings.Contains(s.URL, "${") {
		if err := checkURL(s.URL); err != nil {
			return s, err
		}
	}
	if dir := v.Get("cwd").String(); dir != "" {
		s.Dir = r.home(dir)
	}
	if t := v.Get("timeout"); t.Type == gjson.Number && t.Num > 0 {
		s.Timeout = min(time.Duration(t.Num*float64(time.Second)), maxTimeout)
	}
	if e := v.Get("enabled"); e.IsBool() {
		s.Enabled = e.Bool()
	}
	s.exposed = exposures(v.Get("toolExposure"))
	return s, nil
}

// checkURL wants https, or http to this machine or to an address without a name:
// a password must not go over the net in the open by a slip.
func checkURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("its url is no http address")
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	if u.Scheme == "http" && host != "localhost" && (ip == nil || !ip.IsLoopback() && !ip.IsPrivate()) {
		return errors.New("its url must begin with https: http is for this machine and private addresses")
	}
	return nil
}

// home puts the home folder in the place of a leading "~/".
func (r *reader) home(s string) string {
	if rest, ok := strings.CutPrefix(s, "~/"); ok && r.place.Home != "" {
		return filepath.Join(r.place.Home, rest)
	}
	return s
}

func list(v gjson.Result, key string) ([]string, error) {
	field := v.Get(key)
	if !field.Exists() {
		return nil, nil
	}
	if !field.IsArray() {
		return nil, fmt.Errorf("its %s is no list", key)
	}
	var out []string
	for _, item := range field.Array() {
		if item.Type != gjson.String {
			return nil, fmt.Errorf("its %s holds something that is no string", key)
		}
		out = append(out, item.String())
	}
	return out, nil
}

func object(v gjson.Result, key string) (map[string]string, error) {
	field := v.Get(key)
	if !field.Exists() {
		return nil, nil
	}
	if !field.IsObject() {
		return nil, fmt.Errorf("its %s is no object", key)
	}
	out := map[string]string{}
	var err error
	field.ForEach(func(name, value gjson.Result) bool {
		if value.Type != gjson.String {
			err = fmt.Errorf("its %s.%s is no string", key, name)
			return false
		}
		out[name.String()] = value.String()
		return true
	})
	return out, err
}
