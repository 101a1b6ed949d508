package media

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"strings"

	"github.com/gabriel-vasile/mimetype"
)

// The media types that models take, and the only ones that are stored.
const (
	PNG  = "image/png"
	JPEG = "image/jpeg"
	GIF  = "image/gif"
	WebP = "image/webp"
)

// SniffBytes is how much of a file's beginning [Judge] wants to see, in bytes.
const SniffBytes = 3072

// Type is the media type of a supported picture that begins with start, or "".
// Only the bytes count, never a name.
func Type(start []byte) string {
	has := func(prefix string) bool { return bytes.HasPrefix(start, []byte(prefix)) }
	switch {
	case has("\x89PNG\r\n\x1A\n"):
		return PNG
	case has("\xFF\xD8\xFF"):
		return JPEG
	case has("GIF87a"), has("GIF89a"):
		return GIF
	case has("RIFF") && len(start) >= 12 && string(start[8:12]) == "WEBP":
		return WebP
	}
	return ""
}

// Kind says how a file is to be read.
type Kind int

// The kinds of files.
const (
	Other       Kind = iota // no picture: text, or whatever else
	Picture                 // a supported picture
	Unsupported             // a picture of a format that models do not take
	Mismatch                // the name says picture, the bytes say otherwise
	Empty                   // the name says picture, and there is nothing
)

// Verdict is what a file is, by its name and its beginning.
type Verdict struct {
	Kind  Kind
	MIME  string // of a picture that is supported
	Looks string // what the bytes look like, for people, where that helps
}

// Judge tells a picture from other files. The bytes win over the name: a picture
// with the name of a text is a picture. A name that promises a picture and bytes
// that are none is a mismatch, because the text of an error page helps nobody
// who asked for a picture. SVG is text.
func Judge(name string, start []byte) Verdict {
	if mime := Type(start); mime != "" {
		return Verdict{Kind: Picture, MIME: mime}
	}
	ext := strings.ToLower(filepath.Ext(name))
	promised := promises(ext)
	looks := foreign(start)
	switch {
	case looks != "":
		return Verdict{Kind: Unsupported, Looks: looks}
	case known(ext):
		return Verdict{Kind: Unsupported, Looks: strings.ToUpper(ext[1:])}
	case promised && len(start) == 0:
		return Verdict{Kind: Empty}
	case promised:
		return Verdict{Kind: Mismatch, Looks: describe(start)}
	}
	return Verdict{}
}

// promises tells whether an extension promises a supported picture.
func promises(ext string) bool {
	switch ext {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		return true
	}
	return false
}

// known lists the extensions of pictures that no model takes.
func known(ext string) bool {
	switch ext {
	case ".bmp", ".tif", ".tiff", ".heic", ".heif", ".avif", ".ico", ".jxl", ".psd", ".jp2",
		".cr2", ".cr3", ".nef", ".arw", ".dng", ".raf", ".orf", ".rw2":
		return true
	}
	return false
}

// foreign names the format of a picture that is not supported, or "". Formats
// whose mark a text could begin with are left to the extension.
func foreign(start []byte) string {
	if isBitmap(start) {
		return "BMP"
	}
	switch mimetype.Detect(start).String() {
	case "image/heic", "image/heic-sequence", "image/heif", "image/heif-sequence":
		return "HEIC"
	case "image/avif":
		return "AVIF"
	case "image/tiff":
		return "TIFF"
	case "image/jxl":
		return "JPEG XL"
	case "image/jp2", "image/jpx", "image/jpm":
		return "JPEG 2000"
	case "image/vnd.adobe.photoshop":
		return "PSD"
	}
	return ""
}

// isBitmap looks behind the two letters with which many a text begins: the
// reserved words are zero, and the second header has one of the known sizes.
func isBitmap(start []byte) bool {
	if len(start) < 18 || string(start[:2]) != "BM" || binary.LittleEndian.Uint32(start[6:]) != 0 {
		return false
	}
	switch binary.LittleEndian.Uint32(start[14:]) {
	case 12, 16, 40, 52, 56, 64, 108, 124:
		return true
	}
	return false
}

// describe says in a word or two what bytes look like that are no picture.
func describe(start []byte) string {
	m := mimetype.Detect(start)
	mime, _, _ := strings.Cut(m.String(), ";")
	switch {
	case mime == "image/svg+xml":
		return "SVG text"
	case mime == "text/html":
		return "HTML text"
	case mime == "application/json":
		return "JSON text"
	case strings.HasPrefix(mime, "text/"):
		return "text"
	case mime == "application/octet-stream":
		return "data of an unknown kind"
	}
	return mime
}

// isText tells whether describe called it a text.
func isText(looks string) bool { return looks == "text" || strings.HasSuffix(looks, " text") }
