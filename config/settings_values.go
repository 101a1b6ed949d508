package config

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// known lists the settings with a type of ours and what their values must be.
// Settings that are not listed are kept and not judged.
func known() map[string]check {
	return map[string]check{
		"defaultProvider":                isText,
		"defaultModel":                   isText,
		"defaultThinkingLevel":           oneOf(ThinkingLevels()...),
		"defaultTools":                   isList,
		"sessionDir":                     isText,
		"steeringMode":                   oneOf("one-at-a-time", "all"),
		"followUpMode":                   oneOf("one-at-a-time", "all"),
		"shellPath":                      isText,
		"shellCommandPrefix":             isText,
		"defaultProjectTrust":            oneOf(TrustAsk, TrustAlways, TrustNever),
		"skills":                         isList,
		"prompts":                        isList,
		"images":                         isObject,
		"images.autoResize":              isFlag,
		"images.blockImages":             isFlag,
		"compaction":                     isObject,
		"compaction.enabled":             isFlag,
		"compaction.reserveTokens":       isCount,
		"compaction.keepRecentTokens":    isCount,
		"compaction.modelOverrides":      isObject,
		"branchSummary":                  isObject,
		"branchSummary.reserveTokens":    isCount,
		"branchSummary.skipPrompt":       isFlag,
		"retry":                          isObject,
		"retry.enabled":                  isFlag,
		"retry.maxRetries":               isCount,
		"retry.baseDelayMs":              isCount,
		"retry.maxAgentDelayMs":          isCount,
		"retry.provider":                 isObject,
		"retry.provider.timeoutMs":       isCount,
		"retry.provider.maxRetries":      isCount,
		"retry.provider.maxRetryDelayMs": isCount,
	}
}

// check names what a value should have been, or returns "".
type check func(value any) (expected string)

func isText(v any) string   { _, ok := v.(string); return unless(ok, "a string") }
func isFlag(v any) string   { _, ok := v.(bool); return unless(ok, "true or false") }
func isList(v any) string   { _, ok := v.([]any); return unless(ok, "a list") }
func isObject(v any) string { _, ok := v.(map[string]any); return unless(ok, "an object") }
func isCount(v any) string {
	_, ok := countOf(v)
	return unless(ok, "a whole number, 0 or more")
}

func oneOf[S ~string](allowed ...S) check {
	return func(v any) string {
		s, ok := v.(string)
		if ok && slices.Contains(allowed, S(s)) {
			return ""
		}
		names := make([]string, len(allowed))
		for i, a := range allowed {
			names[i] = string(a)
		}
		return "one of " + strings.Join(names, ", ")
	}
}

func unless(ok bool, expected string) string {
	if ok {
		return ""
	}
	return expected
}

// takeOutUnusable removes values of the wrong kind and says so, so that a lower
// layer or the default stands. A null is no value and stays.
func (l layer) takeOutUnusable() (problems []*Problem) {
	checks := known()
	for _, path := range slices.Sorted(maps.Keys(checks)) {
		keys := strings.Split(path, ".")
		value, ok := values(l.values).at(keys...)
		if !ok {
			continue
		}
		if expected := checks[path](value); expected != "" {
			problems = append(problems, l.ignored(path, "expected "+expected+", found "+describe(value)))
			l.remove(keys)
		}
	}
	overrides, _ := values(l.values).at("compaction", "modelOverrides")
	models, _ := overrides.(map[string]any)
	for _, model := range slices.Sorted(maps.Keys(models)) {
		path := "compaction.modelOverrides." + model
		fields, ok := models[model].(map[string]any)
		if !ok {
			problems = append(problems, l.ignored(path, "expected an object, found "+describe(models[model])))
			delete(models, model)
			continue
		}
		for _, key := range []string{"reserveTokens", "keepRecentTokens"} {
			if value, set := fields[key]; set && value != nil && isCount(value) != "" {
				problems = append(problems, l.ignored(path+"."+key, "expected "+isCount(value)+", found "+describe(value)))
				delete(fields, key)
			}
		}
	}
	return problems
}

func (l layer) ignored(path, what string) *Problem {
	return &Problem{File: l.path, Path: path, What: what, Hint: "this value is ignored", Warning: true, Err: ErrValue}
}

func (l layer) remove(keys []string) {
	parent := l.values
	for _, key := range keys[:len(keys)-1] {
		parent, _ = parent[key].(map[string]any)
	}
	delete(parent, keys[len(keys)-1])
}

// describe names a value for a message, and shows it when it is short.
func describe(value any) string {
	text, err := json.Marshal(value)
	if err == nil && len(text) <= 40 {
		return string(text)
	}
	return kindOf(value)
}

// values reads typed values out of settings whose kinds have been checked.
type values map[string]any

// at follows keys; a null counts as missing.
func (v values) at(keys ...string) (any, bool) {
	var value any = map[string]any(v)
	for _, key := range keys {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		value = object[key]
	}
	return value, value != nil
}

func (v values) text(fallback string, keys ...string) string {
	if value, _ := v.at(keys...); value != nil {
		if s, ok := value.(string); ok {
			return s
		}
	}
	return fallback
}

func (v values) flag(fallback bool, keys ...string) bool {
	if value, _ := v.at(keys...); value != nil {
		if b, ok := value.(bool); ok {
			return b
		}
	}
	return fallback
}

func (v values) count(fallback int, keys ...string) int {
	if value, _ := v.at(keys...); value != nil {
		if n, ok := countOf(value); ok {
			return n
		}
	}
	return fallback
}

func (v values) millis(fallback int, keys ...string) time.Duration {
	const most = int64(math.MaxInt64 / time.Millisecond)
	return time.Duration(min(int64(v.count(fallback, keys...)), most)) * time.Millisecond
}

func (v values) compactionOverrides() map[string]compactionOverride {
	value, _ := v.at("compaction", "modelOverrides")
	models, _ := value.(map[string]any)
	out := map[string]compactionOverride{}
	for model, value := range models {
		fields, _ := value.(map[string]any)
		out[model] = compactionOverride{reserve: countPointer(fields["reserveTokens"]), keep: countPointer(fields["keepRecentTokens"])}
	}
	return out
}

func countPointer(value any) *int {
	if n, ok := countOf(value); ok {
		return &n
	}
	return nil
}

// countOf accepts whole numbers from 0 on, in any spelling, while they are exact
// in a double and fit an int.
func countOf(value any) (int, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := number.Float64()
	if err != nil || f < 0 || f != math.Trunc(f) || f > min(1<<53-1, math.MaxInt) {
		return 0, false
	}
	return int(f), true
}
