package media

import (
	"bytes"
	"encoding/binary"
)

// pngChunks calls yield with each chunk of a PNG, its frame of length, name and
// checksum included, up to IEND or to the first chunk that is not whole. It
// returns where it stopped.
func pngChunks(data []byte, yield func(name string, chunk []byte)) (end int) {
	at := 8
	for at+12 <= len(data) {
		n := binary.BigEndian.Uint32(data[at:])
		if uint64(n) > uint64(len(data)-at-12) {
			break
		}
		next := at + 12 + int(n)
		name := string(data[at+4 : at+8])
		yield(name, data[at:next])
		at = next
		if name == "IEND" {
			break
		}
	}
	return at
}

// lookPNG reads what the decoder does not tell.
func lookPNG(data []byte, h *header) {
	interlaced := false
	pngChunks(data, func(name string, chunk []byte) {
		body := chunk[8 : len(chunk)-4]
		switch name {
		case "IHDR":
			if len(body) >= 13 {
				h.deep = body[8] == 16
				interlaced = body[12] == 1
			}
		case "acTL":
			if len(body) >= 4 {
				h.frames = clampFrames(binary.BigEndian.Uint32(body))
			}
		case "eXIf":
			h.orientation = exifOrientation(body)
		}
	})
	perPixel := int64(4)
	if h.deep {
		perPixel = 8
	}
	if interlaced {
		perPixel *= 2 // the decoder holds a pass beside the whole
	}
	h.memory = h.pixels() * perPixel
}

// cleanPNG leaves out texts, times, positions and the frames behind the first
// picture, and what follows the end. Pixels and colours are untouched.
func cleanPNG(data []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(data))
	out.Write(data[:8])
	pngChunks(data, func(name string, chunk []byte) {
		switch name {
		case "eXIf", "tEXt", "zTXt", "iTXt", "tIME", "acTL", "fcTL", "fdAT":
			return
		}
		out.Write(chunk)
	})
	return out.Bytes()
}

// clampFrames makes a claimed number of frames one to speak of.
func clampFrames(n uint32) int { return int(max(1, min(n, 1<<20))) }
