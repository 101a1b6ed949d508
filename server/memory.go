package server

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"

	"github.com/piweb-go/piweb/memory"
)

// addMemoryRoutes lists the addresses of memories and resources. They stand below
// /api like all others, and at the root as well, where clients of a memory service
// look for them.
func (s *Server) addMemoryRoutes() {
	rt := &s.routes
	rt.add("POST", "memories/add", s.addMemory)
	rt.takesUploads()
	rt.is(personal)
	rt.add("POST", "memories/search", s.searchMemories)
	rt.is(personal)
	rt.add("POST", "memories/flush", s.flushMemories)
	rt.is(personal)
	rt.add("GET", "memories", s.withMemories(listMemories))
	rt.is(personal)
	rt.add("GET", "memories/:memoryId", s.withMemories(getMemory))
	rt.is(personal)
	rt.add("DELETE", "memories/:memoryId", s.withMemories(forgetMemory))
	rt.is(personal)
	rt.add("POST", "resources", s.uploadResource)
	rt.takesUploads()
	rt.is(personal)
	rt.add("GET", "resources", s.withMemories(listResources))
	rt.is(personal)
	rt.add("GET", "resources/:resourceId", s.withMemories(getResource))
	rt.is(personal)
	rt.add("DELETE", "resources/:resourceId", s.withMemories(deleteResource))
	rt.is(personal)
}

// atRoot are first segments that are answered as if they stood below /api.
var atRoot = map[string]bool{"memories": true, "resources": true}

// memories is what keeps them, or a refusal where that is off.
func (s *Server) memories() (*memory.Service, error) {
	m, err := s.rt.Memory()
	if err == nil && m == nil {
		err = refuse(http.StatusNotFound, "MEMORY_OFF", "Memory is switched off here: memory.off in piweb.json says so.")
	}
	return m, err
}

// memoryProblem says what an error of memories is for clients.
func memoryProblem(err error) error {
	var e *memory.Error
	switch {
	case errors.As(err, &e):
		return &problem{status: e.Status, code: e.Code, text: e.Text, cause: err}
	case errors.Is(err, memory.ErrLocked):
		return &problem{status: http.StatusServiceUnavailable, code: "LOCKED", text: "Another program keeps the memories locked. Nothing was changed; try again in a moment.", cause: err}
	case errors.Is(err, memory.ErrUpstream):
		return &problem{status: http.StatusNotImplemented, code: "CAPABILITY_UNAVAILABLE", text: "Memories are kept by another service, which offers no such thing.", cause: err}
	}
	return err
}

// jsonBody reads a body as it is.
func jsonBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, refuse(http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", "Send JSON, with the content type application/json.")
	}
	large := refuse(http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE", "The request is too large: it may have "+strconv.FormatInt(limit>>20, 10)+" MiB at most.")
	if r.ContentLength > limit {
		return nil, large
	}
	body := &patient{rc: http.NewResponseController(w), body: http.MaxBytesReader(w, r.Body, limit)}
	defer body.done()
	data, err := io.ReadAll(body)
	var most *http.MaxBytesError
	if errors.As(err, &most) {
		return nil, large
	}
	if err != nil {
		return nil, &problem{status: http.StatusBadRequest, code: "INVALID_JSON", text: "The body did not arrive as a whole.", cause: err}
	}
	return data, nil
}

// writeRaw answers with JSON that somebody else made.
func writeRaw(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a client that left is no news
	}
}

// relay gives a client what the engine said, if it is JSON.
func relay(w http.ResponseWriter, r *http.Request, reply memory.Reply, err error) error {
	if err != nil {
		return memoryProblem(err)
	}
	if !json.Valid(reply.Body) {
		return refuse(http.StatusBadGateway, "BAD_UPSTREAM", "The memory service gave an answer that is no JSON.")
	}
	writeRaw(w, r, reply.Status, reply.Body)
	return nil
}

// memoryBody is the service with what a client sends to it, of at most so many bytes.
func (s *Server) memoryBody(w http.ResponseWriter, r *http.Request, most int64) (*memory.Service, []byte, error) {
	m, err := s.memories()
	if err != nil {
		return nil, nil, err
	}
	body, err := jsonBody(w, r, most)
	return m, body, err
}

func (s *Server) addMemory(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	m, body, err := s.memoryBody(w, r, memory.MaxBody)
	if err != nil {
		return err
	}
	reply, err := m.Add(r.Context(), whoOf(r.Context()).memoryUser(), body)
	return relay(w, r, reply, err)
}

func (s *Server) flushMemories(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	m, body, err := s.memoryBody(w, r, 1<<20)
	if err != nil {
		return err
	}
	reply, err := m.Flush(r.Context(), whoOf(r.Context()).memoryUser(), body)
	return relay(w, r, reply, err)
}

// searchMemories answers in one list, or, with ?shape=upstream, as the service does
// that the API comes from.
func (s *Server) searchMemories(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	m, body, err := s.memoryBody(w, r, 1<<20)
	if err != nil {
		return err
	}
	found, err := m.Search(r.Context(), whoOf(r.Context()).memoryUser(), body)
	if err != nil {
		return memoryProblem(err)
	}
	var answer []byte
	if r.URL.Query().Get("shape") == "upstream" {
		answer, err = found.UpstreamShape()
	} else {
		answer, err = json.Marshal(found)
	}
	if err == nil {
		writeRaw(w, r, http.StatusOK, answer)
	}
	return err
}

// memoryPage reads limit, 1 to 100 and 20 where nobody says, and offset.
func memoryPage(q url.Values) (limit, offset int, err error) {
	limit = 20
	for name, v := range map[string]*int{"limit": &limit, "offset": &offset} {
		if q.Has(name) {
			if *v, err = strconv.Atoi(q.Get(name)); err != nil || *v < 0 || *v > 1<<30 {
				return 0, 0, invalid("A number is wanted.", name)
			}
		}
	}
	return max(1, min(limit, 100)), offset, nil
}

func memoryScope(r *http.Request) memory.Scope {
	q := r.URL.Query()
	return memory.Scope{User: whoOf(r.Context()).memoryUser(), App: q.Get("app_id"), Project: q.Get("project_id")}
}

// withMemories answers with what memories say to a question without a body.
func (s *Server) withMemories(do func(m *memory.Service, r *http.Request, args map[string]string) (any, error)) handler {
	return func(w http.ResponseWriter, r *http.Request, args map[string]string) error {
		m, err := s.memories()
		if err != nil {
			return err
		}
		answer, err := do(m, r, args)
		if err != nil {
			return memoryProblem(err)
		}
		write(w, r, http.StatusOK, answer)
		return nil
	}
}

func listMemories(m *memory.Service, r *http.Request, _ map[string]string) (any, error) {
	limit, offset, err := memoryPage(r.URL.Query())
	if err != nil {
		return nil, err
	}
	return m.List(r.Context(), memoryScope(r), limit, offset)
}

func getMemory(m *memory.Service, r *http.Request, args map[string]string) (any, error) {
	return m.Get(r.Context(), memoryScope(r), args["memoryId"])
}

func forgetMemory(m *memory.Service, r *http.Request, args map[string]string) (any, error) {
	done, err := m.Forget(r.Context(), memoryScope(r), args["memoryId"])
	return struct {
		okay
		memory.Forgotten
	}{okay{true}, done}, err
}

func listResources(m *memory.Service, r *http.Request, _ map[string]string) (any, error) {
	limit, offset, err := memoryPage(r.URL.Query())
	if err != nil {
		return nil, err
	}
	list, total, err := m.Resources(r.Context(), memoryScope(r), limit, offset)
	return struct {
		Resources []memory.Resource `json:"resources"`
		Total     int               `json:"total"`
	}{append([]memory.Resource{}, list...), total}, err
}

func getResource(m *memory.Service, r *http.Request, args map[string]string) (any, error) {
	return m.Resource(r.Context(), whoOf(r.Context()).memoryUser(), args["resourceId"])
}

func deleteResource(m *memory.Service, r *http.Request, args map[string]string) (any, error) {
	return okay{true}, m.DeleteResource(r.Context(), whoOf(r.Context()).memoryUser(), args["resourceId"])
}

// uploadResource takes one file of a multipart body, as it streams in. What describes
// it stands in front of it, behind it, or in the address.
func (s *Server) uploadResource(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	m, err := s.memories()
	if err != nil {
		return err
	}
	large := refuse(http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE", "The file is too large: a resource may have "+strconv.Itoa(memory.MaxResource>>20)+" MiB at most.")
	if r.ContentLength > memory.MaxResource+envelope {
		return large
	}
	body := &patient{rc: http.NewResponseController(w), body: http.MaxBytesReader(w, r.Body, memory.MaxResource+envelope)}
	defer body.done()
	r.Body = body
	parts, err := r.MultipartReader()
	if err != nil {
		return noFile("Send the file as multipart/form-data, in a part named \"file\".")
	}
	form := resourceForm{parts: parts, left: maxParts, fields: r.URL.Query()}
	file := form.file()
	if file == nil {
		return noFile("There is no file in the request: send it in a part named \"file\", with a file name.")
	}
	defer file.Close()
	up := memory.Upload{Scope: memory.Scope{User: whoOf(r.Context()).memoryUser()},
		Name: fileName(file), ContentType: file.Header.Get("Content-Type"), Body: file}
	form.describe(&up)
	up.Rest = func(up *memory.Upload) error {
		err := form.rest()
		form.describe(up)
		return err
	}
	kept, again, err := m.PutResource(r.Context(), up)
	var most *http.MaxBytesError
	switch {
	case errors.As(err, &most):
		return large
	case errors.Is(err, io.ErrUnexpectedEOF):
		return noFile("The file did not arrive as a whole.")
	case err != nil:
		return memoryProblem(err)
	}
	write(w, r, http.StatusOK, struct {
		memory.Resource
		Duplicate bool `json:"duplicate"`
	}{kept, again})
	return nil
}

// resourceForm reads the parts of an upload.
type resourceForm struct {
	parts  *multipart.Reader
	left   int // parts that may still come
	fields url.Values
}

// file reads the fields in front of the file, and finds the file; nil for none.
func (f *resourceForm) file() *multipart.Part {
	for ; f.left > 0; f.left-- {
		p, err := f.parts.NextRawPart()
		if err != nil {
			return nil
		}
		if p.FormName() == "file" {
			if fileName(p) == "" {
				return nil
			}
			return p
		}
		if f.field(p) != nil {
			return nil
		}
	}
	return nil
}

// rest reads the fields behind the file.
func (f *resourceForm) rest() error {
	for ; f.left > 0; f.left-- {
		p, err := f.parts.NextRawPart()
		if err == io.EOF {
			return nil
		}
		if err == nil && p.FormName() == "file" {
			return noFile("There is more than one file in the request. Send one at a time.")
		}
		if err == nil {
			err = f.field(p)
		}
		var most *http.MaxBytesError
		if err != nil && !errors.As(err, &most) {
			return noFile("The request did not arrive as a whole.")
		}
		if err != nil {
			return err
		}
	}
	return noFile("There are too many parts in the request.")
}

func (f *resourceForm) field(p *multipart.Part) error {
	value, err := io.ReadAll(io.LimitReader(p, envelope))
	if err == nil {
		f.fields.Set(p.FormName(), string(value))
	}
	return err
}

func (f *resourceForm) describe(u *memory.Upload) {
	u.Scope.App, u.Scope.Project, u.Description = f.fields.Get("app_id"), f.fields.Get("project_id"), f.fields.Get("description")
}
