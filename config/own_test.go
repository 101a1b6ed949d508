package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestReadOwn(t *testing.T) {
	on := Own{Mentions: Mentions{Ignored: true, Documents: true, MaxBytes: 10}, Externalize: ExternalizeOn, PictureBytes: 7}
	usual := Own{Mentions: Mentions{MaxBytes: defaultMentionBytes}, Externalize: ExternalizeAuto}
	for text, want := range map[string]struct {
		own  Own
		says string
	}{
		"-":  {usual, ""},
		"{}": {usual, ""},
		"\uFEFF{\"mentions\":{\"ignored\":true,\"documents\":true,\"maxBytes\":10},\"blobs\":{\"externalize\":\"on\"},\"images\":{\"maxBytes\":7},\"other\":1}": {on, ""},
		`{"mentions":{"documents":true,"maxBytes":-1}}`:             {Own{Mentions: Mentions{Documents: true, MaxBytes: defaultMentionBytes}, Externalize: ExternalizeAuto}, ""},
		`{"blobs":{"externalize":"sometimes"}}`:                     {usual, "blobs.externalize"},
		`{"blobs":{"externalize":true}}`:                            {usual, "externalize"},
		`{"attachments":{"tools":true,"origins":["https://host"]}}`: {Own{Mentions: usual.Mentions, Externalize: ExternalizeAuto, Attachments: Attachments{true, []string{"https://host"}}}, ""},
		`{"mentions":{"documents":"yes"}}`:                          {usual, "documents"},
		`{"mentions":{"ignored":"yes"}}`:                            {usual, "ignored"},
		`{"mentions":`:                                              {usual, "ends too early"},
	} {
		dir := t.TempDir()
		if text != "-" {
			if err := os.WriteFile(filepath.Join(dir, "piweb.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		own, problem := ReadOwn(dir)
		if !reflect.DeepEqual(own, want.own) || (problem != nil) != (want.says != "") || problem != nil && !strings.Contains(problem.Error(), want.says) {
			t.Errorf("%s: %+v, %v", text, own, problem)
		}
	}
}
