package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadOwn(t *testing.T) {
	on := Own{Mentions{Documents: true, MaxBytes: 10}}
	usual := Own{Mentions{MaxBytes: defaultMentionBytes}}
	for text, want := range map[string]struct {
		own  Own
		says string
	}{
		"-":  {usual, ""},
		"{}": {usual, ""},
		"\uFEFF{\"mentions\":{\"documents\":true,\"maxBytes\":10},\"other\":1}": {on, ""},
		`{"mentions":{"documents":true,"maxBytes":-1}}`:                         {Own{Mentions{Documents: true, MaxBytes: defaultMentionBytes}}, ""},
		`{"mentions":{"documents":"yes"}}`:                                      {usual, "documents"},
		`{"mentions":`:                                                          {usual, "ends too early"},
	} {
		dir := t.TempDir()
		if text != "-" {
			if err := os.WriteFile(filepath.Join(dir, "piweb.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		own, problem := ReadOwn(dir)
		if own != want.own || (problem != nil) != (want.says != "") || problem != nil && !strings.Contains(problem.Error(), want.says) {
			t.Errorf("%s: %+v, %v", text, own, problem)
		}
	}
}
