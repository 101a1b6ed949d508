package media_test

import (
	"errors"
	"testing"

	"github.com/piweb-go/piweb/fixtures/pictures"
	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
)

// B20: no bytes make admission panic, take more memory than the limits, or let
// something through that is no picture.
func FuzzAdmit(f *testing.F) {
	for _, data := range [][]byte{
		pictures.Tiny(1), pictures.Gray(9, 9), pictures.Palette(3, 3), pictures.Deep(4, 4), pictures.Interlaced(), pictures.Stub(), pictures.Bomb(60000, 60000),
		pictures.APNG(pictures.Tiny(1), 3), pictures.WithChunk(pictures.Tiny(1), "eXIf", pictures.Exif(6)), pictures.GIF(8, 8, 3, 2),
		pictures.Inks(true, true), pictures.Inks(false, false), pictures.Oriented(pictures.JPEG(pictures.Marker(4, 4), 80), 7),
		pictures.WebP(3, 3, [3]byte{1, 2, 3}), pictures.AnimatedWebP(12, 10), pictures.WebPWithExif(3, 3, 8), pictures.Heic(), pictures.Bitmap(), []byte("<svg/>"), {},
	} {
		f.Add(data)
	}
	a := media.NewAdmitter(media.Limits{Pixels: 1 << 20, Memory: 16 << 20})
	f.Fuzz(func(t *testing.T, data []byte) {
		media.Judge("a.png", data[:min(len(data), media.SniffBytes)])
		p, err := a.Admit(t.Context(), data)
		if err != nil {
			if _, ok := errors.AsType[*media.Error](err); !ok {
				t.Fatalf("not a refusal: %v", err)
			}
			return
		}
		if media.Type(p.Data) != p.MIME || p.Width < 1 || p.Height < 1 || p.MIME == media.GIF {
			t.Fatalf("admitted: %s %d×%d", p.MIME, p.Width, p.Height)
		}
		again, err := media.NewAdmitter(media.Limits{}).Admit(t.Context(), p.Data)
		if err != nil || again.SHA256 != p.SHA256 {
			t.Fatalf("what was admitted is not what it is: %v", err)
		}
	})
}

// No text in place of base64 makes a request panic or carry what is no picture.
func FuzzPlace(f *testing.F) {
	for _, text := range []string{"", "AAAA", picture(1).Data, picture(1).Data[:50], "blob:sha256:x", "data:image/png;base64,AAAA", "→"} {
		f.Add(text, "image/png")
	}
	p := &media.Placer{Admitter: media.NewAdmitter(media.Limits{Pixels: 1 << 20, Memory: 16 << 20})}
	f.Fuzz(func(t *testing.T, text, mime string) {
		out, _, err := p.Place(t.Context(), []message.Message{user(message.Image(mime, text))}, chat)
		if err != nil {
			t.Fatal(err)
		}
		b := out[0].(*message.User).Content[0]
		if b.Type != message.TypeImage {
			return
		}
		if data, ok := media.Decode(b.Data); !ok || media.Type(data) != b.MimeType {
			t.Fatalf("%s goes out as %s", text, b.MimeType)
		}
	})
}
