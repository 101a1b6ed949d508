package media

import (
	"bytes"
	"encoding/binary"
)

// exifOrientation reads the orientation, 1 to 8, from a TIFF structure as Exif
// has it; 1 where there is none. The first directory only: thumbnails of cameras
// have their own.
func exifOrientation(tiff []byte) int {
	const (
		tagOrientation = 0x0112
		typeShort      = 3
	)
	tiff = bytes.TrimPrefix(tiff, []byte("Exif\x00\x00")) // some writers keep it in PNG and WebP
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder
	switch string(tiff[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return 1
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 1
	}
	count := int(order.Uint16(tiff[at:]))
	at += 2
	for range count {
		if at+12 > uint64(len(tiff)) {
			return 1
		}
		entry := tiff[at : at+12]
		if order.Uint16(entry) == tagOrientation && order.Uint16(entry[2:]) == typeShort {
			if o := int(order.Uint16(entry[8:])); 1 <= o && o <= 8 {
				return o
			}
			return 1
		}
		at += 12
	}
	return 1
}
