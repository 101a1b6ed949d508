package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/session/catalog"
)

const (
	searchHits    = 50
	maxSearchHits = 200
	maxPerSession = 20
	// searchTime bounds one search; what was found by then is the answer.
	searchTime = 15 * time.Second
)

// searchHit is a text of a session in which something was found.
type searchHit struct {
	SessionID string     `json:"sessionId"`
	CWD       string     `json:"cwd"`
	Title     string     `json:"title"`
	UpdatedAt string     `json:"updatedAt,omitempty"`
	EntryID   session.ID `json:"entryId"`
	Line      int        `json:"line"`
	Where     string     `json:"where"` // the role of the message, or custom, summary, name, label
	Snippet   []snippet  `json:"snippet"`
}

// snippet is a piece of the text around a hit.
type snippet struct {
	Text string `json:"text"`
	Hit  bool   `json:"hit,omitempty"`
}

// searchSessions looks through the messages of all sessions, the one that was
// written last first; of each it gives the last perSession hits. A client that goes
// away stops it.
func (s *Server) searchSessions(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	q := r.URL.Query()
	query := catalog.Query{Words: catalog.ParseWords(q.Get("q")), CWD: q.Get("cwd"), Limit: searchHits}
	if len(query.Words) == 0 {
		return badQuery("q", "q must hold words to search for.")
	}
	if q.Has("limit") {
		n, err := strconv.Atoi(q.Get("limit"))
		if err != nil || n <= 0 {
			return badQuery("limit", "limit must be a whole number above 0.")
		}
		query.Limit = min(n, maxSearchHits)
	}
	var err error
	if query.PerSession, err = positive(q.Get("perSession"), q.Has("perSession"), 1, maxPerSession, "perSession"); err != nil {
		return err
	}
	all, err := s.targets(r.Context())
	if err != nil {
		return err
	}
	ids := make(map[string]string, len(all))
	for _, t := range all {
		ids[t.key] = t.wireID
	}
	answer := struct {
		Hits    []searchHit `json:"hits"`
		More    bool        `json:"more"`              // there may be more
		Skipped int         `json:"skipped,omitempty"` // files that could not be searched
	}{Hits: []searchHit{}}
	ctx, cancel := context.WithTimeout(r.Context(), searchTime)
	defer cancel()
	for hit, err := range s.index.catalogue().Search(ctx, query) {
		var file *catalog.FileError
		switch {
		case errors.As(err, &file):
			answer.Skipped++
			continue
		case errors.Is(err, catalog.ErrQuery):
			return badQuery("q", "q may hold at most 16 words of at most 1000 bytes each.")
		case errors.Is(err, context.DeadlineExceeded):
			answer.More = true
			continue // it is the last
		case err != nil:
			return err
		}
		if id, ok := ids[keyOf(hit.Session.Path)]; ok {
			answer.Hits = append(answer.Hits, hitOf(id, hit))
		}
	}
	answer.More = answer.More || len(answer.Hits) >= query.Limit
	write(w, r, http.StatusOK, answer)
	return nil
}

func hitOf(id string, hit catalog.Hit) searchHit {
	i := hit.Session
	h := searchHit{SessionID: id, CWD: i.CWD, Title: cut(cmp.Or(i.Name, i.First)), UpdatedAt: stamp(i.Modified), EntryID: hit.Entry, Line: hit.Line, Where: hit.Where, Snippet: []snippet{}}
	at := 0
	add := func(to int, isHit bool) {
		if to > at {
			h.Snippet = append(h.Snippet, snippet{hit.Snippet[at:to], isHit})
			at = to
		}
	}
	for _, span := range hit.Spans {
		add(span[0], false)
		add(span[1], true)
	}
	add(len(hit.Snippet), false)
	return h
}
