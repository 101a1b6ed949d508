package structure

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// TestEdit: what is changed is what every reader sees, and nothing else is touched.
func TestEdit(t *testing.T) {
	for _, c := range []struct{ object, set, deleted string }{
		{`{}`, `{"k":9}`, `{}`},
		{`{ }`, `{"k":9}`, `{ }`},
		{`{"k":1}`, `{"k":9}`, `{}`},
		{`{ "k" : {"k":1} }`, `{ "k" : 9 }`, `{  }`},
		{`{"a":1.50}`, `{"a":1.50,"k":9}`, `{"a":1.50}`},
		{`{"a":1.50,"k":"x","b":"k"}`, `{"a":1.50,"k":9,"b":"k"}`, `{"a":1.50,"b":"k"}`},
		{`{"k":1,"a":{"k":2},"k":3}`, `{"k":9,"a":{"k":2},"k":9}`, `{"a":{"k":2}}`},
		{`{"\u006b":1, "a":2 , "k" :3 }`, `{"\u006b":9, "a":2 , "k" :9 }`, `{"a":2  }`},
		{`{"k":1,"k":2}`, `{"k":9,"k":9}`, `{}`},
		{`{"K":1}`, `{"K":1,"k":9}`, `{"K":1}`},
	} {
		got, err := Set([]byte(c.object), "k", []byte("9"))
		if err != nil || string(got) != c.set {
			t.Errorf("set in %s: %s, %v; want %s", c.object, got, err, c.set)
		}
		if got, err = Delete([]byte(c.object), "k"); err != nil || string(got) != c.deleted {
			t.Errorf("deleted from %s: %s, %v; want %s", c.object, got, err, c.deleted)
		}
	}
	for _, bad := range []string{``, `5`, `[1]`, `{"k":1`, `{"k":1}x`, ` {}`} {
		if got, err := Set([]byte(bad), "k", []byte("9")); err == nil {
			t.Errorf("set in %q: %s", bad, got)
		}
		if got, err := Delete([]byte(bad), "k"); err == nil {
			t.Errorf("deleted from %q: %s", bad, got)
		}
	}
	if got, err := SetText([]byte(`{"k":1}`), "k", "a\"\n漢"); err != nil || string(got) != `{"k":"a\"\n漢"}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestEditAgainstMap(t *testing.T) {
	field := rapid.Custom(func(t *rapid.T) string {
		space := rapid.SampledFrom([]string{"", " ", "\t\r"})
		return space.Draw(t, "a") + `"` + rapid.SampledFrom([]string{"a", "b", "k", `\u006b`, "k:"}).Draw(t, "key") + `"` + space.Draw(t, "b") + ":" + space.Draw(t, "c") +
			rapid.SampledFrom([]string{"1", "null", `"k"`, `{"k":1}`, `[1,{"k":2}]`, `","`, `"\""`}).Draw(t, "value") + space.Draw(t, "d")
	})
	rapid.Check(t, func(t *rapid.T) {
		object := "{"
		for i, f := range rapid.SliceOfN(field, 0, 5).Draw(t, "fields") {
			if i > 0 {
				object += ","
			}
			object += f
		}
		object += "}"
		var want map[string]any
		if err := json.Unmarshal([]byte(object), &want); err != nil {
			t.Fatal(err)
		}
		same := func(what string, got []byte, err error) {
			var have map[string]any
			if err != nil || json.Unmarshal(got, &have) != nil || !reflect.DeepEqual(have, want) {
				t.Fatalf("%s: %s, %v\nof %s, want %v", what, got, err, object, want)
			}
		}
		delete(want, "k")
		got, err := Delete([]byte(object), "k")
		same("delete", got, err)
		want["k"] = "new"
		got, err = SetText([]byte(object), "k", "new")
		same("set", got, err)
	})
}
