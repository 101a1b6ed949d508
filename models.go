package piweb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strings"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/config"
	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/wrapper"
)

// ErrNoModel says that the model that was asked for, or configured, cannot be
// used.
var ErrNoModel = errors.New("no usable model")

// OfflineModel is the name of the model that needs nothing and is none.
const OfflineModel = offline.Provider + "/echo"

// Model picks a model: the one that was asked for, else the session's own, else
// the default of the settings, else the first that can be used, else the offline
// model. What was asked for or configured and cannot be used is an error, never
// silently something else; only the session's own gives way, with a notice.
func (h *host) Model(ctx context.Context, want wrapper.ModelWish) (wrapper.Chosen, error) {
	return h.pick(ctx, want, h.open)
}

// try opens one model by name, or only looks whether it could.
type try func(ctx context.Context, cfg *config.Config, ref string, want wrapper.ModelWish) (wrapper.Chosen, error)

func (h *host) pick(ctx context.Context, want wrapper.ModelWish, open try) (wrapper.Chosen, error) {
	cfg := h.config(want.CWD)
	fresh := want.Session == nil
	if want.Explicit != "" {
		c, err := open(ctx, cfg, want.Explicit, want)
		if err != nil {
			return c, fmt.Errorf("%w: %w; `--model %s` always works and is no real model", ErrNoModel, err, OfflineModel)
		}
		c.Record = true
		return c, nil
	}
	var notice string
	if own := want.Session; own != nil {
		ref := own.Provider + "/" + own.ModelID
		c, err := open(ctx, cfg, ref, want)
		if err == nil {
			return c, nil
		}
		notice = fmt.Sprintf("the session's model %s cannot be used here (%v)", ref, err)
	}
	c, err := configured(ctx, cfg, want, open)
	if err != nil {
		return c, err
	}
	c.Record = fresh
	c.Notice = joinNotice(notice, c.Notice, c.Model.Info())
	return c, nil
}

func joinNotice(session, more string, info agent.ModelInfo) string {
	switch {
	case session == "":
		return more
	case more == "":
		return session + "; " + info.String() + " answers instead"
	}
	return session + "; " + more
}

// configured picks what the settings name, else the first usable model.
func configured(ctx context.Context, cfg *config.Config, want wrapper.ModelWish, open try) (wrapper.Chosen, error) {
	if ref := cfg.Settings.DefaultRef(); ref != "" {
		c, err := open(ctx, cfg, ref, want)
		if err != nil {
			return c, fmt.Errorf("%w: the default model of the settings: %w; name another with --model, for example --model %s, which is no real model", ErrNoModel, err, OfflineModel)
		}
		return c, nil
	}
	for _, m := range cfg.Models.Available() {
		if !m.Available() {
			continue
		}
		if c, err := open(ctx, cfg, m.String(), want); err == nil {
			return c, nil
		}
	}
	if err := cfg.Err(); err != nil {
		return wrapper.Chosen{}, fmt.Errorf("%w: %w", ErrNoModel, err)
	}
	c, err := open(ctx, cfg, OfflineModel, want)
	c.Notice = "no model is configured: the offline model answers, which is no real model"
	return c, err
}

// open finds a model by name, resolves its key and builds its client.
func (h *host) open(ctx context.Context, cfg *config.Config, ref string, want wrapper.ModelWish) (wrapper.Chosen, error) {
	if ref == offline.Provider || ref == OfflineModel {
		info := offline.Models()[0]
		m, err := h.providers.Open(model.Spec{Info: info})
		return wrapper.Chosen{Model: m, Thinking: "off", Conduct: h.conduct(cfg.Settings, info)}, err
	}
	found, err := cfg.Models.Find(ref)
	if err != nil {
		return wrapper.Chosen{}, err
	}
	conn, err := cfg.Models.Connect(ctx, found)
	if err != nil {
		return wrapper.Chosen{}, err
	}
	spec := model.Spec{Info: seen(modelInfo(conn.Model), cfg), BaseURL: conn.BaseURL, APIKey: conn.Key.Reveal(), Headers: map[string]string{}, Compat: conn.Compat, Levels: map[string]string{}}
	spec.Sampling, spec.SamplingByLevel = conn.SamplingParams, map[string]json.RawMessage{}
	for level, params := range conn.SamplingParamsByThinkingLevel {
		spec.SamplingByLevel[string(level)] = params
	}
	for level, word := range conn.ThinkingLevelMap {
		if word != nil {
			spec.Levels[string(level)] = *word
		}
	}
	for name, value := range conn.Headers {
		spec.Headers[name] = value.Reveal()
	}
	m, err := h.providers.Open(spec)
	if err != nil {
		return wrapper.Chosen{}, err
	}
	return wrapper.Chosen{Model: m, Thinking: thinkingLevel(conn.Model, cfg, want), Conduct: h.conduct(cfg.Settings, m.Info())}, nil
}

// peek looks whether a model could be opened, as far as that is known without
// running the user's key commands, and builds nothing.
func (h *host) peek(_ context.Context, cfg *config.Config, ref string, want wrapper.ModelWish) (wrapper.Chosen, error) {
	if ref == offline.Provider || ref == OfflineModel {
		info := offline.Models()[0]
		return wrapper.Chosen{Model: described{info}, Thinking: "off"}, h.providers.Speaks(info)
	}
	m, err := cfg.Models.Find(ref)
	if err != nil {
		return wrapper.Chosen{}, err
	}
	if !m.Available() {
		return wrapper.Chosen{}, &config.ModelError{Ref: ref, Reason: m.Unavailable, Err: config.ErrUnavailable}
	}
	info := seen(modelInfo(m), cfg)
	return wrapper.Chosen{Model: described{info}, Thinking: thinkingLevel(m, cfg, want)}, h.providers.Speaks(info)
}

// described is a model that can be spoken of and not asked.
type described struct{ info agent.ModelInfo }

func (d described) Info() agent.ModelInfo { return d.info }

func (d described) Stream(context.Context, agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		yield(nil, errors.New("this model was only looked at"))
	}
}

func thinkingLevel(m config.Model, cfg *config.Config, want wrapper.ModelWish) string {
	level := cfg.Settings.DefaultThinkingLevel
	if want.Level != "" {
		level = config.ThinkingLevel(want.Level)
	}
	if want.Thinking != "" {
		level = config.ThinkingLevel(want.Thinking)
	}
	return string(m.Thinking(level))
}

func modelInfo(m config.Model) agent.ModelInfo {
	return agent.ModelInfo{
		API: m.API, Provider: m.Provider, ID: m.ID, Name: m.Name, Reasoning: m.Reasoning, Images: m.Images(), Pictures: pictureBudget(m), ToolPictures: toolPictures(m),
		ContextWindow: m.ContextWindow, MaxTokens: m.MaxTokens,
		Cost: price(m.Cost),
	}
}

// price is a list of prices with its tiers.
func price(c config.Cost) agent.Price {
	p := rates(c.Rates)
	if len(c.Tiers) > 0 {
		p.For = func(input int64) agent.Price { return rates(c.For(int(input))) }
	}
	return p
}

func rates(r config.Rates) agent.Price {
	return agent.Price{Input: r.Input, Output: r.Output, CacheRead: r.CacheRead, CacheWrite: r.CacheWrite}
}

// ModelLine is a model as a list shows it. Sizes are in tokens, prices in US
// dollars per million tokens.
type ModelLine struct {
	Name          string        `json:"name"` // "provider/id"
	Title         string        `json:"title,omitempty"`
	API           string        `json:"api"`
	BaseURL       string        `json:"baseUrl,omitempty"`
	ContextWindow int           `json:"contextWindow,omitempty"`
	MaxTokens     int           `json:"maxTokens,omitempty"`
	Images        bool          `json:"images"`
	Levels        []string      `json:"thinkingLevels"`
	Cost          *config.Rates `json:"cost,omitempty"` // nil where it is not told
	KeySource     string        `json:"keySource,omitempty"`
	Unavailable   string        `json:"unavailable,omitempty"` // why it cannot be used
}

// Models lists the models of a working folder, the offline one last.
func (r *Runtime) Models(cwd string) []ModelLine {
	var out []ModelLine
	for _, m := range r.host.config(cwd).Models.Available() {
		line := ModelLine{
			Name: m.String(), Title: m.Name, API: m.API, BaseURL: withoutCredentials(m.BaseURL), ContextWindow: m.ContextWindow, MaxTokens: m.MaxTokens,
			Images: m.Images(), KeySource: m.KeySource, Unavailable: m.Unavailable,
		}
		for _, l := range m.ThinkingLevels() {
			line.Levels = append(line.Levels, string(l))
		}
		if m.Cost.Rates != (config.Rates{}) {
			line.Cost = &m.Cost.Rates
		}
		if err := r.host.providers.Speaks(modelInfo(m)); err != nil && line.Unavailable == "" {
			line.Unavailable = err.Error()
		}
		out = append(out, line)
	}
	info := offline.Models()[0]
	return append(out, ModelLine{Name: OfflineModel, Title: info.Name, API: info.API, Images: info.Images, Levels: []string{"off"}})
}

// withoutCredentials is an address without what may be secret in it: user,
// password and query.
func withoutCredentials(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// Probe is what a model said when it was tried.
type Probe struct {
	Model    string        `json:"model"`
	Answer   string        `json:"answer"`
	Stop     string        `json:"stop"`
	First    time.Duration `json:"firstNs"` // until the first word
	Total    time.Duration `json:"totalNs"`
	Usage    message.Usage `json:"usage"`
	Thinking string        `json:"thinkingLevel"`
}

// probePrompt is what a model is asked when it is tried.
const probePrompt = "Reply with the single word: ready"

// TryModel asks a model one short question, without a session, a system prompt or
// tools. Nothing is recorded.
func (r *Runtime) TryModel(ctx context.Context, cwd, ref, thinking string) (Probe, error) {
	chosen, err := r.host.Model(ctx, wrapper.ModelWish{CWD: cwd, Explicit: ref, Thinking: thinking})
	if err != nil {
		return Probe{}, err
	}
	p := Probe{Model: chosen.Model.Info().String(), Thinking: chosen.Thinking}
	start := time.Now()
	for d, err := range chosen.Model.Stream(ctx, agent.Request{Thinking: chosen.Thinking, Messages: []message.Message{
		&message.User{Content: message.Content{message.Text(probePrompt)}},
	}}) {
		if err != nil {
			return p, err
		}
		switch d := d.(type) {
		case agent.TextDelta:
			if p.First == 0 {
				p.First = time.Since(start)
			}
			p.Answer += d.Text
		case agent.UsageDelta:
			p.Usage = d.Usage
		case agent.Stop:
			p.Stop = string(d.Reason)
		}
	}
	p.Total = time.Since(start)
	if p.Stop == "" {
		return p, fmt.Errorf("%s broke off in the middle of its answer", p.Model)
	}
	return p, nil
}

// CheckThinking checks the name of a thinking level.
func CheckThinking(level string) error {
	if level == "" || config.ThinkingLevel(level).Valid() {
		return nil
	}
	return fmt.Errorf("unknown thinking level %q; there are %s", level, strings.ReplaceAll(strings.Trim(fmt.Sprint(config.ThinkingLevels()), "[]"), " ", ", "))
}

var _ wrapper.Host = (*host)(nil)

// sessionModel names the model that a context leaves.
func sessionModel(c *session.Context) string {
	if c.Model == nil {
		return ""
	}
	return c.Model.Provider + "/" + c.Model.ModelID
}

// seen is a model as the settings let it see: with images.blockImages none gets a
// picture.
func seen(info agent.ModelInfo, cfg *config.Config) agent.ModelInfo {
	info.Images = info.Images && !cfg.Settings.Images.Block
	return info
}

// toolPictures is what models.json says of pictures in the results of tools; ""
// where it says nothing.
func toolPictures(m config.Model) media.Delivery {
	var c struct {
		Supports *bool `json:"supportsToolResultImages"`
	}
	switch {
	case len(m.Compat) == 0 || json.Unmarshal(m.Compat, &c) != nil || c.Supports == nil:
		return ""
	case *c.Supports:
		return media.Native
	}
	return media.Lift
}

// pictureBudget is what models.json says of the pictures of a request.
func pictureBudget(m config.Model) media.Budget {
	l := m.InputLimits
	b := media.Budget{Pictures: l.Images.MaxPerRequest, Each: l.Images.Resize.MaxBytes, Side: max(l.Images.Resize.MaxWidth, l.Images.Resize.MaxHeight)}
	if l.MaxRequestBytes > 0 {
		b.Base64 = max(1, l.MaxRequestBytes*3/4) // the rest is for text
	}
	return b
}
