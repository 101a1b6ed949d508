package agent

import (
	"context"
	"encoding/json"
	"iter"
	"strconv"

	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
)

// ModelInfo describes a model. Sizes are in tokens.
type ModelInfo struct {
	API           string         // the wire: "openai-completions", "offline", …
	Provider      string         // provider id, as in models.json
	ID            string         // model id at the provider
	Name          string         // for people
	Reasoning     bool           // takes a thinking level
	Images        bool           // takes image blocks
	ToolPictures  media.Delivery // how pictures of results reach it; "" as its API does
	Pictures      media.Budget   // of one request, where it differs from its API's
	ContextWindow int
	MaxTokens     int
	Cost          Price
}

// Price is in US dollars per million tokens. What a cache keeps for an hour costs
// twice Input to write (pi 1.6.0, "Usage and cost").
type Price struct {
	Input, Output, CacheRead, CacheWrite float64
	// For, if not nil, gives the prices of a request with that many input tokens,
	// cached ones included, where a provider asks more for long ones (pi 1.6.0,
	// "models.json": cost.tiers).
	For func(input int64) Price `json:"-"`
}

// of is the prices that count for a usage.
func (p Price) of(u message.Usage) Price {
	if p.For == nil {
		return p
	}
	return p.For(u.Input + u.CacheRead + u.CacheWrite)
}

// String is "provider/id", the form in which people name a model.
func (m ModelInfo) String() string { return m.Provider + "/" + m.ID }

// Request is everything that one call of a model sends. The provider turns it
// into its wire format and adds nothing of its own: Head goes out as exactly
// these bytes, an empty Head sends no system message, no Tools sends no field
// for tools.
type Request struct {
	Head     []byte
	Messages []message.Message // user, assistant and tool results only
	Tools    []message.ToolDeclaration
	Thinking string // thinking level; "off" or empty for none
}

// Model answers requests. Implementations are safe for concurrent use.
type Model interface {
	Info() ModelInfo
	// Stream sends one request and yields the answer as it arrives. The last
	// delta of a whole answer is a Stop. An error ends the stream; an answer
	// without Stop was cut. The stream ends soon after ctx is done.
	Stream(ctx context.Context, req Request) iter.Seq2[Delta, error]
}

// Delta is one step of an answer: TextDelta, ThinkingDelta, ToolCallDelta,
// SignatureDelta, UsageDelta or Stop. Index tells the blocks of an answer apart; blocks are
// numbered from 0 in the order in which they begin, over all kinds.
type Delta interface{ isDelta() }

// TextDelta adds to a text block.
type TextDelta struct {
	Index int
	Text  string
}

// ThinkingDelta adds to a thinking block. A signature replaces an earlier one.
type ThinkingDelta struct {
	Index     int
	Text      string
	Signature string // opaque, goes back to the same model as it came
	Redacted  bool   // the provider hides the thought; the signature holds it
}

// ToolCallDelta begins a call (ID and Name set) or adds to the text of its
// arguments.
type ToolCallDelta struct {
	Index     int
	ID, Name  string
	Arguments string // a fragment of JSON text
}

// SignatureDelta signs a text or a call that has begun; it replaces an earlier
// signature. It is opaque, and goes back to the same model as it came.
type SignatureDelta struct {
	Index     int
	Signature string
}

// UsageDelta tells the tokens so far; the last one counts. Cost is left to the
// loop, which knows the prices.
type UsageDelta struct{ Usage message.Usage }

// Stop ends an answer.
type Stop struct {
	Reason        message.StopReason // stop, length or toolUse
	RawReason     string             // the provider's word
	ResponseID    string
	ResponseModel string
}

func (TextDelta) isDelta()      {}
func (ThinkingDelta) isDelta()  {}
func (ToolCallDelta) isDelta()  {}
func (SignatureDelta) isDelta() {}
func (UsageDelta) isDelta()     {}
func (Stop) isDelta()           {}

// RequestError is a provider's refusal.
type RequestError struct {
	Provider   string
	Status     int    // HTTP status; 0 when no answer came
	Message    string // the provider's words, without keys or headers
	RetryAfter string // value of the header, if any
	Body       json.RawMessage
	Err        error
}

func (e *RequestError) Error() string {
	if e.Status == 0 {
		return e.Provider + ": " + e.Message
	}
	return e.Provider + ": HTTP " + strconv.Itoa(e.Status) + ": " + e.Message
}

func (e *RequestError) Unwrap() error { return e.Err }
