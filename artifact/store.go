package artifact

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/piweb-go/piweb/internal/confine"
	"github.com/piweb-go/piweb/internal/durable"
)

// The limits where Options names none.
const (
	DefaultMaxOutput = 1 << 30 // bytes of one output
	DefaultMaxFolder = 8 << 30 // bytes of a session's folder, of any files
)

// Options are the settings of a store. The zero value is right for programs.
type Options struct {
	MaxOutput int64 // bytes of one output; 0 for DefaultMaxOutput, < 0 for no limit
	MaxFolder int64 // bytes of the session's folder; 0 for DefaultMaxFolder, < 0 for no limit
	// Wrap puts something between the store and its folder, for tests.
	Wrap func(durable.FS) durable.FS
	Now  func() time.Time // nil for time.Now
}

// Store is what one session has kept. It is safe for concurrent use, also beside
// stores of the same folder in other processes. It holds no file open.
type Store struct {
	session string // the file; "" for a session without one
	path    string // the folder; "" for none
	opts    Options

	mu   sync.Mutex
	next map[string]int64 // by scope: no id below it is free
	used usage

	pages pages
}

// usage is what the folder held when it was last looked at.
type usage struct {
	bytes int64
	at    time.Time
}

// usageAge is how long a look at the folder's size holds. Other processes may
// write meanwhile; what this one writes is counted at once.
const usageAge = 10 * time.Second

// New is the store of a session file, which need not exist yet. "" stands for a
// session that has no file.
func New(sessionFile string, opts Options) *Store {
	if opts.MaxOutput == 0 {
		opts.MaxOutput = DefaultMaxOutput
	}
	if opts.MaxFolder == 0 {
		opts.MaxFolder = DefaultMaxFolder
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Store{session: sessionFile, path: Folder(sessionFile), opts: opts, next: map[string]int64{}}
}

// Folder is where the outputs lie, or "" for a session that keeps none.
func (s *Store) Folder() string { return s.path }

func (s *Store) open() (*folder, error) {
	if s.path == "" {
		return nil, s.noSession()
	}
	return openFolder(s.path, s.opts.Wrap)
}

func (s *Store) make() (*folder, error) {
	if s.path == "" {
		return nil, s.noSession()
	}
	return makeFolder(s.path, s.opts.Wrap)
}

func (s *Store) noSession() error {
	if s.session == "" {
		return fmt.Errorf("%w, so no output is kept", ErrNoSession)
	}
	return fmt.Errorf("%s: its name does not end in %s, so nothing is kept beside it: %w", s.session, sessionSuffix, ErrNoSession)
}

// Kept is an output that was kept.
type Kept struct {
	ID   ID
	Path string
	Size int64 // bytes
}

// URL is how a model asks for it.
func (k Kept) URL() string { return k.ID.URL() }

// Save keeps a whole text. When it returns the file is there under its final
// name, whole and durable; on error there is none, and the id is not used again.
func (s *Store) Save(tool, text string) (Kept, error) {
	if s.opts.MaxOutput > 0 && int64(len(text)) > s.opts.MaxOutput {
		return Kept{}, fmt.Errorf("keep an output of %d bytes: %w (%d bytes for one)", len(text), ErrQuota, s.opts.MaxOutput)
	}
	f, err := s.make()
	if err != nil {
		return Kept{}, err
	}
	defer f.close()
	if err := s.room(f, int64(len(text))); err != nil {
		return Kept{}, err
	}
	id, err := s.reserve(f, artifacts, 0)
	if err != nil {
		return Kept{}, err
	}
	name := fileName(id, tool)
	if err := put(f.fs, name, []byte(text)); err != nil {
		return Kept{}, fmt.Errorf("keep an output as %s in %s: %w", name, f.path, err)
	}
	s.count(int64(len(text)))
	return Kept{ID(id), filepath.Join(s.path, name), int64(len(text))}, nil
}

func fileName(id, tool string) string {
	return id + "." + cleanName(tool, maxToolName, "tool") + ".log"
}

// put makes a file of a name that is free, in one step and durable.
func put(fs durable.FS, name string, data []byte) error {
	tmp, err := durable.Temp(fs, name, 0o600, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	if err := giveName(fs, tmp, name); err != nil {
		_ = fs.Remove(tmp)
		return err
	}
	if err := fs.SyncDir("."); err != nil {
		_ = fs.Remove(name)
		return err
	}
	return nil
}

// giveName gives a file its final name, never over another one.
func giveName(dfs durable.FS, tmp, name string) error {
	err := dfs.Link(tmp, name)
	switch {
	case err == nil:
		if err := dfs.Remove(tmp); err != nil {
			_ = dfs.Remove(name)
			return err
		}
		return nil
	case errors.Is(err, fs.ErrExist):
		return ErrTaken
	}
	// A file system without links. The name is reserved, so nobody of ours is in
	// between.
	if _, err := dfs.Stat(name); err == nil {
		return ErrTaken
	}
	return dfs.Rename(tmp, name)
}

// create begins an output that is written as it comes.
func (s *Store) create(tool string) (*output, error) {
	f, err := s.make()
	if err != nil {
		return nil, err
	}
	if err := s.room(f, 1); err != nil {
		f.close()
		return nil, err
	}
	id, err := s.reserve(f, artifacts, 0)
	if err == nil {
		name := fileName(id, tool)
		var file durable.File
		if file, err = f.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			return &output{store: s, dir: f, file: file, name: name, id: ID(id), limit: s.limit()}, nil
		}
		err = fmt.Errorf("create %s in %s: %w", name, f.path, reason(err))
	}
	f.close()
	return nil, err
}

// room refuses what would bring the folder over its limit.
func (s *Store) room(f *folder, bytes int64) error {
	if s.opts.MaxFolder < 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.opts.Now(); s.used.at.IsZero() || now.Sub(s.used.at) > usageAge || now.Before(s.used.at) {
		used, err := f.size()
		if err != nil {
			return err
		}
		s.used = usage{used, now}
	}
	if s.used.bytes+bytes > s.opts.MaxFolder {
		return fmt.Errorf("%s holds %d bytes: %w (%d bytes for one session); delete what is not needed", f.path, s.used.bytes, ErrQuota, s.opts.MaxFolder)
	}
	return nil
}

func (s *Store) count(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used.bytes += bytes
}

// limit is how long an output may get now, in bytes; < 0 for any length.
func (s *Store) limit() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := s.opts.MaxOutput
	if s.opts.MaxFolder >= 0 {
		if room := max(0, s.opts.MaxFolder-s.used.bytes); limit < 0 || room < limit {
			limit = room
		}
	}
	return limit
}

// size is how much the regular files of the folder hold, in bytes.
func (f *folder) size() (total int64, err error) {
	list, err := f.entries()
	if err != nil {
		return 0, err
	}
	for _, e := range list {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
	}
	return total, nil
}

// output is an artifact that is being written.
type output struct {
	store *Store
	dir   *folder
	file  durable.File
	name  string
	id    ID
	size  int64
	limit int64 // bytes; < 0 for none
}

func (o *output) path() string { return filepath.Join(o.dir.path, o.name) }

// finish makes the output durable.
func (o *output) finish() error {
	defer o.dir.close()
	err := o.file.Sync()
	if cerr := o.file.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = o.dir.fs.SyncDir(".")
	}
	o.store.count(o.size)
	return err
}

// discard takes an output away that could not be written. Its id stays used.
func (o *output) discard() {
	defer o.dir.close()
	_ = o.file.Close()
	_ = o.dir.fs.Remove(o.name)
}

// Info describes an artifact.
type Info struct {
	ID       ID
	Tool     string // of its name, "" where it names none
	Name     string // of the file
	Size     int64  // bytes
	Modified time.Time
}

// List lists the artifacts in the order of their ids. A session that has kept
// nothing has none.
func (s *Store) List() ([]Info, error) {
	list, err := s.list(func(name string) (ID, string, bool) {
		id, ok := idOf(name)
		return id, toolOf(name), ok
	})
	slices.SortStableFunc(list, func(a, b Info) int { return compareIDs(a.ID, b.ID) })
	return list, err
}

// list describes the files of the folder whose names are told to be outputs.
func (s *Store) list(named func(name string) (id ID, tool string, ok bool)) ([]Info, error) {
	f, err := s.open()
	if errors.Is(err, ErrNoFolder) || errors.Is(err, ErrNoSession) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.close()
	entries, err := f.entries()
	if err != nil {
		return nil, err
	}
	var out []Info
	for _, e := range entries {
		id, tool, ok := named(e.Name())
		if !ok || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil { // else it is gone meanwhile
			out = append(out, Info{id, tool, e.Name(), info.Size(), info.ModTime()})
		}
	}
	return out, nil
}

// File is an artifact, open for reading.
type File struct {
	*os.File
	Info Info
}

// Open opens an artifact. An id that is not there is ErrNotFound, and the error
// lists those that are; one that several files have is ErrAmbiguous.
func (s *Store) Open(id ID) (*File, error) {
	f, err := s.open()
	if err != nil {
		return nil, err
	}
	defer f.close()
	list, err := f.entries()
	if err != nil {
		return nil, err
	}
	var names []string
	var ids []ID
	for _, e := range list {
		switch other, ok := idOf(e.Name()); {
		case ok && other == id:
			names = append(names, e.Name())
		case ok:
			ids = append(ids, other)
		}
	}
	switch len(names) {
	case 0:
		return nil, fmt.Errorf("artifact %s %w. Available: %s", id, ErrNotFound, available(sortIDs(ids)))
	case 1:
	default:
		return nil, fmt.Errorf("artifact %s: %w: %s; keep one of them", id, ErrAmbiguous, strings.Join(names, ", "))
	}
	file, info, err := f.open(names[0])
	if err != nil {
		return nil, fmt.Errorf("artifact %s: %w", id, err)
	}
	return &File{file, Info{id, toolOf(names[0]), names[0], info.Size(), info.ModTime()}}, nil
}

// maxListed bounds how many ids or names an error lists.
const maxListed = 100

// available is a list for an error; "none" for an empty one.
func available[T ~string](list []T) string {
	if len(list) == 0 {
		return "none"
	}
	var b strings.Builder
	for i, item := range list {
		if i == maxListed {
			fmt.Fprintf(&b, " and %d more", len(list)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(item))
	}
	return b.String()
}

// Exists tells whether an artifact can be opened.
func (s *Store) Exists(id ID) bool {
	f, err := s.Open(id)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}

// isLinked tells whether a refusal is about a link or a special file.
func isLinked(err error) bool {
	return errors.Is(err, ErrLinked) || errors.Is(err, confine.ErrNotRegular)
}
