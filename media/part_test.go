package media_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"math"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/fixtures/pictures"
	"github.com/piweb-go/piweb/media"
)

func admitPart(t *testing.T, data []byte, p media.Part) (*media.Admitted, error) {
	t.Helper()
	return media.NewAdmitter(media.Limits{}).AdmitPart(t.Context(), bytes.NewReader(data), int64(len(data)), p)
}

// TestPart: the part of a picture is that of the upright whole, whatever the
// orientation is, and it is cut before anything is scaled (1.11, step 14).
func TestPart(t *testing.T) {
	shown := pictures.Noise(9, 7, 1)
	p := media.Part{X: 1, Y: 2, Width: 4, Height: 3}
	for o := 1; o <= 8; o++ {
		t.Run(fmt.Sprint("orientation ", o), func(t *testing.T) {
			stored := image.NewNRGBA(image.Rect(0, 0, 9, 7))
			copy(stored.Pix, shown.Pix)
			whole := pictures.Upright(stored, o)
			a, err := admitPart(t, pictures.WithChunk(pictures.PNG(stored), "eXIf", pictures.Exif(o)), p)
			if err != nil {
				t.Fatal(err)
			}
			if a.Width != 4 || a.Height != 3 || a.Scaled() || a.Source.Width != whole.Bounds().Dx() {
				t.Fatalf("%d×%d of %+v", a.Width, a.Height, a.Source)
			}
			img := decoded(t, a)
			for y := range 3 {
				for x := range 4 {
					got, want := color.NRGBAModel.Convert(img.At(x, y)), color.NRGBAModel.Convert(whole.At(x+1, y+2))
					if got != want {
						t.Errorf("(%d,%d): %v, want %v", x, y, got, want)
					}
				}
			}
		})
	}
}

// Every format can be cut; a frame of a GIF that is smaller than its picture, too.
func TestPartOfFormats(t *testing.T) {
	for name, data := range map[string][]byte{
		"jpeg": pictures.JPEG(pictures.Photo(64, 48), 90), "gif": pictures.GIF(64, 48, 2, 4), "webp": pictures.WebP(64, 48, [3]byte{1, 2, 3}),
		"palette": pictures.Palette(64, 48), "deep": pictures.Deep(64, 48), "gray": pictures.Gray(64, 48), "clear": pictures.PNG(pictures.Clear(64, 48)),
	} {
		a, err := admitPart(t, data, media.Part{X: 10, Y: 20, Width: 30, Height: 15})
		if err != nil || a.Width != 30 || a.Height != 15 {
			t.Errorf("%s: %+v, %v", name, a, err)
			continue
		}
		if b := decoded(t, a).Bounds(); b.Dx() != 30 || b.Dy() != 15 {
			t.Errorf("%s: %v", name, b)
		}
	}
}

func TestPartTellsWhereItIs(t *testing.T) {
	data := pictures.PNG(pictures.Flat(5000, 3000))
	for _, c := range []struct {
		part media.Part
		want string
	}{
		{media.Part{X: 100, Y: 200, Width: 800, Height: 600}, "Read the part 100,200 800×600 of picture a.png (image/png, SIZE, 800×600). Add 100,200 to its coordinates to get those of the file, which has 5000×3000."},
		{media.Part{X: 1000, Y: 0, Width: 3998, Height: 3000}, "It was scaled down; multiply its coordinates by 2.00 and add 1000,0 to get those of the file, which has 5000×3000."},
	} {
		a, err := admitPart(t, data, c.part)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Replace(c.want, "SIZE", media.Size(int64(len(a.Data))), 1)
		if got := a.ResultText("a.png"); !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

func TestPartOutside(t *testing.T) {
	data := pictures.Oriented(pictures.JPEG(pictures.Marker(40, 30), 90), 6) // upright it has 30×40
	for _, p := range []media.Part{
		{}, {Width: 1}, {Height: 1}, {X: -1, Width: 2, Height: 2}, {Y: -1, Width: 2, Height: 2}, {X: 30, Width: 1, Height: 1},
		{Width: 31, Height: 1}, {X: 29, Width: 2, Height: 1}, {Y: 39, Width: 1, Height: 2}, {Width: -5, Height: -5},
		{X: 1, Y: 1, Width: math.MaxInt, Height: math.MaxInt}, {X: math.MaxInt, Y: math.MaxInt, Width: 1, Height: 1},
	} {
		var refused *media.Error
		if _, err := admitPart(t, data, p); !errors.As(err, &refused) || refused.Problem != media.NotInside || refused.Width != 30 {
			t.Errorf("%v: %v", p, err)
		} else if text := refused.About("a.jpg"); !strings.Contains(text, "30×40") || !strings.Contains(text, "a.jpg") {
			t.Errorf("text: %s", text)
		}
	}
	if a, err := admitPart(t, data, media.Part{X: 29, Y: 39, Width: 1, Height: 1}); err != nil || a.Width != 1 {
		t.Errorf("the last pixel: %+v %v", a, err)
	}
}

// The whole, a part and another one are kept apart, and a part is worked on once.
func TestPartIsCached(t *testing.T) {
	a := media.NewAdmitter(media.Limits{})
	data := pictures.PNG(pictures.Noise(50, 50, 2))
	at := func(p media.Part) *media.Admitted {
		got, err := a.AdmitPart(t.Context(), bytes.NewReader(data), int64(len(data)), p)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	one, two := media.Part{Width: 10, Height: 10}, media.Part{X: 1, Width: 10, Height: 10}
	whole, err := a.Admit(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	if at(one) != at(one) || at(one) == at(two) || whole.Width != 50 {
		t.Error("a part is not its own")
	}
	alone, err := a.Admit(t.Context(), at(one).Data)
	if err != nil || alone.Part != (media.Part{}) || alone.Width != 10 {
		t.Errorf("as a picture of its own it is %+v, %v", alone, err)
	}
}
