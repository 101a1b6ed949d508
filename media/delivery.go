package media

import "strings"

// Delivery says how the pictures of tool results reach a model.
type Delivery string

// The deliveries. The empty one is decided by the API: see [DeliveryFor].
const (
	Native Delivery = "native" // in the result itself
	Lift   Delivery = "lift"   // in one user message behind the run of results
	None   Delivery = "none"   // not at all: results stay text, users' pictures go out
)

// Valid tells whether d is one of the deliveries, or empty.
func (d Delivery) Valid() bool { return d == "" || d == Native || d == Lift || d == None }

// DeliveryFor is how an API takes pictures of results, where nothing else is
// configured (picture specification 1.12).
func DeliveryFor(api, model string) Delivery {
	switch {
	case strings.HasPrefix(api, "anthropic"), strings.HasPrefix(api, "bedrock"), strings.Contains(api, "responses"), api == "offline":
		return Native
	case strings.HasPrefix(api, "google"):
		if geminiGeneration(model) >= 3 {
			return Native
		}
	}
	return Lift
}

// geminiGeneration is the first number of a Gemini model's id, 0 where there is
// none.
func geminiGeneration(model string) int {
	_, rest, found := strings.Cut(strings.ToLower(model), "gemini-")
	if !found || rest == "" || rest[0] < '0' || rest[0] > '9' {
		return 0
	}
	n := 0
	for i := 0; i < len(rest) && rest[i] >= '0' && rest[i] <= '9' && n < 1000; i++ {
		n = n*10 + int(rest[i]-'0')
	}
	return n
}

// Budget bounds the pictures of one request. It is a bound of its own beside
// tokens: pictures cost few tokens and many bytes. Zero means no bound.
type Budget struct {
	Pictures int // how many
	Base64   int // of all, in characters of base64
	Each     int // of one, in characters of base64, inclusive
	Side     int // pixels, inclusive
	// Where more than Many pictures go out, none may have a side above ManySide.
	Many, ManySide int
}

// BudgetFor is what an API takes in one request, with room for text beside the
// pictures.
func BudgetFor(api string) Budget {
	const mb = 1 << 20
	b := Budget{Pictures: 40, Base64: 14 * mb, Each: 5 * mb, Side: 8000}
	switch {
	case strings.HasPrefix(api, "anthropic"), strings.HasPrefix(api, "bedrock"):
		b.Pictures, b.Base64, b.Many, b.ManySide = 100, 24*mb, 20, 1999
	case strings.Contains(api, "responses"):
		b.Pictures, b.Base64 = 400, 40*mb
	case strings.HasPrefix(api, "google"):
		b.Pictures, b.Base64 = 1000, 16*mb
	case strings.HasPrefix(api, "mistral"):
		b.Pictures = 8
	}
	return b
}

// With is the budget with the bounds that other sets.
func (b Budget) With(other Budget) Budget {
	for _, f := range []struct {
		to   *int
		from int
	}{{&b.Pictures, other.Pictures}, {&b.Base64, other.Base64}, {&b.Each, other.Each}, {&b.Side, other.Side}, {&b.Many, other.Many}, {&b.ManySide, other.ManySide}} {
		if f.from > 0 {
			*f.to = f.from
		}
	}
	return b
}

// Eyes is what the model in force can take of pictures.
type Eyes struct {
	Sees     bool
	Delivery Delivery
	Budget   Budget
}

// EyesFor is what is known of a model by its API and id. sees is what the
// configuration says; a model of which nothing is known does not see.
func EyesFor(api, model string, sees bool, d Delivery) Eyes {
	if d == "" {
		d = DeliveryFor(api, model)
	}
	return Eyes{Sees: sees, Delivery: d, Budget: BudgetFor(api)}
}
