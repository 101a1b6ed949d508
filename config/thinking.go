package config

import "slices"

// ThinkingLevel says how much a model may think before it answers.
type ThinkingLevel string

// The levels of pi, from none to most.
const (
	ThinkingOff     ThinkingLevel = "off"
	ThinkingMinimal ThinkingLevel = "minimal"
	ThinkingLow     ThinkingLevel = "low"
	ThinkingMedium  ThinkingLevel = "medium"
	ThinkingHigh    ThinkingLevel = "high"
	ThinkingXHigh   ThinkingLevel = "xhigh"
	ThinkingMax     ThinkingLevel = "max"
)

// ThinkingLevels returns all levels in ascending order.
func ThinkingLevels() []ThinkingLevel {
	return []ThinkingLevel{ThinkingOff, ThinkingMinimal, ThinkingLow, ThinkingMedium,
		ThinkingHigh, ThinkingXHigh, ThinkingMax}
}

// Valid reports whether l is one of the levels.
func (l ThinkingLevel) Valid() bool { return slices.Contains(ThinkingLevels(), l) }

// Clamp returns l when it is in supported, else the next higher supported
// level, else the next lower one (spec/pi.md §8). A level that pi does not know
// becomes the lowest supported one; with nothing supported the answer is off.
func (l ThinkingLevel) Clamp(supported []ThinkingLevel) ThinkingLevel {
	ladder := ThinkingLevels()
	at := max(slices.Index(ladder, l), 0)
	for _, level := range ladder[at:] {
		if slices.Contains(supported, level) {
			return level
		}
	}
	for _, level := range slices.Backward(ladder[:at]) {
		if slices.Contains(supported, level) {
			return level
		}
	}
	return ThinkingOff
}
