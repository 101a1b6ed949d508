package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRepairKeepsLimits: of a subagent whose record cannot be read no copy is made,
// which would be a session without limits. Other damage is repaired.
func TestRepairKeepsLimits(t *testing.T) {
	const head = `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x","parentSession":"/p.jsonl"}` + "\n"
	const record = `{"type":"custom","customType":"pi-web:subagent","data":{"version":1,"parentSessionId":"p"},"id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z"}` + "\n"
	const said = `{"type":"message","message":{"role":"user","content":"hi"},"id":"b","parentId":"a","timestamp":"2026-01-01T00:00:00.000Z"}` + "\n"
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"its record is cut off":    {head + record[:90] + "\n" + said, false},
		"a message is cut off":     {head + record + said[:60] + "\n" + said, true},
		"a second record is there": {head + record[:90] + "\n" + record + said, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "s.jsonl")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			to, _, err := Repair(path)
			left, _ := os.ReadDir(dir)
			if c.ok {
				if err != nil || to == "" {
					t.Errorf("%q, %v", to, err)
				}
				return
			}
			if !errors.Is(err, ErrCannot) || !strings.Contains(err.Error(), "line 2") || len(left) != 1 {
				t.Errorf("%q, %v, %d files", to, err, len(left))
			}
		})
	}
}
