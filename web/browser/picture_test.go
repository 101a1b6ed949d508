package browser

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/chromedp/chromedp"
)

// picture saves what is seen, if pictures are wanted.
func (b *tab) picture(name string) {
	b.t.Helper()
	if *shots == "" {
		return
	}
	data, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		data, err = fewerColours(data)
	}
	if err == nil {
		err = os.MkdirAll(*shots, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(*shots, name), data, 0o644)
	}
	if err != nil {
		b.t.Fatalf("save a picture: %v", err)
	}
}

// fewerColours makes a picture of a page about three times smaller: a page has few
// colours, and letters have many edges of nearly the same. Each pixel gets one of
// the 256 most used colours that differ enough.
func fewerColours(data []byte) ([]byte, error) {
	from, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	bounds := from.Bounds()
	used := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(from.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			used[at(x, y)]++
		}
	}
	byUse := slices.SortedFunc(maps.Keys(used), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(used[b], used[a]), slices.Compare([]byte{a.R, a.G, a.B}, []byte{b.R, b.G, b.B}))
	})
	var palette color.Palette
	for least := 0; palette == nil; least++ {
		palette = apart(byUse, least)
	}
	to, nearest := image.NewPaletted(bounds, palette), map[color.RGBA]uint8{}
	for c := range used {
		nearest[c] = uint8(palette.Index(c))
	}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			to.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to)
	return out.Bytes(), err
}

// apart takes the first colours of which no two are within a distance, or nil if
// that is too many for a palette.
func apart(colours []color.RGBA, within int) color.Palette {
	near := func(a, b uint8) bool { return max(a, b)-min(a, b) <= uint8(within) }
	var taken []color.RGBA
	for _, c := range colours {
		if slices.ContainsFunc(taken, func(o color.RGBA) bool { return near(o.R, c.R) && near(o.G, c.G) && near(o.B, c.B) }) {
			continue
		}
		if taken = append(taken, c); len(taken) > 256 {
			return nil
		}
	}
	palette := make(color.Palette, len(taken))
	for i, c := range taken {
		palette[i] = c
	}
	return palette
}
