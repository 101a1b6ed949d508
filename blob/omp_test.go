package blob_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/blob"
)

// TestOmpRowsWithoutMeaningHere: three things that oh-my-pi 18 does when it writes or
// loads, and that are not done here, each with what happens instead (docs/pictures.md,
// "Compared with oh-my-pi"). What holds for all: no line of the file is judged by what
// another field says, so that Inline gives back what Externalize got, to the byte.
func TestOmpRowsWithoutMeaningHere(t *testing.T) {
	image := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{5}, 900))
	item := `{\"type\":\"reasoning\",\"id\":\"rs_1\",\"encrypted_content\":\"` + strings.Repeat("e", 2000) + `\"}`
	cut := strings.Repeat("A", blob.MaxText-47) + `\n\n[Session persistence truncated large content]`
	for _, c := range []struct {
		name, line string
		moves      int // references that come of it
	}{
		// There: a signature that stands in providerPayload.items too is left out of the
		// written line. Here: signed blocks are not touched; pi has no such payload.
		{"a reasoning signature that stands twice", `{"type":"message","message":{"role":"assistant","content":[{"type":"thinking","thinking":"","thinkingSignature":"` + item + `"}],` +
			`"providerPayload":{"type":"openaiResponsesHistory","items":[` + strings.ReplaceAll(item, `\"`, `"`) + `]}}}`, 0},
		// There: the structured content of an MCP result that went to an artifact is
		// dropped. Here: it never stands in details; in a line of oh-my-pi it stays, and
		// a picture in it moves as anywhere.
		{"structured content beside an artifact", `{"type":"message","message":{"role":"toolResult","details":{"serverName":"s","mcpToolName":"t","meta":{"truncation":{"artifactId":"3"}},` +
			`"structuredContent":{"content":[{"type":"image","data":"` + image + `"}],"rows":[1,2]}}}}`, 1},
		// There: a frame that an older version cut is replaced by text, or dropped, when
		// it is loaded. Here: it is no base64, so it stays where it is; whole ones move.
		{"a damaged frame beside a whole one", `{"type":"compaction","summary":"s","preserveData":{"snapcompact":{"text":"t","frames":[{"data":"` + cut + `","mimeType":"image/png"},` +
			`{"data":"` + image + `","mimeType":"image/png"}]}}}`, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := contents(t)
			out := externalize(t, store, c.line)
			if got := len(blob.Refs([]byte(out))); got != c.moves || (c.moves == 0) != (out == c.line) {
				t.Errorf("%d references: %.300s", got, out)
			}
			back, missing, err := store.Inline(t.Context(), []byte(out))
			if err != nil || len(missing) > 0 || string(back) != c.line {
				t.Errorf("it does not come back: %v, missing %v", err, missing)
			}
		})
	}
}

// TestW4BlobsAreWrittenOnce: a session that is written anew hashes nothing twice and
// touches no blob: the line with references goes through as it is.
func TestW4BlobsAreWrittenOnce(t *testing.T) {
	fs := &faulty{left: 1 << 30}
	store := blob.NewContents(newDir(t, fs))
	line := fmt.Sprintf(`{"content":[{"type":"image","data":%q}]}`, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 900)))
	out := externalize(t, store, line)
	before := fs.left
	for range 10 {
		if again := externalize(t, store, out); again != out {
			t.Fatalf("written anew it is %s", again)
		}
	}
	if fs.left != before {
		t.Errorf("%d calls to the file system", before-fs.left)
	}
	// Put again from the picture itself, the blob is looked at and not written.
	if externalize(t, store, line) != out {
		t.Error("another reference for the same picture")
	}
}
