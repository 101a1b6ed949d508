package media

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// UnknownTokens is what a picture of unknown size counts.
const UnknownTokens = 1000

// Tokens estimates what a picture costs a model, by the formula of its provider
// where the size is known (picture specification 1.9). Base64 is never counted
// as text.
func Tokens(api, model string, width, height int) int {
	if width <= 0 || height <= 0 {
		return UnknownTokens
	}
	model = strings.ToLower(model)
	switch {
	case strings.HasPrefix(api, "anthropic"), strings.HasPrefix(api, "bedrock"), strings.Contains(model, "claude"):
		if highResolution(model) {
			return patches28(width, height, 2576, 4784)
		}
		return patches28(width, height, 1568, 1568)
	case strings.HasPrefix(api, "google"), strings.Contains(model, "gemini"):
		return geminiTokens(model, width, height)
	case strings.Contains(model, "4.1-mini"):
		return int(math.Ceil(float64(patches32(width, height, 1536)) * 1.62))
	case strings.Contains(model, "4.1-nano"):
		return int(math.Ceil(float64(patches32(width, height, 1536)) * 2.46))
	case strings.Contains(model, "gpt-4o"), strings.Contains(model, "gpt-4.1"):
		return tiles512(width, height)
	case strings.HasPrefix(model, "gpt-5"), strings.HasPrefix(model, "o4-mini"):
		return patches32(width, height, 2500)
	}
	return UnknownTokens
}

// claudeGeneration finds the two numbers of a Claude model's id; a date is none.
var claudeGeneration = regexp.MustCompile(`claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?:\D|$)`)

// highResolution tells the Claude models that look closer: 4.7 and later.
func highResolution(model string) bool {
	m := claudeGeneration.FindStringSubmatch(model)
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2]) // "" is 0
	return major > 4 || major == 4 && minor >= 7
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// patches28 fits a picture into a longest side and a number of patches of 28
// pixels, as Anthropic does, and counts them.
func patches28(w, h, side, most int) int {
	scale := min(1, float64(side)/float64(max(w, h)))
	for {
		fw, fh := max(1, int(math.Round(float64(w)*scale))), max(1, int(math.Round(float64(h)*scale)))
		n := ceilDiv(fw, 28) * ceilDiv(fh, 28)
		if n <= most {
			return n
		}
		scale *= max(0.5, min(0.999, math.Sqrt(float64(most)/float64(n))))
	}
}

// tiles512 counts what OpenAI's models with tiles charge for a picture in high
// detail.
func tiles512(w, h int) int {
	fw, fh := float64(w), float64(h)
	if long := max(fw, fh); long > 2048 {
		fw, fh = fw*2048/long, fh*2048/long
	}
	if short := min(fw, fh); short > 768 {
		fw, fh = fw*768/short, fh*768/short
	}
	tiles := math.Ceil(math.Round(fw)/512) * math.Ceil(math.Round(fh)/512)
	return 85 + 170*int(tiles)
}

// patches32 counts patches of 32 pixels of a picture that is shrunk until at
// most so many cover it.
func patches32(w, h, most int) int {
	n := ceilDiv(w, 32) * ceilDiv(h, 32)
	if n <= most {
		return n
	}
	// Shrunk so that whole patches fit the cap along one side.
	fw, fh := float64(w), float64(h)
	r := math.Sqrt(float64(most) * 32 * 32 / (fw * fh))
	pw, ph := fw*r/32, fh*r/32
	r *= min(math.Floor(pw)/pw, math.Floor(ph)/ph)
	return min(most, int(math.Ceil(fw*r/32-1e-9))*int(math.Ceil(fh*r/32-1e-9)))
}

func geminiTokens(model string, w, h int) int {
	if geminiGeneration(model) >= 3 {
		return 1120 // the default resolution; the size does not matter
	}
	if w <= 384 && h <= 384 {
		return 258
	}
	return 258 * ceilDiv(w, 768) * ceilDiv(h, 768)
}
