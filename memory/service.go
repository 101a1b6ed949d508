package memory

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/piweb-go/piweb/internal/failpoint"
	"github.com/piweb-go/piweb/internal/sqlite"
)

// Options say where memories are kept and by what.
type Options struct {
	// Dir is the folder of the database and of stored files.
	Dir string
	// Upstream keeps the memories in a service; nil for the embedded engine.
	Upstream *UpstreamConfig
	// Fallback keeps a copy here of what a service keeps, which answers while the
	// service does not; what was added meanwhile reaches it later.
	Fallback bool
	// OpenSenders lets a message of the role user have any sender, for groups.
	OpenSenders bool
	// Aliases are senders that are a user as well, by the user.
	Aliases map[string][]string
	// StrictNames wants a sign that is no part of a name in front of a file's name,
	// so that a.png is not found in data.png.
	StrictNames bool
	// Redact takes secrets out of what the embedded engine keeps; nil keeps all.
	Redact func(string) string
	// Keep is how long what was deleted can come back; 0 for 30 days.
	Keep time.Duration
	Now  func() time.Time // nil for time.Now
	Log  *slog.Logger     // nil for none

	// patience is how long a statement waits for another program; 0 for sqlite's own.
	// Tests only.
	patience time.Duration
	// fail, if not nil, is asked in front of each step of an add. Tests only.
	fail func(step string) error
}

// Service keeps memories with their files. It is safe for concurrent use, also by
// several processes.
type Service struct {
	o      Options
	db     *sqlite.DB
	engine Engine
	local  *embedded // the engine where it is the embedded one, else nil
}

// sweepAge is how old a folder of files must be to be taken for left behind.
const sweepAge = time.Hour

// Open opens the memories of a folder and makes it where there is none. It maps
// resources that have no mapping yet, and removes what a crash has left.
func Open(ctx context.Context, o Options) (*Service, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	if o.Keep == 0 {
		o.Keep = 30 * 24 * time.Hour
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	s := &Service{o: o}
	local := &embedded{now: o.Now, redact: o.Redact}
	if o.Upstream != nil {
		cfg := *o.Upstream
		if cfg.Now == nil {
			cfg.Now = o.Now
		}
		if s.engine, err = NewUpstream(cfg); err != nil {
			return nil, err
		}
	}
	if s.db, err = sqlite.Open(ctx, filepath.Join(dir, "memory.db"), migrations, sqlite.Patience(o.patience), sqlite.Scrub()); err != nil {
		return nil, err
	}
	local.db = s.db
	switch {
	case s.engine == nil:
		s.engine, s.local = local, local
	case o.Fallback:
		s.engine = &composite{up: s.engine, local: local, db: s.db.Read(), write: s.db.Write, log: o.Log}
	}
	if err := errors.Join(local.reindex(ctx, false), s.backfill(ctx), s.sweep(ctx)); err != nil {
		s.db.Close()
		return nil, err
	}
	return s, nil
}

// Exists tells whether memories are kept in a folder.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "memory.db"))
	return err == nil
}

// Close closes the database.
func (s *Service) Close() error { return s.db.Close() }

// Embedded tells whether memories are kept here and not by a service.
func (s *Service) Embedded() bool { return s.local != nil }

// Health tells whether memories can be kept and found.
func (s *Service) Health(ctx context.Context) error {
	return errors.Join(s.db.Check(ctx), s.engine.Health(ctx))
}

// Rebuild writes anew what is searched, from what is kept.
func (s *Service) Rebuild(ctx context.Context) error {
	if s.local == nil {
		return ErrUpstream
	}
	return s.local.reindex(ctx, true)
}

// step lets a test fail here, and kill the program.
func (s *Service) step(name string) error {
	failpoint.Here("memory-" + name)
	if s.o.fail == nil {
		return nil
	}
	return s.o.fail(name)
}
