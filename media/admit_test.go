package media_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"runtime"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/fixtures/pictures"
	"github.com/piweb-go/piweb/media"
)

func admit(t *testing.T, data []byte) *media.Admitted {
	t.Helper()
	a, err := media.NewAdmitter(media.Limits{}).Admit(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func refused(t *testing.T, data []byte) *media.Error {
	t.Helper()
	_, err := media.NewAdmitter(media.Limits{}).Admit(t.Context(), data)
	e, ok := errors.AsType[*media.Error](err)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	return e
}

func decoded(t *testing.T, a *media.Admitted) image.Image {
	t.Helper()
	img, kind, err := image.Decode(bytes.NewReader(a.Data))
	if err != nil {
		t.Fatal(err)
	}
	if "image/"+kind != a.MIME || img.Bounds().Dx() != a.Width || img.Bounds().Dy() != a.Height {
		t.Fatalf("says %s %d×%d, is %s %v", a.MIME, a.Width, a.Height, kind, img.Bounds())
	}
	return img
}

// What fits and is plain keeps its bytes.
func TestPassesUnchanged(t *testing.T) {
	for name, data := range map[string][]byte{
		"png":              pictures.PNG(pictures.Flat(320, 200)),
		"png with palette": pictures.Palette(9, 9),
		"png of grey":      pictures.Gray(9, 9),
		"png, interlaced":  pictures.Interlaced(),
		"png, clear":       pictures.PNG(pictures.Clear(20, 20)),
		"jpeg":             pictures.JPEG(pictures.Photo(64, 48), 90),
		"jpeg of grey":     pictures.Inks(false, false),
		"jpeg, gradual":    pictures.Inks(false, true),
		"webp":             pictures.WebP(30, 20, [3]byte{1, 2, 3}),
		"longest side":     pictures.PNG(image.NewGray(image.Rect(0, 0, media.DefaultStoredSide, 1))),
	} {
		t.Run(name, func(t *testing.T) {
			a := admit(t, data)
			if !bytes.Equal(a.Data, data) || a.Scaled() {
				t.Errorf("%d bytes became %d bytes of %s", len(data), len(a.Data), a.MIME)
			}
		})
	}
}

// B2: the limit of what comes is inclusive.
func TestInputLimit(t *testing.T) {
	admit(t, pictures.Sized(5_242_880))
	e := refused(t, pictures.Sized(5_242_881))
	if e.Problem != media.TooLarge || e.Size != 5_242_881 {
		t.Errorf("got %+v", e)
	}
	_, err := media.NewAdmitter(media.Limits{}).AdmitFrom(t.Context(), nil, 6<<20) // not read
	if err == nil || !strings.Contains(err.Error(), "6 MB") || !strings.Contains(err.Error(), "5 MB") {
		t.Errorf("got %v", err)
	}
	endless := bytes.NewReader(pictures.Sized(6 << 20)) // it grew since it was measured
	if _, err := media.NewAdmitter(media.Limits{}).AdmitFrom(t.Context(), endless, 100); err == nil || endless.Len() != 6<<20-(5<<20+1) {
		t.Errorf("got %v, %d bytes left", err, endless.Len())
	}
}

// The rows of 1.13 and of the bug reports that are refusals.
func TestRefuses(t *testing.T) {
	png := pictures.PNG(pictures.Noise(32, 32, 1))
	jpeg := pictures.JPEG(pictures.Noise(32, 32, 1), 90)
	for _, c := range []struct {
		name string
		data []byte
		want media.Problem
		says string
	}{
		{"B9: 0 bytes", nil, media.NoContent, "empty"},
		{"B9: 1 byte", []byte{0x89}, media.NotPicture, "1 bytes"},
		{"B9: 11 bytes", []byte("RIFF\x04\x00\x00\x00WEB"), media.NotPicture, ""},
		{"B7: png cut", png[:len(png)/2], media.Broken, "cut short"},
		{"B7: jpeg cut", jpeg[:len(jpeg)/2], media.Broken, "cut short"},
		{"B7: jpeg without its end", jpeg[:len(jpeg)-2], media.Broken, "cut short"},
		{"case 5: header only", pictures.Stub(), media.Broken, "pixel data"},
		{"B8: header of 60000²", pictures.Bomb(60000, 60000), media.TooWide, "60000×60000"},
		{"case 18: 19000² of nothing", pictures.Bomb(19000, 19000), media.TooWide, "19000×19000"},
		{"too many pixels", pictures.Bomb(10000, 10000), media.TooWide, "10000×10000"},
		{"B11: svg", []byte(`<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>`), media.NotPicture, "SVG"},
		{"B11: error page", []byte("<!DOCTYPE html><html><body>404</body></html>"), media.NotPicture, "HTML"},
		{"case 3: JSON", []byte(`{"error":"not found","status":404,"x":true}`), media.NotPicture, "JSON"},
		{"B11: heic", pictures.Heic(), media.BadFormat, "HEIC"},
		{"bmp", pictures.Bitmap(), media.BadFormat, "BMP"},
		{"tiff", append([]byte("II*\x00\x08\x00\x00\x00"), make([]byte, 64)...), media.BadFormat, "TIFF"},
		{"gif without a picture", []byte("GIF89a\x02\x00\x02\x00\x00\x00\x00;"), media.Broken, ""},
		{"webp without pixels", []byte("RIFF\x04\x00\x00\x00WEBP"), media.Broken, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := refused(t, c.data)
			if e.Problem != c.want || !strings.Contains(e.Error(), c.says) {
				t.Errorf("got %d: %v", e.Problem, e)
			}
			about := e.About("x y.png")
			if !strings.HasPrefix(about, "Error: ") || !strings.Contains(about, "x y.png") {
				t.Errorf("about: %s", about)
			}
		})
	}
}

// B8: a header is judged before anything is allocated for it.
func TestBombTakesNoMemory(t *testing.T) {
	data := pictures.Bomb(60000, 60000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	refused(t, data)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("%d bytes were allocated", took)
	}
}

// Decoding a gradual JPEG needs many times its pixels; that is counted.
func TestMemoryGuard(t *testing.T) {
	a := media.NewAdmitter(media.Limits{Memory: 300})
	if _, err := a.Admit(t.Context(), pictures.Inks(false, false)); err != nil {
		t.Error(err)
	}
	if _, err := a.Admit(t.Context(), pictures.Inks(false, true)); err == nil {
		t.Error("320 bytes were taken for less than 300")
	}
}

// B4: what the bytes are is what counts.
func TestBytesWin(t *testing.T) {
	v := media.Judge("photo.png", pictures.JPEG(pictures.Marker(4, 4), 90))
	if v.Kind != media.Picture || v.MIME != media.JPEG {
		t.Errorf("got %+v", v)
	}
}

func TestJudge(t *testing.T) {
	svg := []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`)
	for _, c := range []struct {
		name  string
		start []byte
		want  media.Kind
	}{
		{"a.txt", []byte("text"), media.Other},
		{"a.txt", nil, media.Other},
		{"a.svg", svg, media.Other},
		{"a.png", svg, media.Mismatch},
		{"A.PNG", []byte("text"), media.Mismatch},
		{"a.jpeg", nil, media.Empty},
		{"a.bmp", []byte("text"), media.Unsupported},
		{"a.HEIC", nil, media.Unsupported},
		{"a.jpg", pictures.Heic(), media.Unsupported},
		{"a", pictures.Bitmap(), media.Unsupported},
		{"a.txt", []byte("BMW drivers of the world, unite"), media.Other},
		{"a.txt", []byte("BM"), media.Other},
		{"a.txt", []byte("GIF90a"), media.Other},
		{"a.wav", []byte("RIFF\x24\x00\x00\x00WAVEfmt "), media.Other},
		{"a.txt", pictures.Tiny(1), media.Picture},
		{"图 片 🖼.PNG", pictures.Tiny(1), media.Picture},
	} {
		if got := media.Judge(c.name, c.start).Kind; got != c.want {
			t.Errorf("%s %.12q: got %d, want %d", c.name, c.start, got, c.want)
		}
	}
}

// B5, case 15: orientations are baked into the pixels, also where nothing is scaled.
func TestOrientation(t *testing.T) {
	for o := 1; o <= 8; o++ {
		for name, data := range map[string][]byte{
			"png":  pictures.WithChunk(pictures.PNG(pictures.Marker(2, 3)), "eXIf", pictures.Exif(o)),
			"webp": pictures.WebPWithExif(2, 3, o),
			"jpeg": pictures.Oriented(pictures.JPEG(pictures.Marker(2, 3), 100), o),
		} {
			t.Run(fmt.Sprintf("%s %d", name, o), func(t *testing.T) {
				a := admit(t, data)
				want := image.Pt(2, 3)
				if o >= 5 {
					want = image.Pt(3, 2)
				}
				if a.Width != want.X || a.Height != want.Y || a.Source.Orientation != o {
					t.Errorf("%d×%d, orientation %d", a.Width, a.Height, a.Source.Orientation)
				}
				if bytes.Contains(a.Data, pictures.Exif(o)) || bytes.Contains(a.Data, []byte("at home")) {
					t.Error("metadata is still there")
				}
				img := decoded(t, a)
				if name != "png" {
					return
				}
				shown := pictures.Upright(pictures.Marker(2, 3), o)
				for y := range want.Y {
					for x := range want.X {
						if got, want := color.NRGBAModel.Convert(img.At(x, y)), shown.At(x, y); got != want {
							t.Errorf("(%d,%d): %v, want %v", x, y, got, want)
						}
					}
				}
			})
		}
	}
}

// B6, case 19: odd colours become plain ones.
func TestColours(t *testing.T) {
	deep := admit(t, pictures.Deep(4, 4))
	cfg, err := png.DecodeConfig(bytes.NewReader(deep.Data))
	if err != nil || deep.MIME != media.PNG || cfg.ColorModel == color.NRGBA64Model || cfg.ColorModel == color.RGBA64Model {
		t.Errorf("16 bit: %s %v %v", deep.MIME, cfg.ColorModel, err)
	}
	for _, gradual := range []bool{false, true} {
		inks := admit(t, pictures.Inks(true, gradual))
		img := decoded(t, inks)
		if _, still := img.(*image.CMYK); still || inks.MIME != media.JPEG {
			t.Errorf("four inks: %s %T", inks.MIME, img)
		}
	}
	white := media.NewAdmitter(media.Limits{StoredBase64: 2800}) // too little for PNG
	a, err := white.Admit(t.Context(), pictures.PNG(cut(pictures.Noise(40, 40, 3))))
	if err != nil {
		t.Fatal(err)
	}
	if r, _, _, _ := decoded(t, a).At(0, 0).RGBA(); a.MIME != media.JPEG || r>>8 < 240 {
		t.Errorf("nothing became %d of red in %s, not white", r>>8, a.MIME)
	}
}

// cut makes the left half of a picture clear.
func cut(img *image.NRGBA) *image.NRGBA {
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() / 2 {
			img.SetNRGBA(x, y, color.NRGBA{})
		}
	}
	return img
}

// B10, case 13: the first frame of an animation, on its canvas, and the number
// of frames in the text.
func TestAnimations(t *testing.T) {
	for name, c := range map[string]struct {
		data   []byte
		mime   string
		frames int
	}{
		"gif":        {pictures.GIF(8, 8, 3, 0), media.PNG, 3},
		"gif, inset": {pictures.GIF(8, 8, 3, 2), media.PNG, 3},
		"gif, still": {pictures.GIF(8, 8, 1, 0), media.PNG, 1},
		"webp":       {pictures.AnimatedWebP(12, 10), media.PNG, 2},
		"apng":       {pictures.APNG(pictures.PNG(pictures.Marker(8, 8)), 4), media.PNG, 4},
	} {
		t.Run(name, func(t *testing.T) {
			a := admit(t, c.data)
			decoded(t, a)
			if a.MIME != c.mime || a.Source.Frames != c.frames {
				t.Errorf("%s, %d frames", a.MIME, a.Source.Frames)
			}
			if told := strings.Contains(a.ResultText("x"), fmt.Sprintf("%d frames", c.frames)); told != (c.frames > 1) {
				t.Errorf("text: %s", a.ResultText("x"))
			}
			if bytes.Contains(a.Data, []byte("acTL")) {
				t.Error("still an animation")
			}
		})
	}
	a := admit(t, pictures.AnimatedWebP(12, 10))
	img := decoded(t, a)
	if _, _, _, alpha := img.At(0, 0).RGBA(); alpha != 0 {
		t.Error("outside of the first frame there is something")
	}
	if r, _, _, _ := img.At(2, 2).RGBA(); r>>8 != 200 {
		t.Errorf("the first frame is not where it should be: %d", r>>8)
	}
}

// Sizes: never above the bound, never enlarged, no side 0, and the text gives the
// factor.
func TestScale(t *testing.T) {
	for _, c := range []struct{ w, h, wantW, wantH int }{
		{3998, 1999, 1999, 1000},
		{2000, 100, 1999, 100},
		{1, 9000, 1, 1999},
		{9000, 1, 1999, 1},
		{2000, 2000, 1999, 1999},
	} {
		a := admit(t, pictures.PNG(image.NewGray(image.Rect(0, 0, c.w, c.h))))
		if a.Width != c.wantW || a.Height != c.wantH {
			t.Errorf("%d×%d became %d×%d, want %d×%d", c.w, c.h, a.Width, a.Height, c.wantW, c.wantH)
		}
		decoded(t, a)
	}
	text := admit(t, pictures.PNG(image.NewGray(image.Rect(0, 0, 3998, 1999)))).ResultText("a.png")
	if !strings.Contains(text, "3998×1999") || !strings.Contains(text, "by 2.00 ") {
		t.Errorf("text: %s", text)
	}
}

// Case 7: what is too long as base64 becomes shorter before it is stored.
func TestStoredSize(t *testing.T) {
	for name, data := range map[string][]byte{
		"png":  pictures.PNG(pictures.Noise(1100, 1100, 2)),
		"jpeg": pictures.JPEG(pictures.Noise(1900, 1700, 2), 97),
	} {
		if len(data) > 5<<20 || len(data) < 3_538_944 {
			t.Fatalf("%s: %d bytes prove nothing", name, len(data))
		}
		a := admit(t, data)
		decoded(t, a)
		if n := len(a.Block().Data); n >= 4608<<10 {
			t.Errorf("%s: %d characters", name, n)
		}
	}
	small := media.NewAdmitter(media.Limits{StoredBase64: 4000})
	a, err := small.Admit(t.Context(), pictures.PNG(pictures.Noise(300, 300, 2)))
	if err != nil || len(a.Block().Data) >= 4000 || a.Width >= 300 {
		t.Errorf("%v %+v", err, a)
	}
	tiny := media.NewAdmitter(media.Limits{StoredBase64: 40})
	if _, err := tiny.Admit(t.Context(), pictures.PNG(pictures.Noise(300, 300, 2))); err == nil {
		t.Error("a picture in 40 characters")
	}
}

// Screenshots stay sharp, photographs become small.
func TestFormats(t *testing.T) {
	if a := admit(t, pictures.PNG(pictures.Flat(2400, 1600))); a.MIME != media.PNG {
		t.Errorf("a screenshot became %s", a.MIME)
	}
	if a := admit(t, pictures.PNG(pictures.Photo(2050, 1000))); a.MIME != media.JPEG {
		t.Errorf("a photograph became %s", a.MIME)
	}
}

// What follows the end of a picture, or names its place, is gone.
func TestNothingHidden(t *testing.T) {
	const secret = "secret words"
	png := pictures.PNG(pictures.Marker(4, 4))
	jpeg := pictures.JPEG(pictures.Marker(4, 4), 90)
	for name, data := range map[string][]byte{
		"behind png":  append(bytes.Clone(png), secret...),
		"behind jpeg": append(bytes.Clone(jpeg), secret...),
		"behind webp": append(pictures.WebP(3, 3, [3]byte{}), secret...),
		"in png":      pictures.WithChunk(png, "tEXt", []byte("Comment\x00"+secret)),
		"in jpeg":     pictures.Oriented(jpeg, 1),
	} {
		a := admit(t, data)
		if bytes.Contains(a.Data, []byte(secret)) || bytes.Contains(a.Data, []byte("at home")) {
			t.Errorf("%s: it is still there", name)
		}
		decoded(t, a)
	}
}

// The same bytes are decoded once, whoever asks.
func TestCache(t *testing.T) {
	a := media.NewAdmitter(media.Limits{})
	data := pictures.PNG(pictures.Flat(2400, 100))
	first, err := a.Admit(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := a.Admit(t.Context(), bytes.Clone(data))
	if err != nil || again != first {
		t.Errorf("worked on twice (%v)", err)
	}
}

// B18: an end is an end, waiting or decoding.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := media.NewAdmitter(media.Limits{})
	data := pictures.PNG(pictures.Noise(600, 600, 4))
	if _, err := a.Admit(ctx, data); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := a.Admit(t.Context(), data); err != nil { // and the next one gets its turn
		t.Errorf("got %v", err)
	}
}

func TestThumb(t *testing.T) {
	a := media.NewAdmitter(media.Limits{})
	for name, data := range map[string][]byte{
		"small":      pictures.Tiny(1),
		"noise":      pictures.PNG(pictures.Noise(900, 700, 5)),
		"photograph": pictures.JPEG(pictures.Photo(1800, 1200), 85),
		"screenshot": pictures.PNG(pictures.Flat(1800, 1200)),
	} {
		p, err := a.Admit(t.Context(), data)
		if err != nil {
			t.Fatal(err)
		}
		thumb, err := a.Thumb(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if len(thumb.Data) > media.ThumbBytes || thumb.Width > media.ThumbSide || thumb.Height > media.ThumbSide || media.Type(thumb.Data) != thumb.MIME {
			t.Errorf("%s: %s, %d×%d, %d bytes", name, thumb.MIME, thumb.Width, thumb.Height, len(thumb.Data))
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		69: "69 bytes", 250_880: "245 KB", 5 << 20: "5 MB", 6_501_171: "6.2 MB", 1024: "1 KB", 1<<20 - 1: "1 MB", 4608 << 10: "4.5 MB",
	} {
		if got := media.Size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
