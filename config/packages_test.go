package config

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPackagesOfSettings(t *testing.T) {
	var v any
	err := json.Unmarshal([]byte(`["npm:a", {"source":"git:u/r","skills":[],"prompts":["x",1]}, {"source":"npm:b","autoload":false}, 7, null]`), &v)
	if err != nil {
		t.Fatal(err)
	}
	want := []Package{{Source: "npm:a"}, {Source: "git:u/r", Skills: []string{}, Prompts: []string{"x"}}, {Source: "npm:b", OptIn: true}}
	if diff := cmp.Diff(want, packages(v)); diff != "" {
		t.Error(diff)
	}
	if got := packages("npm:a"); got != nil {
		t.Errorf("a text that is no list became %v", got)
	}
}
