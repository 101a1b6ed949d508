package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"slices"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/config"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/wrapper"
)

// reading gives do the log of a session: the live one, or the file, opened for
// this one look. Nothing is written and nothing starts.
func (s *Server) reading(r *http.Request, name string, do func(t *target, log *session.Session) error) error {
	t, err := s.lookup(r.Context(), name)
	if err != nil {
		return err
	}
	if t.live != nil {
		err := do(t, t.live.Log())
		if t.path == "" || !errors.Is(err, session.ErrClosed) {
			return err
		}
		t.live = nil // closed in the same moment: the file has it all
	}
	log, err := s.rt.Look(t.path)
	if err != nil {
		return err
	}
	defer log.Close()
	return do(t, log)
}

// getMessages gives the conversation as its leaf has it, each message with the
// entry that holds it. What the system was told is left out.
func (s *Server) getMessages(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	return s.reading(r, args["id"], func(t *target, log *session.Session) error {
		c, err := log.Context()
		if err != nil {
			return err
		}
		messages := []json.RawMessage{}
		show := s.newShower(r.Context(), log.ID())
		for i, m := range c.Messages {
			if m.Role() == message.RoleSystem {
				continue
			}
			data, err := withEntry(show.message(s.gallery.pictured(t.wireID, c.Sources[i], m)), c.Sources[i])
			if err != nil {
				return err
			}
			messages = append(messages, show.refresh(data))
		}
		write(w, r, http.StatusOK, struct {
			Messages []json.RawMessage `json:"messages"`
		}{messages})
		return nil
	})
}

// withEntry adds the entry's id to a message as its last member.
func withEntry(m message.Message, id session.ID) (json.RawMessage, error) {
	data, err := message.Marshal(m)
	if err != nil {
		return nil, err
	}
	entry, err := message.Marshal(id)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimSuffix(data, []byte("}"))
	if len(data) > 1 {
		data = append(data, ',')
	}
	return append(append(append(data, `"entryId":`...), entry...), '}'), nil
}

type modelRef struct {
	ID       string `json:"id"`
	Provider string `json:"provider"`
}

// sessionState is the state as the client knows it, and some of ours.
type sessionState struct {
	SessionID   string    `json:"sessionId"`
	SessionFile string    `json:"sessionFile"`
	IsStreaming bool      `json:"isStreaming"`
	Model       *modelRef `json:"model"` // last used by the session; null before the first prompt
	Thinking    string    `json:"thinkingLevel"`
	Messages    int       `json:"messageCount"`
	Pending     int       `json:"pendingMessageCount"`
	Name        string    `json:"sessionName,omitempty"`
	CWD         string    `json:"cwd"`
	Live        string    `json:"live"` // "" where the session is not live
	Failure     string    `json:"failure,omitempty"`
	Persisted   bool      `json:"persisted"` // it has a file
	Notes       []string  `json:"notes,omitempty"`

	Steering string         `json:"steeringMode"`
	FollowUp string         `json:"followUpMode"`
	Waiting  *agent.Waiting `json:"waiting,omitempty"`
	Asks     []wrapper.Ask  `json:"asks,omitempty"`
}

func (s *Server) getState(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	return s.reading(r, args["id"], func(t *target, log *session.Session) error {
		c, err := log.Outline()
		if err != nil {
			return err
		}
		st := sessionState{SessionID: t.wireID, SessionFile: log.Path(), Thinking: c.ThinkingLevel, CWD: log.Header().CWD, Persisted: log.Persisted()}
		if st.Name, err = log.Name(); err != nil {
			return err
		}
		if st.Thinking == "" {
			st.Thinking = string(config.ThinkingOff)
		}
		set := s.rt.Config(folderOf(t, log)).Settings
		st.Steering, st.FollowUp = set.SteeringMode, set.FollowUpMode
		if c.Model != nil {
			st.Model = &modelRef{c.Model.ModelID, c.Model.Provider}
		}
		for _, m := range c.Messages {
			if m.Role() != message.RoleSystem {
				st.Messages++
			}
		}
		for _, d := range append(log.Diagnostics(), c.Diagnostics...) {
			st.Notes = append(st.Notes, d.Text)
		}
		if t.live != nil {
			state, cause := t.live.State()
			st.Live, st.IsStreaming = string(state), state == wrapper.Running
			waiting := t.live.Waiting()
			st.Pending, st.Waiting, st.Asks = len(waiting.Steering)+len(waiting.FollowUp), &waiting, t.live.Asks()
			if cause != nil {
				st.Failure = toProblem(cause).text
			}
		}
		write(w, r, http.StatusOK, struct {
			State sessionState `json:"state"`
		}{st})
		return nil
	})
}

// cost is in US dollars per million tokens.
type cost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

type modelItem struct {
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	Provider      string   `json:"provider"`
	API           string   `json:"api"`
	Reasoning     bool     `json:"reasoning"`
	Input         []string `json:"input"`
	ContextWindow int      `json:"contextWindow"`
	MaxTokens     int      `json:"maxTokens"`
	Cost          cost     `json:"cost"`
	Levels        []string `json:"thinkingLevels"`
}

// usable lists the models that can be used in a folder and are not hidden, the
// offline one last.
func (s *Server) usable(cwd string) []modelItem {
	list := []modelItem{}
	for _, m := range s.rt.Config(cwd).Models.Available() {
		if !m.Available() || slices.Contains(s.cfg.HiddenProviders, m.Provider) {
			continue
		}
		levels := []string{}
		for _, l := range m.ThinkingLevels() {
			levels = append(levels, string(l))
		}
		list = append(list, modelItem{m.ID, m.Name, m.Provider, m.API, m.Reasoning, append([]string{}, m.Input...), m.ContextWindow, m.MaxTokens,
			cost{m.Cost.Input, m.Cost.Output, m.Cost.CacheRead, m.Cost.CacheWrite}, levels})
	}
	for _, m := range offline.Models() {
		list = append(list, offlineItem(m))
	}
	return list
}

func offlineItem(m agent.ModelInfo) modelItem {
	input := []string{"text"}
	if m.Images {
		input = append(input, "image")
	}
	return modelItem{m.ID, m.Name, m.Provider, m.API, m.Reasoning, input, m.ContextWindow, m.MaxTokens,
		cost{m.Cost.Input, m.Cost.Output, m.Cost.CacheRead, m.Cost.CacheWrite}, []string{string(config.ThinkingOff)}}
}

// folderOf is where a session works; configuration is read for there.
func folderOf(t *target, log *session.Session) string {
	if t.live != nil {
		return t.live.Folder().Path
	}
	return wrapper.WorkingFolder(log.Header().CWD, "").Path
}

func (s *Server) getModels(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	return s.reading(r, args["id"], func(t *target, log *session.Session) error {
		write(w, r, http.StatusOK, struct {
			Models []modelItem `json:"models"`
		}{s.usable(folderOf(t, log))})
		return nil
	})
}

// folderModels lists the models of a folder, for a session that is not there yet.
func (s *Server) folderModels(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	cwd := r.URL.Query().Get("cwd")
	if cwd == "" {
		cwd = s.cfg.DefaultCWD
	}
	if !filepath.IsAbs(cwd) {
		return &problem{status: http.StatusBadRequest, code: "INVALID_REQUEST", text: "The folder must be an absolute path.", fields: []string{"cwd"}}
	}
	write(w, r, http.StatusOK, struct {
		Models []modelItem `json:"models"`
	}{s.usable(filepath.Clean(cwd))})
	return nil
}

// setThinking chooses how much the model thinks from the next prompt on, and
// answers with the level that is in force.
func (s *Server) setThinking(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	level := f.str("level")
	if level == "" || piweb.CheckThinking(level) != nil {
		f.bad("level")
	}
	if err := f.check(); err != nil {
		return err
	}
	ctx, cancel := sending(r)
	defer cancel()
	err = s.use(ctx, args["id"], func(st *started) error {
		level, err = st.s.SetThinking(ctx, level)
		return err
	})
	if err != nil {
		return err
	}
	write(w, r, http.StatusOK, struct {
		OK    bool   `json:"ok"`
		Level string `json:"level"`
	}{true, level})
	return nil
}

// setModel chooses the model from the next prompt on.
func (s *Server) setModel(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	provider, id := f.str("provider"), f.str("modelId")
	if provider == "" {
		f.bad("provider")
	}
	if id == "" {
		f.bad("modelId")
	}
	if err := f.check(); err != nil {
		return err
	}
	ctx, cancel := sending(r)
	defer cancel()
	err = s.use(ctx, args["id"], func(st *started) error {
		_, err := st.s.SetModel(ctx, provider+"/"+id, "")
		return err
	})
	if err != nil {
		return err
	}
	write(w, r, http.StatusOK, okay{true})
	return nil
}

// getPolicy explains a session: the five steps, and what it is doing.
func (s *Server) getPolicy(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	x, err := s.explain(r, t)
	if err != nil {
		return err
	}
	var live *wrapper.State
	if t.live != nil {
		state, _ := t.live.State()
		live = &state
	}
	write(w, r, http.StatusOK, struct {
		*piweb.Explanation
		Live *wrapper.State `json:"live"` // null where the session is not live
	}{x, live})
	return nil
}

// getHead gives the exact system prompt of a request that the session sent, by
// the hash that its receipts name.
func (s *Server) getHead(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	return s.reading(r, args["id"], func(t *target, log *session.Session) error {
		sum, text, err := policy.HeadText(log, args["sha256"])
		if err != nil {
			return err
		}
		write(w, r, http.StatusOK, piweb.Head{SHA256: sum, Bytes: len(text), Text: text})
		return nil
	})
}

func (s *Server) explain(r *http.Request, t *target) (*piweb.Explanation, error) {
	if t.live != nil {
		x, err := s.rt.ExplainLive(r.Context(), t.live, piweb.ExplainOptions{})
		if t.path == "" || !errors.Is(err, session.ErrClosed) {
			return x, err
		}
		t.live = nil // closed in the same moment
	}
	return s.rt.Explain(r.Context(), t.path, piweb.ExplainOptions{})
}

// features are the switches of the client's page.
type features struct {
	Canvas            bool `json:"canvas"`
	SourcePicker      bool `json:"sourcePicker"`
	LauncherRail      bool `json:"launcherRail"`
	Bash              bool `json:"bashEnabled"`
	SessionsManage    bool `json:"sessionsManage"`
	SessionsSlot      bool `json:"sessionsSlot"`
	ExtensionCommands bool `json:"extensionCommands"`
	DisableReadiness  bool `json:"disableReadinessHandshake"`
}

func (s *Server) getBootstrap(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	var resume string
	if id := r.URL.Query().Get("sessionId"); id != "" {
		if t, err := s.lookup(r.Context(), id); err == nil {
			resume = s.item(t).Source
		}
	}
	p := whoOf(r.Context())
	cfg := s.rt.Config(s.cfg.DefaultCWD)
	models := s.usable(s.cfg.DefaultCWD)
	write(w, r, http.StatusOK, struct {
		DefaultSource string   `json:"defaultSource,omitempty"`
		DefaultModel  string   `json:"defaultModel,omitempty"`
		DefaultCWD    string   `json:"defaultCwd"`
		AutoStart     bool     `json:"autoStart"`
		MultiTenant   bool     `json:"multiTenant"`
		Features      features `json:"features"`
		ResumeSource  string   `json:"resumeSource,omitempty"`
		Version       string   `json:"version"`
		AgentDir      string   `json:"agentDir"`
		SessionsDir   string   `json:"sessionsDir"`
		OfflineOnly   bool     `json:"offlineOnly"`
		Demo          bool     `json:"demoAvailable"`
		User          string   `json:"user,omitempty"` // who asks; "" for the person at the machine
		Admin         bool     `json:"admin"`
	}{
		DefaultSource: s.cfg.DefaultSource, DefaultModel: cfg.Settings.DefaultRef(), DefaultCWD: s.cfg.DefaultCWD, ResumeSource: resume,
		Features: features{SourcePicker: true, SessionsManage: !s.cfg.NoManage},
		Version:  s.cfg.Version, AgentDir: s.rt.AgentDir(), SessionsDir: cfg.Sessions.Dir,
		OfflineOnly: len(models) == len(offline.Models()), Demo: s.cfg.Demo != nil && p.admin(), User: p.name, Admin: p.admin(), MultiTenant: p.name != "",
	})
	return nil
}
