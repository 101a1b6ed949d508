package mcp

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/piweb-go/piweb/message"
)

// Bounds of a result.
const (
	maxText   = 50 << 10 // bytes of text for the model; the middle is left out
	maxBlocks = 200
	maxImages = 20
)

// converted is a result as the model gets it.
type converted struct {
	content message.Content
	cut     int // bytes of text that were left out
}

// convert turns a result into texts and pictures. All of the text also goes to
// whole, so that what is left out is not lost. Pictures stay pictures: they are
// admitted behind the call. What a model cannot see is named instead.
func convert(r *sdk.CallToolResult, whole io.Writer) converted {
	var out converted
	var text strings.Builder
	say := func(s string) {
		if s = strings.ToValidUTF8(s, "\ufffd"); s == "" {
			return
		}
		if text.Len() > 0 {
			text.WriteString("\n")
		}
		text.WriteString(s)
	}
	var images message.Content
	for i, c := range r.Content {
		if i >= maxBlocks {
			say(fmt.Sprintf("[%d more blocks are left out]", len(r.Content)-maxBlocks))
			break
		}
		switch c := c.(type) {
		case *sdk.TextContent:
			say(c.Text)
		case *sdk.ImageContent:
			if len(images) >= maxImages {
				say("[a picture is left out: there are too many]")
				continue
			}
			images = append(images, message.Block{Type: message.TypeImage, Data: base64.StdEncoding.EncodeToString(c.Data), MimeType: clean(c.MIMEType, 100)})
		case *sdk.AudioContent:
			say(fmt.Sprintf("[a sound of %d bytes (%s), which cannot be heard here]", len(c.Data), clean(c.MIMEType, 100)))
		case *sdk.ResourceLink:
			say(fmt.Sprintf("[a resource: %s %s]", clean(c.Name, 200), clean(c.URI, 1000)))
		case *sdk.EmbeddedResource:
			say(embedded(c.Resource, &images))
		}
	}
	if text.Len() == 0 && len(images) == 0 && r.StructuredContent != nil {
		if raw, err := message.Marshal(r.StructuredContent); err == nil {
			say(string(raw))
		}
	}
	all := text.String()
	_, _ = io.WriteString(whole, all)
	shown, cut := middleOut(all, maxText)
	out.cut = cut
	if shown != "" || len(images) == 0 {
		if shown == "" {
			shown = "(no output)"
		}
		out.content = append(out.content, message.Text(shown))
	}
	out.content = append(out.content, images...)
	return out
}

func embedded(r *sdk.ResourceContents, images *message.Content) string {
	switch {
	case r == nil:
		return ""
	case r.Blob == nil:
		return r.Text
	case strings.HasPrefix(r.MIMEType, "image/") && len(*images) < maxImages:
		*images = append(*images, message.Block{Type: message.TypeImage, Data: base64.StdEncoding.EncodeToString(r.Blob), MimeType: clean(r.MIMEType, 100)})
		return ""
	}
	return fmt.Sprintf("[%d bytes (%s) of %s, which are no text]", len(r.Blob), clean(r.MIMEType, 100), clean(r.URI, 1000))
}

// middleOut keeps the start and the end of a text.
func middleOut(s string, limit int) (shown string, cut int) {
	if len(s) <= limit {
		return s, 0
	}
	head, tail := limit/2, len(s)-limit/2
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	cut = tail - head
	return fmt.Sprintf("%s\n[… %d bytes are left out here …]\n%s", s[:head], cut, s[tail:]), cut
}
