package media

import (
	"bytes"
	"encoding/binary"
)

// jpegSegments calls yield with each segment of a JPEG before its first scan,
// the marker included, and returns where the scan begins, or len(data).
func jpegSegments(data []byte, yield func(marker byte, segment []byte)) (scan int) {
	at := 2
	for at+4 <= len(data) {
		if data[at] != 0xFF {
			return at // not where a marker should be: the decoder will say so
		}
		marker := data[at+1]
		switch {
		case marker == 0xFF: // a fill byte
			at++
			continue
		case marker == 0x01 || 0xD0 <= marker && marker <= 0xD7: // markers without a body
			at += 2
			continue
		case marker == 0xDA || marker == 0xD9:
			return at
		}
		n := int(binary.BigEndian.Uint16(data[at+2:]))
		if n < 2 || n > len(data)-at-2 {
			return at
		}
		yield(marker, data[at:at+2+n])
		at += 2 + n
	}
	return len(data)
}

// lookJPEG reads what the decoder does not tell.
func lookJPEG(data []byte, h *header) {
	jpegSegments(data, func(marker byte, segment []byte) {
		body := segment[4:]
		switch {
		case marker == 0xE1 && bytes.HasPrefix(body, []byte("Exif\x00\x00")):
			if o := exifOrientation(body[6:]); o > 1 {
				h.orientation = o
			}
		case marker == 0xC0, marker == 0xC1, marker == 0xC2:
			h.memory = jpegMemory(body, marker == 0xC2, h.pixels())
			h.cmyk = len(body) >= 6 && body[5] == 4
		}
	})
}

// jpegMemory is what decoding takes: a byte per sample, and for a progressive
// picture its coefficients, too.
func jpegMemory(frame []byte, progressive bool, pixels int64) int64 {
	if len(frame) < 6 || len(frame) < 6+3*int(frame[5]) {
		return pixels * 4
	}
	var samples, most int64
	for i := range int(frame[5]) {
		hv := frame[6+3*i+1]
		n := int64(hv>>4) * int64(hv&15)
		samples += n
		most = max(most, n)
	}
	most = max(most, 1)
	perSample := int64(1)
	if progressive {
		perSample = 5
	}
	memory := pixels * samples / most * perSample
	if frame[5] == 4 {
		memory *= 2 // the decoder makes a second picture of it
	}
	return memory
}

// cleanJPEG leaves out Exif, XMP, IPTC and comments, and what follows the end.
// The picture, its colour profile and what decoding needs stay.
func cleanJPEG(data []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(data))
	out.Write(data[:2])
	scan := jpegSegments(data, func(marker byte, segment []byte) {
		switch {
		case marker == 0xFE:
			return
		case 0xE0 <= marker && marker <= 0xEF && marker != 0xE0 && marker != 0xE2 && marker != 0xEE:
			return // APP0 is JFIF, APP2 a colour profile, APP14 the kind of colours
		case marker == 0xE2 && !bytes.HasPrefix(segment[4:], []byte("ICC_PROFILE\x00")):
			return
		}
		out.Write(segment)
	})
	body := data[scan:]
	if end := jpegEnd(body); end > 0 {
		body = body[:end]
	}
	out.Write(body)
	return out.Bytes()
}

// jpegEnd is where the end marker of the scans ends, or 0. In a scan 0xFF is
// followed by 0 or a restart; between scans of a progressive picture stand
// segments, whose bodies are skipped.
func jpegEnd(scans []byte) int {
	at := 0
	for at+1 < len(scans) {
		i := bytes.IndexByte(scans[at:], 0xFF)
		if i < 0 || at+i+1 >= len(scans) {
			return 0
		}
		at += i
		marker := scans[at+1]
		switch {
		case marker == 0xD9:
			return at + 2
		case marker == 0xFF:
			at++
		case marker == 0x00, marker == 0x01, 0xD0 <= marker && marker <= 0xD7:
			at += 2
		default:
			if at+4 > len(scans) {
				return 0
			}
			at += 2 + int(binary.BigEndian.Uint16(scans[at+2:]))
		}
	}
	return 0
}
