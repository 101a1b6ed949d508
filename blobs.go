package piweb

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/piweb-go/piweb/blob"
	"github.com/piweb-go/piweb/config"
	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
)

// maxBlob bounds what is read of one blob for a request, in bytes. Pictures that
// are larger are not sent anyway.
const maxBlob = 32 << 20

// BlobDir is the folder of the blobs that a session file refers to: "blobs"
// beside the "sessions" that holds the file, else the one of the agent
// directory.
func BlobDir(agentDir, sessionFile string) string {
	for dir := filepath.Dir(sessionFile); ; dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "sessions" {
			return filepath.Join(filepath.Dir(dir), "blobs")
		}
		if dir == filepath.Dir(dir) {
			return filepath.Join(agentDir, "blobs")
		}
	}
}

// opener opens the references in a session's file.
func (h *host) opener(sessionFile string) media.Opener {
	return func(ctx context.Context, text string) ([]byte, error) {
		ref, err := blob.ParseRef(text)
		if err != nil {
			return nil, err
		}
		dir, err := blob.NewDir(BlobDir(h.agentDir, sessionFile), blob.DirOptions{})
		if err != nil {
			return nil, err
		}
		return blob.NewContents(dir).Read(ctx, ref, maxBlob)
	}
}

// mover moves pictures out of the lines that are written to session files, as
// the setting says.
type mover struct {
	agentDir string
	when     config.Externalize
	lookup   func(string) (string, bool)

	mu    sync.Mutex
	known map[string]bool // by path: whether "auto" means yes
}

// outgoing is the hook of a session's file. Most lines have nothing to move, and
// nothing is looked up for them.
func (m *mover) outgoing(path string, line []byte) ([]byte, error) {
	if m.when == config.ExternalizeOff || !blob.Movable(line) || !m.wanted(path) {
		return line, nil
	}
	dir, err := blob.NewDir(BlobDir(m.agentDir, path), blob.DirOptions{})
	if err != nil {
		return nil, err
	}
	return blob.NewContents(dir).Externalize(context.Background(), line)
}

// wanted decides what "auto" means for a file: yes, if oh-my-pi keeps it or it
// has references already. Any other file may be opened by the real pi, which
// knows no blobs.
func (m *mover) wanted(path string) bool {
	if m.when == config.ExternalizeOn {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if yes, ok := m.known[path]; ok && yes {
		return true
	}
	yes := m.ofOhMyPi(path) || hasRefs(path)
	if len(m.known) >= 1000 {
		clear(m.known)
	}
	m.known[path] = yes
	return yes
}

// ofOhMyPi tells whether a path lies below an agent directory of oh-my-pi.
func (m *mover) ofOhMyPi(path string) bool {
	name := ".omp"
	if set, ok := m.lookup("PI_CONFIG_DIR"); ok && set != "" {
		name = filepath.Base(set)
	}
	if data, ok := m.lookup("XDG_DATA_HOME"); ok && data != "" {
		if rel, err := filepath.Rel(filepath.Join(data, "omp"), path); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == name {
			return true
		}
	}
	return false
}

// hasRefs looks for references in a file, a piece at a time. It is asked only
// when a picture is about to be written.
func hasRefs(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false // not there yet
	}
	defer f.Close()
	want := []byte(`"` + blob.RefPrefix)
	buf := make([]byte, 1<<20)
	kept := 0
	for {
		n, err := f.Read(buf[kept:])
		if bytes.Contains(buf[:kept+n], want) {
			return true
		}
		if err != nil {
			return false
		}
		tail := min(kept+n, len(want)-1)
		copy(buf, buf[kept+n-tail:kept+n])
		kept = tail
	}
}

// PictureData is the file of a picture of a session: of a block that holds it, or
// that refers to a blob.
func (r *Runtime) PictureData(ctx context.Context, sessionFile string, b message.Block) ([]byte, error) {
	if media.IsRef(b.Data) {
		return r.host.opener(sessionFile)(ctx, b.Data)
	}
	data, ok := media.Decode(b.Data)
	if !ok || len(data) == 0 {
		return nil, errors.New("there is no picture")
	}
	return data, nil
}

// Thumb makes a small picture of one that may be shown.
func (r *Runtime) Thumb(ctx context.Context, data []byte) (media.Thumb, error) {
	p, err := r.host.pictures.Admit(ctx, data)
	if err != nil {
		return media.Thumb{}, err
	}
	return r.host.pictures.Thumb(ctx, p)
}
