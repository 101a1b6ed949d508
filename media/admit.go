package media

import (
	"context"
	"crypto/sha256"
	"image"
	"io"
)

// Admitted is a picture that may be stored and sent: decoded once as a whole,
// bounded, upright, without metadata. It is shared and never changed.
type Admitted struct {
	Data          []byte
	MIME          string
	Width, Height int
	SHA256        string // of Data, in lower-case hexadecimal

	// Source is the picture as it came, upright: what a person who opens the
	// file sees.
	Source Source
	Part   Part // of the source; the zero value for all of it
}

// Source is a picture as it came.
type Source struct {
	MIME          string
	Size          int64
	Width, Height int // upright
	Orientation   int // of Exif, 1 for none
	Frames        int // 1 for a still picture
}

// Scaled tells whether the picture has fewer pixels than its source, or than the
// part of it.
func (a *Admitted) Scaled() bool {
	w, h := a.from()
	return a.Width != w || a.Height != h
}

// from are the sides of what was admitted, before it was scaled.
func (a *Admitted) from() (width, height int) {
	if a.Part != (Part{}) {
		return a.Part.Width, a.Part.Height
	}
	return a.Source.Width, a.Source.Height
}

// Admitter admits pictures. It is safe for concurrent use; it decodes one
// picture at a time, so that its memory is bounded however many callers wait.
type Admitter struct {
	limits Limits
	slot   chan struct{}
	cache  cache
	memo   memo
}

// NewAdmitter makes an admitter with an empty cache.
func NewAdmitter(l Limits) *Admitter {
	return &Admitter{limits: l.withDefaults(), slot: make(chan struct{}, 1), cache: newCache(), memo: newMemo()}
}

// Limits are the limits in force.
func (a *Admitter) Limits() Limits { return a.limits }

// Admit judges a picture by its bytes. A refusal is an *Error; ctx ends the work
// soon. The same bytes are worked on once.
func (a *Admitter) Admit(ctx context.Context, data []byte) (*Admitted, error) {
	if n := int64(len(data)); n > a.limits.Input {
		return nil, &Error{Problem: TooLarge, Size: n, Limit: a.limits.Input}
	}
	return a.admit(ctx, data)
}

// AdmitFrom reads a picture of a known size and admits it. What is larger than
// the limit is refused without being read, and what grows meanwhile is not read
// to its end.
func (a *Admitter) AdmitFrom(ctx context.Context, r io.Reader, size int64) (*Admitted, error) {
	data, err := a.read(ctx, r, size)
	if err != nil {
		return nil, err
	}
	return a.admit(ctx, data)
}

// read takes the bytes of a picture, if they are within the limit.
func (a *Admitter) read(ctx context.Context, r io.Reader, size int64) ([]byte, error) {
	if size > a.limits.Input {
		return nil, &Error{Problem: TooLarge, Size: size, Limit: a.limits.Input}
	}
	data, err := io.ReadAll(&interruptible{ctx, io.LimitReader(r, a.limits.Input+1)})
	if err != nil {
		return nil, err
	}
	if n := int64(len(data)); n > a.limits.Input {
		return nil, &Error{Problem: TooLarge, Size: n, Limit: a.limits.Input}
	}
	return data, nil
}

// admit does without the limit on the input: pictures that are in a session
// already are bounded like new ones, and refused for other reasons only.
func (a *Admitter) admit(ctx context.Context, data []byte) (*Admitted, error) {
	return a.once(ctx, sha256.Sum256(data), data, func(h header) (*Admitted, error) { return a.bound(ctx, data, h) })
}

func (a *Admitter) enter(ctx context.Context) error {
	select {
	case a.slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *Admitter) leave() { <-a.slot }

// bound decodes a picture and makes it storable. One that is storable keeps its
// bytes, less its metadata.
func (a *Admitter) bound(ctx context.Context, data []byte, h header) (*Admitted, error) {
	img, err := decode(ctx, data, h)
	if err != nil {
		return nil, err
	}
	out := &Admitted{MIME: h.mime, Width: h.width, Height: h.height, Source: h.source(len(data))}
	if h.keeps(a.limits) {
		if clean := cleanAs(h.mime, data); base64Len(len(clean)) < a.limits.StoredBase64 {
			out.Data = clean
			return out, nil
		}
	}
	return out, a.redraw(ctx, out, img, h)
}

// redraw makes pixels storable: small enough, upright, and encoded anew.
func (a *Admitter) redraw(ctx context.Context, out *Admitted, img image.Image, h header) error {
	w, ht := fit(img.Bounds().Dx(), img.Bounds().Dy(), a.limits.StoredSide)
	small, err := scale(ctx, img, w, ht)
	if err != nil {
		return err
	}
	img = nil // the large one can go
	small = upright(small, h.orientation)
	data, small, mime, err := encode(ctx, small, h.mime, a.limits.StoredBase64)
	if err != nil {
		return err
	}
	out.Data, out.MIME, out.Width, out.Height = data, mime, small.Rect.Dx(), small.Rect.Dy()
	return nil
}

// upright are the sides as a person sees them.
func (h header) upright() (width, height int) {
	if turns(h.orientation) {
		return h.height, h.width
	}
	return h.width, h.height
}

// source describes the picture as it came.
func (h header) source(size int) Source {
	w, ht := h.upright()
	return Source{MIME: h.mime, Size: int64(size), Width: w, Height: ht, Orientation: h.orientation, Frames: h.frames}
}

// keeps tells whether the pixels may stay as they are encoded.
func (h header) keeps(l Limits) bool {
	fits := h.width <= l.StoredSide && h.height <= l.StoredSide
	plain := h.orientation == 1 && !h.deep && !h.cmyk && !h.animated
	return fits && plain && h.mime != GIF
}

// cleanAs leaves out of a file what no model should be told: metadata, further
// frames, and what hides behind its end.
func cleanAs(mime string, data []byte) []byte {
	switch mime {
	case PNG:
		return cleanPNG(data)
	case JPEG:
		return cleanJPEG(data)
	case WebP:
		return cleanWebP(data)
	}
	return data
}
