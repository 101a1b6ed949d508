package media

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/piweb-go/piweb/message"
)

// Image is the value of "media_type" by which a result with a picture is known.
const Image = "image"

// output is the text of a result of reading a picture: the contract of the
// picture specification 1.3, without the data.
type output struct {
	Content    string `json:"content"`
	TotalLines int    `json:"total_lines"`
	MediaType  string `json:"media_type,omitempty"`
	MIME       string `json:"mime,omitempty"`
	Path       string `json:"path,omitempty"`
	Width      int    `json:"width,omitempty"`
	Height     int    `json:"height,omitempty"`
	SizeBytes  int    `json:"size_bytes,omitempty"`
}

// Attachment names a picture of a result in its details. The bytes are in the
// result's image block.
type Attachment struct {
	MIME   string `json:"mime"`
	Path   string `json:"path,omitempty"`
	SHA256 string `json:"sha256"`
	Size   int    `json:"size"`
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
}

// Attachment describes the picture for the details of a result.
func (a *Admitted) Attachment(name string) Attachment {
	return Attachment{a.MIME, name, a.SHA256, len(a.Data), a.Width, a.Height}
}

// Block is the picture as a block of a message.
func (a *Admitted) Block() message.Block {
	return message.Image(a.MIME, base64.StdEncoding.EncodeToString(a.Data))
}

// ResultText is the text of a result of reading the picture from the file name:
// one JSON object, and no picture in it.
func (a *Admitted) ResultText(name string) string {
	return encodeOutput(output{Content: a.sentence(name), MediaType: Image, MIME: a.MIME, Path: name,
		Width: a.Width, Height: a.Height, SizeBytes: len(a.Data)})
}

// ErrorText is the text of a result that has no picture to give.
func ErrorText(about string) string { return encodeOutput(output{Content: about}) }

func encodeOutput(o output) string {
	text, _ := message.Marshal(o) // strings and numbers always encode
	return string(text)
}

// sentence says what the picture is and what was done to it: a model that points
// at pixels must know the scale.
func (a *Admitted) sentence(name string) string {
	var b strings.Builder
	what := "picture"
	if a.Part != (Part{}) {
		what = fmt.Sprintf("the part %v of picture", a.Part)
	}
	fmt.Fprintf(&b, "Read %s %s (%s, %s, %d×%d).", what, name, a.MIME, Size(int64(len(a.Data))), a.Width, a.Height)
	s := a.Source
	if s.Frames > 1 {
		fmt.Fprintf(&b, " It is an animation of %d frames; this is the first.", s.Frames)
	}
	if s.Orientation > 1 {
		b.WriteString(" It was turned upright as its camera says.")
	}
	w, h := a.from()
	factor := strconv.FormatFloat(float64(w)/float64(a.Width), 'f', 2, 64)
	switch part := a.Part != (Part{}); {
	case part && a.Scaled():
		fmt.Fprintf(&b, " It was scaled down; multiply its coordinates by %s and add %d,%d to get those of the file, which has %d×%d.", factor, a.Part.X, a.Part.Y, s.Width, s.Height)
	case part:
		fmt.Fprintf(&b, " Add %d,%d to its coordinates to get those of the file, which has %d×%d.", a.Part.X, a.Part.Y, s.Width, s.Height)
	case a.Scaled():
		fmt.Fprintf(&b, " It was scaled down from %d×%d; multiply its coordinates by %s to get those of the file.", w, h, factor)
	}
	return b.String()
}

// Details are the details of a result with pictures.
func Details(pictures ...Attachment) json.RawMessage {
	details, _ := message.Marshal(struct {
		Attachments []Attachment `json:"attachments"`
	}{pictures})
	return details
}

// parseOutput reads the text of a result with a picture; ok is false for any
// other text, however odd.
func parseOutput(text string) (o output, ok bool) {
	if len(text) == 0 || text[0] != '{' {
		return output{}, false
	}
	err := json.Unmarshal([]byte(text), &o)
	return o, err == nil && o.MediaType == Image
}

// summaryRunes is how much of a file's name a summary shows, in characters.
const summaryRunes = 40

// Summary is one short line about a result with a picture, for lists and cards;
// "" for any other text.
func Summary(text string) string {
	o, ok := parseOutput(text)
	if !ok {
		return ""
	}
	name := []rune(path.Base(strings.ReplaceAll(o.Path, `\`, "/")))
	if len(name) > summaryRunes {
		name = append(name[:summaryRunes-1], '…')
	}
	if o.Width > 0 && o.Height > 0 {
		return fmt.Sprintf("Read %s (image, %d×%d)", string(name), o.Width, o.Height)
	}
	return fmt.Sprintf("Read %s (image)", string(name))
}
