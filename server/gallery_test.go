package server

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/fixtures/pictures"
	"github.com/piweb-go/piweb/media"
)

// pictureWorld has a stored session with a large picture of its user, one of a
// tool, and a reference to nothing.
func pictureWorld(t *testing.T) (w *world, large, shot []byte) {
	t.Helper()
	w = newWorld(t, slowTalk(t))
	large, shot = pictures.JPEG(pictures.Photo(900, 700), 90), pictures.PNG(pictures.Noise(60, 60, 1))
	a, err := media.NewAdmitter(media.Limits{}).Admit(t.Context(), shot)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.StdEncoding.EncodeToString
	lines := []string{
		`{"type":"session","version":3,"id":"pics","timestamp":"2026-08-01T10:00:00.000Z","cwd":"/"}`,
		`{"type":"message","id":"a0000001","parentId":null,"timestamp":"2026-08-01T10:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","data":"` + b64(large) + `","mimeType":"image/jpeg"},{"type":"image","data":"` + b64(pictures.Tiny(1)) + `","mimeType":"image/png"}],"timestamp":1}}`,
		`{"type":"message","id":"a0000002","parentId":"a0000001","timestamp":"2026-08-01T10:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"s.png"}}],"api":"x","provider":"x","model":"m","usage":{},"stopReason":"toolUse","timestamp":2}}`,
		`{"type":"message","id":"a0000003","parentId":"a0000002","timestamp":"2026-08-01T10:00:03.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"x"},{"type":"image","data":"` + b64(shot) + `","mimeType":"image/png"},{"type":"image","data":"blob:sha256:` + strings.Repeat("0", 64) + `","mimeType":"image/png"}],"details":` + string(media.Details(a.Attachment("s.png"))) + `,"isError":false,"timestamp":3}}`,
	}
	root := w.rt.SessionRoot("/").Dir
	path := filepath.Join(root, "--x--", "pics.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return w, large, shot
}

type shownBlock struct{ Type, MimeType, Data, URL, ThumbURL string }

func shownBlocks(t *testing.T, body []byte) (out []shownBlock) {
	t.Helper()
	var h struct {
		Messages []struct{ Content []shownBlock }
	}
	if err := json.Unmarshal(body, &h); err != nil {
		t.Fatal(err)
	}
	for _, m := range h.Messages {
		for _, b := range m.Content {
			if b.Type == "image" {
				out = append(out, b)
			}
		}
	}
	return out
}

// A history names its pictures, and a browser gets them by signed addresses.
func TestPicturesOfAHistory(t *testing.T) {
	w, large, shot := pictureWorld(t)
	body := w.do(200, "GET", "/api/sessions/pics/messages").body
	if len(body) > 8<<10 {
		t.Errorf("the history has %d bytes", len(body))
	}
	blocks := shownBlocks(t, body)
	if len(blocks) != 4 || blocks[0].Data != "" || blocks[1].Data == "" || blocks[1].URL != "" || blocks[2].Data != "" || blocks[3].URL == "" {
		t.Fatalf("got %+v", blocks)
	}
	for i, want := range map[int][]byte{0: large, 2: shot} {
		got := w.bare("GET", blocks[i].URL)
		if got.status != 200 || !bytes.Equal(got.body, want) || got.header.Get("Content-Type") != media.Type(want) || got.header.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(got.header.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%d: %d, %d bytes, %v", i, got.status, len(got.body), got.header)
		}
		small := w.bare("GET", blocks[i].ThumbURL)
		if small.status != 200 || len(small.body) > media.ThumbBytes || media.Type(small.body) == "" {
			t.Errorf("%d small: %d, %d bytes", i, small.status, len(small.body))
		}
	}
	if got := w.bare("GET", blocks[3].URL); got.status != 404 || got.code() != "PICTURE_NOT_FOUND" {
		t.Errorf("a reference to nothing: %d %s", got.status, got.code())
	}
	a, err := media.NewAdmitter(media.Limits{}).Admit(t.Context(), shot)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.bare("GET", w.server.gallery.url("pics", a.SHA256)); got.status != 200 || !bytes.Equal(got.body, shot) {
		t.Errorf("by its hash: %d, %d bytes", got.status, len(got.body))
	}
	// B16: the log knows who asked for which path; no picture, no signature.
	logs := w.logs.String()
	if !strings.Contains(logs, "/api/pictures/pics/") {
		t.Errorf("the log does not say what was asked for:\n%.2000s", logs)
	}
	_, query, _ := strings.Cut(blocks[0].URL, "?")
	for _, secret := range []string{"base64,", base64.StdEncoding.EncodeToString(large)[:200], base64.StdEncoding.EncodeToString(shot)[:200], query} {
		if strings.Contains(logs, secret) {
			t.Errorf("the log holds %.60q", secret)
		}
	}
}

// The signature alone admits, and it admits to one picture.
func TestPictureAddresses(t *testing.T) {
	w, _, _ := pictureWorld(t)
	good := w.server.gallery.url("pics", "a0000001.1")
	path, query, _ := strings.Cut(good, "?")
	for name, c := range map[string]struct {
		url    string
		status int
	}{
		"good":                      {good, 200},
		"no signature":              {path, 401},
		"another picture":           {strings.Replace(path, "a0000001.1", "a0000003.1", 1) + "?" + query, 401},
		"another session":           {strings.Replace(path, "/pics/", "/stored/", 1) + "?" + query, 401},
		"another signature":         {path + "?" + query[:len(query)-4] + "0000", 401},
		"two signatures":            {good + "&sig=x", 401},
		"an attachment's":           {"/api/pictures/pics/att_x?" + query, 401},
		"signed, a text":            {w.server.gallery.url("pics", "a0000001.0"), 404},
		"signed, no block":          {w.server.gallery.url("pics", "a0000001.9"), 404},
		"signed, no entry":          {w.server.gallery.url("pics", "b0000001.0"), 404},
		"signed, an unknown hash":   {w.server.gallery.url("pics", strings.Repeat("0", 64)), 404},
		"signed, an empty hash":     {w.server.gallery.url("pics", "x"), 404},
		"signed, unknown session":   {w.server.gallery.url("nobody", "a0000001.1"), 404},
		"signed, a path as session": {w.server.gallery.url("../../etc", "a0000001.1"), 404},
	} {
		if got := w.bare("GET", c.url); got.status != c.status {
			t.Errorf("%s: %d, want %d", name, got.status, c.status)
		}
	}
	if got := w.bare("POST", good); got.status != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", got.status)
	}
	if got := w.bare("HEAD", good); got.status != 200 || len(got.body) != 0 {
		t.Errorf("HEAD: %d, %s", got.status, fmt.Sprint(len(got.body)))
	}
}
