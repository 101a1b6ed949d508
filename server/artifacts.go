package server

import (
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/piweb-go/piweb/artifact"
	"github.com/piweb-go/piweb/internal/confine"
	"github.com/piweb-go/piweb/session"
)

// maxStores is how many sessions' outputs are remembered: where their lines begin.
const maxStores = 16

// stores keeps what is known of the outputs of the sessions looked at last.
type stores struct {
	mu     sync.Mutex
	byFile map[string]*artifact.Store
	order  []string
}

func (s *stores) of(sessionFile string) *artifact.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st, ok := s.byFile[sessionFile]; ok {
		return st
	}
	st := artifact.New(sessionFile, artifact.Options{})
	if s.byFile == nil {
		s.byFile = map[string]*artifact.Store{}
	}
	s.byFile[sessionFile] = st
	if s.order = append(s.order, sessionFile); len(s.order) > maxStores {
		delete(s.byFile, s.order[0])
		s.order = s.order[1:]
	}
	return st
}

// outputsOf gives do the whole outputs of a session. They are read where they lie;
// nothing starts.
func (s *Server) outputsOf(r *http.Request, name string, do func(*artifact.Store) error) error {
	return s.reading(r, name, func(_ *target, log *session.Session) error {
		if !log.Persisted() {
			return artifactProblem(do(artifact.New("", artifact.Options{})))
		}
		return artifactProblem(do(s.stores.of(log.Path())))
	})
}

// artifactProblem says what an error of the outputs is for clients.
func artifactProblem(err error) error {
	status, code := 0, ""
	switch {
	case err == nil:
		return nil
	case errors.Is(err, artifact.ErrURL):
		return &problem{status: http.StatusBadRequest, code: "VALIDATION_FAILED", text: err.Error(), fields: []string{"url"}, cause: err}
	case errors.Is(err, artifact.ErrAmbiguous), errors.Is(err, artifact.ErrLinked), errors.Is(err, confine.ErrNotRegular):
		status, code = http.StatusConflict, "NOT_READABLE"
	case artifact.IsRequest(err), errors.Is(err, fs.ErrNotExist):
		status, code = http.StatusNotFound, "ARTIFACT_NOT_FOUND"
	default:
		return err
	}
	return &problem{status: status, code: code, text: err.Error(), cause: err}
}

type outputItem struct {
	URL      string    `json:"url"`
	Tool     string    `json:"tool,omitempty"`
	Name     string    `json:"name"`
	Size     int64     `json:"size"` // bytes
	Modified time.Time `json:"modified"`
}

// listOutputs lists what a session has kept.
func (s *Server) listOutputs(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	return s.outputsOf(r, args["id"], func(st *artifact.Store) error {
		artifacts, agents := []outputItem{}, []outputItem{}
		list, err := st.List()
		if err != nil {
			return err
		}
		for _, a := range list {
			artifacts = append(artifacts, outputItem{a.ID.URL(), a.Tool, a.Name, a.Size, a.Modified})
		}
		if list, err = st.Agents(); err != nil {
			return err
		}
		for _, a := range list {
			agents = append(agents, outputItem{artifact.AgentID(a.ID).URL(), "", a.Name, a.Size, a.Modified})
		}
		write(w, r, http.StatusOK, struct {
			Artifacts []outputItem `json:"artifacts"`
			Agents    []outputItem `json:"agents"`
		}{artifacts, agents})
		return nil
	})
}

// opened is what a request names: a file, or a value taken out of one.
func opened(r *http.Request, st *artifact.Store, do func(res *artifact.Resource, f *artifact.File) error) error {
	res, err := st.Resolve(r.Context(), r.URL.Query().Get("url"))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	f, _ := res.Body.(*artifact.File)
	return do(res, f)
}

// number is a parameter of the address that counts from 1; 0 where it is absent.
func number(r *http.Request, name string) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, invalid("The "+name+" must be a number from 1 on.", name)
	}
	return n, nil
}

// pageOutput gives some lines of an output, or the value that a URL takes out of
// it.
func (s *Server) pageOutput(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	return s.outputsOf(r, args["id"], func(st *artifact.Store) error {
		offset, err := number(r, "offset")
		if err != nil {
			return err
		}
		limit, err := number(r, "limit")
		if err != nil {
			return err
		}
		return opened(r, st, func(res *artifact.Resource, f *artifact.File) error {
			type head struct {
				Type      string `json:"type"`
				Size      int64  `json:"size"` // bytes
				Extracted string `json:"extracted,omitempty"`
			}
			h := head{res.Type, res.Size, res.Extracted}
			if f == nil {
				if offset != 0 || limit != 0 {
					return invalid("A value that is taken out of an output is shown whole; leave offset and limit out.", "offset", "limit")
				}
				value, err := io.ReadAll(res.Body)
				if err != nil {
					return err
				}
				write(w, r, http.StatusOK, struct {
					head
					Value string `json:"value"`
				}{h, string(value)})
				return nil
			}
			page, err := st.Page(r.Context(), f, offset, limit)
			if err != nil {
				return err
			}
			write(w, r, http.StatusOK, struct {
				head
				Name       string          `json:"name"`
				Lines      []artifact.Line `json:"lines"`
				TotalLines int64           `json:"totalLines"`
			}{h, f.Info.Name, page.Lines, page.TotalLines})
			return nil
		})
	})
}

// searchOutput finds lines of an output.
func (s *Server) searchOutput(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	return s.outputsOf(r, args["id"], func(st *artifact.Store) error {
		offset, err := number(r, "offset")
		if err != nil {
			return err
		}
		text := r.URL.Query().Get("text")
		if text == "" || len(text) > 1000 {
			return invalid("Name a text of at most 1000 bytes to search for.", "text")
		}
		return opened(r, st, func(_ *artifact.Resource, f *artifact.File) error {
			if f == nil {
				return invalid("Search the whole output: leave path and query out of its URL.", "url")
			}
			found, err := st.Search(r.Context(), f, text, offset, 0)
			if err != nil {
				return err
			}
			write(w, r, http.StatusOK, found)
			return nil
		})
	})
}

// rawOutput gives a whole output as a file to save. It is text to every browser,
// whatever it holds.
func (s *Server) rawOutput(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	return s.outputsOf(r, args["id"], func(st *artifact.Store) error {
		return opened(r, st, func(res *artifact.Resource, f *artifact.File) error {
			if f == nil {
				return invalid("Only a whole output can be saved: leave path and query out of its URL.", "url")
			}
			h := w.Header()
			h.Set("Content-Type", "text/plain; charset=utf-8")
			h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.Info.Name + ".txt"}))
			h.Set("Cache-Control", "no-store")
			// An output that grows is given as far as it was when it was opened.
			http.ServeContent(&unhurried{ResponseWriter: w}, r, "", time.Time{}, io.NewSectionReader(f.File, 0, res.Size))
			return nil
		})
	})
}

// unhurried gives a long answer its time as long as the client takes it.
type unhurried struct{ http.ResponseWriter }

func (u *unhurried) Write(p []byte) (int, error) {
	_ = http.NewResponseController(u.ResponseWriter).SetWriteDeadline(time.Now().Add(requestTime)) // not every writer has deadlines
	return u.ResponseWriter.Write(p)
}

func (u *unhurried) Unwrap() http.ResponseWriter { return u.ResponseWriter }
