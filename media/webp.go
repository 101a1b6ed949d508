package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/draw"

	"golang.org/x/image/webp"
)

// The bits of a VP8X header.
const (
	webpAnimated = 0x02
	webpXMP      = 0x04
	webpExif     = 0x08
	webpAlpha    = 0x10
)

// webpChunks calls yield with each chunk of a RIFF body, its head included and
// its padding not, and returns whether all were whole.
func webpChunks(body []byte, yield func(name string, chunk []byte)) bool {
	for len(body) >= 8 {
		n := uint64(binary.LittleEndian.Uint32(body[4:]))
		if n > uint64(len(body)-8) {
			return false
		}
		yield(string(body[:4]), body[:8+n])
		body = body[min(uint64(len(body)), 8+n+n&1):]
	}
	return len(body) == 0
}

// webpBody is what the RIFF header says belongs to it.
func webpBody(data []byte) []byte {
	n := uint64(binary.LittleEndian.Uint32(data[4:])) + 8
	return data[12:max(12, min(n, uint64(len(data))))]
}

// lookWebP reads what the decoder does not tell.
func lookWebP(data []byte, h *header) {
	frames := 0
	webpChunks(webpBody(data), func(name string, chunk []byte) {
		switch name {
		case "VP8X":
			h.animated = len(chunk) > 8 && chunk[8]&webpAnimated != 0
		case "ANMF":
			frames++
		case "EXIF":
			h.orientation = exifOrientation(chunk[8:])
		}
	})
	if h.animated {
		h.frames = max(1, frames)
	}
	h.memory = h.pixels() * 8
}

// cleanWebP leaves out Exif and XMP. Anything unusual comes back as it is.
func cleanWebP(data []byte) []byte {
	if len(data) < 12 {
		return data
	}
	var body bytes.Buffer
	body.WriteString("WEBP")
	whole := webpChunks(webpBody(data), func(name string, chunk []byte) {
		if name == "EXIF" || name == "XMP " {
			return
		}
		if name == "VP8X" && len(chunk) > 8 {
			chunk = bytes.Clone(chunk)
			chunk[8] &^= webpExif | webpXMP
		}
		writeChunk(&body, chunk)
	})
	if !whole {
		return data
	}
	return riff(body.Bytes())
}

func writeChunk(out *bytes.Buffer, chunk []byte) {
	out.Write(chunk)
	if len(chunk)&1 == 1 {
		out.WriteByte(0)
	}
}

func riff(body []byte) []byte {
	out := make([]byte, 8, 8+len(body))
	copy(out, "RIFF")
	binary.LittleEndian.PutUint32(out[4:], uint32(len(body)))
	return append(out, body...)
}

var errNoFrame = errors.New("the animation has no frame")

// decodeWebP decodes a still picture, or the first frame of an animation, which
// the decoder does not know: the frame is wrapped as a picture of its own and
// put where it belongs.
func decodeWebP(data []byte, h header) (image.Image, error) {
	if !h.animated {
		return webp.Decode(bytes.NewReader(data))
	}
	var frame []byte
	webpChunks(webpBody(data), func(name string, chunk []byte) {
		if name == "ANMF" && frame == nil {
			frame = chunk[8:]
		}
	})
	if len(frame) < 16 {
		return nil, errNoFrame
	}
	u24 := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
	at := image.Pt(u24(frame)*2, u24(frame[3:])*2)
	size := image.Pt(u24(frame[6:])+1, u24(frame[9:])+1)
	canvas := image.Rect(0, 0, h.width, h.height)
	if !(image.Rectangle{Min: at, Max: at.Add(size)}).In(canvas) {
		return nil, errors.New("the first frame lies outside of the canvas")
	}
	first, err := webp.Decode(bytes.NewReader(stillWebP(frame[16:], size)))
	if err != nil {
		return nil, err
	}
	if first.Bounds().Size() != size {
		return nil, errors.New("the first frame has another size than it says")
	}
	if first.Bounds() == canvas {
		return first, nil
	}
	out := image.NewNRGBA(canvas)
	draw.Draw(out, image.Rectangle{Min: at, Max: at.Add(size)}, first, first.Bounds().Min, draw.Src)
	return out, nil
}

// stillWebP makes a file of the chunks of one frame.
func stillWebP(chunks []byte, size image.Point) []byte {
	var pixels bytes.Buffer
	alpha := false
	webpChunks(chunks, func(name string, chunk []byte) {
		switch name {
		case "ALPH":
			alpha = true
			writeChunk(&pixels, chunk)
		case "VP8 ", "VP8L":
			writeChunk(&pixels, chunk)
		}
	})
	var body bytes.Buffer
	body.WriteString("WEBP")
	if alpha {
		head := make([]byte, 18)
		copy(head, "VP8X")
		head[4], head[8] = 10, webpAlpha
		w, h := size.X-1, size.Y-1
		copy(head[12:], []byte{byte(w), byte(w >> 8), byte(w >> 16), byte(h), byte(h >> 8), byte(h >> 16)})
		body.Write(head)
	}
	body.Write(pixels.Bytes())
	return riff(body.Bytes())
}
