package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/session"
)

// TestChildWithADamagedRecordIsRefused goes on from defect D2: where the line that
// limits a subagent cannot be read at all, the session is not a normal one.
func TestChildWithADamagedRecordIsRefused(t *testing.T) {
	const head = `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x","parentSession":"/p.jsonl"}` + "\n"
	const record = `{"type":"custom","customType":"pi-web:subagent","data":{"version":1,"parentSessionId":"p","resourceSnapshot":{"version":1,"appendSystemPrompt":[],"tools":["read"]}},"id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z"}`
	const said = `{"type":"message","message":{"role":"user","content":"hi"},"id":"b","parentId":"a","timestamp":"2026-01-01T00:00:00.000Z"}` + "\n"
	quoted := strings.Replace(said, "hi", `\"customType\":\"pi-web:subagent\"`, 1)
	for name, c := range map[string]struct {
		text string
		want string // in the refusal, "" for none
	}{
		"whole":                    {head + record + "\n" + said, ""},
		"cut off":                  {head + record[:150] + "\n" + said, "line 2"},
		"a hole in it":             {head + strings.Replace(record, `"appendSystemPrompt"`, strings.Repeat("\x00", 20), 1) + "\n" + said, "line 2"},
		"at the end of the file":   {head + record[:150], "line 2"},
		"only its last brace":      {head + record[:len(record)-1] + "\n" + said, "line 2"},
		"and a good one behind it": {head + record[:150] + "\n" + record + "\n" + said, ""},
		"a text that speaks of it": {head + quoted[:110] + "\n" + said, ""},
		"damage of another kind":   {head + strings.Replace(record, "subagent", "other", 1)[:150] + "\n" + said, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.jsonl")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := session.Open(path, session.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			facts, err := Gather(s)
			if err != nil {
				t.Fatal(err)
			}
			p, _ := Resolve(facts)
			if c.want == "" {
				if p.Kind == Refused {
					t.Errorf("refused: %v", p.Err())
				}
				return
			}
			if err := p.Err(); p.Kind != Refused || !errors.Is(err, ErrSnapshot) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "(entry )") {
				t.Errorf("%s, %v", p, err)
			}
		})
	}
}
