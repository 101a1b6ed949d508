package server

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	sourcePage    = 100
	maxSourcePage = 500
)

// sourceItem is a folder in which sessions work: what the client calls a source.
type sourceItem struct {
	ID        string `json:"id"`     // as source
	Source    string `json:"source"` // the folder, to create a session in
	Name      string `json:"name"`
	Sessions  int    `json:"sessions"`
	UpdatedAt string `json:"updatedAt,omitempty"`
	Missing   bool   `json:"missing,omitempty"` // the folder is not there now
}

// listSources lists the folders that sessions work in, the one used last first,
// and the server's own.
func (s *Server) listSources(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	q := r.URL.Query()
	limit, err := positive(q.Get("limit"), q.Has("limit"), sourcePage, maxSourcePage, "limit")
	if err != nil {
		return err
	}
	from := 0
	if text := q.Get("cursor"); text != "" {
		if from, err = strconv.Atoi(text); err != nil || from < 0 {
			return badQuery("cursor", "cursor must be the nextCursor of an earlier answer.")
		}
	}
	all, err := s.targets(r.Context())
	if err != nil {
		return err
	}
	if err := s.index.describeAll(r.Context(), all); err != nil {
		return err
	}
	known := map[string]*sourceItem{s.cfg.DefaultCWD: {}}
	for _, t := range all {
		i := s.item(t)
		if i.CWD == "" {
			continue
		}
		src := known[i.CWD]
		if src == nil {
			src = &sourceItem{}
			known[i.CWD] = src
		}
		src.Sessions++
		src.UpdatedAt = max(src.UpdatedAt, i.sortKey())
	}
	items := make([]sourceItem, 0, len(known))
	for folder, src := range known {
		src.ID, src.Source, src.Name = folder, folder, filepath.Base(folder)
		items = append(items, *src)
	}
	slices.SortFunc(items, func(a, b sourceItem) int {
		if c := strings.Compare(b.UpdatedAt, a.UpdatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.Source, b.Source)
	})
	next := ""
	if items = items[min(from, len(items)):]; len(items) > limit {
		items, next = items[:limit], strconv.Itoa(from+limit)
	}
	for i := range items {
		st, err := os.Stat(items[i].Source)
		items[i].Missing = err != nil || !st.IsDir()
	}
	write(w, r, http.StatusOK, struct {
		Sources []sourceItem `json:"sources"`
		Next    string       `json:"nextCursor,omitempty"`
	}{items, next})
	return nil
}

type favoriteSources struct {
	Sources []string `json:"sources"`
}

func (s *Server) getFavoriteSources(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	list, err := s.favorites(r).Sources()
	if err != nil {
		return err
	}
	write(w, r, http.StatusOK, favoriteSources{list})
	return nil
}

// setFavoriteSources replaces the whole list.
func (s *Server) setFavoriteSources(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	list := f.list("sources")
	if list == nil {
		f.bad("sources")
	}
	if err := f.check(); err != nil {
		return err
	}
	kept, err := s.favorites(r).SetSources(*list)
	if err != nil {
		return err
	}
	write(w, r, http.StatusOK, favoriteSources{kept})
	return nil
}
