package piweb

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/piweb-go/piweb/account"
	"github.com/piweb-go/piweb/internal/durable"
)

// Favorites are the sessions and the folders that a user marked. They are primary
// data, in <agent directory>/piweb-data/favorites.json (of a user of a server, in
// favorites/NAME.json), and safe for concurrent
// use, also by several processes: the last list wins.
type Favorites struct {
	path string
	mu   *sync.Mutex
}

// Of are the favourites of a user of a server; "" for the person at the machine.
func (f *Favorites) Of(user string) *Favorites {
	if !account.ValidName(user) {
		return f
	}
	return &Favorites{filepath.Join(filepath.Dir(f.path), "favorites", user+".json"), f.mu}
}

type favoritesFile struct {
	Version  int      `json:"version"`
	Sessions []string `json:"sessions"`
	Sources  []string `json:"sources"`
}

// ErrFavorites says that a list of favourites is too long to be kept.
var ErrFavorites = errors.New("there are too many favourites")

// Bounds of a list of favourites.
const (
	MaxFavorites     = 10_000
	maxFavoriteBytes = 4096 // of one
)

// Favorites are those of the agent directory.
func (r *Runtime) Favorites() *Favorites { return r.favorites }

func newFavorites(agentDir string) *Favorites {
	return &Favorites{filepath.Join(agentDir, "piweb-data", "favorites.json"), &sync.Mutex{}}
}

// Sessions lists the marked sessions, by the ids that were given.
func (f *Favorites) Sessions() ([]string, error) {
	file, err := f.read()
	return file.Sessions, err
}

// Sources lists the marked folders.
func (f *Favorites) Sources() ([]string, error) {
	file, err := f.read()
	return file.Sources, err
}

// SetSessions replaces the list of sessions and returns it: without what is empty
// and what is there twice.
func (f *Favorites) SetSessions(ids []string) ([]string, error) {
	return f.set(ids, func(file *favoritesFile, list []string) { file.Sessions = list })
}

// SetSources replaces the list of folders, likewise.
func (f *Favorites) SetSources(folders []string) ([]string, error) {
	return f.set(folders, func(file *favoritesFile, list []string) { file.Sources = list })
}

// read takes a file that cannot be understood for an empty one: what was marked is
// no reason to show nothing else.
func (f *Favorites) read() (favoritesFile, error) {
	file := favoritesFile{1, []string{}, []string{}}
	data, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if err != nil {
		return file, fmt.Errorf("read the favourites: %w", err)
	}
	var got favoritesFile
	if json.Unmarshal(data, &got) != nil || got.Version != 1 {
		return file, nil
	}
	file.Sessions = append(file.Sessions, got.Sessions...)
	file.Sources = append(file.Sources, got.Sources...)
	return file, nil
}

func (f *Favorites) set(items []string, into func(*favoritesFile, []string)) ([]string, error) {
	list := []string{}
	known := map[string]bool{}
	for _, item := range items {
		if item == "" || known[item] {
			continue
		}
		if known[item] = true; len(item) > maxFavoriteBytes || len(known) > MaxFavorites {
			return nil, fmt.Errorf("%w: at most %d of at most %d bytes each", ErrFavorites, MaxFavorites, maxFavoriteBytes)
		}
		list = append(list, item)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	file, err := f.read()
	if err != nil {
		return nil, err
	}
	into(&file, slices.Clone(list))
	data, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return nil, fmt.Errorf("keep the favourites: %w", err)
	}
	return list, durable.Save(durable.OS{}, f.path, append(data, '\n'), 0o600)
}
