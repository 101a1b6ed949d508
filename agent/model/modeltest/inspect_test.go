package modeltest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piweb-go/piweb/agent/model/modeltest"
)

func TestInspect(t *testing.T) {
	type seen struct {
		Head, Raw string
		HasHead   bool
		Systems   []string
		HasTools  bool
		Tools     []string
		Roles     []string
	}
	for _, c := range []struct {
		name, body string
		want       seen
	}{
		{"head and tools", `{"messages":[{"role":"system","content":"a\u2028\n\"é\""},{"role":"user","content":"x"}],"tools":[{"function":{"name":"b"}},{"function":{"name":"a"}}]}`,
			seen{"a\u2028\n\"é\"", `"a\u2028\n\"é\""`, true, []string{"a\u2028\n\"é\""}, true, []string{"b", "a"}, []string{"system", "user"}}},
		{"developer", `{"messages":[{"role":"developer","content":"x"}]}`,
			seen{"x", `"x"`, true, []string{"x"}, false, nil, []string{"developer"}}},
		{"none", `{"messages":[{"role":"user","content":"x"}]}`, seen{Roles: []string{"user"}}},
		{"head that is not first", `{"messages":[{"role":"user","content":"x"},{"role":"system","content":"late"}]}`,
			seen{Systems: []string{"late"}, Roles: []string{"user", "system"}}},
		{"head in parts", `{"messages":[{"role":"system","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}`,
			seen{Systems: []string{"ab"}, Roles: []string{"system"}}},
		{"empty list of tools", `{"messages":[],"tools":[]}`, seen{HasTools: true}},
		{"only a choice of tools", `{"messages":[],"tool_choice":"none"}`, seen{HasTools: true}},
		{"not JSON", `{"mess`, seen{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := []byte(c.body)
			var got seen
			head, ok := modeltest.Head(b)
			raw, rawOK := modeltest.RawHead(b)
			if ok != rawOK {
				t.Errorf("head %t, raw head %t", ok, rawOK)
			}
			got.Head, got.Raw, got.HasHead = string(head), string(raw), ok
			for _, s := range modeltest.SystemContents(b) {
				got.Systems = append(got.Systems, string(s))
			}
			got.HasTools, got.Tools, got.Roles = modeltest.HasTools(b), modeltest.ToolNames(b), modeltest.Roles(b)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
