package compact

import (
	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// A token is about so many characters.
const charsPerToken = 4

// estimate is about how many tokens a message takes.
func (c *Compactor) estimate(m message.Message) int64 {
	chars, pictures := 0, 0
	count := func(content message.Content) {
		for _, b := range content {
			switch b.Type {
			case message.TypeText:
				chars += len(b.Text)
			case message.TypeThinking:
				chars += len(b.Thinking)
			case message.TypeToolCall:
				chars += len(b.Name) + len(b.Arguments)
			case message.TypeImage:
				pictures += c.picture(b)
			}
		}
	}
	switch m := m.(type) {
	case *message.CompactionSummary:
		chars = len(m.Summary)
	case *message.BranchSummary:
		chars = len(m.Summary)
	case *message.BashExecution:
		if !m.ExcludeFromContext {
			chars = len(m.Command) + len(m.Output)
		}
	case *message.System: // the head is counted apart
	default:
		count(message.ContentOf(m))
	}
	return int64((chars+charsPerToken-1)/charsPerToken + pictures)
}

func (c *Compactor) picture(b message.Block) int {
	if c.Picture != nil {
		return c.Picture(b)
	}
	return media.UnknownTokens
}

// Tokens is about how many tokens the next request of a context takes: what the
// provider counted with the last answer and estimates of what came later. Where
// an edit or a summary has changed the context since, all of it is estimated.
func (c *Compactor) Tokens(ctx *session.Context) int64 {
	at := c.counted(ctx)
	var n int64
	if at >= 0 {
		n = total(ctx.Messages[at].(*message.Assistant).Usage)
	} else {
		n = c.Overhead
	}
	for _, m := range ctx.Messages[at+1:] {
		n += c.estimate(m)
	}
	return n
}

func total(u message.Usage) int64 {
	if u.TotalTokens > 0 {
		return u.TotalTokens
	}
	return u.Input + u.Output + u.CacheRead + u.CacheWrite
}

// counted is the place of the last answer whose count still holds, or -1.
func (c *Compactor) counted(ctx *session.Context) int {
	at := len(ctx.Messages) - 1
	for ; at >= 0; at-- {
		a, ok := ctx.Messages[at].(*message.Assistant)
		if ok && a.StopReason != message.StopError && a.StopReason != message.StopAborted && total(a.Usage) > 0 {
			break
		}
	}
	if at < 0 {
		return -1
	}
	for i := len(ctx.Branch) - 1; i >= 0; i-- {
		switch ctx.Branch[i] {
		case ctx.Sources[at]:
			return at
		case ctx.Changed:
			return -1
		}
	}
	return -1
}
