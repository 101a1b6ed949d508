package piweb_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model/openai"
	"github.com/piweb-go/piweb/blob"
	"github.com/piweb-go/piweb/config"
	"github.com/piweb-go/piweb/fixtures/pictures"
	"github.com/piweb-go/piweb/session"
)

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// fixtures/cases/016: what went to blobs comes back exactly.
func TestBase64ComesBackExactly(t *testing.T) {
	dir := filepath.Join("fixtures", "cases", "016-base64-comes-back-exactly")
	var want struct {
		Inline    int
		BlobFiles []string `json:"blob_files"`
	}
	if err := json.Unmarshal(read(t, filepath.Join(dir, "expected.json")), &want); err != nil {
		t.Fatal(err)
	}
	g := newGallery(t, `{"steps":[{"match":"hello","text":"ok","repeat":true}]}`)
	source, moved, back := filepath.Join(dir, "session.jsonl"), filepath.Join(g.home, "sessions", "moved.jsonl"), filepath.Join(g.home, "sessions", "back.jsonl")
	if err := os.MkdirAll(filepath.Dir(moved), 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := g.rt.Externalize(t.Context(), source, moved)
	if err != nil || c.Moved != 5 || c.Blobs != filepath.Join(g.home, "blobs") {
		t.Fatalf("%v %+v", err, c)
	}
	files, err := os.ReadDir(c.Blobs)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	if diff := cmp.Diff(want.BlobFiles, names); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(string(read(t, moved)), `"data":"iVBOR`); n != want.Inline {
		t.Errorf("%d pictures are inline", n)
	}
	if _, err := g.rt.Externalize(t.Context(), source, moved); !errors.Is(err, piweb.ErrThere) {
		t.Errorf("a file was written over: %v", err)
	}
	if c, err := g.rt.Inline(t.Context(), moved, back); err != nil || len(c.Missing) > 0 || !bytes.Equal(read(t, back), read(t, source)) {
		t.Errorf("it is another file (%v, missing %v)", err, c.Missing)
	}
	// What a model gets is the same, however the pictures are kept.
	var bodies []string
	for _, path := range []string{back, moved} {
		s, err := g.rt.Open(t.Context(), path, piweb.OpenOptions{CWD: g.project, Model: openai.API + "/sees"})
		if err != nil {
			t.Fatal(err)
		}
		g.say(s, "hello")
		bodies = append(bodies, string(g.last().Body))
		if err := g.rt.Release(s); err != nil {
			t.Fatal(err)
		}
	}
	if bodies[0] != bodies[1] || strings.Contains(bodies[1], "blob:") || strings.Count(bodies[1], "image_url\":{") != 6 {
		t.Errorf("the requests differ, or %d pictures", strings.Count(bodies[1], "image_url\":{"))
	}
}

// The setting: auto leaves a session that the real pi may open as it is.
func TestWhenPicturesAreMoved(t *testing.T) {
	for _, c := range []struct {
		name   string
		set    func(*piweb.Config)
		own    string
		before string // what the session holds already
		folder string
		moves  bool
	}{
		{name: "auto", moves: false},
		{name: "auto, with references", before: `{"type":"message","id":"a0000001","parentId":null,"timestamp":"2026-08-01T10:00:01.000Z","message":{"role":"user","content":[{"type":"image","data":"blob:sha256:` + strings.Repeat("0", 64) + `","mimeType":"image/png"}],"timestamp":1}}` + "\n", moves: true},
		{name: "auto, of oh-my-pi", folder: ".omp/agent/sessions/-x", moves: true},
		{name: "off, of oh-my-pi", folder: ".omp/agent/sessions/-x", set: func(c *piweb.Config) { c.Externalize = config.ExternalizeOff }},
		{name: "on", set: func(c *piweb.Config) { c.Externalize = config.ExternalizeOn }, moves: true},
		{name: "on in piweb.json", own: `{"blobs":{"externalize":"on"}}`, moves: true},
		{name: "the flag goes before the file", own: `{"blobs":{"externalize":"on"}}`, set: func(c *piweb.Config) { c.Externalize = config.ExternalizeOff }},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGallery(t, twoAtOnce)
			if c.own != "" {
				g.put(".pi/agent/piweb.json", c.own)
			}
			g.put("my project 漢/a.png", string(pictures.PNG(pictures.Noise(40, 40, 1))))
			if c.folder == "" {
				c.folder = ".pi/agent/sessions/-x"
			}
			name := c.folder + "/s.jsonl"
			g.put(name, `{"type":"session","version":3,"id":"x","timestamp":"2026-08-01T10:00:00.000Z","cwd":`+quote(t, g.project)+"}\n"+c.before)
			g.rt = g.runtime(func(cfg *piweb.Config) {
				if c.set != nil {
					c.set(cfg)
				}
			})
			path := filepath.Join(g.home, filepath.FromSlash(name))
			s, err := g.rt.Open(t.Context(), path, piweb.OpenOptions{Model: openai.API + "/sees"})
			if err != nil {
				t.Fatal(err)
			}
			g.say(s, "one")
			data := string(read(t, path))
			inFile := strings.Count(data, "blob:sha256:") - strings.Count(c.before, "blob:sha256:")
			if (inFile == 1) != c.moves {
				t.Errorf("%d references were written", inFile)
			}
			if !strings.Contains(string(g.last().Body), `"image_url":{`) {
				t.Error("the picture did not reach the model")
			}
			if c.moves {
				refs := blob.Refs([]byte(lineWith(data, `"toolResult"`)))
				if len(refs) != 1 {
					t.Fatalf("references %v", refs)
				}
				want := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(path))), "blobs", refs[0].Hash())
				if info, err := os.Stat(want); err != nil || info.Size() < 1000 {
					t.Errorf("%v", err)
				}
				ctx, err := s.Log().Context() // in memory it stays a reference
				if err != nil || !strings.Contains(mustJSON(t, ctx.Messages), refs[0].String()) {
					t.Errorf("%v: the reference is not there", err)
				}
			}
		})
	}
}

func quote(t *testing.T, s string) string { return mustJSON(t, s) }

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func lineWith(text, part string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// A picture that cannot be moved is an append that did not happen.
func TestPictureCannotBeMoved(t *testing.T) {
	dir := t.TempDir()
	failed := errors.New("no room for blobs")
	s, err := session.Create(session.NewSession{Dir: dir, CWD: dir}, session.Options{Outgoing: func(path string, line []byte) ([]byte, error) {
		if bytes.Contains(line, []byte(`"image"`)) {
			return nil, failed
		}
		return line, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	text := session.Message(userText("hello"))
	if _, err := s.Append(text); err != nil {
		t.Fatal(err)
	}
	before := read(t, s.Path())
	if _, err := s.Append(text, session.Message(userPicture(base64.StdEncoding.EncodeToString(pictures.Tiny(1))))); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(before, read(t, s.Path())) || s.Len() != 1 {
		t.Error("something was written")
	}
	if _, err := s.Append(text); err != nil {
		t.Errorf("and the session does not go on: %v", err)
	}
}
