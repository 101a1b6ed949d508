package media

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/piweb-go/piweb/message"
)

// The words that a model can see of this package. The first is an interface
// string (picture specification 1.5).
var (
	//go:embed prose/attached.md
	proseAttached string
	//go:embed prose/label.md
	proseLabel string
	//go:embed prose/blind.md
	proseBlind string
	//go:embed prose/blind-older.md
	proseBlindOlder string
	//go:embed prose/blind-user.md
	proseBlindUser string
	//go:embed prose/crowded.md
	proseCrowded string
	//go:embed prose/crowded-user.md
	proseCrowdedUser string
	//go:embed prose/missing.md
	proseMissing string
	//go:embed prose/unfit.md
	proseUnfit string
	//go:embed prose/refused.md
	proseRefused string
	//go:embed prose/only.md
	proseOnly string
)

// words fills an embedded text.
func words(prose string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(strings.TrimSpace(prose))
}

// Opener opens the data of a picture that stands in a session as a reference.
type Opener func(ctx context.Context, ref string) ([]byte, error)

// Placer puts pictures into requests. Its zero value does not work: Admitter
// must be set.
type Placer struct {
	Admitter *Admitter
	// Open opens references; nil where there are none to open, and each is
	// missing then.
	Open Opener
	// Withheld, if not nil, tells of pictures that must not go out, by
	// [Placed.Key].
	Withheld func(key string) bool
}

// Placed is a picture that goes out in a request.
type Placed struct {
	Key           string // of the picture as it stands in the session
	Message       int    // place in the messages that were given
	Block         int    // place in that message's content
	Width, Height int
	Base64        int // characters
}

// Report tells what became of the pictures of a request.
type Report struct {
	Placed  []Placed // in the order of the request
	Omitted int      // pictures that became a text
}

// Place returns the messages as the model in force gets them. The input is a
// history that is in order (results behind their calls) and is not changed;
// messages without pictures come back as they are.
//
// A picture that cannot go out becomes a text; nothing else is lost, and no
// result becomes empty. Pictures of results that have to be lifted stand in one
// user message behind the whole run of results, because APIs want the results of
// one turn without anything between them. That message exists in the request
// only.
//
// Of more pictures than the budget has room for, the newest stay. The error is
// ctx's.
func (p *Placer) Place(ctx context.Context, msgs []message.Message, eyes Eyes) ([]message.Message, Report, error) {
	slots := find(msgs)
	if len(slots) == 0 {
		return msgs, Report{}, nil
	}
	if eyes.Sees {
		if err := p.fill(ctx, slots, eyes); err != nil {
			return nil, Report{}, err
		}
	} else {
		blind(slots)
	}
	return assemble(msgs, slots, eyes)
}

// slot is a picture's place in a history.
type slot struct {
	msg, block int
	data       message.Block
	result     *message.ToolResult // nil for a user's picture
	attachment Attachment          // what the result's details say, if anything
	newest     bool                // of the turn that is being answered
	fresh      bool                // no model has seen it yet

	send          *message.Block // what goes out
	instead       string         // what stands there if nothing goes out
	width, height int
	key           string
}

// what names the picture to a model.
func (s *slot) what() string {
	switch {
	case s.result == nil:
		return "picture of the user"
	case s.attachment.Path != "":
		return s.attachment.Path
	}
	return fmt.Sprintf("picture of %s, call %s", s.result.ToolName, s.result.ToolCallID)
}

// find lists the pictures of a history in its order.
func find(msgs []message.Message) []*slot {
	turn, answer := 0, -1 // where the turn that is being answered begins; the last answer
	for i, m := range msgs {
		switch m.Role() {
		case message.RoleUser:
			turn = i
		case message.RoleAssistant:
			answer = i
		}
	}
	var slots []*slot
	for i, m := range msgs {
		var content message.Content
		var result *message.ToolResult
		switch m := m.(type) {
		case *message.User:
			content = m.Content
		case *message.ToolResult:
			content, result = m.Content, m
		}
		nth := 0
		for j, b := range content {
			if b.Type != message.TypeImage {
				continue
			}
			s := &slot{msg: i, block: j, data: b, result: result, newest: i >= turn, fresh: i > answer}
			if result != nil {
				s.attachment = attachmentOf(result, nth)
			}
			slots = append(slots, s)
			nth++
		}
	}
	return slots
}

// attachmentOf reads what a result says of its nth picture. It is a hint: a
// session file can say anything.
func attachmentOf(r *message.ToolResult, nth int) Attachment {
	var d struct {
		Attachments []Attachment `json:"attachments"`
	}
	if len(r.Details) > 0 && json.Unmarshal(r.Details, &d) == nil && nth < len(d.Attachments) {
		return d.Attachments[nth]
	}
	if o, ok := parseOutput(r.Content.PlainText()); ok && nth == 0 {
		return Attachment{Path: o.Path, MIME: o.MIME}
	}
	return Attachment{}
}

// blind says what a model without eyes is told of each picture: in the turn that
// is being answered an error that it can act on, in older ones a note.
func blind(slots []*slot) {
	for _, s := range slots {
		if s.newest && s.result != nil {
			s.instead = words(proseBlind, "{what}", s.what())
		} else {
			s.instead = words(proseBlindOlder, "{what}", s.what())
		}
	}
}

// assemble makes the messages of the request.
func assemble(msgs []message.Message, slots []*slot, eyes Eyes) ([]message.Message, Report, error) {
	byMsg := map[int][]*slot{}
	for _, s := range slots {
		byMsg[s.msg] = append(byMsg[s.msg], s)
	}
	var report Report
	var lifted []*slot
	out := make([]message.Message, 0, len(msgs)+1)
	flush := func() {
		if len(lifted) > 0 {
			out = append(out, liftedMessage(lifted))
			lifted = nil
		}
	}
	for i, m := range msgs {
		own := byMsg[i]
		for _, s := range own {
			if s.send == nil {
				report.Omitted++
				continue
			}
			report.Placed = append(report.Placed, Placed{s.key, s.msg, s.block, s.width, s.height, len(s.send.Data)})
		}
		result, isResult := m.(*message.ToolResult)
		if !isResult {
			flush()
		}
		switch {
		case len(own) == 0:
			out = append(out, m)
		case isResult:
			r, lift := resultFor(result, own, eyes)
			out, lifted = append(out, r), append(lifted, lift...)
		default:
			out = append(out, userFor(m.(*message.User), own, eyes))
		}
	}
	flush()
	return out, report, nil
}

// liftedMessage carries the pictures of a run of results. One stands without a
// label, several each have theirs.
func liftedMessage(lifted []*slot) *message.User {
	content := message.Content{message.Text(words(proseAttached))}
	for _, s := range lifted {
		if len(lifted) > 1 {
			content = append(content, message.Text(words(proseLabel, "{what}", s.what(), "{id}", s.result.ToolCallID)))
		}
		content = append(content, *s.send)
	}
	return &message.User{Content: content, Timestamp: lifted[len(lifted)-1].result.Timestamp}
}

// resultFor is a result as it goes out, and the pictures that have to follow it.
func resultFor(r *message.ToolResult, own []*slot, eyes Eyes) (*message.ToolResult, []*slot) {
	out := *r
	out.Content = message.Content{}
	var lift []*slot
	next := 0
	for j, b := range r.Content {
		if next >= len(own) || own[next].block != j {
			out.Content = append(out.Content, b)
			continue
		}
		s := own[next]
		next++
		switch {
		case s.send == nil:
			out.Content = withNote(out.Content, s)
		case eyes.Delivery == Native:
			out.Content = append(out.Content, *s.send)
		default:
			lift = append(lift, s)
		}
	}
	if strings.TrimSpace(out.Content.PlainText()) == "" { // a result without a text is dropped by some servers
		out.Content = append(message.Content{message.Text(words(proseOnly))}, out.Content...)
	}
	if !eyes.Sees && own[0].newest {
		out.IsError = true
	}
	return &out, lift
}

// withNote puts the text that stands for a picture into a result. The text of a
// reading says that it went well, so it gives way; any other text stays.
func withNote(c message.Content, s *slot) message.Content {
	note := s.instead
	if n := len(c); n > 0 && c[n-1].Type == message.TypeText {
		if _, ok := parseOutput(c[n-1].Text); ok {
			if strings.HasPrefix(note, "Error") {
				note = ErrorText(note)
			}
			return append(c[:n-1:n-1], message.Text(note))
		}
	}
	return append(c, message.Text(note))
}

// userFor is a user's message as it goes out. For a model without eyes all its
// pictures become one note behind the text.
func userFor(u *message.User, own []*slot, eyes Eyes) *message.User {
	out := &message.User{Timestamp: u.Timestamp, Content: message.Content{}}
	next := 0
	for j, b := range u.Content {
		if next >= len(own) || own[next].block != j {
			out.Content = append(out.Content, b)
			continue
		}
		s := own[next]
		next++
		switch {
		case s.send != nil:
			out.Content = append(out.Content, *s.send)
		case eyes.Sees:
			out.Content = append(out.Content, message.Text(s.instead))
		}
	}
	if !eyes.Sees {
		count := "1 picture"
		if len(own) > 1 {
			count = fmt.Sprintf("%d pictures", len(own))
		}
		out.Content = append(out.Content, message.Text(words(proseBlindUser, "{count}", count)))
	}
	return out
}
