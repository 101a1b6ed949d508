package media

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"
)

// header is what is known of a picture before it is decoded.
type header struct {
	mime          string
	width, height int // as stored, before the orientation
	orientation   int // 1 to 8
	frames        int
	animated      bool  // WebP: frames in a way that the decoder does not know
	deep          bool  // 16 bits a channel
	cmyk          bool  // four colours of ink
	memory        int64 // bytes that decoding takes, about
}

func (h header) pixels() int64 { return int64(h.width) * int64(h.height) }

// look reads the header and refuses what must not be decoded.
func look(data []byte, l Limits) (header, error) {
	h := header{mime: Type(data), orientation: 1, frames: 1}
	if h.mime == "" {
		if len(data) == 0 {
			return h, &Error{Problem: NoContent}
		}
		start := data[:min(len(data), SniffBytes)]
		if looks := foreign(start); looks != "" {
			return h, &Error{Problem: BadFormat, Looks: looks, Size: int64(len(data))}
		}
		return h, &Error{Problem: NotPicture, Looks: describe(start), Size: int64(len(data))}
	}
	cfg, err := decodeConfig(h.mime, data)
	if err != nil {
		return h, broken(err)
	}
	h.width, h.height = cfg.Width, cfg.Height
	if h.width < 1 || h.height < 1 {
		return h, broken(fmt.Errorf("it has %d×%d pixels", h.width, h.height))
	}
	tooWide := &Error{Problem: TooWide, Width: h.width, Height: h.height, Size: int64(len(data))}
	if h.width > l.Side || h.height > l.Side || h.pixels() > int64(l.Pixels) {
		return h, tooWide
	}
	switch h.mime {
	case PNG:
		lookPNG(data, &h)
	case JPEG:
		lookJPEG(data, &h)
		h.cmyk = h.cmyk || cfg.ColorModel == color.CMYKModel
	case GIF:
		lookGIF(data, &h)
	case WebP:
		lookWebP(data, &h)
	}
	if h.memory > l.Memory {
		return h, tooWide
	}
	return h, nil
}

func decodeConfig(mime string, data []byte) (image.Config, error) {
	r := bytes.NewReader(data)
	switch mime {
	case PNG:
		return png.DecodeConfig(r)
	case JPEG:
		return jpeg.DecodeConfig(r)
	case GIF:
		return gif.DecodeConfig(r)
	}
	return webp.DecodeConfig(r)
}

// decode decodes a picture as a whole, the first frame of an animation. It ends
// soon after ctx is done.
func decode(ctx context.Context, data []byte, h header) (img image.Image, err error) {
	defer func() {
		if p := recover(); p != nil { // a decoder's mistake is the picture's
			img, err = nil, broken(fmt.Errorf("the decoder failed: %v", p))
		}
	}()
	r := &interruptible{ctx, bytes.NewReader(data)}
	switch h.mime {
	case PNG:
		img, err = png.Decode(r)
	case JPEG:
		img, err = jpeg.Decode(r)
	case GIF:
		if img, err = gif.Decode(r); err == nil {
			img = onCanvas(img, h)
		}
	default:
		img, err = decodeWebP(data, h)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, broken(err)
	}
	return img, nil
}

// onCanvas puts a frame that is smaller than its picture where it belongs.
func onCanvas(frame image.Image, h header) image.Image {
	canvas := image.Rect(0, 0, h.width, h.height)
	if frame.Bounds() == canvas {
		return frame
	}
	out := image.NewNRGBA(canvas)
	draw.Draw(out, frame.Bounds(), frame, frame.Bounds().Min, draw.Src)
	return out
}

func broken(err error) *Error { return &Error{Problem: Broken, Err: err} }

// interruptible ends reading when ctx is done: decoders read in small steps.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (r *interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
