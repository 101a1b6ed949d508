package config

import (
	"bytes"
	"encoding/json"
	"path/filepath"

	"github.com/tidwall/gjson"
)

// modelsFile is models.json after the schema has been checked.
type modelsFile struct {
	path      string
	ids       []string // in the order of the file
	providers map[string]providerEntry
}

type providerEntry struct {
	baseURL, api, oauth string
	apiKey              Secret // as written; it may be a literal key
	headers             map[string]Secret
	authHeader          bool
	compat              json.RawMessage
	models              []modelEntry
	overrides           map[string]modelEntry
	bare                bool // says nothing that could have an effect
}

// modelEntry is an entry of models or of modelOverrides; nil means not said.
type modelEntry struct {
	id, name, api, baseURL   string
	known                    bool // from what is known of public providers, not from the file
	reasoning                *bool
	thinkingLevelMap         map[ThinkingLevel]*string
	input                    []string
	inputLimits, cost, cache json.RawMessage
	contextWindow, maxTokens *float64
	sampling                 json.RawMessage
	samplingByLevel          map[ThinkingLevel]json.RawMessage
	headers                  map[string]Secret
	compat                   json.RawMessage
}

// members is a JSON object whose form has been checked. Unlike a struct it knows
// "baseUrl" and "baseURL" apart, as pi does.
type members map[string]json.RawMessage

func membersOf(raw json.RawMessage) members {
	var m members
	json.Unmarshal(raw, &m) // the form is known
	return m
}

// take returns a member, or the zero value where it is missing.
func take[T any](m members, name string) (value T) {
	if raw, ok := m[name]; ok {
		json.Unmarshal(raw, &value) // the form is known
	}
	return value
}

func secrets(texts map[string]string) map[string]Secret {
	if texts == nil {
		return nil
	}
	out := make(map[string]Secret, len(texts))
	for name, text := range texts {
		out[name] = NewSecret(text)
	}
	return out
}

func (p *providerEntry) read(raw json.RawMessage) {
	m := membersOf(raw)
	*p = providerEntry{
		baseURL: take[string](m, "baseUrl"), api: take[string](m, "api"), oauth: take[string](m, "oauth"),
		apiKey: NewSecret(take[string](m, "apiKey")), headers: secrets(take[map[string]string](m, "headers")),
		authHeader: take[bool](m, "authHeader"),
		compat:     compact(m["compat"]), overrides: map[string]modelEntry{},
	}
	for _, raw := range take[[]json.RawMessage](m, "models") {
		p.models = append(p.models, readModelEntry(raw))
	}
	for id, raw := range take[members](m, "modelOverrides") {
		p.overrides[id] = readModelEntry(raw)
	}
	_, authHeader := m["authHeader"]
	p.bare = p.baseURL == "" && p.headers == nil && p.compat == nil && p.apiKey.IsZero() && p.oauth == "" &&
		!authHeader && len(p.models) == 0 && len(p.overrides) == 0
}

func readModelEntry(raw json.RawMessage) modelEntry {
	m := membersOf(raw)
	return modelEntry{
		id: take[string](m, "id"), name: take[string](m, "name"), api: take[string](m, "api"),
		baseURL: take[string](m, "baseUrl"), reasoning: take[*bool](m, "reasoning"),
		thinkingLevelMap: take[map[ThinkingLevel]*string](m, "thinkingLevelMap"), input: take[[]string](m, "input"),
		inputLimits: m["inputLimits"], cost: m["cost"], cache: m["promptCache"],
		contextWindow: take[*float64](m, "contextWindow"), maxTokens: take[*float64](m, "maxTokens"),
		sampling:        compact(m["samplingParams"]),
		samplingByLevel: take[map[ThinkingLevel]json.RawMessage](m, "samplingParamsByThinkingLevel"),
		headers:         secrets(take[map[string]string](m, "headers")), compat: compact(m["compat"]),
	}
}

const modelsHint = "correct the file; until then none of its providers is used"

// readModels reads models.json. One error of its form sets the whole file aside,
// as in pi: a half-read list of providers would send prompts to the wrong place.
func readModels(agentDir string) (modelsFile, []*Problem) {
	m := modelsFile{path: filepath.Join(agentDir, "models.json"), providers: map[string]providerEntry{}}
	data, problem := readFile(m.path, modelsHint)
	if problem != nil {
		return m, []*Problem{problem}
	}
	if data == nil {
		return m, nil
	}
	text := blankComments(blankBOM(data))
	doc, problem := parse(m.path, text, modelsHint)
	if problem != nil {
		return m, []*Problem{problem}
	}
	if problems := checkModels(m.path, doc); len(problems) > 0 {
		return m, problems
	}
	// The order of the file is the order in which models are offered.
	gjson.GetBytes(text, "providers").ForEach(func(key, value gjson.Result) bool {
		id := key.String()
		if _, again := m.providers[id]; !again {
			m.ids = append(m.ids, id)
		}
		var p providerEntry
		p.read(json.RawMessage(value.Raw))
		m.providers[id] = p
		return true
	})
	return m, nil
}

// overlay lays the members of one JSON object over another's, keeping the order
// of first appearance. Members named in deep merge one level further. Either
// may be empty; the result is nil when both are.
func overlay(base, over json.RawMessage, deep ...string) json.RawMessage {
	if len(over) == 0 || string(over) == "null" {
		return base
	}
	if len(base) == 0 {
		return over
	}
	var keys []string
	members := map[string]json.RawMessage{}
	add := func(key, value gjson.Result) bool {
		name, raw := key.String(), json.RawMessage(value.Raw)
		old, known := members[name]
		if !known {
			keys = append(keys, key.Raw)
		}
		for _, d := range deep {
			if known && d == name && value.IsObject() && gjson.ParseBytes(old).IsObject() {
				raw = overlay(old, raw)
			}
		}
		members[name] = raw
		return true
	}
	gjson.ParseBytes(base).ForEach(add)
	gjson.ParseBytes(over).ForEach(add)
	var b bytes.Buffer
	b.WriteByte('{')
	for i, key := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(key)
		b.WriteByte(':')
		b.Write(members[gjson.Parse(key).String()])
	}
	b.WriteByte('}')
	return b.Bytes()
}

// overlayCompat merges compat as pi does: by field, and one level deeper for the
// fields that are objects of their own.
func overlayCompat(base, over json.RawMessage) json.RawMessage {
	return overlay(base, over, "openRouterRouting", "vercelGatewayRouting", "chatTemplateKwargs", "chatTemplateArgs")
}

// compact drops the blanks that comments have left.
func compact(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return nil
	}
	return b.Bytes()
}
