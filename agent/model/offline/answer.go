package offline

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
)

//go:embed prose.md
var proseText string

// How much of other people's words an answer repeats.
const (
	quoteLines, reportLines = 6, 8
	quoteWidth              = 200 // characters of one line
	aboutWidth              = 60  // characters of a call's object
)

// pictureTokens is what a picture counts in the estimate of usage
// (RULINGS 19: 1000 where the provider's formula is not known).
const pictureTokens = 1000

// answer is what the model will say.
type answer struct {
	text  string
	calls []call
}

type call struct {
	id string
	ask
}

// reply decides the answer to a request: a report if tool results came last,
// else calls if the user asked for some, else a summary.
func (m *echo) reply(req agent.Request) (answer, error) {
	if results := trailingResults(req.Messages); len(results) > 0 {
		return m.report(req, results)
	}
	if user := lastUser(req.Messages); user != nil {
		if asks, more := parseAsks(user.Content.PlainText()); len(asks) > 0 {
			return m.act(req, asks, more)
		}
	}
	return m.summary(req)
}

func (m *echo) summary(req agent.Request) (answer, error) {
	data := struct {
		Quote, Pictures, Messages, Head, Tools string
		Examples                               []string
	}{
		Messages: describeMessages(req.Messages),
		Head:     "none",
		Tools:    joinNames(toolNames(req.Tools)),
		Examples: examples(req.Tools),
	}
	if len(req.Head) > 0 {
		data.Head = plural(len(req.Head), "byte")
	}
	if user := lastUser(req.Messages); user != nil {
		if text := strings.TrimSpace(user.Content.PlainText()); text != "" {
			data.Quote = "> " + strings.ReplaceAll(head(text, quoteLines), "\n", "\n> ")
		}
		if n := pictures(user.Content); n > 0 {
			data.Pictures = plural(n, "picture")
		}
	}
	text, err := m.render("answer", data)
	return answer{text: text}, err
}

func (m *echo) act(req agent.Request, asks []ask, more int) (answer, error) {
	offered := make(map[string]bool)
	for _, name := range toolNames(req.Tools) {
		offered[name] = true
	}
	data := struct {
		Calls, Missing []string
		Tools          string
		More, Limit    int
	}{Tools: joinNames(toolNames(req.Tools)), More: more, Limit: maxAsks}
	var a answer
	stem := callStem(req.Messages)
	for _, one := range asks {
		line := inCode(one.tool) + " — " + inCode(clip(one.about, aboutWidth))
		if !offered[one.tool] {
			data.Missing = append(data.Missing, line)
			continue
		}
		data.Calls = append(data.Calls, line)
		a.calls = append(a.calls, call{id: fmt.Sprintf("%s_%d", stem, len(a.calls)+1), ask: one})
	}
	var err error
	a.text, err = m.render("calls", data)
	return a, err
}

func (m *echo) report(req agent.Request, results []*message.ToolResult) (answer, error) {
	type item struct{ Call, Outcome, Lines string }
	var items []item
	for _, r := range results {
		text := strings.TrimRight(r.Content.PlainText(), "\n")
		it := item{Call: inCode(r.ToolName), Outcome: "done"}
		if about := callArguments(req.Messages, r.ToolCallID); about != "" {
			it.Call += " " + inCode(clip(about, aboutWidth))
		}
		if r.IsError {
			it.Outcome = "failed"
		}
		if text != "" {
			total := strings.Count(text, "\n") + 1
			it.Outcome += ", " + plural(total, "line")
			if total > reportLines {
				it.Outcome += fmt.Sprintf(" (the first %d follow)", reportLines)
			}
			it.Lines = fenced(head(text, reportLines))
		} else {
			it.Outcome += ", no text"
		}
		if n := pictures(r.Content); n > 0 {
			it.Outcome += ", with " + plural(n, "picture")
		}
		items = append(items, it)
	}
	text, err := m.render("report", items)
	return answer{text: text}, err
}

func (m *echo) render(name string, data any) (string, error) {
	var b strings.Builder
	if err := m.prose.ExecuteTemplate(&b, name, data); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}

// examples shows the forms of the tools that are offered.
func examples(tools []message.ToolDeclaration) []string {
	names := toolNames(tools)
	var lines []string
	seen := make(map[string]bool)
	for _, f := range Forms() {
		for _, name := range names {
			if f.Tool == name && !seen[name] {
				seen[name] = true
				lines = append(lines, inCode(f.Example))
			}
		}
	}
	return lines
}

func toolNames(tools []message.ToolDeclaration) []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return names
}

func lastUser(messages []message.Message) *message.User {
	for i := len(messages) - 1; i >= 0; i-- {
		if u, ok := messages[i].(*message.User); ok {
			return u
		}
	}
	return nil
}

// trailingResults returns the tool results at the end of the conversation.
func trailingResults(messages []message.Message) []*message.ToolResult {
	i := len(messages)
	for i > 0 && messages[i-1].Role() == message.RoleToolResult {
		i--
	}
	var results []*message.ToolResult
	for _, m := range messages[i:] {
		if r, ok := m.(*message.ToolResult); ok {
			results = append(results, r)
		}
	}
	return results
}

// callArguments returns the arguments of the newest call with that id.
func callArguments(messages []message.Message, id string) string {
	for i := len(messages) - 1; i >= 0; i-- {
		a, ok := messages[i].(*message.Assistant)
		if !ok {
			continue
		}
		for _, c := range a.Content.ToolCalls() {
			if c.ID == id {
				return string(c.Arguments)
			}
		}
	}
	return ""
}

// callStem begins the ids of a turn's calls: it depends on the request only, and
// differs between the turns of a session.
func callStem(messages []message.Message) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d\n", len(messages))
	if len(messages) > 0 {
		last, _ := message.Marshal(messages[len(messages)-1]) // without it the id is only less unlike
		sum.Write(last)
	}
	return "call_" + hex.EncodeToString(sum.Sum(nil)[:6])
}

func describeMessages(messages []message.Message) string {
	var yours, mine, results int
	for _, m := range messages {
		switch m.(type) {
		case *message.User:
			yours++
		case *message.Assistant:
			mine++
		case *message.ToolResult:
			results++
		}
	}
	return fmt.Sprintf("%s: %d of yours, %d of the model, %s",
		plural(yours+mine+results, "message"), yours, mine, plural(results, "tool result"))
}

func pictures(c message.Content) int {
	n := 0
	for _, b := range c {
		if b.Type == message.TypeImage {
			n++
		}
	}
	return n
}

// head returns the first lines of a text, none too long.
func head(text string, n int) string {
	lines := strings.Split(text, "\n")
	more := len(lines) > n
	if more {
		lines = lines[:n]
	}
	out := make([]string, len(lines), len(lines)+1)
	for i, l := range lines {
		out[i] = clip(strings.TrimSuffix(l, "\r"), quoteWidth)
	}
	if more {
		out = append(out, "…")
	}
	return strings.Join(out, "\n")
}

// inCode writes s as inline code of Markdown, whatever it holds.
func inCode(s string) string {
	s = strings.ReplaceAll(s, "\n", " ")
	ticks := "`"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	if len(ticks) > 1 {
		return ticks + " " + s + " " + ticks
	}
	return ticks + s + ticks
}

// fenced writes text as a code block of Markdown, whatever it holds.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// usageOf estimates the tokens of a request and its answer: a quarter of the
// characters, and a fixed number for each picture.
func usageOf(req agent.Request, a answer) message.Usage {
	chars, shown := runes(string(req.Head)), 0
	for _, t := range req.Tools {
		chars += runes(t.Name) + runes(t.Description) + len(t.Parameters)
	}
	for _, m := range req.Messages {
		var content message.Content
		switch m := m.(type) {
		case *message.User:
			content = m.Content
		case *message.Assistant:
			content = m.Content
		case *message.ToolResult:
			content = m.Content
		}
		for _, b := range content {
			chars += runes(b.Text) + runes(b.Thinking) + runes(b.Name) + runes(string(b.Arguments))
		}
		shown += pictures(content)
	}
	said := runes(a.text)
	for _, c := range a.calls {
		said += runes(c.tool) + runes(string(c.arguments))
	}
	u := message.Usage{Input: estimate(chars) + int64(shown*pictureTokens), Output: estimate(said)}
	u.TotalTokens = u.Input + u.Output
	return u
}
