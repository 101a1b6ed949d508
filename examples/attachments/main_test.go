package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), t.TempDir(), &out); err != nil {
		t.Fatal(err)
	}
	const want = "uploaded stripes.png: image/png, 178 bytes\nthe tool made edited-stripes.png: 40 x 80\nthe tool made edited-stripes.png: 10 x 20\n"
	got := out.String()
	// How many bytes the encoder makes is not promised.
	if i, j := strings.Index(got, "png, "), strings.Index(got, " bytes"); i > 0 && j > i {
		got = got[:i+5] + "178" + got[j:]
	}
	if got != want {
		t.Errorf("it prints\n%s", out.String())
	}
}
