package media

// lookGIF counts the frames. The decoder is asked for the first one only.
func lookGIF(data []byte, h *header) {
	h.frames = gifFrames(data)
	h.memory = h.pixels() * 5 // one frame of indices, and the canvas
}

// gifFrames walks the blocks of a GIF and counts pictures, as far as the file is
// whole; at least 1.
func gifFrames(data []byte) int {
	if len(data) < 13 {
		return 1
	}
	at := 13 + gifTable(data[10])
	frames := 0
	for at < len(data) {
		switch data[at] {
		case 0x21: // an extension: label, then sub-blocks
			at = gifBlocks(data, at+2)
		case 0x2C: // a picture: descriptor, colours, code size, sub-blocks
			if at+10 >= len(data) {
				return max(1, frames)
			}
			frames++
			at = gifBlocks(data, at+10+gifTable(data[at+9])+1)
		default: // the trailer, or nothing we know
			return max(1, frames)
		}
	}
	return max(1, frames)
}

// gifTable is the size of a colour table in bytes.
func gifTable(flags byte) int {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (flags&7 + 1)
}

// gifBlocks returns where a chain of sub-blocks ends.
func gifBlocks(data []byte, at int) int {
	for at < len(data) && data[at] != 0 {
		at += 1 + int(data[at])
	}
	return at + 1
}
