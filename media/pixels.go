package media

import (
	"context"
	"image"
	"image/color"
	stddraw "image/draw"

	"golang.org/x/image/draw"
)

// fit is the size of w×h made to fit sides of at most side pixels. It never
// enlarges, and no side becomes 0.
func fit(w, h, side int) (int, int) {
	if w <= side && h <= side {
		return w, h
	}
	if w >= h {
		return side, max(1, (h*side+w/2)/w)
	}
	return max(1, (w*side+h/2)/h), side
}

// scale draws a picture as w×h pixels of 8 bits a channel. A large picture is
// halved until a step of less than three is left: that is what keeps thin lines
// and text readable, and needs no memory to speak of.
func scale(ctx context.Context, img image.Image, w, h int) (*image.RGBA, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b := img.Bounds()
		if b.Dx() < 3*w && b.Dy() < 3*h {
			break
		}
		half := image.NewRGBA(image.Rect(0, 0, max(w, b.Dx()/2), max(h, b.Dy()/2)))
		draw.ApproxBiLinear.Scale(half, half.Rect, img, b, draw.Src, nil)
		img = half
	}
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	if img.Bounds().Size() == out.Rect.Size() {
		stddraw.Draw(out, out.Rect, img, img.Bounds().Min, stddraw.Src)
		return out, nil
	}
	draw.ApproxBiLinear.Scale(out, out.Rect, img, img.Bounds(), draw.Src, nil)
	return out, nil
}

// turns tells whether an orientation exchanges width and height.
func turns(orientation int) bool { return orientation >= 5 }

// upright applies an orientation of Exif to the pixels.
func upright(img *image.RGBA, orientation int) *image.RGBA {
	if orientation < 2 || orientation > 8 {
		return img
	}
	w, h := img.Rect.Dx(), img.Rect.Dy()
	size := image.Rect(0, 0, w, h)
	if turns(orientation) {
		size = image.Rect(0, 0, h, w)
	}
	out := image.NewRGBA(size)
	for y := range size.Dy() {
		for x := range size.Dx() {
			sx, sy := x, y
			switch orientation {
			case 2:
				sx = w - 1 - x
			case 3:
				sx, sy = w-1-x, h-1-y
			case 4:
				sy = h - 1 - y
			case 5:
				sx, sy = y, x
			case 6:
				sx, sy = y, h-1-x
			case 7:
				sx, sy = w-1-y, h-1-x
			case 8:
				sx, sy = w-1-y, x
			}
			copy(out.Pix[out.PixOffset(x, y):][:4], img.Pix[img.PixOffset(sx, sy):][:4])
		}
	}
	return out
}

// onWhite lays a picture on white, for a format that knows no transparency:
// black text on nothing must not become black on black.
func onWhite(img *image.RGBA) *image.RGBA {
	if img.Opaque() {
		return img
	}
	out := image.NewRGBA(img.Rect)
	stddraw.Draw(out, out.Rect, image.NewUniform(color.White), image.Point{}, stddraw.Src)
	stddraw.Draw(out, out.Rect, img, img.Rect.Min, stddraw.Over)
	return out
}
