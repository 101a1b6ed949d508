package attachment

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/piweb-go/piweb/attachment/handle"
	"github.com/piweb-go/piweb/blob"
	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/internal/signed"
)

// The variables that set up a store, in the server and in tool programs. Source:
// pi-web, "Environment".
const (
	EnvDir      = "PI_WEB_ATTACHMENT_DIR"
	EnvSecret   = "PI_WEB_ATTACHMENT_SECRET"
	EnvURLBase  = "PI_WEB_ATTACHMENT_URL_BASE"
	EnvURLTTL   = "PI_WEB_ATTACHMENT_URL_TTL_MS"
	EnvBackends = "PI_WEB_ATTACHMENT_BACKENDS"
	// EnvPrevious is ours: secrets that are still accepted after a change of
	// EnvSecret, separated by blanks.
	EnvPrevious = "PI_WEB_ATTACHMENT_SECRET_PREVIOUS"
	// EnvSession is the session that a tool program works for.
	EnvSession = "PI_SESSION_ID"
)

// EnvSecrets are the variables that only the server and configured tool programs
// may see. The shell tool takes them out of what it starts.
var EnvSecrets = []string{EnvSecret, EnvPrevious}

// Kind is a kind of backend that a program links besides folders.
type Kind struct {
	Name string // as in the topology, such as "s3"
	// Open makes the store that a backend's JSON object describes. Credentials are
	// in the variables that it names.
	Open func(config json.RawMessage, lookup func(string) (string, bool)) (blob.Store, error)
}

// Setup says how a store is set up where the variables do not.
type Setup struct {
	Lookup func(name string) (string, bool)
	// Dir is the folder where EnvDir names none. "" with no EnvDir and no
	// EnvBackends: there is no store.
	Dir string
	// SecretFile keeps a generated secret where EnvSecret is not set. "": a secret
	// must be given.
	SecretFile string
	// URLBase is used where EnvURLBase is not set.
	URLBase string
	Kinds   []Kind
	Limit   int64 // see Options
	Quota   int64
	FS      durable.FS // nil for the machine's
	Now     func() time.Time
}

// OpenSetup makes a store from variables. nil without an error: there is none.
func OpenSetup(u Setup) (*Store, error) {
	if u.FS == nil {
		u.FS = durable.OS{}
	}
	get := func(name string) string {
		v, _ := u.Lookup(name)
		return v
	}
	dir := get(EnvDir)
	if dir == "" {
		dir = u.Dir
	}
	topology := get(EnvBackends)
	if dir == "" && topology == "" {
		return nil, nil
	}
	o := Options{Limit: u.Limit, Quota: u.Quota, Now: u.Now}
	var err error
	if o.Links, err = links(u, get); err != nil {
		return nil, err
	}
	if dir != "" {
		if o.Registry, err = blob.NewDir(dir, blob.DirOptions{FS: u.FS}); err != nil {
			return nil, err
		}
	}
	if topology != "" {
		if err := arrange(&o, topology, dir, u); err != nil {
			return nil, fmt.Errorf("attachment: $%s: %w", EnvBackends, err)
		}
	}
	return Open(o)
}

// Exists tells whether there can be attachments: a folder that is there, or
// backends elsewhere. It makes nothing.
func (u Setup) Exists() bool {
	if v, _ := u.Lookup(EnvBackends); v != "" {
		return true
	}
	dir, _ := u.Lookup(EnvDir)
	if dir == "" {
		dir = u.Dir
	}
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

func links(u Setup, get func(string) string) (*Links, error) {
	var keys *signed.Keys
	var err error
	switch secret := get(EnvSecret); {
	case secret != "":
		keys, err = signed.NewKeys(secret, strings.Fields(get(EnvPrevious))...)
	case u.SecretFile != "":
		keys, err = signed.Load(u.FS, u.SecretFile)
	default:
		err = fmt.Errorf("attachment: $%s is not set", EnvSecret)
	}
	if err != nil {
		return nil, err
	}
	ttl := time.Duration(0)
	if v := get(EnvURLTTL); v != "" {
		ms, err := strconv.ParseFloat(v, 64)
		if err != nil || !(ms > 0) {
			return nil, fmt.Errorf("attachment: $%s is %q; it must be a number of milliseconds above 0", EnvURLTTL, clip(v, 40))
		}
		ttl = time.Duration(min(ms, 1<<43) * float64(time.Millisecond))
	}
	base, set := u.Lookup(EnvURLBase)
	if !set {
		base = u.URLBase
	}
	return NewLinks(keys, base, ttl, u.Now), nil
}

var backendName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// arrange reads the topology of backends.
func arrange(o *Options, topology, dir string, u Setup) error {
	var t struct {
		Backends []json.RawMessage `json:"backends"`
		Write    string            `json:"write"`
		Registry *struct {
			Kind    string `json:"kind"`
			Backend string `json:"backend"`
		} `json:"registry"`
	}
	if err := json.Unmarshal([]byte(topology), &t); err != nil {
		return errors.New("it is no JSON object of the expected form")
	}
	if len(t.Backends) == 0 {
		return errors.New("it lists no backends")
	}
	kinds := map[string]string{}
	stores := map[string]blob.Store{}
	for i, raw := range t.Backends {
		var b struct{ Kind, Name, Dir string }
		if err := json.Unmarshal(raw, &b); err != nil || !backendName.MatchString(b.Name) {
			return fmt.Errorf("backend %d has no name of lower-case letters, digits and hyphens", i+1)
		}
		if stores[b.Name] != nil {
			return fmt.Errorf("two backends have the name %q", b.Name)
		}
		store, err := openBackend(b.Kind, b.Dir, raw, dir, u)
		if err != nil {
			return fmt.Errorf("backend %q: %w", b.Name, err)
		}
		kinds[b.Name], stores[b.Name] = b.Kind, store
		o.Backends = append(o.Backends, Backend{b.Name, store})
	}
	if stores[t.Write] == nil {
		return fmt.Errorf("%q is to be written to and is none of the backends", t.Write)
	}
	o.Write = t.Write
	switch {
	case t.Registry == nil || t.Registry.Kind == localKind:
		if o.Registry == nil {
			return fmt.Errorf("descriptors are to be kept in a folder, and $%s names none", EnvDir)
		}
	case stores[t.Registry.Backend] == nil || kinds[t.Registry.Backend] != t.Registry.Kind:
		return fmt.Errorf("the registry is to be backend %q of kind %q, and there is none", t.Registry.Backend, t.Registry.Kind)
	default:
		o.Registry = stores[t.Registry.Backend]
	}
	return nil
}

const localKind = "local-fs"

func openBackend(kind, own string, config json.RawMessage, dir string, u Setup) (blob.Store, error) {
	if kind == localKind {
		if own != "" {
			dir = own
		}
		if dir == "" {
			return nil, errors.New("it names no folder")
		}
		return blob.NewDir(dir, blob.DirOptions{FS: u.FS})
	}
	for _, k := range u.Kinds {
		if k.Name == kind {
			return k.Open(config, u.Lookup)
		}
	}
	return nil, fmt.Errorf("this program has no backends of kind %q", clip(kind, 40))
}

// FromEnv is what a tool program can do with attachments: those of the session
// that PI_SESSION_ID names. Without EnvDir and EnvBackends there is no store, and
// the answer is a handle.None: a child never falls back to a default folder.
func FromEnv(lookup func(name string) (string, bool), kinds ...Kind) (handle.Context, error) {
	s, err := OpenSetup(Setup{Lookup: lookup, Kinds: kinds})
	if err != nil {
		return handle.None{}, err
	}
	session, _ := lookup(EnvSession)
	if s == nil || session == "" {
		return handle.None{}, nil
	}
	return s.For(session), nil
}

// Environ are the variables for a configured tool program of a session. They hold
// the secret, so a program that a model can choose must not get them. secret is
// the one that signs; see Setup.
func (u Setup) Environ(session string) ([]string, error) {
	if u.FS == nil {
		u.FS = durable.OS{}
	}
	get := func(name string) string {
		v, _ := u.Lookup(name)
		return v
	}
	secret := get(EnvSecret)
	if secret == "" && u.SecretFile != "" {
		var err error
		if secret, err = signed.Secret(u.FS, u.SecretFile); err != nil {
			return nil, err
		}
	}
	dir := get(EnvDir)
	if dir == "" {
		dir = u.Dir
	}
	if dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		dir = abs
	}
	base, set := u.Lookup(EnvURLBase)
	if !set {
		base = u.URLBase
	}
	env := []string{EnvDir + "=" + dir, EnvSecret + "=" + secret, EnvURLBase + "=" + base, EnvSession + "=" + session}
	for _, name := range []string{EnvURLTTL, EnvBackends} {
		if v := get(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env, nil
}
