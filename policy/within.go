package policy

import "github.com/piweb-go/piweb/toolselect"

// Within tells whether a policy allows nothing that the limit does not.
func Within(p, limit Policy) bool {
	if p.Kind == Refused || limit.Kind == Refused {
		return p.Kind == Refused
	}
	for _, name := range toolselect.Builtins() {
		if mayUse(p, name) && !mayUse(limit, name) {
			return false
		}
	}
	for _, name := range p.Tools { // a child's, which need not be built in
		if !mayUse(limit, name) {
			return false
		}
	}
	if p.Kind == Child && (limit.Kind != Child || p.Prompt != limit.Prompt) {
		return false
	}
	a, b := p.Loads, limit.Loads
	return (!a.ContextFiles || b.ContextFiles) && (!a.SystemPrompt || b.SystemPrompt) && (!a.AppendPrompt || b.AppendPrompt) &&
		(!a.Skills || b.Skills) && (!a.Templates || b.Templates) && (!a.Extensions || b.Extensions) && (!a.MCP || b.MCP)
}

func mayUse(p Policy, name string) bool {
	ok, _ := p.Admits(Tool{Name: name, Builtin: toolselect.IsBuiltin(name)})
	return ok
}
