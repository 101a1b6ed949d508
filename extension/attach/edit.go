package attach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // a GIF is read as its first picture
	"image/jpeg"
	"image/png"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp"

	"github.com/piweb-go/piweb/media"
)

type rect struct {
	X      int `json:"x"`
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

type size struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

// outcome is an edited picture.
type outcome struct {
	data          []byte
	mimeType, ext string
	width, height int
}

// maxSide bounds what a resize makes, in pixels.
const maxSide = 4096

// jpegQuality is that of outcomes, as media's.
const jpegQuality = 85

// edit crops, rotates and resizes, in this order. p is upright and bounded, and
// what the model sees of the picture, so its coordinates fit.
func edit(ctx context.Context, p *media.Admitted, args editArgs) (outcome, error) {
	src, format, err := image.Decode(bytes.NewReader(p.Data))
	if err != nil {
		return outcome{}, err
	}
	img := src
	if c := args.Crop; c != nil {
		b := img.Bounds()
		// Compared by subtraction: a sum of two large numbers would wrap around.
		if c.X < 0 || c.Y < 0 || c.Width <= 0 || c.Height <= 0 || c.X >= b.Dx() || c.Y >= b.Dy() || c.Width > b.Dx()-c.X || c.Height > b.Dy()-c.Y {
			return outcome{}, fmt.Errorf("the crop %d,%d %dx%d is not inside the picture, which has %dx%d pixels", c.X, c.Y, c.Width, c.Height, b.Dx(), b.Dy())
		}
		dst := image.NewNRGBA(image.Rect(0, 0, c.Width, c.Height))
		draw.Draw(dst, dst.Bounds(), img, b.Min.Add(image.Pt(c.X, c.Y)), draw.Src)
		img = dst
	}
	if args.Rotate != 0 {
		if img, err = rotate(img, args.Rotate); err != nil {
			return outcome{}, err
		}
	}
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	if args.Resize != nil {
		if img, err = resize(img, *args.Resize); err != nil {
			return outcome{}, err
		}
	}
	return encode(img, format)
}

// rotate turns by quarters, clockwise.
func rotate(img image.Image, degrees int) (image.Image, error) {
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	var dst *image.NRGBA
	var at func(x, y int) (int, int)
	switch degrees {
	case 90:
		dst, at = image.NewNRGBA(image.Rect(0, 0, h, w)), func(x, y int) (int, int) { return h - 1 - y, x }
	case 180:
		dst, at = image.NewNRGBA(image.Rect(0, 0, w, h)), func(x, y int) (int, int) { return w - 1 - x, h - 1 - y }
	case 270:
		dst, at = image.NewNRGBA(image.Rect(0, 0, h, w)), func(x, y int) (int, int) { return y, w - 1 - x }
	default:
		return nil, errors.New("a picture is turned by 90, 180 or 270 degrees")
	}
	for y := range h {
		for x := range w {
			tx, ty := at(x, y)
			dst.Set(tx, ty, img.At(b.Min.X+x, b.Min.Y+y))
		}
	}
	return dst, nil
}

func resize(img image.Image, s size) (image.Image, error) {
	b := img.Bounds()
	switch {
	case s.Width == 0 && s.Height == 0:
		return nil, errors.New("resize needs a width, a height, or both")
	case s.Height == 0:
		s.Height = max(1, b.Dy()*s.Width/b.Dx())
	case s.Width == 0:
		s.Width = max(1, b.Dx()*s.Height/b.Dy())
	}
	if s.Width < 1 || s.Height < 1 || s.Width > maxSide || s.Height > maxSide {
		return nil, fmt.Errorf("a picture of %dx%d pixels cannot be made; a side has 1 to %d", s.Width, s.Height, maxSide)
	}
	dst := image.NewNRGBA(image.Rect(0, 0, s.Width, s.Height))
	draw.CatmullRom.Scale(dst, dst.Bounds(), img, b, draw.Src, nil)
	return dst, nil
}

// encode writes JPEG where the input was one, else PNG.
func encode(img image.Image, format string) (outcome, error) {
	out := outcome{width: img.Bounds().Dx(), height: img.Bounds().Dy()}
	var buf bytes.Buffer
	var err error
	if format == "jpeg" {
		out.mimeType, out.ext = media.JPEG, ".jpg"
		err = jpeg.Encode(&buf, img, &jpeg.Options{Quality: jpegQuality})
	} else {
		out.mimeType, out.ext = media.PNG, ".png"
		err = png.Encode(&buf, img)
	}
	out.data = buf.Bytes()
	return out, err
}
