package tool

import (
	"bytes"
	"encoding/binary"
)

// sniffBytes is how much of a file's beginning tells a picture, in bytes.
const sniffBytes = 32

// pictureType is the media type of the picture whose file begins with start,
// or "". Only the bytes count, never the name.
func pictureType(start []byte) string {
	has := func(prefix string) bool { return bytes.HasPrefix(start, []byte(prefix)) }
	switch {
	case has("\xFF\xD8\xFF"):
		return "image/jpeg"
	case has("\x89PNG\r\n\x1A\n"):
		return "image/png"
	case has("GIF87a"), has("GIF89a"):
		return "image/gif"
	case has("RIFF") && len(start) >= 12 && string(start[8:12]) == "WEBP":
		return "image/webp"
	case has("BM") && isBitmap(start):
		return "image/bmp"
	}
	return ""
}

// isBitmap looks behind the two letters with which many a text begins: the
// reserved words are zero, and the second header has one of the known sizes.
func isBitmap(start []byte) bool {
	if len(start) < 18 || binary.LittleEndian.Uint32(start[6:]) != 0 {
		return false
	}
	switch binary.LittleEndian.Uint32(start[14:]) {
	case 12, 16, 40, 52, 56, 64, 108, 124:
		return true
	}
	return false
}
