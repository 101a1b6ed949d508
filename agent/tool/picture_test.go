package tool

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/fixtures/pictures"
	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
)

// readPicture shows the file of that name with that content.
func readPicture(t *testing.T, name string, data []byte) Result {
	t.Helper()
	dir := t.TempDir()
	writeTestFile(t, filepath.Join(dir, name), string(data))
	args, err := json.Marshal(map[string]any{"path": name, "offset": 5, "limit": 1}) // N6: they mean nothing
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRead(Options{}).Run(t.Context(), &Call{ID: "call_1", Name: "read", Arguments: args, CWD: dir})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// checkNoData fails where a text could carry a picture.
func checkNoData(t *testing.T, text string) {
	t.Helper()
	if strings.Contains(text, "data_uri") || strings.Contains(text, "base64") {
		t.Errorf("the text carries data: %.200s", text)
	}
}

// T1, T2, R1: the contract of a picture.
func TestReadPicture(t *testing.T) {
	data := pictures.PNG(pictures.Flat(640, 480))
	for _, name := range []string{"shot.png", "SHOT.PNG", "图 片 🖼.png", "no-extension", "wrong.jpg"} {
		r := readPicture(t, name, data)
		if r.IsError || len(r.Content) != 2 || r.Content[1].Type != message.TypeImage {
			t.Fatalf("%s: %+v", name, r)
		}
		checkNoData(t, r.Content[0].Text)
		checkNoData(t, string(r.Details))
		var out map[string]any
		if err := json.Unmarshal([]byte(r.Content[0].Text), &out); err != nil {
			t.Fatal(err)
		}
		content, _ := out["content"].(string)
		if out["total_lines"] != 0.0 || out["media_type"] != "image" || out["mime"] != "image/png" || out["path"] != name ||
			out["width"] != 640.0 || out["height"] != 480.0 || out["size_bytes"] != float64(len(data)) ||
			!strings.Contains(content, name) || !strings.Contains(content, "640×480") {
			t.Errorf("%s: %v", name, out)
		}
		stored, err := base64.StdEncoding.DecodeString(r.Content[1].Data)
		if err != nil || string(stored) != string(data) || r.Content[1].MimeType != "image/png" {
			t.Errorf("%s: stored %d bytes of %s (%v)", name, len(stored), r.Content[1].MimeType, err)
		}
		var d struct{ Attachments []media.Attachment }
		if err := json.Unmarshal(r.Details, &d); err != nil || len(d.Attachments) != 1 || d.Attachments[0].Path != name || len(d.Attachments[0].SHA256) != 64 {
			t.Errorf("%s: details %s", name, r.Details)
		}
	}
}

// TestReadPictureOutside is B17: a picture that a link names outside of the folder is
// not read where reading is confined, whatever the names are.
func TestReadPictureOutside(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "project 図")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	data := string(pictures.PNG(pictures.Flat(20, 10)))
	writeTestFile(t, filepath.Join(base, "SECRET.PNG"), data)
	writeTestFile(t, filepath.Join(dir, "own 🖼.PNG"), data)
	if err := os.Symlink("../SECRET.PNG", filepath.Join(dir, "link 🖼.PNG")); err != nil {
		t.Skip(err)
	}
	read, ok := Confined(NewRead(Options{}))
	if !ok {
		t.Fatal("reading cannot be confined")
	}
	for name, good := range map[string]bool{"own 🖼.PNG": true, "link 🖼.PNG": false, "../SECRET.PNG": false} {
		r, err := read.Run(t.Context(), &Call{Name: "read", Arguments: json.RawMessage(`{"path":"` + name + `"}`), CWD: dir})
		if err != nil || r.IsError == good || (len(r.Content) == 2) != good {
			t.Errorf("%s: %v, %+v", name, err, r)
		}
	}
}

// T3 to T6 (T4 too large, T5 a bitmap), case 14, R-rows of the errors: one JSON text that begins with the word.
func TestReadPictureErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		data []byte
		says []string
	}{
		{"big.png", pictures.Sized(6 << 20), []string{"(6 MB)", "5 MB"}},
		{"edge.png", pictures.Sized(5<<20 + 1), []string{"5242881 bytes", "5 MB"}},
		{"a.bmp", pictures.Bitmap(), []string{"not supported"}},
		{"a.heic", []byte("whatever"), []string{"not supported", "HEIC"}},
		{"photo.jpg", pictures.Heic(), []string{"not supported", "HEIC"}},
		{"text.png", []byte("hello there, I am text"), []string{"not valid", "text", "22 bytes"}},
		{"drawing.png", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), []string{"SVG"}},
		{"empty.png", nil, []string{"empty"}},
		{"cut.png", pictures.PNG(pictures.Noise(50, 50, 1))[:4000], []string{"not valid"}},
		{"bomb.png", pictures.Bomb(60000, 60000), []string{"60000×60000"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := readPicture(t, c.name, c.data)
			var out struct {
				Content    string  `json:"content"`
				TotalLines *int    `json:"total_lines"`
				MediaType  *string `json:"media_type"`
			}
			if err := json.Unmarshal([]byte(r.Content.PlainText()), &out); err != nil || !r.IsError || len(r.Content) != 1 {
				t.Fatalf("%v: %+v", err, r)
			}
			if !strings.HasPrefix(out.Content, "Error: ") || out.TotalLines == nil || *out.TotalLines != 0 || out.MediaType != nil || !strings.Contains(out.Content, c.name) {
				t.Errorf("%+v", out)
			}
			for _, word := range c.says {
				if !strings.Contains(out.Content, word) {
					t.Errorf("%q is not in: %s", word, out.Content)
				}
			}
		})
	}
	if r := readPicture(t, "drawing.svg", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`)); strings.Contains(r.Content.PlainText(), "Error") {
		t.Errorf("svg is text: %+v", r)
	}
	missing := callTool(t, NewRead(Options{}), t.TempDir(), `{"path":"none.png"}`)
	if !missing.IsError || !strings.HasPrefix(missing.Content.PlainText(), "Cannot read none.png") {
		t.Errorf("missing: %+v", missing)
	}
}

// A call that was ended says so.
func TestReadPictureStopped(t *testing.T) {
	dir := t.TempDir()
	writeTestFile(t, filepath.Join(dir, "a.png"), string(pictures.PNG(pictures.Noise(400, 400, 1))))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := NewRead(Options{}).Run(ctx, &Call{Name: "read", Arguments: json.RawMessage(`{"file_path":"a.png"}`), CWD: dir})
	if err != nil || !r.IsError || !strings.Contains(r.Content.PlainText(), "stopped") {
		t.Errorf("%v %+v", err, r)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.png")); err != nil {
		t.Error(err)
	}
}

// TestReadPart: a part of a picture comes at full size, and one that is not in it is
// an error that says how large the picture is.
func TestReadPart(t *testing.T) {
	dir := t.TempDir()
	writeTestFile(t, filepath.Join(dir, "a.png"), string(pictures.PNG(pictures.Flat(3000, 40))))
	writeTestFile(t, filepath.Join(dir, "a.txt"), "text\n")
	for _, c := range []struct{ name, args, want string }{
		{"inside", `{"path":"a.png","part":{"x":2500,"y":10,"width":400,"height":20}}`, "Read the part 2500,10 400×20 of picture a.png"},
		{"fractions", `{"path":"a.png","part":{"x":0.9,"y":0,"width":400.0,"height":2e1}}`, "Read the part 0,0 400×20 of picture a.png"},
		{"outside", `{"path":"a.png","part":{"x":2900,"y":10,"width":400,"height":20}}`, "does not lie in the picture, which has 3000×40 pixels: a.png"},
		{"beyond all numbers", `{"path":"a.png","part":{"x":1e300,"y":-1e300,"width":1e300,"height":1}}`, "does not lie in the picture"},
		{"of a text", `{"path":"a.txt","part":{"x":0,"y":0,"width":1,"height":1}}`, "text"},
	} {
		r, err := NewRead(Options{}).Run(t.Context(), &Call{ID: "c", Name: "read", Arguments: json.RawMessage(c.args), CWD: dir})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Content.PlainText(); !strings.Contains(got, c.want) || r.IsError != strings.Contains(c.want, "not lie") {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}
