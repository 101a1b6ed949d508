package media_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piweb-go/piweb/fixtures/pictures"
	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
)

const attached = "Attached media from tool result:"

func picture(n int) message.Block {
	return message.Image(media.PNG, base64.StdEncoding.EncodeToString(pictures.Tiny(n)))
}

func user(blocks ...message.Block) *message.User { return &message.User{Content: blocks} }

func calls(ids ...string) *message.Assistant {
	a := &message.Assistant{StopReason: message.StopToolUse}
	for _, id := range ids {
		a.Content = append(a.Content, message.ToolCall(id, "read", nil))
	}
	return a
}

// result is what read answers for the file name.
func result(id, name string, blocks ...message.Block) *message.ToolResult {
	text := fmt.Sprintf(`{"content":"Read picture %s (image/png).","total_lines":0,"media_type":"image","mime":"image/png","path":%q}`, name, name)
	return &message.ToolResult{ToolCallID: id, ToolName: "read", Content: append(message.Content{message.Text(text)}, blocks...)}
}

func plain(id, text string) *message.ToolResult {
	return &message.ToolResult{ToolCallID: id, ToolName: "bash", Content: message.Content{message.Text(text)}}
}

// shape writes messages so that a test can be read: T is a text, I a picture.
func shape(msgs []message.Message) []string {
	var out []string
	for _, m := range msgs {
		var c message.Content
		switch m := m.(type) {
		case *message.User:
			c = m.Content
		case *message.ToolResult:
			c = m.Content
		case *message.Assistant:
			out = append(out, "assistant")
			continue
		}
		var b strings.Builder
		b.WriteString(string(m.Role()) + " ")
		for _, block := range c {
			switch {
			case block.Type == message.TypeImage:
				b.WriteByte('I')
			case block.Text == attached:
				b.WriteByte('A')
			case strings.Contains(block.Text, "omitted") || strings.Contains(block.Text, "Error"):
				b.WriteByte('N')
			default:
				b.WriteByte('T')
			}
		}
		out = append(out, b.String())
	}
	return out
}

func place(t *testing.T, eyes media.Eyes, msgs ...message.Message) ([]message.Message, media.Report) {
	t.Helper()
	before, err := json.Marshal(msgs)
	if err != nil {
		t.Fatal(err)
	}
	p := &media.Placer{Admitter: media.NewAdmitter(media.Limits{})}
	out, report, err := p.Place(t.Context(), msgs, eyes)
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := json.Marshal(msgs); string(after) != string(before) {
		t.Error("the input was changed")
	}
	again, _, err := p.Place(t.Context(), msgs, eyes)
	if err != nil || !cmp.Equal(out, again) {
		t.Errorf("the second time it is another request (%v)", err)
	}
	for _, m := range out {
		if r, ok := m.(*message.ToolResult); ok && strings.TrimSpace(r.Content.PlainText()) == "" {
			t.Error("a result without text")
		}
	}
	return out, report
}

var (
	chat   = media.EyesFor("openai-completions", "m", true, "")
	native = media.EyesFor("anthropic-messages", "m", true, "")
	blind  = media.EyesFor("openai-completions", "m", false, "")
)

// T11, B1, case 1: where pictures of results go.
func TestPlaces(t *testing.T) {
	hello := user(message.Text("hello"))
	for _, c := range []struct {
		name string
		eyes media.Eyes
		msgs []message.Message
		want []string
	}{
		{"one", chat, []message.Message{hello, calls("a"), result("a", "a.png", picture(1))},
			[]string{"user T", "assistant", "toolResult T", "user AI"}},
		{"two at once, at the end", chat, []message.Message{hello, calls("a", "b"), result("a", "a.png", picture(1)), result("b", "b.png", picture(2))},
			[]string{"user T", "assistant", "toolResult T", "toolResult T", "user ATITI"}},
		{"two at once, before a user", chat, []message.Message{calls("a", "b"), result("a", "a.png", picture(1)), result("b", "b.png", picture(2)), hello},
			[]string{"assistant", "toolResult T", "toolResult T", "user ATITI", "user T"}},
		{"before the next answer", chat, []message.Message{calls("a"), result("a", "a.png", picture(1)), calls("b"), result("b", "b.png", picture(2))},
			[]string{"assistant", "toolResult T", "user AI", "assistant", "toolResult T", "user AI"}},
		{"mixed", chat, []message.Message{calls("a", "x", "b"), result("a", "a.png", picture(1)), plain("x", "out"), result("b", "b.png", picture(2))},
			[]string{"assistant", "toolResult T", "toolResult T", "toolResult T", "user ATITI"}},
		{"two of one call", chat, []message.Message{calls("a"), result("a", "a.png", picture(1), picture(2))},
			[]string{"assistant", "toolResult T", "user ATITI"}},
		{"without a text", chat, []message.Message{calls("a"), &message.ToolResult{ToolCallID: "a", ToolName: "shot", Content: message.Content{picture(1)}}},
			[]string{"assistant", "toolResult T", "user AI"}},
		{"native", native, []message.Message{calls("a", "b"), result("a", "a.png", picture(1)), result("b", "b.png", picture(2)), hello},
			[]string{"assistant", "toolResult TI", "toolResult TI", "user T"}},
		{"native, without a text", native, []message.Message{calls("a"), &message.ToolResult{ToolCallID: "a", ToolName: "shot", Content: message.Content{picture(1)}}},
			[]string{"assistant", "toolResult TI"}},
		{"none of results", media.EyesFor("x", "m", true, media.None), []message.Message{user(message.Text("see"), picture(3)), calls("a"), result("a", "a.png", picture(1))},
			[]string{"user TI", "assistant", "toolResult N"}},
		{"of the user", chat, []message.Message{user(message.Text("see"), picture(1), picture(2))}, []string{"user TII"}},
		{"blind", blind, []message.Message{user(message.Text("see"), picture(1), picture(2)), calls("a"), result("a", "a.png", picture(1))},
			[]string{"user TN", "assistant", "toolResult N"}},
		{"blind, pictures only", blind, []message.Message{user(picture(1))}, []string{"user N"}},
		{"no pictures", chat, []message.Message{hello, calls("a"), plain("a", "x")}, []string{"user T", "assistant", "toolResult T"}},
		{"nothing", chat, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, _ := place(t, c.eyes, c.msgs...)
			if diff := cmp.Diff(c.want, shape(out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// T1, T11: the exact two parts of one picture, and the text that stays.
func TestPlaceExactly(t *testing.T) {
	r := result("a", "a.png", picture(1))
	out, report := place(t, chat, calls("a"), r)
	got := out[2].(*message.User).Content
	if len(got) != 2 || got[0].Text != attached || got[1].Data != picture(1).Data || got[1].MimeType != media.PNG {
		t.Errorf("got %+v", got)
	}
	if out[1].(*message.ToolResult).Content.PlainText() != r.Content.PlainText() {
		t.Error("the text of the result changed")
	}
	if len(report.Placed) != 1 || report.Omitted != 0 || report.Placed[0].Width != 2 || report.Placed[0].Message != 1 {
		t.Errorf("report %+v", report)
	}
	two, _ := place(t, chat, calls("a", "b"), result("a", "dir/a.png", picture(1)), result("b", "b.png", picture(2)))
	if label := two[3].(*message.User).Content[1].Text; label != "dir/a.png (call a):" {
		t.Errorf("label %q", label)
	}
}

// T7, B12, cases 9 and 20: a model that does not see gets an error for the turn
// that it answers and notes for older ones; one that sees gets the pictures back.
func TestSwitchingModels(t *testing.T) {
	msgs := []message.Message{
		user(message.Text("1")), calls("a"), result("a", "old.png", picture(1)), &message.Assistant{Content: message.Content{message.Text("ok")}},
		user(message.Text("2")), calls("b"), result("b", "new.png", picture(2)),
	}
	out, report := place(t, blind, msgs...)
	if len(report.Placed) != 0 || report.Omitted != 2 || len(out) != len(msgs) {
		t.Errorf("report %+v, %d messages", report, len(out))
	}
	older, newest := out[2].(*message.ToolResult), out[6].(*message.ToolResult)
	if text := older.Content.PlainText(); text != "[image omitted: current model has no image input] old.png" || older.IsError {
		t.Errorf("older: %s", text)
	}
	var o struct {
		Content    string
		TotalLines int `json:"total_lines"`
		MediaType  any `json:"media_type"`
	}
	if err := json.Unmarshal([]byte(newest.Content.PlainText()), &o); err != nil || !newest.IsError || o.MediaType != nil ||
		!strings.HasPrefix(o.Content, "Error: ") || !strings.Contains(o.Content, "vision model") || !strings.Contains(o.Content, "new.png") {
		t.Errorf("newest: %v %+v", err, o)
	}
	back, _ := place(t, chat, msgs...)
	if diff := cmp.Diff([]string{"user T", "assistant", "toolResult T", "user AI", "assistant", "user T", "assistant", "toolResult T", "user AI"}, shape(back)); diff != "" {
		t.Error(diff)
	}
	shot := &message.ToolResult{ToolCallID: "a", ToolName: "shot", Content: message.Content{message.Text("taken"), picture(1)}}
	text := mustPlace(t, blind, user(message.Text("x")), calls("a"), shot)[2].(*message.ToolResult).Content.PlainText()
	if !strings.HasPrefix(text, "taken\n") || !strings.Contains(text, "takes no image input") {
		t.Errorf("another tool: %s", text)
	}
}

func mustPlace(t *testing.T, eyes media.Eyes, msgs ...message.Message) []message.Message {
	out, _ := place(t, eyes, msgs...)
	return out
}

// B14, case 16: of many pictures the newest stay, and what is left out is the same
// for a while.
func TestBudget(t *testing.T) {
	var msgs []message.Message
	for i := range 50 {
		id := fmt.Sprint(i)
		msgs = append(msgs, calls(id), result(id, id+".png", picture(i)))
	}
	size := len(picture(0).Data)
	eyes := chat
	eyes.Budget = media.Budget{Base64: 10*size + size/2}
	_, report := place(t, eyes, msgs...)
	if report.Omitted != 40 || len(report.Placed) != 10 || report.Placed[9].Message != 99 {
		t.Errorf("%d of 50 left out, the last is %+v", report.Omitted, report.Placed[len(report.Placed)-1])
	}
	eyes.Budget = media.Budget{Pictures: 11}
	var changes []int
	last := -1
	for n := 20; n <= 50; n++ {
		out, report := place(t, eyes, msgs[:2*n]...)
		if len(report.Placed) > 11 || len(report.Placed) < 8 {
			t.Errorf("%d pictures of %d", len(report.Placed), n)
		}
		if report.Omitted != last {
			changes, last = append(changes, n), report.Omitted
		}
		note := out[1].(*message.ToolResult).Content.PlainText()
		if note != "[image omitted: the request has no room for it] 0.png; see it again with read" {
			t.Errorf("note: %s", note)
		}
	}
	if len(changes) > 9 { // 30 times without batches
		t.Errorf("the beginning of the request changed at %v", changes)
	}
}

// B3: one picture's share, measured as base64.
func TestEachPicture(t *testing.T) {
	loose := media.NewAdmitter(media.Limits{StoredBase64: 6 << 20})
	for n, same := range map[int]bool{3_932_160: true, 3_932_161: false} {
		text := base64.StdEncoding.EncodeToString(pictures.Sized(n))
		p := &media.Placer{Admitter: loose}
		out, report, err := p.Place(t.Context(), []message.Message{user(message.Image(media.PNG, text))}, chat)
		if err != nil {
			t.Fatal(err)
		}
		if same != (len(report.Placed) == 1 && out[0].(*message.User).Content[0].Data == text) {
			t.Errorf("%d bytes: %+v", n, report)
		}
	}
	if _, report := place(t, chat, user(message.Image(media.PNG, base64.StdEncoding.EncodeToString(pictures.PNG(pictures.Noise(1150, 1140, 3)))))); len(report.Placed) != 1 || report.Placed[0].Base64 > 5<<20 {
		t.Errorf("what is too long is not made shorter: %+v", report)
	}
}

// Case 8: beside many others none may be wide.
func TestManyPictures(t *testing.T) {
	eyes := native
	var msgs []message.Message
	wide := base64.StdEncoding.EncodeToString(pictures.PNG(pictures.Flat(2100, 100)))
	for i := range 21 {
		msgs = append(msgs, user(message.Image(media.PNG, wide), message.Text(fmt.Sprint(i))))
	}
	_, report := place(t, eyes, msgs[:20]...)
	if report.Placed[0].Width != 2100 {
		t.Errorf("20 pictures: %d wide", report.Placed[0].Width)
	}
	_, report = place(t, eyes, msgs...)
	for _, p := range report.Placed {
		if p.Width >= 2000 {
			t.Errorf("21 pictures: one is %d wide", p.Width)
		}
	}
	if len(report.Placed) != 21 {
		t.Errorf("%d pictures", len(report.Placed))
	}
}

// The last guard: cases 2, 4, 5, 19 and fixtures/cases/019.
func TestOddData(t *testing.T) {
	png := base64.StdEncoding.EncodeToString(pictures.Tiny(1))
	lines := png[:40] + "\r\n" + png[40:80] + "\n" + png[80:]
	for _, c := range []struct {
		name, mime, data string
		want             string // the data that goes out, "" for a note
		kind             string
	}{
		{"as it is", media.PNG, png, png, media.PNG},
		{"wrong type", media.JPEG, png, png, media.PNG},
		{"no type", "", png, png, media.PNG},
		{"short type", "png", png, png, media.PNG},
		{"line breaks", media.PNG, lines, png, media.PNG},
		{"blanks", media.PNG, "  " + png[:9] + " " + png[9:], png, media.PNG},
		{"no padding", media.PNG, strings.TrimRight(png, "="), png, media.PNG},
		{"data URL", media.PNG, "data:image/png;base64," + png, png, media.PNG},
		{"foreign characters", media.PNG, "iVBORw0KGgo→%%%", "", ""},
		{"empty", media.PNG, "", "", ""},
		{"cut", media.PNG, png[:60], "", ""},
		{"text", media.PNG, base64.StdEncoding.EncodeToString([]byte("<svg/>")), "", ""},
		{"bomb", media.PNG, base64.StdEncoding.EncodeToString(pictures.Bomb(60000, 60000)), "", ""},
		{"reference to nothing", media.PNG, "blob:sha256:" + strings.Repeat("0", 64), "", ""},
		{"odd reference", media.PNG, "blob:sha256:../../etc/passwd", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, report := place(t, chat, user(message.Text("see"), message.Image(c.mime, c.data)))
			b := out[0].(*message.User).Content[1]
			if c.want == "" {
				if b.Type != message.TypeText || !strings.Contains(b.Text, "omitted") || report.Omitted != 1 {
					t.Errorf("got %+v", b)
				}
				if strings.Contains(b.Text, "blob:") {
					t.Errorf("the reference is told: %s", b.Text)
				}
				return
			}
			if b.Data != c.want || b.MimeType != c.kind {
				t.Errorf("%s %s", b.MimeType, b.Data)
			}
		})
	}
	out, _ := place(t, chat, user(message.Image(media.GIF, base64.StdEncoding.EncodeToString(pictures.GIF(8, 8, 3, 0)))))
	if b := out[0].(*message.User).Content[0]; b.MimeType != media.PNG {
		t.Errorf("a GIF goes out as %s", b.MimeType)
	}
}

// B13: references are opened when a request is built; one that cannot be opened
// is a note and no failure, and may come back.
func TestReferences(t *testing.T) {
	ref := "blob:sha256:" + strings.Repeat("a", 64)
	there := false
	p := &media.Placer{Admitter: media.NewAdmitter(media.Limits{}), Open: func(_ context.Context, got string) ([]byte, error) {
		if !there || got != ref {
			return nil, errors.New("gone")
		}
		return pictures.Tiny(1), nil
	}}
	for _, there = range []bool{false, true, false, true} {
		out, report, err := p.Place(t.Context(), []message.Message{user(message.Image(media.PNG, ref))}, chat)
		if err != nil || (len(report.Placed) == 1) != there {
			t.Errorf("there %v: %v %+v", there, err, report)
		}
		if b := out[0].(*message.User).Content[0]; there && b.Data != picture(1).Data {
			t.Errorf("got %+v", b)
		}
	}
}

func TestWithheld(t *testing.T) {
	p := &media.Placer{Admitter: media.NewAdmitter(media.Limits{})}
	msgs := []message.Message{user(picture(1), picture(2))}
	_, report, err := p.Place(t.Context(), msgs, chat)
	if err != nil || len(report.Placed) != 2 {
		t.Fatal(err, report)
	}
	first := report.Placed[0].Key
	p.Withheld = func(key string) bool { return key == first }
	out, _, err := p.Place(t.Context(), msgs, chat)
	if c := out[0].(*message.User).Content; err != nil || !strings.Contains(c[0].Text, "refused") || c[1].Data != picture(2).Data {
		t.Errorf("%v %+v", err, c)
	}
}

// The words of providers (picture specification 1.11), and what must not be
// taken for them.
func TestFaults(t *testing.T) {
	for words, want := range map[string]media.Fault{
		"Could not process image": media.BadImage,
		"messages.1.content.0.image.source.base64: image does not match the provided media type image/png": media.BadImage,
		"image cannot be empty": media.BadImage,
		"messages.1.content.1.image.source.base64: image exceeds 5 MB maximum: 6 bytes > 5 bytes": media.BadImage,
		"At least one of the image dimensions exceed max allowed size: 8000 pixels":               media.BadImage,
		"Invalid PNG image":             media.BadImage,
		"Unsupported MIME type: png":    media.BadImage,
		"Unable to process input image": media.BadImage,
		"You uploaded an unsupported image. Please make sure your image has of one the following formats": media.BadImage,
		"Failed to deserialize: messages[1]: unknown variant `image_url`, expected `text`":                media.BlindOnes,
		"This model does not support image input":                                                         media.BlindOnes,
		"No endpoints found that support image input":                                                     media.BlindOnes,
		"Invalid type for 'input[2].output': function_call_output expected a string, but got an array":    media.NotInTool,
		"tool_result content may only contain text blocks":                                                media.NotInTool,
		"messages.3.content.0.source: exceeds 5 MB maximum":                                               media.BadImage,
		"dimensions exceed the limit of 2000 pixels":                                                      media.BadImage,
		"request exceeds 5 MB":                                      media.TooMuch,
		"Request exceeds the maximum size":                          media.TooMuch,
		"too many images in the request: 101 > 100":                 media.TooMuch,
		"prompt is too long: 210000 tokens > 200000 maximum":        media.NoFault,
		"messages: roles must alternate between user and assistant": media.NoFault,
		"Invalid value for temperature":                             media.NoFault,
		"tools.0.input_schema: invalid":                             media.NoFault,
	} {
		if got := media.FaultOf(400, words); got != want {
			t.Errorf("%s: got %d, want %d", words, got, want)
		}
		if got := media.FaultOf(429, words); got != media.NoFault {
			t.Errorf("429 %s: got %d", words, got)
		}
	}
	if media.FaultOf(413, "") != media.TooMuch || media.FaultOf(413, "Could not process image") != media.BadImage {
		t.Error("413")
	}
}

// T14, 1.9: the vectors of the estimate.
func TestTokens(t *testing.T) {
	for _, c := range []struct {
		api, model string
		w, h, want int
	}{
		{"anthropic-messages", "claude-sonnet-4-5", 200, 200, 64},
		{"anthropic-messages", "claude-sonnet-4-5", 1000, 1000, 1296},
		{"anthropic-messages", "claude-sonnet-4-5", 1920, 1080, 1560},
		{"anthropic-messages", "claude-sonnet-4-5", 3840, 2160, 1560},
		{"anthropic-messages", "claude-3-5-sonnet-20241022", 1920, 1080, 1560},
		{"anthropic-messages", "claude-sonnet-4-20250514", 1920, 1080, 1560},
		{"anthropic-messages", "claude-opus-5", 1920, 1080, 2691},
		{"anthropic-messages", "claude-opus-4-7", 1920, 1080, 2691},
		{"anthropic-messages", "claude-opus-4-7", 3840, 2160, 4784},
		{"openai-responses", "gpt-4o", 512, 512, 255},
		{"openai-responses", "gpt-4.1", 1024, 1024, 765},
		{"openai-completions", "gpt-4o", 1920, 1080, 1105},
		{"openai-completions", "gpt-4o", 2048, 4096, 1105},
		{"openai-responses", "gpt-4.1-mini", 1024, 1024, 1659},
		{"openai-responses", "gpt-4.1-mini", 1800, 2400, 2353},
		{"openai-responses", "gpt-5.2", 2048, 2048, 2500},
		{"google-generative-ai", "gemini-2.5-pro", 300, 300, 258},
		{"google-generative-ai", "gemini-2.5-pro", 1920, 1080, 1548},
		{"google-generative-ai", "gemini-3-pro", 1920, 1080, 1120},
		{"openai-completions", "unknown", 1920, 1080, 1000},
		{"anthropic-messages", "claude-sonnet-4-5", 0, 0, 1000},
	} {
		if got := media.Tokens(c.api, c.model, c.w, c.h); got != c.want {
			t.Errorf("%s %d×%d: %d, want %d", c.model, c.w, c.h, got, c.want)
		}
	}
}

// T14, case 17: a picture counts by its size and never by its characters.
func TestEstimate(t *testing.T) {
	a := media.NewAdmitter(media.Limits{})
	count := a.Estimate("anthropic-messages", "claude-sonnet-4-5")
	b64 := base64.StdEncoding.EncodeToString
	for name, c := range map[string]struct {
		data string
		want int
	}{
		"size in the header": {b64(pictures.JPEG(pictures.Photo(1000, 1000), 95)), 1296},
		"png":                {b64(pictures.PNG(pictures.Noise(200, 200, 1))), 64},
		"reference":          {"blob:sha256:" + strings.Repeat("a", 64), media.UnknownTokens},
		"no picture":         {"AAAA", media.UnknownTokens},
		"no base64":          {"→", media.UnknownTokens},
		"nothing":            {"", media.UnknownTokens},
	} {
		if got := count(message.Image(media.PNG, c.data)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestDelivery(t *testing.T) {
	for _, c := range []struct {
		api, model string
		want       media.Delivery
	}{
		{"openai-completions", "gpt-5", media.Lift},
		{"openai-responses", "gpt-5", media.Native},
		{"azure-openai-responses", "gpt-5", media.Native},
		{"anthropic-messages", "claude", media.Native},
		{"bedrock-converse-stream", "claude", media.Native},
		{"google-generative-ai", "gemini-2.5-pro", media.Lift},
		{"google-generative-ai", "gemini-3-flash", media.Native},
		{"google-vertex", "gemini-10-x", media.Native},
		{"offline", "echo", media.Native},
	} {
		if got := media.DeliveryFor(c.api, c.model); got != c.want {
			t.Errorf("%s %s: %s", c.api, c.model, got)
		}
	}
}

// T15: the line for lists and cards.
func TestSummary(t *testing.T) {
	a := admit(t, pictures.PNG(pictures.Flat(64, 48)))
	for text, want := range map[string]string{
		a.ResultText("dir/shot.png"):                   "Read shot.png (image, 64×48)",
		a.ResultText(`C:\dir\shot.png`):                "Read shot.png (image, 64×48)",
		a.ResultText(strings.Repeat("长", 50) + ".png"): "Read " + strings.Repeat("长", 39) + "… (image, 64×48)",
		`{"media_type":"image","path":"a.png"}`:        "Read a.png (image)",
		`{"content":"x"}`:                              "",
		"text":                                         "",
		`{"media_type":"image"`:                        "",
	} {
		if got := media.Summary(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// fixtures/cases/014, 015 and 019: sessions that locked other programs.
func TestCases(t *testing.T) {
	count := func(t *testing.T, name string, l media.Limits, b media.Budget) (int, []message.Message) {
		t.Helper()
		eyes := chat
		eyes.Budget = b
		p := &media.Placer{Admitter: media.NewAdmitter(l)}
		out, report, err := p.Place(t.Context(), caseMessages(t, name), eyes)
		if err != nil {
			t.Fatal(err)
		}
		return len(report.Placed), out
	}
	if n, out := count(t, "014-image-over-the-limit", media.Limits{Input: 4096}, media.Budget{}); n != 0 || !strings.Contains(fmt.Sprint(shape(out)), "N") {
		t.Errorf("014: %d pictures, %v", n, shape(out))
	}
	n, out := count(t, "015-image-budget-of-a-request", media.Limits{}, media.Budget{Base64: 10000})
	if n != 2 {
		t.Errorf("015: %d pictures", n)
	}
	var kept, notes []string
	for _, m := range out {
		switch m := m.(type) {
		case *message.ToolResult:
			if strings.Contains(m.Content.PlainText(), "omitted") {
				notes = append(notes, m.ToolCallID)
			} else {
				kept = append(kept, m.ToolCallID)
			}
		}
	}
	if diff := cmp.Diff([]string{"p4", "p5"}, kept); diff != "" || len(notes) != 4 {
		t.Errorf("015: %s, notes of %v", diff, notes)
	}
	if n, _ := count(t, "015-image-budget-of-a-request", media.Limits{}, media.Budget{Base64: 100000}); n != 6 {
		t.Errorf("015, more room: %d pictures", n)
	}
	n, out = count(t, "019-invalid-image-data", media.Limits{}, media.Budget{})
	if n != 2 || out[0].(*message.User).Content[1].Type != message.TypeText {
		t.Errorf("019: %d pictures, %v", n, shape(out))
	}
	for _, m := range out {
		if u, ok := m.(*message.User); ok {
			for _, b := range u.Content {
				if b.Type == message.TypeImage && (b.MimeType != media.PNG || strings.Contains(b.Data, "\n")) {
					t.Errorf("019: %s goes out, with line breaks %v", b.MimeType, strings.Contains(b.Data, "\n"))
				}
			}
		}
	}
}

func caseMessages(t *testing.T, name string) (msgs []message.Message) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "fixtures", "cases", name, "session.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var e struct{ Message json.RawMessage }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Message == nil {
			continue
		}
		m, err := message.Decode(e.Message)
		if err != nil {
			t.Fatal(err)
		}
		msgs = append(msgs, m)
	}
	return msgs
}
