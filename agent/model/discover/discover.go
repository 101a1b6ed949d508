// Package discover looks for model servers on this machine, when somebody asks
// for it: Ollama, LM Studio, llama.cpp and vLLM at their usual ports.
//
// It asks loopback addresses only, follows no redirect, goes through no proxy,
// sends no key, and reads a bounded answer in a bounded time. Nothing is written
// and nothing is used by itself: what is found is shown, as the entry that
// models.json would need.
package discover

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// Limits of a look.
const (
	patience  = 2 * time.Second // for one server, all of its answers
	maxAnswer = 4 << 20         // bytes of one answer
	maxModels = 200             // of one server
)

// Place is where a server may listen.
type Place struct {
	ID   string // of the provider, as models.json would call it
	Name string // for people
	Addr string // host:port, of a loopback address
	more func(context.Context, *looker, []Model)
}

// Places returns the usual places.
func Places() []Place {
	return []Place{
		{"ollama", "Ollama", "127.0.0.1:11434", ollama},
		{"lmstudio", "LM Studio", "127.0.0.1:1234", lmStudio},
		{"llamacpp", "llama.cpp", "127.0.0.1:8080", llamaCPP},
		{"vllm", "vLLM", "127.0.0.1:8000", nil},
	}
}

// At is the place with another address, for a server that listens elsewhere.
func (p Place) At(addr string) Place {
	p.Addr = addr
	return p
}

// Server is a server that answered.
type Server struct {
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	BaseURL string  `json:"baseUrl"`
	Models  []Model `json:"models"`
}

// Model is a model that a server offers. Sizes are in tokens, 0 where the server
// does not tell.
type Model struct {
	ID            string `json:"id"`
	ContextWindow int    `json:"contextWindow,omitempty"`
	Images        bool   `json:"images,omitempty"`
	Reasoning     bool   `json:"reasoning,omitempty"`
}

// ErrNotHere says that a place is not on this machine.
var ErrNotHere = errors.New("only servers on this machine are looked for")

// Look asks all places at once and returns the servers that answered, in the order
// of the places. It takes a few seconds at most.
func Look(ctx context.Context, places []Place) ([]Server, error) {
	for _, p := range places {
		host, _, err := net.SplitHostPort(p.Addr)
		if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
			return nil, fmt.Errorf("%w: %q is no loopback address with a port", ErrNotHere, p.Addr)
		}
	}
	found := make([]*Server, len(places))
	var wg sync.WaitGroup
	for i, p := range places {
		wg.Go(func() { found[i] = look(ctx, p) })
	}
	wg.Wait()
	var out []Server
	for _, s := range found {
		if s != nil {
			out = append(out, *s)
		}
	}
	return out, ctx.Err()
}

func look(ctx context.Context, p Place) *Server {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	l := &looker{base: "http://" + p.Addr, client: &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	list, ok := l.get(ctx, "/v1/models")
	if !ok || !list.Get("data").IsArray() {
		return nil // nobody is there, or somebody else
	}
	s := &Server{ID: p.ID, Name: p.Name, BaseURL: l.base + "/v1"}
	for _, m := range list.Get("data").Array() {
		id := m.Get("id").Str
		if id == "" || len(s.Models) == maxModels || slices.ContainsFunc(s.Models, func(o Model) bool { return o.ID == id }) {
			continue
		}
		s.Models = append(s.Models, Model{ID: id, ContextWindow: size(m.Get("max_model_len"))})
	}
	if p.more != nil {
		p.more(ctx, l, s.Models)
	}
	return s
}

// looker asks one server.
type looker struct {
	base   string
	client *http.Client
}

func (l *looker) get(ctx context.Context, path string) (gjson.Result, bool) {
	return l.ask(ctx, http.MethodGet, path, nil)
}

func (l *looker) ask(ctx context.Context, method, path string, body []byte) (gjson.Result, bool) {
	req, err := http.NewRequestWithContext(ctx, method, l.base+path, bytes.NewReader(body))
	if err != nil {
		return gjson.Result{}, false
	}
	req.Header.Set("User-Agent", "piweb")
	res, err := l.client.Do(req)
	if err != nil {
		return gjson.Result{}, false
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil || res.StatusCode != http.StatusOK || len(text) > maxAnswer || !gjson.ValidBytes(text) {
		return gjson.Result{}, false
	}
	return gjson.ParseBytes(text), true
}

func size(v gjson.Result) int {
	if n := v.Int(); n > 0 && n < 1<<31 {
		return int(n)
	}
	return 0
}

// ollama tells the sizes and abilities of each model by itself.
func ollama(ctx context.Context, l *looker, models []Model) {
	for i := range models {
		body, _ := json.Marshal(map[string]string{"model": models[i].ID}) // a string always encodes
		show, ok := l.ask(ctx, http.MethodPost, "/api/show", body)
		if !ok {
			continue
		}
		show.Get("model_info").ForEach(func(key, value gjson.Result) bool {
			if strings.HasSuffix(key.Str, ".context_length") {
				models[i].ContextWindow = size(value)
				return false
			}
			return true
		})
		for _, ability := range show.Get("capabilities").Array() {
			models[i].Images = models[i].Images || ability.Str == "vision"
			models[i].Reasoning = models[i].Reasoning || ability.Str == "thinking"
		}
	}
}

func lmStudio(ctx context.Context, l *looker, models []Model) {
	list, ok := l.get(ctx, "/api/v0/models")
	if !ok {
		return
	}
	for _, m := range list.Get("data").Array() {
		for i := range models {
			if models[i].ID != m.Get("id").Str {
				continue
			}
			models[i].Images = m.Get("type").Str == "vlm"
			models[i].ContextWindow = size(m.Get("loaded_context_length"))
			if models[i].ContextWindow == 0 {
				models[i].ContextWindow = size(m.Get("max_context_length"))
			}
		}
	}
}

func llamaCPP(ctx context.Context, l *looker, models []Model) {
	props, ok := l.get(ctx, "/props")
	if !ok {
		return
	}
	for i := range models { // there is one
		models[i].ContextWindow = size(props.Get("default_generation_settings.n_ctx"))
		models[i].Images = props.Get("modalities.vision").Bool()
	}
}

// The entry of models.json for a server.
type (
	entry struct {
		BaseURL string       `json:"baseUrl"`
		API     string       `json:"api"`
		APIKey  string       `json:"apiKey"` // any text: these servers want none
		Compat  compat       `json:"compat"`
		Models  []modelEntry `json:"models"`
	}
	compat struct {
		Store          bool   `json:"supportsStore"`
		MaxTokensField string `json:"maxTokensField"`
	}
	modelEntry struct {
		ID            string   `json:"id"`
		ContextWindow int      `json:"contextWindow,omitempty"`
		Reasoning     bool     `json:"reasoning,omitempty"`
		Input         []string `json:"input,omitempty"`
	}
)

// ModelsJSON is a models.json with the servers, for people to copy from.
func ModelsJSON(servers []Server) []byte {
	providers := map[string]entry{}
	for _, s := range servers {
		e := entry{BaseURL: s.BaseURL, API: "openai-completions", APIKey: "none", Compat: compat{MaxTokensField: "max_tokens"}, Models: []modelEntry{}}
		for _, m := range s.Models {
			me := modelEntry{ID: m.ID, ContextWindow: m.ContextWindow, Reasoning: m.Reasoning}
			if m.Images {
				me.Input = []string{"text", "image"}
			}
			e.Models = append(e.Models, me)
		}
		providers[s.ID] = e
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(map[string]any{"providers": providers}) // strings and numbers always encode
	return b.Bytes()
}
