package doctor

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/gif" // the kinds of pictures that sessions hold
	_ "image/jpeg"
	_ "image/png"
	"io"
	"strings"

	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/session"
	"github.com/tidwall/gjson"
)

// The limits of a picture beyond which providers refuse a request, and with it
// every later request of the session.
const (
	maxSide   = 2000
	maxBase64 = 4718592 // 4.5 MiB; this and more
)

// bodies looks into the messages, one at a time.
func (c *checker) bodies() error {
	own := map[int64]bool{}
	for _, e := range c.branch {
		own[e.Offset] = true
	}
	level, messages := false, false
	calls := calls{open: map[string]session.Entry{}, known: map[string]bool{}}
	for _, e := range c.entries {
		onBranch := own[e.Offset]
		level = level || onBranch && e.Type == session.TypeThinkingLevel
		if e.Type != session.TypeMessage && e.Type != session.TypeCustomMessage {
			continue
		}
		raw, err := c.s.Raw(e)
		if err != nil {
			return err
		}
		body := raw
		if e.Type == session.TypeMessage {
			messages = messages || onBranch
			if body = structure.Get(raw, "message"); !isObject(body) {
				c.r.add(Finding{Kind: KindNoMessage, Severity: Warning, Reader: Pi, Line: c.l.line(e.Line), Entry: e.ID, Text: "a message entry without a message; pi cannot list the session",
					Advice: "remove the line in a copy, or go on with piweb"})
				continue
			}
			if nullContent(e, body) {
				c.r.add(Finding{Kind: KindContent, Severity: Warning, Reader: Pi, Line: c.l.line(e.Line), Entry: e.ID,
					Text: "a message without content; pi opens the session, and leaves it out of every list", Advice: "repair it"})
			}
		}
		c.images(e, structure.Get(body, "content"))
		if onBranch {
			c.calls(e, body, &calls)
		}
	}
	for _, id := range calls.order {
		if e, open := calls.open[id]; open {
			c.r.add(Finding{Kind: KindOpenCall, Severity: Note, Reader: Every, Line: c.l.line(e.Line), Entry: e.ID,
				Text: fmt.Sprintf("the tool call %.60s has no result; pi and piweb send one that says so", id)})
		}
	}
	if messages && !level && c.s.Header().Version >= session.Version {
		c.r.add(Finding{Kind: KindLevel, Severity: Note, Reader: Pi, Text: "the branch has no thinking_level_change; pi appends one as soon as it opens the session"})
	}
	return nil
}

// nullContent tells whether a user's or a model's message has no content, which
// pi's list does not survive.
func nullContent(e session.Entry, body []byte) bool {
	return (e.Role == "user" || e.Role == "assistant") && isObject(body) && field(body, "content").Type == gjson.Null
}

func isObject(v []byte) bool { return len(v) > 0 && v[0] == '{' }

// field is the value of a key, the last one where it repeats.
func field(object []byte, key string) gjson.Result {
	return gjson.ParseBytes(structure.Get(object, key))
}

// calls are the tool calls of a branch.
type calls struct {
	open  map[string]session.Entry // without a result so far
	known map[string]bool
	order []string
}

// calls matches tool calls of a branch with their results. Calls of answers that
// failed are sent by nobody.
func (c *checker) calls(e session.Entry, body []byte, all *calls) {
	switch e.Role {
	case "assistant":
		stop := field(body, "stopReason").String()
		structure.Items(structure.Get(body, "content"), func(b []byte) {
			if id := field(b, "id").String(); field(b, "type").String() == "toolCall" {
				all.known[id] = true
				if stop != "error" && stop != "aborted" {
					all.open[id] = e
					all.order = append(all.order, id)
				}
			}
		})
	case "toolResult":
		id := field(body, "toolCallId").String()
		delete(all.open, id)
		if !all.known[id] {
			c.r.add(Finding{Kind: KindLoneResult, Severity: Note, Reader: Every, Line: c.l.line(e.Line), Entry: e.ID,
				Text: fmt.Sprintf("a result of the tool call %.60q, which is not on the branch before it; it is not sent", id)})
		}
	}
}

// images looks at the size of pictures.
func (c *checker) images(e session.Entry, content []byte) {
	structure.Items(content, func(b []byte) {
		if field(b, "type").String() != "image" {
			return
		}
		data := field(b, "data").String()
		f := Finding{Severity: Warning, Reader: Pi, Line: c.l.line(e.Line), Entry: e.ID,
			Advice: "go on with piweb, which bounds pictures in requests, or from an entry before it"}
		if len(data) >= maxBase64 {
			f.Kind, f.Text = KindImageBytes, fmt.Sprintf("a picture of %.1f MB in base64; providers refuse it, and pi sends it with every request", float64(len(data))/(1<<20))
			c.r.add(f)
		}
		if w, h := sides(data); w > maxSide || h > maxSide {
			f.Kind, f.Text = KindImageSides, fmt.Sprintf("a picture of %d × %d pixels; providers refuse more than %d, and pi sends it with every request", w, h, maxSide)
			c.r.add(f)
		}
	})
}

// sides reads the size of a picture from its beginning; 0 where it cannot.
func sides(data string) (w, h int) {
	src := base64.NewDecoder(base64.StdEncoding, strings.NewReader(data))
	if strings.HasPrefix(data, "UklGR") { // RIFF
		head := make([]byte, 30)
		if _, err := io.ReadFull(src, head); err != nil {
			return 0, 0
		}
		return webp(head)
	}
	conf, _, err := image.DecodeConfig(src)
	if err != nil {
		return 0, 0
	}
	return conf.Width, conf.Height
}

// webp reads the size from the first 30 bytes of a WebP file.
func webp(head []byte) (w, h int) {
	if string(head[8:12]) != "WEBP" {
		return 0, 0
	}
	switch string(head[12:16]) {
	case "VP8 ":
		return int(binary.LittleEndian.Uint16(head[26:])) & 0x3fff, int(binary.LittleEndian.Uint16(head[28:])) & 0x3fff
	case "VP8L":
		bits := binary.LittleEndian.Uint32(head[21:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case "VP8X":
		three := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
		return three(head[24:]) + 1, three(head[27:]) + 1
	}
	return 0, 0
}
