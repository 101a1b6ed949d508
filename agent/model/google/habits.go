package google

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/piweb-go/piweb/agent/model"
)

// compat says in what a model differs from what its name tells: keys of the
// "compat" object in models.json. Unknown keys are passed over.
type compat struct {
	// SupportsToolResultImages says that pictures may stand in the results of
	// tools; by default they may from Gemini 3 on.
	SupportsToolResultImages *bool `json:"supportsToolResultImages"`
}

// habits is what a model wants, every question answered.
type habits struct {
	id             string
	reasoning      bool
	generation     int  // of the Gemini family, 0 where the name tells none
	pictureResults bool // pictures stand inside results; else behind them
	levels         map[string]string
}

var family = regexp.MustCompile(`gemini-(\d{1,2})`)

func resolve(spec model.Spec, c compat) habits {
	h := habits{id: strings.ToLower(spec.Info.ID), reasoning: spec.Info.Reasoning, levels: spec.Levels}
	if m := family.FindStringSubmatch(h.id); m != nil {
		h.generation, _ = strconv.Atoi(m[1])
	}
	h.pictureResults = h.generation >= 3
	if c.SupportsToolResultImages != nil {
		h.pictureResults = *c.SupportsToolResultImages
	}
	return h
}

// thinking is the field that asks for a thinking level: in words from Gemini 3 on,
// in tokens before.
type thinking struct {
	Include bool   `json:"includeThoughts,omitempty"`
	Level   string `json:"thinkingLevel,omitempty"`
	Budget  *int   `json:"thinkingBudget,omitempty"`
}

// think is the field for a level, nil for a model that does not reason. The words
// and budgets are pi's.
func (h habits) think(level string) *thinking {
	if !h.reasoning {
		return nil
	}
	if level == "" {
		level = "off"
	}
	t := &thinking{Include: level != "off"}
	word, mapped := h.levels[level]
	if !mapped {
		word = h.word(level)
	}
	if n, err := strconv.Atoi(word); err == nil {
		t.Budget = &n
	} else {
		t.Level = strings.ToUpper(word)
	}
	return t
}

// dynamic lets the model decide how long it thinks.
const dynamic = "-1"

func (h habits) word(level string) string {
	if level == "xhigh" || level == "max" {
		level = "high"
	}
	pro := strings.Contains(h.id, "pro")
	if h.generation >= 3 {
		switch {
		case level == "off" && pro, level == "minimal" && pro:
			return "low" // the least that it knows
		case level == "off":
			return "minimal"
		}
		return level
	}
	if h.generation == 0 {
		return map[bool]string{true: "0", false: dynamic}[level == "off"]
	}
	switch level {
	case "off":
		return map[bool]string{true: "128", false: "0"}[pro] // a pro does not stop thinking
	case "minimal":
		return map[bool]string{true: "512", false: "128"}[strings.Contains(h.id, "flash-lite")]
	case "low":
		return "2048"
	case "medium":
		return "8192"
	}
	return map[bool]string{true: "32768", false: "24576"}[pro]
}
