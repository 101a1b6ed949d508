package config

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxProblems bounds the list for a file that is wrong all over.
const maxProblems = 20

// checkModels compares models.json with pi's schema (spec/pi.md §8) and lists
// what does not fit, by its place in the document. Members that the schema does
// not know are allowed. No message repeats a value: keys live in this file.
//
// The members of compat are left to the provider that reads them; pi checks them
// here.
func checkModels(path string, doc any) []*Problem {
	c := &checker{file: path}
	c.object("", doc, fields{
		"$schema":   {text, false},
		"providers": {each(object(providerFields())), true},
	})
	return c.problems
}

type checker struct {
	file     string
	problems []*Problem
}

// kind checks one value and reports what is wrong with it or inside it.
type kind func(c *checker, path string, value any)

type field struct {
	kind     kind
	required bool
}

type fields map[string]field

func (c *checker) wrong(path, what string) {
	if len(c.problems) < maxProblems {
		if path == "" {
			path = "root"
		}
		c.problems = append(c.problems, &Problem{File: c.file, Path: path, What: what, Hint: modelsHint, Err: ErrSchema})
	}
}

func (c *checker) object(path string, value any, fs fields) {
	members, ok := value.(map[string]any)
	if !ok {
		c.wrong(path, "expected an object, found "+kindOf(value))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(fs)) {
		f, at := fs[name], join(path, name)
		member, given := members[name]
		switch {
		case given:
			f.kind(c, at, member)
		case f.required:
			c.wrong(at, "it is required and missing")
		}
	}
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

func object(fs fields) kind {
	return func(c *checker, path string, value any) { c.object(path, value, fs) }
}

// each is an object whose member names are free.
func each(k kind) kind {
	return func(c *checker, path string, value any) {
		members, ok := value.(map[string]any)
		if !ok {
			c.wrong(path, "expected an object, found "+kindOf(value))
			return
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			k(c, join(path, name), members[name])
		}
	}
}

func list(k kind) kind {
	return func(c *checker, path string, value any) {
		items, ok := value.([]any)
		if !ok {
			c.wrong(path, "expected a list, found "+kindOf(value))
			return
		}
		for i, item := range items {
			k(c, join(path, strconv.Itoa(i)), item)
		}
	}
}

func text(c *checker, path string, value any) {
	if _, ok := value.(string); !ok {
		c.wrong(path, "expected a string, found "+kindOf(value))
	}
}

func filledText(c *checker, path string, value any) {
	if text(c, path, value); value == "" {
		c.wrong(path, "expected a string that is not empty")
	}
}

func textOrNull(c *checker, path string, value any) {
	if value != nil {
		text(c, path, value)
	}
}

func choice(allowed ...string) kind {
	return func(c *checker, path string, value any) {
		if s, ok := value.(string); !ok || !slices.Contains(allowed, s) {
			c.wrong(path, "expected one of "+strings.Join(allowed, ", "))
		}
	}
}

func flag(c *checker, path string, value any) {
	if _, ok := value.(bool); !ok {
		c.wrong(path, "expected true or false, found "+kindOf(value))
	}
}

func number(c *checker, path string, value any) {
	if _, ok := finite(value); !ok {
		c.wrong(path, "expected a number, found "+kindOf(value))
	}
}

// size is a number of tokens, bytes or pixels.
func size(c *checker, path string, value any) {
	if f, ok := finite(value); !ok || f <= 0 || f > min(1<<53-1, math.MaxInt) {
		c.wrong(path, "expected a number above 0")
	}
}

func anything(*checker, string, any) {}

func finite(value any) (float64, bool) {
	n, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// levels is an object with one optional member per thinking level.
func levels(k kind) kind {
	fs := fields{}
	for _, level := range ThinkingLevels() {
		fs[string(level)] = field{k, false}
	}
	return object(fs)
}

func providerFields() fields {
	return fields{
		"name":           {filledText, false},
		"baseUrl":        {filledText, false},
		"apiKey":         {filledText, false},
		"api":            {filledText, false},
		"oauth":          {choice("radius"), false},
		"headers":        {each(text), false},
		"compat":         {each(anything), false},
		"authHeader":     {flag, false},
		"models":         {list(object(modelFields(true))), false},
		"modelOverrides": {each(object(modelFields(false))), false},
	}
}

// modelFields are those of a model, or of an override, which has no id, api and
// baseUrl and may name single prices.
func modelFields(whole bool) fields {
	rates := fields{}
	for _, name := range []string{"input", "output", "cacheRead", "cacheWrite"} {
		rates[name] = field{number, true}
	}
	tier := maps.Clone(rates)
	tier["inputTokensAbove"] = field{number, true}
	cost := fields{"tiers": {list(object(tier)), false}}
	for name := range rates {
		cost[name] = field{number, whole}
	}
	sizes := func(names ...string) fields {
		fs := fields{}
		for _, name := range names {
			fs[name] = field{size, false}
		}
		return fs
	}
	images := sizes("maxPerMessage", "maxPerRequest")
	images["resize"] = field{object(sizes("maxWidth", "maxHeight", "maxBytes", "jpegQuality")), false}
	limits := sizes("maxRequestBytes")
	limits["images"] = field{object(images), false}

	fs := fields{
		"name":                          {filledText, false},
		"reasoning":                     {flag, false},
		"thinkingLevelMap":              {levels(textOrNull), false},
		"input":                         {list(choice("text", "image")), false},
		"inputLimits":                   {object(limits), false},
		"cost":                          {object(cost), false},
		"promptCache":                   {object(fields{"short": {number, false}, "long": {number, false}}), false},
		"contextWindow":                 {size, false},
		"maxTokens":                     {size, false},
		"samplingParams":                {each(anything), false},
		"samplingParamsByThinkingLevel": {levels(each(anything)), false},
		"headers":                       {each(text), false},
		"compat":                        {each(anything), false},
	}
	if whole {
		fs["id"] = field{filledText, true}
		fs["api"] = field{filledText, false}
		fs["baseUrl"] = field{filledText, false}
	}
	return fs
}
