package config

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestThinkingClamp(t *testing.T) {
	levels := func(names ...ThinkingLevel) []ThinkingLevel { return names }
	for _, c := range []struct {
		name      string
		wanted    ThinkingLevel
		supported []ThinkingLevel
		want      ThinkingLevel
	}{
		{"supported", ThinkingLow, levels(ThinkingOff, ThinkingLow), ThinkingLow},
		{"next higher", ThinkingMinimal, levels(ThinkingOff, ThinkingHigh), ThinkingHigh},
		{"higher before lower", ThinkingMedium, levels(ThinkingLow, ThinkingMax), ThinkingMax},
		{"else next lower", ThinkingMax, levels(ThinkingOff, ThinkingLow, ThinkingHigh), ThinkingHigh},
		{"off cannot be had", ThinkingOff, levels(ThinkingMinimal, ThinkingHigh), ThinkingMinimal},
		{"nothing supported", ThinkingHigh, nil, ThinkingOff},
		{"unknown level", "enormous", levels(ThinkingLow, ThinkingMax), ThinkingLow},
		{"order of the list does not matter", ThinkingMinimal, levels(ThinkingMax, ThinkingHigh, ThinkingOff), ThinkingHigh},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.wanted.Clamp(c.supported); got != c.want {
				t.Errorf("Clamp = %q, want %q", got, c.want)
			}
		})
	}
}

func TestPropertyClampAnswersASupportedLevel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		level := rapid.SampledFrom(ThinkingLevels())
		supported := rapid.SliceOfN(level, 1, 7).Draw(t, "supported")
		got := level.Draw(t, "wanted").Clamp(supported)
		if !slices.Contains(supported, got) || got.Clamp(supported) != got {
			t.Fatalf("%q is not one of %v, or not stable", got, supported)
		}
	})
}

func TestModelThinkingLevels(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		name string
		m    Model
		want []ThinkingLevel
	}{
		{"no reasoning", Model{ThinkingLevelMap: map[ThinkingLevel]*string{ThinkingMax: text("x")}}, []ThinkingLevel{ThinkingOff}},
		{"reasoning, no map", Model{Reasoning: true}, ThinkingLevels()[:5]},
		{"null rules out", Model{Reasoning: true, ThinkingLevelMap: map[ThinkingLevel]*string{ThinkingOff: nil, ThinkingMinimal: nil}}, ThinkingLevels()[2:5]},
		{"xhigh when named", Model{Reasoning: true, ThinkingLevelMap: map[ThinkingLevel]*string{ThinkingXHigh: text("high+")}}, ThinkingLevels()[:6]},
		{"max null is none", Model{Reasoning: true, ThinkingLevelMap: map[ThinkingLevel]*string{ThinkingMax: nil}}, ThinkingLevels()[:5]},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.m.ThinkingLevels(); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
			if got := c.m.Thinking(ThinkingMax); !slices.Contains(c.want, got) {
				t.Errorf("Thinking(max) = %q", got)
			}
		})
	}
}
