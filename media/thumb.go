package media

import (
	"bytes"
	"context"
	"image/jpeg"
	"image/png"
)

// The bounds of a thumbnail.
const (
	ThumbSide  = 512      // pixels
	ThumbBytes = 64 << 10 // of the file
)

// Thumb is a small picture to look at.
type Thumb struct {
	MIME          string
	Width, Height int
	Data          []byte
}

// Thumb makes a thumbnail of an admitted picture.
func (a *Admitter) Thumb(ctx context.Context, p *Admitted) (Thumb, error) {
	if len(p.Data) <= ThumbBytes && p.Width <= ThumbSide && p.Height <= ThumbSide && p.MIME != WebP {
		return Thumb{p.MIME, p.Width, p.Height, p.Data}, nil
	}
	if err := a.enter(ctx); err != nil {
		return Thumb{}, err
	}
	defer a.leave()
	h, err := look(p.Data, a.limits)
	if err != nil {
		return Thumb{}, err
	}
	img, err := decode(ctx, p.Data, h)
	if err != nil {
		return Thumb{}, err
	}
	for side := ThumbSide; ; side = side * 3 / 4 {
		w, h := fit(p.Width, p.Height, side)
		small, err := scale(ctx, img, w, h)
		if err != nil {
			return Thumb{}, err
		}
		var buf bytes.Buffer
		if p.MIME != JPEG && png.Encode(&buf, small) == nil && buf.Len() <= ThumbBytes {
			return Thumb{PNG, w, h, buf.Bytes()}, nil
		}
		buf.Reset()
		if err := jpeg.Encode(&buf, onWhite(small), &jpeg.Options{Quality: 75}); err != nil {
			return Thumb{}, err
		}
		if buf.Len() <= ThumbBytes || side < 16 {
			return Thumb{JPEG, w, h, bytes.Clone(buf.Bytes())}, nil
		}
	}
}
