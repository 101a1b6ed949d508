package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"strings"

	"github.com/piweb-go/piweb/config/public"
)

// What Find and Connect refuse; match with errors.Is.
var (
	ErrUnknownModel   = errors.New("no such model")
	ErrAmbiguousModel = errors.New("the model's name is ambiguous")
	ErrUnavailable    = errors.New("the model cannot be used")
)

// ModelError says which model was asked for and why it cannot be had. It names
// variables and files, never a key.
type ModelError struct {
	Ref        string   // as it was asked for
	Candidates []string // "provider/id", what could have been meant
	Reason     string
	Err        error // one of ErrUnknownModel, ErrAmbiguousModel, ErrUnavailable
}

func (e *ModelError) Error() string {
	text := fmt.Sprintf("model %q: %v", e.Ref, e.Err)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if len(e.Candidates) > 0 {
		text += ": " + strings.Join(e.Candidates, ", ")
	}
	return text
}

func (e *ModelError) Unwrap() error { return e.Err }

// Models are the models that models.json describes, and those of public providers
// that a key or models.json names (package public). What the user says of a model
// wins over what is known of it. It does not change and may be used by many
// goroutines.
type Models struct {
	models    []Model
	providers map[string]provider
	resolver  *resolver
	broken    string // why models.json is not in force
}

// provider is what the models of a provider share.
type provider struct {
	entry      providerEntry
	credential credential
	explicit   Secret
	look       lookup
	// known is what the program knows of a public provider, nil of another. Its
	// models may go by names that nobody has described.
	known *public.Provider
}

// The wire of a model at OpenAI of which nothing is known: the one that its many
// copies speak, since models.json may send the provider to one of them.
const (
	openAI     = "openai"
	openAIWire = "openai-completions"
)

// Default sizes of a model, in tokens (spec/pi.md §8).
const (
	defaultContextWindow = 128000
	defaultMaxTokens     = 16384
)

// newModels lays the files over each other. keys are explicit ones by provider.
// broken says why models.json is not in force: it might have sent a public
// provider somewhere else, so that nothing of one is offered then; who names a
// model of one gets it.
func newModels(env Env, file modelsFile, broken string, auth map[string]credential, keys map[string]Secret, r *resolver) (*Models, []*Problem) {
	ms := &Models{providers: map[string]provider{}, resolver: r, broken: broken}
	var problems []*Problem
	open := func(id string) provider {
		p := provider{entry: file.providers[id], credential: auth[id], explicit: keys[id], look: env.over(auth[id].env)}
		if k, ok := public.Find(id); ok {
			p.known = &k
		}
		ms.providers[id] = p
		return p
	}
	for _, id := range file.ids {
		p := open(id)
		problems = append(problems, p.complaints(file.path, id)...)
		for _, m := range p.entry.models {
			ms.add(p.describe(id, m))
		}
		for _, m := range p.describeKnown(id) {
			if !slices.ContainsFunc(p.entry.models, func(own modelEntry) bool { return own.id == m.ID }) {
				ms.models = append(ms.models, m) // the user's own come first, and win
			}
		}
	}
	for _, k := range public.Providers() {
		if slices.Contains(file.ids, k.ID) {
			continue
		}
		// Nothing is offered of a provider that nobody has given a key for.
		if p := open(k.ID); broken == "" && p.hasKey(k.ID) {
			ms.models = append(ms.models, p.describeKnown(k.ID)...)
		}
	}
	return ms, problems
}

// add puts a model at the end; one of the same name replaces the earlier one in
// its place.
func (ms *Models) add(m Model) {
	if at := slices.IndexFunc(ms.models, func(o Model) bool { return o.Provider == m.Provider && o.ID == m.ID }); at >= 0 {
		ms.models[at] = m
		return
	}
	ms.models = append(ms.models, m)
}

// hasKey says whether a key is there, as far as that is known without running a
// command.
func (p provider) hasKey(id string) bool {
	key := p.key(id)
	return key.problem == "" && len(key.template.missing(p.look)) == 0
}

// describeKnown makes the models that are known of a public provider.
func (p provider) describeKnown(id string) []Model {
	if p.known == nil {
		return nil
	}
	list := p.known.Models()
	out := make([]Model, len(list))
	for i, m := range list {
		out[i] = p.describe(id, p.knownEntry(m))
	}
	return out
}

// knownEntry is what is known of a model, as models.json would say it. The wire
// and the address are left to the provider.
func (p provider) knownEntry(m public.Model) modelEntry {
	number := func(n int) *float64 {
		if n <= 0 {
			return nil
		}
		f := float64(n)
		return &f
	}
	cost, _ := json.Marshal(Rates{Input: m.Input, Output: m.Output, CacheRead: m.CacheRead, CacheWrite: m.CacheWrite}) // numbers always encode
	input := []string{"text"}
	if m.Images {
		input = append(input, "image")
	}
	return modelEntry{
		id: m.ID, name: m.Name, known: true, reasoning: &m.Reasoning, thinkingLevelMap: knownLevels(p.known.API, m.Levels),
		input: input, cost: cost, contextWindow: number(m.ContextWindow), maxTokens: number(m.MaxTokens),
	}
}

// knownLevels turns the provider's words for thinking levels into a map of ours.
// Where only some are told, the others are ruled out; "off" is ruled out where
// leaving thinking unsaid would mean the provider's own default.
func knownLevels(api string, words []string) map[ThinkingLevel]*string {
	if len(words) == 0 {
		return nil
	}
	out := map[ThinkingLevel]*string{}
	for _, level := range ThinkingLevels() {
		word := string(level)
		if level == ThinkingOff {
			word = "none"
		}
		switch {
		case slices.Contains(words, word):
			out[level] = &word
		case level == ThinkingOff && api != "openai-responses":
		default:
			out[level] = nil
		}
	}
	return out
}

// complaints warns of entries that have no effect.
func (p provider) complaints(path, id string) []*Problem {
	if p.known != nil {
		return nil
	}
	var what, hint string
	switch {
	case p.entry.oauth != "" && p.entry.apiKey.IsZero():
		what, hint = "it wants a login by OAuth, which piweb cannot use", "give it an apiKey"
	case p.entry.bare:
		what, hint = "it says nothing", "give it baseUrl, api and models"
	case len(p.entry.models) == 0:
		what, hint = "it lists no models, and piweb has none of its own for it", "list them under models"
	default:
		return nil
	}
	return []*Problem{{File: path, Path: "providers." + id, What: what, Hint: hint, Warning: true, Err: ErrValue}}
}

// describe makes the model of an entry: what the entry says, else the provider,
// else the default; then modelOverrides on top. Headers are the exception: those
// of the entry win over those of modelOverrides (as in pi 1.6.0).
func (p provider) describe(providerID string, m modelEntry) Model {
	e, over := p.entry, p.entry.overrides[m.id]
	out := Model{
		ID: m.id, Name: first(over.name, m.name, m.id), Provider: providerID,
		API: first(m.api, e.api), BaseURL: first(m.baseURL, e.baseURL),
		Reasoning: firstSet(false, over.reasoning, m.reasoning),
		Input:     []string{"text"},
		Compat:    overlayCompat(overlayCompat(e.compat, m.compat), over.compat),

		ContextWindow:  int(max(firstSet(defaultContextWindow, over.contextWindow, m.contextWindow), 1)),
		MaxTokens:      int(max(firstSet(defaultMaxTokens, over.maxTokens, m.maxTokens), 1)),
		SamplingParams: overlay(m.sampling, over.sampling),
	}
	if p.known != nil {
		api := p.known.API
		if providerID == openAI && !m.known {
			api = openAIWire
		}
		out.API, out.BaseURL = first(out.API, api), first(out.BaseURL, p.known.BaseURL)
	}
	out.BaseURL = strings.TrimRight(out.BaseURL, "/")
	for _, input := range [][]string{m.input, over.input} {
		if input != nil {
			out.Input = slices.Clone(input)
		}
	}
	for _, layer := range []modelEntry{m, over} {
		// Absent members leave what is there.
		unmarshal(layer.inputLimits, &out.InputLimits)
		unmarshal(layer.cost, &out.Cost)
		unmarshal(layer.cache, &out.PromptCache)
		for level, value := range layer.thinkingLevelMap {
			put(&out.ThinkingLevelMap, level, value)
		}
		for level, params := range layer.samplingByLevel {
			put(&out.SamplingParamsByThinkingLevel, level, overlay(out.SamplingParamsByThinkingLevel[level], compact(params)))
		}
	}
	for _, headers := range []map[string]Secret{e.headers, over.headers, m.headers} {
		for name, value := range headers {
			put(&out.headers, textproto.CanonicalMIMEHeaderKey(name), value)
		}
	}
	p.judge(&out)
	return out
}

// judge says whether the model can be used, as far as that is known without
// running a command, and where its key would come from.
func (p provider) judge(m *Model) {
	switch at := "providers." + m.Provider; {
	case m.API == "":
		m.Unavailable = fmt.Sprintf(`%s names no "api", neither for the provider nor for the model`, at)
		return
	case m.BaseURL == "":
		m.Unavailable = fmt.Sprintf(`%s names no "baseUrl", neither for the provider nor for the model`, at)
		return
	}
	key := p.key(m.Provider)
	m.KeySource, m.Note, m.Unavailable = key.source, key.note, key.problem
	if m.Unavailable != "" {
		return
	}
	if names := key.template.missing(p.look); len(names) > 0 {
		m.Unavailable = reasonMissing(key.what(m.Provider), names)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.headers)) {
		if names := parseTemplate(m.headers[name].Reveal()).missing(p.look); len(names) > 0 {
			m.Unavailable = reasonMissing(fmt.Sprintf("the header %s of %s", name, m.Provider), names)
			return
		}
	}
}

// keyPlan says how the key of a provider is had.
type keyPlan struct {
	explicit Secret
	template template
	source   string
	stored   bool   // from auth.json: what a command prints is remembered
	note     string // why a source of higher rank was passed over
	problem  string
}

func (k keyPlan) what(provider string) string {
	return fmt.Sprintf("the key of %s (%s)", provider, k.source)
}

// key picks the source by pi's precedence: explicit, auth.json, apiKey of
// models.json, the provider's variable (spec/pi.md §8). An entry of auth.json
// that cannot be used here is passed over with a note.
func (p provider) key(id string) keyPlan {
	note := ""
	if p.credential.broken != "" {
		note = "the entry of auth.json is passed over: " + p.credential.broken
	}
	variable := keyVariable(id)
	switch {
	case !p.explicit.IsZero():
		return keyPlan{explicit: p.explicit, source: "given explicitly"}
	case !p.credential.key.IsZero():
		return keyPlan{template: parseTemplate(p.credential.key.Reveal()), source: "auth.json", stored: true}
	case !p.entry.apiKey.IsZero():
		return keyPlan{template: parseTemplate(p.entry.apiKey.Reveal()), source: "models.json", note: note}
	case variable != "":
		return keyPlan{template: parseTemplate("$" + variable), source: "environment", note: note}
	}
	problem := fmt.Sprintf("there is no key for %s: give it an apiKey in models.json, any text where the server wants none, or an entry in auth.json", id)
	if note != "" {
		problem = note + "; " + problem
	}
	return keyPlan{problem: problem}
}

// Available lists every model that is described, usable or not: those of
// models.json in its order, then those of public providers that have a key. Each
// says why it cannot be used.
func (ms *Models) Available() []Model { return slices.Clone(ms.models) }

// Find returns the model called ref: "provider/id", or an id alone. The model
// may be unavailable; Connect says so.
//
// An id may hold slashes, so "a/b" can be model b of provider a and also model
// "a/b" of another. As in pi the named provider wins while it is usable, else a
// single usable other one. An id alone that several providers have is
// ambiguous unless exactly one of them is usable. Case counts only where two
// ids differ in nothing else. The error is a *ModelError.
func (ms *Models) Find(ref string) (Model, error) {
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		named, others := ms.match(ref, same)
		usable := slices.DeleteFunc(slices.Clone(others), func(m Model) bool { return !m.Available() })
		switch {
		case named != nil && (named.Available() || len(usable) == 0):
			return *named, nil
		case len(others) == 1:
			return others[0], nil
		case len(usable) == 1:
			return usable[0], nil
		case named != nil:
			others = append([]Model{*named}, others...)
			fallthrough
		case len(others) > 1:
			return Model{}, &ModelError{Ref: ref, Candidates: names(others), Reason: "write one of these", Err: ErrAmbiguousModel}
		}
	}
	id, rest, split := strings.Cut(ref, "/")
	if p := ms.providers[id]; split && rest != "" && p.known != nil {
		return p.named(id, rest), nil
	}
	return Model{}, ms.unknown(ref)
}

// named is the model of that name at a public provider, described or not.
func (p provider) named(id, name string) Model {
	for _, m := range p.known.Models() {
		if m.ID == name {
			return p.describe(id, p.knownEntry(m))
		}
	}
	return p.describe(id, modelEntry{id: name})
}

// match finds the model that ref names with its provider, and those of other
// providers whose id is ref itself.
func (ms *Models) match(ref string, same func(a, b string) bool) (named *Model, others []Model) {
	for _, m := range ms.models {
		switch {
		case same(m.String(), ref):
			if named == nil {
				named = &m
			}
		case same(m.ID, ref):
			others = append(others, m)
		}
	}
	return named, others
}

func (ms *Models) unknown(ref string) error {
	e := &ModelError{Ref: ref, Err: ErrUnknownModel}
	switch id, _, split := strings.Cut(ref, "/"); {
	case ms.broken != "":
		e.Reason = "models.json is not in force: " + ms.broken
	case split && len(ms.of(id)) > 0:
		e.Reason, e.Candidates = id+" has", names(ms.of(id))
	case len(ms.models) > 0:
		e.Reason, e.Candidates = "there are", names(ms.models)
	default:
		e.Reason = `models.json describes none, and no key of a public provider is there; a model of one is called "provider/id", such as "openai/<id>"`
	}
	if n := len(e.Candidates); n > 20 {
		e.Candidates = append(slices.Clip(e.Candidates[:20]), fmt.Sprintf("and %d more", n-20))
	}
	return e
}

func (ms *Models) of(provider string) []Model {
	return slices.DeleteFunc(slices.Clone(ms.models), func(m Model) bool { return m.Provider != provider })
}

// Connect resolves the key and the headers of a model that Find or Available
// gave. It may run the commands that the user has written for them, ten seconds
// each at most. Commands of auth.json run once, those of models.json at every
// call, so that a short-lived token stays fresh. The error is a *ModelError; it
// names what is missing and never holds a value.
func (ms *Models) Connect(ctx context.Context, m Model) (Connection, error) {
	fail := func(reason string) (Connection, error) {
		return Connection{}, &ModelError{Ref: m.String(), Reason: reason, Err: ErrUnavailable}
	}
	p, known := ms.providers[m.Provider]
	if !known {
		return Connection{}, ms.unknown(m.String())
	}
	if m.Unavailable != "" {
		return fail(m.Unavailable)
	}
	c := Connection{Model: m, Headers: map[string]Secret{}}
	plan := p.key(m.Provider)
	var err error
	switch what := plan.what(m.Provider); {
	case !plan.explicit.IsZero():
		c.Key = plan.explicit
	case plan.stored:
		c.Key, err = ms.resolver.remembered(ctx, plan.template, what, p.look)
	default:
		c.Key, err = ms.resolver.resolve(ctx, plan.template, what, p.look)
	}
	if err != nil {
		return fail(err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(m.headers)) {
		if m.headers[name].IsZero() {
			c.Headers[name] = Secret{} // an empty header is meant as one
			continue
		}
		what := fmt.Sprintf("the header %s of %s", name, m.Provider)
		if c.Headers[name], err = ms.resolver.resolve(ctx, parseTemplate(m.headers[name].Reveal()), what, p.look); err != nil {
			return fail(err.Error())
		}
	}
	if p.entry.authHeader {
		c.Headers["Authorization"] = NewSecret("Bearer " + c.Key.Reveal())
	}
	return c, nil
}

func names(models []Model) []string {
	out := make([]string, len(models))
	for i, m := range models {
		out[i] = m.String()
	}
	return out
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func firstSet[T any](fallback T, values ...*T) T {
	for _, v := range values {
		if v != nil {
			return *v
		}
	}
	return fallback
}

func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

func unmarshal(raw json.RawMessage, into any) {
	if len(raw) > 0 {
		json.Unmarshal(raw, into) // the form is known
	}
}

// KeyVariables names the environment variables that hold keys: those of public
// providers, whether they are set or not, and those that models.json and
// auth.json take keys and headers from. Programs that a model starts are not to
// have them.
func (ms *Models) KeyVariables() []string {
	names := map[string]bool{}
	for _, p := range public.Providers() {
		names[p.Variable] = true
	}
	take := func(s Secret) {
		for _, p := range parseTemplate(s.Reveal()).parts {
			if p.variable {
				names[p.text] = true
			}
		}
	}
	for id, p := range ms.providers {
		if v := keyVariable(id); v != "" {
			names[v] = true
		}
		take(p.credential.key)
		take(p.entry.apiKey)
		for _, m := range slices.Concat(p.entry.models, slices.Collect(maps.Values(p.entry.overrides))) {
			for _, h := range m.headers {
				take(h)
			}
		}
		for _, h := range p.entry.headers {
			take(h)
		}
	}
	return slices.Sorted(maps.Keys(names))
}
