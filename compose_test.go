package piweb_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/resource"
	"github.com/piweb-go/piweb/wrapper"
)

// TestDisabledToolIsNamedNowhere: for every set of tools, the composed head and
// the declarations beside it name no tool that is not in the set. A model that
// reads of a tool calls it.
func TestDisabledToolIsNamedNowhere(t *testing.T) {
	names := tool.Names()
	word := map[string]*regexp.Regexp{}
	for _, n := range names {
		word[n] = regexp.MustCompile(`\b` + n + `\b`)
	}
	for set := range 1 << len(names) {
		var tools []agent.Tool
		var on []string
		for i, n := range names {
			if set&(1<<i) != 0 {
				build, _ := tool.Lookup(n)
				tools, on = append(tools, build(tool.Options{})), append(on, n)
			}
		}
		head := string(wrapper.Compose(policy.Policy{Tools: on}, tools, wrapper.Resources{}, "/w"))
		for _, n := range names {
			if at := word[n].FindStringIndex(head); at != nil && !slices.Contains(on, n) {
				t.Fatalf("with %v the head names %s: …%s…", on, n, head[max(0, at[0]-40):min(len(head), at[1]+40)])
			}
		}
	}
}

// TestComposedSections: sections in pi's order; SYSTEM.md takes the place of
// identity, tools and rules.
func TestComposedSections(t *testing.T) {
	res := wrapper.Resources{
		ContextFiles: []resource.ContextFile{{Path: "/w/AGENTS.md", Text: "PROJECT\n"}},
		Append:       &resource.ContextFile{Path: "/a/APPEND_SYSTEM.md", Text: "APPENDED"},
	}
	order := func(head string, marks ...string) {
		t.Helper()
		at := -1
		for _, m := range marks {
			i := strings.Index(head, m)
			if i <= at {
				t.Errorf("%q is missing or out of order in\n%s", m, head)
			}
			at = i
		}
	}
	plain := string(wrapper.Compose(policy.Policy{Prompt: policy.Composed("PROFILE")}, nil, res, `/w`))
	order(plain, "<tools>\n(none)\n</tools>", "<rules>\n", "<addendum>\nPROFILE\n\nAPPENDED\n</addendum>", "<project_context>\n",
		"<project_instructions path=\"/w/AGENTS.md\">\nPROJECT\n\n</project_instructions>", "<cwd>\n/w\n</cwd>")
	res.System = &resource.ContextFile{Path: "/a/SYSTEM.md", Text: "MINE  \n"}
	own := string(wrapper.Compose(policy.Policy{}, nil, res, "/w"))
	order(own, "MINE  \n\n\n<addendum>", "<project_context>", "<cwd>")
	if strings.Contains(own, "<tools>") || strings.Contains(own, "<rules>") {
		t.Errorf("SYSTEM.md does not take their place:\n%s", own)
	}
}
