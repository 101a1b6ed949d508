package server

import (
	"net/http"

	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/toolselect"
)

// toolItem is a built-in tool, and whether the session has it.
type toolItem struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Allowed     bool   `json:"allowed"`
	Why         string `json:"why"` // why not; "" where it is allowed
}

func (s *Server) getTools(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	p, err := s.policyOf(t)
	if err != nil {
		return err
	}
	write(w, r, http.StatusOK, struct {
		SessionID string        `json:"sessionId"`
		Kind      policy.Kind   `json:"kind"`
		Source    policy.Source `json:"source"`
		Tools     []string      `json:"tools"`
		Preset    string        `json:"preset"`
		Available []toolItem    `json:"available"`
	}{t.wireID, p.Kind, p.Source, append([]string{}, p.Tools...), presetOf(p), available(p)})
	return nil
}

// policyOf is the policy of a live session as it is in force, and of any other
// what its file and the settings say.
func (s *Server) policyOf(t *target) (policy.Policy, error) {
	if t.live != nil {
		p, _ := t.live.Policy()
		return p, nil
	}
	p, _, err := s.rt.Decide(t.path, "")
	return p, err
}

// presetOf names the preset that is in force. A session that chose nothing
// follows the settings.
func presetOf(p policy.Policy) string {
	if p.Kind == policy.Open {
		return string(toolselect.PresetConfigured)
	}
	return string(toolselect.PresetOf(p.Tools))
}

// available lists the built-in tools, those first that this program has.
func available(p policy.Policy) []toolItem {
	list := []toolItem{}
	var absent []toolItem
	for _, name := range toolselect.Builtins() {
		item := toolItem{Name: name}
		if item.Allowed, item.Why = p.Admits(policy.Tool{Name: name, Builtin: true}); item.Allowed {
			item.Why = ""
		}
		build, ok := tool.Lookup(name)
		if !ok {
			item.Allowed, item.Why = false, "this program does not have it"
			absent = append(absent, item)
			continue
		}
		item.Description = build(tool.Options{}).Declaration().Description
		list = append(list, item)
	}
	return append(list, absent...)
}

func (s *Server) setTools(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	tools, preset := f.list("tools"), f.optional("preset")
	if f.has("tools") == f.has("preset") {
		f.bad("(root)")
	}
	if err := f.check(); err != nil {
		return err
	}
	var sel toolselect.Selection
	if tools != nil {
		sel, err = toolselect.Pin(*tools...)
	} else {
		var p toolselect.Preset
		if p, err = toolselect.ParsePreset(preset); err != nil {
			return invalid(err.Error(), "preset")
		}
		sel = p.Selection()
	}
	if err != nil {
		return err
	}
	return s.choose(w, r, args["id"], sel)
}

// clearTools takes the session's choice back.
func (s *Server) clearTools(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	if _, err := readForm(w, r); err != nil {
		return err
	}
	return s.choose(w, r, args["id"], toolselect.Clear())
}

func (s *Server) choose(w http.ResponseWriter, r *http.Request, name string, sel toolselect.Selection) error {
	ctx, cancel := sending(r)
	defer cancel()
	return s.use(ctx, name, func(st *started) error {
		c, err := st.s.SetTools(ctx, sel)
		if err != nil {
			return err
		}
		write(w, r, http.StatusOK, struct {
			SessionID string `json:"sessionId"`
			Recreated bool   `json:"recreated"`
			Changed   bool   `json:"changed"`
		}{st.wireID, c.Recreated, c.Appended})
		return nil
	})
}
