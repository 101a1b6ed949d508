package media

import (
	"bytes"
	"context"
	"image"
	"image/jpeg"
	"image/png"
)

// qualities are tried in turn until a JPEG is small enough, as in pi.
func qualities() []int { return []int{85, 70, 55, 40} }

// smallestSide ends the search for a size that fits, in pixels: what is smaller
// shows nothing.
const smallestSide = 100

// encode writes a picture so that its base64 has less than limit characters.
// source is the media type of what came: a JPEG stays one, a GIF becomes PNG,
// and of the others drawings and screenshots stay PNG and photographs become
// JPEG. Where nothing fits, quality goes down, then size.
func encode(ctx context.Context, img *image.RGBA, source string, limit int) ([]byte, *image.RGBA, string, error) {
	for {
		data, mime, err := encodeAt(ctx, img, source, limit)
		if err != nil || data != nil {
			return data, img, mime, err
		}
		w, h := img.Rect.Dx()*3/4, img.Rect.Dy()*3/4
		if w < 1 || h < 1 || max(w, h) < smallestSide {
			return nil, nil, "", &Error{Problem: NotSmall}
		}
		if img, err = scale(ctx, img, w, h); err != nil {
			return nil, nil, "", err
		}
	}
}

// encodeAt tries one size. Without an error and without data none fits.
func encodeAt(ctx context.Context, img *image.RGBA, source string, limit int) (data []byte, mime string, err error) {
	flat := onWhite(img)
	var lossy []byte
	for _, q := range qualities() {
		if err := ctx.Err(); err != nil {
			return nil, "", err
		}
		var buf bytes.Buffer
		if err := jpeg.Encode(&buf, flat, &jpeg.Options{Quality: q}); err != nil {
			return nil, "", err
		}
		if base64Len(buf.Len()) < limit {
			lossy = buf.Bytes()
			break
		}
	}
	if source == JPEG && lossy != nil {
		return lossy, JPEG, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, img); err != nil {
		return nil, "", err
	}
	// Sharp edges are worth more bytes than a photograph has to spare.
	fits := base64Len(buf.Len()) < limit
	if fits && (lossy == nil || source == GIF || buf.Len() <= 2*len(lossy)) {
		return buf.Bytes(), PNG, nil
	}
	if lossy == nil {
		return nil, "", nil
	}
	return lossy, JPEG, nil
}
