package piweb

import (
	"context"
	"path/filepath"

	"github.com/piweb-go/piweb/blob"
	"github.com/piweb-go/piweb/media"
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
