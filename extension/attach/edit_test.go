package attach

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"

	"go.uber.org/goleak"

	"github.com/piweb-go/piweb/media"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// numbered is a picture whose pixels are their own numbers, from 1.
func numbered(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range w * h {
		img.Set(i%w, i/w, color.NRGBA{uint8(i + 1), 0, 0, 255})
	}
	return img
}

func admitted(t *testing.T, img image.Image, asJPEG bool) *media.Admitted {
	t.Helper()
	var buf bytes.Buffer
	var err error
	if asJPEG {
		err = jpeg.Encode(&buf, img, nil)
	} else {
		err = png.Encode(&buf, img)
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := media.NewAdmitter(media.Limits{}).Admit(t.Context(), buf.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEdit holds every pixel against what a person would expect.
func TestEdit(t *testing.T) {
	for _, test := range []struct {
		name string
		args editArgs
		want [][]uint8
	}{
		{"as it is", editArgs{}, [][]uint8{{1, 2, 3}, {4, 5, 6}}},
		{"a part", editArgs{Crop: &rect{1, 0, 2, 1}}, [][]uint8{{2, 3}}},
		{"the last pixel", editArgs{Crop: &rect{2, 1, 1, 1}}, [][]uint8{{6}}},
		{"a quarter", editArgs{Rotate: 90}, [][]uint8{{4, 1}, {5, 2}, {6, 3}}},
		{"half", editArgs{Rotate: 180}, [][]uint8{{6, 5, 4}, {3, 2, 1}}},
		{"three quarters", editArgs{Rotate: 270}, [][]uint8{{3, 6}, {2, 5}, {1, 4}}},
		{"a part, then a quarter", editArgs{Crop: &rect{1, 0, 2, 2}, Rotate: 90}, [][]uint8{{5, 2}, {6, 3}}},
	} {
		out, err := edit(t.Context(), admitted(t, numbered(3, 2), false), test.args)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		img, err := png.Decode(bytes.NewReader(out.data))
		if err != nil {
			t.Fatal(err)
		}
		if b := img.Bounds(); b.Dx() != len(test.want[0]) || b.Dy() != len(test.want) || out.width != b.Dx() || out.height != b.Dy() || out.mimeType != media.PNG {
			t.Errorf("%s: %v of %+v", test.name, b, out.mimeType)
			continue
		}
		for y, row := range test.want {
			for x, want := range row {
				if r, _, _, _ := img.At(x, y).RGBA(); uint8(r>>8) != want {
					t.Errorf("%s: %d at %d,%d, not %d", test.name, uint8(r>>8), x, y, want)
				}
			}
		}
	}
}

func TestResizeAndTypes(t *testing.T) {
	for _, test := range []struct {
		name          string
		size          size
		jpeg          bool
		width, height int
	}{
		{"the height follows", size{Width: 30}, false, 30, 20},
		{"the width follows", size{Height: 4}, false, 6, 4},
		{"both", size{Width: 5, Height: 5}, false, 5, 5},
		{"never nothing", size{Height: 1}, false, 1, 1},
		{"a JPEG stays one", size{Width: 30}, true, 30, 20},
	} {
		out, err := edit(t.Context(), admitted(t, numbered(3, 2), test.jpeg), editArgs{Resize: &test.size})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if out.width != test.width || out.height != test.height || (out.mimeType == media.JPEG) != test.jpeg {
			t.Errorf("%s: %d x %d %s", test.name, out.width, out.height, out.mimeType)
		}
	}
}

func TestOutputName(t *testing.T) {
	for in, want := range map[string]string{"cat.png": "edited-cat.jpg", "edited-cat.png": "edited-cat.jpg", "no extension": "edited-no extension.jpg",
		".png": "edited-.png.jpg", "v1.2 of it": "edited-v1.2 of it.jpg", "a.longextension": "edited-a.longextension.jpg"} {
		if got := outputName(in, ".jpg"); got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
	}
}
