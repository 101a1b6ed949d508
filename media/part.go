package media

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"image/draw"
	"io"
)

// Part is a rectangle of a picture, in pixels of the file as a person sees it:
// upright, from the top left corner. It is how a model looks at details that were
// lost when the whole was scaled down.
type Part struct {
	X      int `json:"x"`
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

func (p Part) String() string { return fmt.Sprintf("%d,%d %d×%d", p.X, p.Y, p.Width, p.Height) }

// inside tells whether the part lies in a picture of w×h. Compared by subtraction:
// a sum of two large numbers would wrap around.
func (p Part) inside(w, h int) bool {
	return p.X >= 0 && p.Y >= 0 && p.Width > 0 && p.Height > 0 &&
		p.X < w && p.Y < h && p.Width <= w-p.X && p.Height <= h-p.Y
}

// stored is where the part lies in the pixels of a picture of w×h as they are
// stored, before the orientation turns them.
func (p Part) stored(w, h, orientation int) image.Rectangle {
	r := image.Rect(p.X, p.Y, p.X+p.Width, p.Y+p.Height)
	if turns(orientation) {
		r = image.Rect(r.Min.Y, r.Min.X, r.Max.Y, r.Max.X)
	}
	switch orientation {
	case 2, 3, 7, 8:
		r.Min.X, r.Max.X = w-r.Max.X, w-r.Min.X
	}
	switch orientation {
	case 3, 4, 6, 7:
		r.Min.Y, r.Max.Y = h-r.Max.Y, h-r.Min.Y
	}
	return r
}

// AdmitPart is AdmitFrom for a part of the picture, which is cut out before anything
// is scaled. One that does not lie in the picture is refused.
func (a *Admitter) AdmitPart(ctx context.Context, r io.Reader, size int64, part Part) (*Admitted, error) {
	data, err := a.read(ctx, r, size)
	if err != nil {
		return nil, err
	}
	whole := sha256.Sum256(data)
	key := sha256.Sum256(fmt.Appendf(whole[:], "part %v", part))
	return a.once(ctx, key, data, func(h header) (*Admitted, error) {
		w, ht := h.upright()
		if !part.inside(w, ht) {
			return nil, &Error{Problem: NotInside, Width: w, Height: ht, Part: part, Size: int64(len(data))}
		}
		img, err := decode(ctx, data, h)
		if err != nil {
			return nil, err
		}
		cut := part.stored(h.width, h.height, h.orientation).Add(img.Bounds().Min)
		out := &Admitted{Source: h.source(len(data)), Part: part}
		return out, a.redraw(ctx, out, subImage(img, cut), h)
	})
}

// subImage shares the pixels of a picture where it can.
func subImage(img image.Image, r image.Rectangle) image.Image {
	if s, ok := img.(interface {
		SubImage(image.Rectangle) image.Image
	}); ok {
		return s.SubImage(r)
	}
	out := image.NewNRGBA(image.Rect(0, 0, r.Dx(), r.Dy()))
	draw.Draw(out, out.Rect, img, r.Min, draw.Src)
	return out
}

// once does the work for a key of the cache, one picture at a time.
func (a *Admitter) once(ctx context.Context, key [32]byte, data []byte, work func(header) (*Admitted, error)) (*Admitted, error) {
	if found := a.cache.get(key); found != nil {
		return found, nil
	}
	h, err := look(data, a.limits)
	if err != nil {
		return nil, err
	}
	if err := a.enter(ctx); err != nil {
		return nil, err
	}
	defer a.leave()
	if found := a.cache.get(key); found != nil { // another caller was first
		return found, nil
	}
	admitted, err := work(h)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(admitted.Data)
	admitted.SHA256 = hex.EncodeToString(sum[:])
	a.cache.put(key, admitted)
	if sum != key && admitted.Part == (Part{}) {
		a.cache.put(sum, admitted) // admitted again it stays what it is
	}
	return admitted, nil
}
