package compact

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// The texts for models.
var (
	//go:embed prose/system.md
	systemText string
	//go:embed prose/history.md
	historyText string
	//go:embed prose/update.md
	updateText string
	//go:embed prose/prefix.md
	prefixText string
	//go:embed prose/branch.md
	branchText string
	//go:embed prose/split.md
	splitText string
)

// Settings say when to sum up and how much to keep. Sizes are in tokens.
type Settings struct {
	Enabled bool // without being asked
	Reserve int  // room that is kept for the answer
	Keep    int  // about how much of the end is kept as it is
	Branch  int  // room that is kept when a branch is summed up
}

// Compactor sums up conversations for one model. Its fields are set before its
// first use and not changed; it is safe for concurrent use then.
type Compactor struct {
	Model    agent.Model
	Settings Settings
	// Overhead is what every request carries beside its messages, in tokens.
	Overhead int64
	// Picture is how many tokens an image block takes; nil counts a fixed number.
	Picture func(message.Block) int
	Now     func() time.Time // nil for time.Now
}

var _ agent.Compactor = (*Compactor)(nil)

// limits are the settings as far as the model's window has room for them. In a
// small window pi's defaults would leave nothing, so at most a half is reserved,
// and at most a half of the rest is kept.
func (c *Compactor) limits() (window, reserve, keep int64) {
	window, reserve, keep = int64(c.Model.Info().ContextWindow), int64(c.Settings.Reserve), int64(c.Settings.Keep)
	if window > 0 {
		reserve = min(reserve, window/2)
		keep = min(keep, (window-reserve)/2)
	}
	return window, reserve, keep
}

// Due tells whether a context leaves too little room for the next answer. One
// that is exactly at the limit does not.
func (c *Compactor) Due(ctx *session.Context) bool {
	window, reserve, _ := c.limits()
	return c.Settings.Enabled && window > 0 && c.Tokens(ctx) > window-reserve
}

// Full tells whether an answer shows that its request did not fit: more went in
// than the window holds, or the answer was cut for want of room and not because
// it came to the model's own limit.
func (c *Compactor) Full(input, output int64, cut bool) bool {
	info := c.Model.Info()
	window := int64(info.ContextWindow)
	if window <= 0 {
		return false
	}
	return input > window || cut && info.MaxTokens > 0 && output < int64(info.MaxTokens) && input+output >= window-window/10
}

// details are pi's, and what was sent for them.
type details struct {
	ReadFiles     []string `json:"readFiles"`
	ModifiedFiles []string `json:"modifiedFiles"`
	Request       sent     `json:"request"`
}

type sent struct {
	System struct {
		SHA256 string `json:"sha256"`
		Bytes  int    `json:"bytes"`
	} `json:"system"`
	Tools []string `json:"tools"`
	Model string   `json:"model"`
}

func (c *Compactor) sent() sent {
	s := sent{Tools: []string{}, Model: c.Model.Info().String()}
	sum := sha256.Sum256([]byte(systemText))
	s.System.SHA256, s.System.Bytes = hex.EncodeToString(sum[:]), len(systemText)
	return s
}

// Compact makes the entry that replaces the beginning of a context.
func (c *Compactor) Compact(ctx context.Context, sc *session.Context, why agent.CompactionReason, instructions string) (session.Compaction, agent.Compaction, error) {
	p, err := c.plan(sc, why)
	if err != nil {
		return session.Compaction{}, agent.Compaction{}, err
	}
	text, usage, err := c.write(ctx, p, instructions)
	if err != nil {
		return session.Compaction{}, agent.Compaction{}, err
	}
	files := filesOf(p.summed)
	files.add(p.before)
	text += files.text()
	entry := session.Compaction{Summary: text, FirstKeptEntryID: p.firstKept, TokensBefore: c.Tokens(sc), FromHook: new(bool)}
	entry.Details, err = message.Marshal(details{files.read(), files.modified(), c.sent()})
	if err == nil {
		entry.Usage, err = message.Marshal(usage)
	}
	if err == nil {
		entry.SystemMessage, err = c.replayed(sc)
	}
	done := agent.Compaction{Summary: text, FirstKeptEntryID: p.firstKept, TokensBefore: entry.TokensBefore, Usage: &usage}
	done.TokensAfter = c.Overhead + c.estimate(&message.CompactionSummary{Summary: text})
	for _, m := range p.kept {
		done.TokensAfter += c.estimate(m)
	}
	return entry, done, err
}

// replayed is the system message that pi goes on with: without it the prompt and
// the tools of the part that is summed up would be gone for it.
func (c *Compactor) replayed(sc *session.Context) ([]byte, error) {
	if !sc.System.Declared {
		return nil, nil
	}
	m := &message.System{Content: message.SystemText(strings.Join(sc.System.Content, "\n\n")), ToolsAdded: sc.System.Tools,
		Writer: message.Piweb, Timestamp: c.now().UnixMilli()}
	if len(sc.System.Sections) > 0 {
		s := message.Sections(sc.System.Sections)
		m.Sections = &s
	}
	return message.Marshal(m)
}

func (c *Compactor) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

// write asks for the summary of a plan.
func (c *Compactor) write(ctx context.Context, p plan, instructions string) (text string, usage message.Usage, err error) {
	var parts []string
	before := withoutFiles(p.before)
	_, reserve, _ := c.limits()
	room := c.room(reserve)
	if len(p.history) > 0 {
		ask := historyText
		if before != "" {
			ask = updateText
		}
		s, u, err := c.summary(ctx, room, p.history, before, ask, instructions)
		if err != nil {
			return "", usage, err
		}
		parts, usage = append(parts, s), usage.Plus(u)
	} else if before != "" {
		parts = append(parts, before)
	}
	if len(p.prefix) > 0 {
		s, u, err := c.summary(ctx, room, p.prefix, "", prefixText, instructions)
		if err != nil {
			return "", usage, err
		}
		if len(parts) > 0 {
			s = "---\n\n" + strings.TrimSpace(splitText) + "\n\n" + s
		}
		parts, usage = append(parts, s), usage.Plus(u)
	}
	return strings.Join(parts, "\n\n"), usage, nil
}

// summary asks once for one text. A conversation that does not fit is shortened
// and asked for again.
func (c *Compactor) summary(ctx context.Context, room int, msgs []message.Message, before, ask, instructions string) (string, message.Usage, error) {
	for try := 0; ; try++ {
		var b strings.Builder
		b.WriteString("<conversation>\n" + serialize(msgs, room) + "\n</conversation>\n\n")
		if before != "" {
			b.WriteString("<previous-summary>\n" + clip(before, room/4) + "\n</previous-summary>\n\n")
		}
		b.WriteString(strings.TrimSpace(ask))
		if instructions = strings.TrimSpace(instructions); instructions != "" {
			b.WriteString("\n\nThe user adds: " + clip(instructions, maxInstructions))
		}
		answer, err := agent.Complete(ctx, c.Model, agent.Request{Head: []byte(systemText), Messages: []message.Message{
			&message.User{Content: message.Content{message.Text(b.String())}, Timestamp: c.now().UnixMilli()}}})
		if agent.Overflow(err) && try < 3 {
			room /= 2
			continue
		}
		if err != nil {
			return "", message.Usage{}, err
		}
		text := strings.TrimSpace(answer.Content.PlainText())
		if text == "" {
			return "", message.Usage{}, ErrEmpty
		}
		return text, answer.Usage, nil
	}
}

// ErrEmpty says that the model gave no summary.
var ErrEmpty = errors.New("the model gave no summary")

// maxInstructions bounds what a user adds, in bytes.
const maxInstructions = 16 << 10

// room is how much of a conversation goes into one request, in bytes, where so
// many tokens are kept for the answer.
func (c *Compactor) room(reserve int64) int {
	const unknown = 400_000
	window := int64(c.Model.Info().ContextWindow)
	if window <= 0 {
		return unknown
	}
	return int(max(window-reserve, window/4)) * charsPerToken * 3 / 4
}

// Branch makes the entry that stands for a branch which is left at from. msgs are
// the messages of that branch alone, in order.
func (c *Compactor) Branch(ctx context.Context, msgs []message.Message, from session.ID, instructions string) (session.BranchSummary, error) {
	var told []message.Message
	for _, m := range msgs {
		if m.Role() != message.RoleToolResult && m.Role() != message.RoleSystem {
			told = append(told, m)
		}
	}
	if len(told) == 0 {
		return session.BranchSummary{}, agent.ErrNothingToCompact
	}
	text, usage, err := c.summary(ctx, c.room(min(int64(c.Settings.Branch), int64(c.Model.Info().ContextWindow)/2)), told, "", branchText, instructions)
	if err != nil {
		return session.BranchSummary{}, fmt.Errorf("sum up the branch: %w", err)
	}
	files := filesOf(told)
	entry := session.BranchSummary{FromID: from, Summary: text + files.text(), FromHook: new(bool)}
	entry.Details, err = message.Marshal(details{files.read(), files.modified(), c.sent()})
	if err == nil {
		entry.Usage, err = message.Marshal(usage)
	}
	return entry, err
}
