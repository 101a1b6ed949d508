package media_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/piweb-go/piweb/fixtures/pictures"
	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
)

// TestW4ManyReferencesToOneBlob: a picture that a history names many times is opened
// and held once per request (spec/omp.md §14; oh-my-pi held a copy for each).
func TestW4ManyReferencesToOneBlob(t *testing.T) {
	const times = 99
	file := pictures.PNG(pictures.Noise(2100, 170, 4))
	if len(file) < 1<<20 {
		t.Fatalf("the picture has only %d bytes", len(file))
	}
	ref := "blob:sha256:" + strings.Repeat("b", 64)
	opened := 0
	p := &media.Placer{Admitter: media.NewAdmitter(media.Limits{}), Open: func(context.Context, string) ([]byte, error) {
		opened++
		return bytes.Clone(file), nil
	}}
	var msgs []message.Message
	for range times {
		msgs = append(msgs, user(message.Image(media.PNG, strings.Clone(ref))))
	}
	eyes := media.EyesFor("openai-responses", "m", true, "")
	for _, budget := range []media.Budget{{}, {Many: 20, ManySide: 2000}} {
		eyes.Budget, opened = budget, 0
		before := living()
		out, report, err := p.Place(t.Context(), msgs, eyes)
		grew := living() - before
		if err != nil || len(report.Placed) != times {
			t.Fatalf("%d of %d pictures go out, %v; %.200q", len(report.Placed), times, err, out[0].(*message.User).Content[0].Text)
		}
		if opened != 1 {
			t.Errorf("it was opened %d times", opened)
		}
		first := out[0].(*message.User).Content[0].Data
		for _, m := range out {
			if data := m.(*message.User).Content[0].Data; unsafe.StringData(data) != unsafe.StringData(first) {
				t.Fatal("it is held more than once")
			}
		}
		if grew > int64(4*len(file)) {
			t.Errorf("%d references to %d bytes hold %d", times, len(file), grew)
		}
		runtime.KeepAlive(out)
	}
	// References that were loaded stay references.
	for _, m := range msgs {
		if data := m.(*message.User).Content[0].Data; data != ref {
			t.Fatalf("the history holds %.40q", data)
		}
	}
}

// living is what the heap holds, in bytes.
func living() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// endsAfter is a context that is cancelled when it has been asked so many times.
type endsAfter struct {
	context.Context
	left int
}

func (c *endsAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestCancelInTheMiddle is B18: wherever in decoding, scaling and encoding a cancel
// comes, the work ends, nothing half done is remembered, and the next one has its
// turn.
func TestCancelInTheMiddle(t *testing.T) {
	for name, c := range map[string]struct {
		data  []byte
		steps int // places at least, where the end is noticed
	}{
		"PNG":  {pictures.PNG(pictures.Noise(2100, 240, 4)), 50},
		"JPEG": {pictures.JPEG(pictures.Photo(2100, 400), 90), 20},
		"GIF":  {pictures.GIF(400, 300, 3, 0), 3},
	} {
		t.Run(name, func(t *testing.T) {
			a := media.NewAdmitter(media.Limits{Input: 64 << 20})
			places := &endsAfter{t.Context(), 1 << 30}
			if _, err := media.NewAdmitter(media.Limits{Input: 64 << 20}).Admit(places, c.data); err != nil {
				t.Fatal(err)
			}
			all := 1<<30 - places.left
			if all < c.steps {
				t.Errorf("it looks %d times whether it is to end", all)
			}
			for _, at := range []int{0, 1, 2, all / 4, all / 2, all * 3 / 4, all - 2, all - 1} {
				if at < 0 || at >= all {
					continue
				}
				if p, err := a.Admit(&endsAfter{t.Context(), at}, c.data); !errors.Is(err, context.Canceled) || p != nil {
					t.Errorf("at %d of %d: %v, %v", at, all, p != nil, err)
				}
			}
			if _, err := a.Admit(t.Context(), c.data); err != nil {
				t.Errorf("the next one: %v", err)
			}
		})
	}
}
