package media

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
}

// Source is a picture as it came.
type Source struct {
	MIME          string
	Size          int64
	Width, Height int // upright
	Orientation   int // of Exif, 1 for none
	Frames        int // 1 for a still picture
}

// Scaled tells whether the picture has fewer pixels than its source.
func (a *Admitted) Scaled() bool { return a.Width != a.Source.Width || a.Height != a.Source.Height }

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
	if size > a.limits.Input {
		return nil, &Error{Problem: TooLarge, Size: size, Limit: a.limits.Input}
	}
	data, err := io.ReadAll(&interruptible{ctx, io.LimitReader(r, a.limits.Input+1)})
	if err != nil {
		return nil, err
	}
	return a.Admit(ctx, data)
}

// admit does without the limit on the input: pictures that are in a session
// already are bounded like new ones, and refused for other reasons only.
func (a *Admitter) admit(ctx context.Context, data []byte) (*Admitted, error) {
	key := sha256.Sum256(data)
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
	admitted, err := a.bound(ctx, data, h)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(admitted.Data)
	admitted.SHA256 = hex.EncodeToString(sum[:])
	a.cache.put(key, admitted)
	if sum != key {
		a.cache.put(sum, admitted) // admitted again it stays what it is
	}
	return admitted, nil
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
	out := &Admitted{MIME: h.mime, Width: h.width, Height: h.height, Source: Source{
		MIME: h.mime, Size: int64(len(data)), Width: h.width, Height: h.height, Orientation: h.orientation, Frames: h.frames}}
	if turns(h.orientation) {
		out.Source.Width, out.Source.Height = h.height, h.width
	}
	if h.keeps(a.limits) {
		if clean := cleanAs(h.mime, data); base64Len(len(clean)) < a.limits.StoredBase64 {
			out.Data = clean
			return out, nil
		}
	}
	w, ht := fit(h.width, h.height, a.limits.StoredSide)
	small, err := scale(ctx, img, w, ht)
	if err != nil {
		return nil, err
	}
	img = nil // the large one can go
	small = upright(small, h.orientation)
	data, small, mime, err := encode(ctx, small, h.mime, a.limits.StoredBase64)
	if err != nil {
		return nil, err
	}
	out.Data, out.MIME, out.Width, out.Height = data, mime, small.Rect.Dx(), small.Rect.Dy()
	return out, nil
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
