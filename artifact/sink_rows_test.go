package artifact

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestSinkThrottle: spec/omp.md §13, "sink throttle (L)". What comes within the
// window is told in one piece and is not lost, whoever ends the waiting.
func TestSinkThrottle(t *testing.T) {
	const window = 50 * time.Millisecond
	run := func(t *testing.T, do func(k *Sink, told func() []string)) {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var got []string
			k := NewSink(SinkOptions{Throttle: window, OnText: func(b []byte) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, string(b))
			}})
			do(k, func() []string {
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				return slices.Clone(got)
			})
			_ = k.Close()
		})
	}
	write := func(k *Sink, pieces ...string) {
		for _, p := range pieces {
			_, _ = k.Write([]byte(p))
		}
	}
	check := func(t *testing.T, told []string, want ...string) {
		t.Helper()
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	}
	t.Run("a, b, c in the window", func(t *testing.T) {
		run(t, func(k *Sink, told func() []string) {
			write(k, "a", "b", "c")
			check(t, told(), "a")
			time.Sleep(window)
			check(t, told(), "a", "bc")
			// The telling of the rest begins a window of its own.
			write(k, "d")
			check(t, told(), "a", "bc")
			time.Sleep(window)
			check(t, told(), "a", "bc", "d")
			time.Sleep(window)
			write(k, "e")
			check(t, told(), "a", "bc", "d", "e")
		})
	})
	t.Run("the end of the output tells the rest, once", func(t *testing.T) {
		run(t, func(k *Sink, told func() []string) {
			write(k, "a", "b", "c")
			if s := k.Summary(""); s.Output != "abc" {
				t.Errorf("output %q", s.Output)
			}
			check(t, told(), "a", "bc")
			write(k, "after the end")
			time.Sleep(3 * window)
			check(t, told(), "a", "bc")
		})
	})
	t.Run("a flood is told before its time, whole", func(t *testing.T) {
		run(t, func(k *Sink, told func() []string) {
			piece := strings.Repeat("x", 64<<10)
			for range 100 {
				write(k, piece)
			}
			before := told()
			if len(before) < 6 || len(k.tell.pending) > maxPending {
				t.Errorf("told %d times, and %d bytes are held", len(before), len(k.tell.pending))
			}
			_ = k.Close()
			if n := len(strings.Join(told(), "")); n != 100*len(piece) {
				t.Errorf("told of %d bytes", n)
			}
		})
	})
	t.Run("no window, each piece", func(t *testing.T) {
		var got []string
		k := NewSink(SinkOptions{OnText: func(b []byte) { got = append(got, string(b)) }})
		write(k, "a", "b", "c")
		check(t, got, "a", "b", "c")
	})
}

// TestSinkSIXEL: spec/omp.md §13, "sink SIXEL". With both gates open a picture for
// the terminal is kept, else the output is empty; nothing else comes through with
// it, and wherever the output is split.
func TestSinkSIXEL(t *testing.T) {
	const pic = "\x1bP0;1;8q\"1;1;2;2#0;2;0;0;0#0~~\n-\x1b\\"
	cases := []struct{ name, in, on, off string }{
		{"a picture", pic, pic, ""},
		{"without numbers", "\x1bPq#0~\x1b\\", "\x1bPq#0~\x1b\\", ""},
		{"between text", "a\n" + pic + "b", "a\n" + pic + "b", "a\nb"},
		{"begun by a C1 control", "\u00900q~\x1b\\", "\x1bP0q~\x1b\\", ""},
		{"colours go as ever", "\x1b[31m" + pic + "\x1b[0m", pic, ""},
		{"another device string", "\x1bP$q q\x1b\\\x1bP1+q\x1b\\x", "x", "x"},
		{"too many numbers", "\x1bP" + strings.Repeat("1;", 40) + "q~\x1b\\x", "x", "x"},
		{"controls inside go", "\x1bPq~\x07\x00\r~\u009b\xff\x1b\\x", "\x1bPq~~\x1b\\x", "x"},
		{"one that never ends is ended", "\x1bPq~~", "\x1bPq~~\x1b\\", ""},
		{"cut off within its end", "\x1bPq~~\x1b", "\x1bPq~~\x1b\\", ""},
		{"another escape inside ends it", "\x1bPq~\x1b[31mred", "\x1bPq~\x1b\\red", "red"},
		{"one in another", "\x1bPq~\x1bPq-\x1b\\x", "\x1bPq~\x1b\\\x1bPq-\x1b\\x", "x"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, step := range []int{1, 2, 3, len(c.in)} {
				for sixel, want := range map[bool]string{true: c.on, false: c.off} {
					k := NewSink(SinkOptions{Sixel: sixel})
					for rest := []byte(c.in); len(rest) > 0; rest = rest[min(step, len(rest)):] {
						_, _ = k.Write(rest[:min(step, len(rest))])
					}
					if got := k.Summary(""); got.Output != want || got.TotalBytes != int64(len(want)) {
						t.Errorf("let through: %v, in pieces of %d: %q (%d bytes), want %q", sixel, step, got.Output, got.TotalBytes, want)
					}
				}
			}
		})
	}
	t.Run("too long for a picture", func(t *testing.T) {
		k := NewSink(SinkOptions{Sixel: true})
		_, _ = k.Write(append([]byte("\x1bPq"), bytes.Repeat([]byte("~"), maxDevice+10)...))
		_, _ = k.Write([]byte("\nhere I am\n"))
		if got := k.Summary("").Output; strings.Contains(got, stringEnd+"\n") || !strings.HasSuffix(got, "\nhere I am\n") {
			t.Errorf("the end is %q", got[max(0, len(got)-40):])
		}
	})
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"PI_FORCE_IMAGE_PROTOCOL": "sixel"}, false},
		{map[string]string{"PI_ALLOW_SIXEL_PASSTHROUGH": "1"}, false},
		{map[string]string{"PI_FORCE_IMAGE_PROTOCOL": "kitty", "PI_ALLOW_SIXEL_PASSTHROUGH": "1"}, false},
		{map[string]string{"PI_FORCE_IMAGE_PROTOCOL": "sixel", "PI_ALLOW_SIXEL_PASSTHROUGH": "1"}, true},
	} {
		if got := SixelWanted(func(name string) (string, bool) { v, ok := c.env[name]; return v, ok }); got != c.want {
			t.Errorf("with %v: %v", c.env, got)
		}
	}
}
