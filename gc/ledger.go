package gc

import (
	"encoding/json"
	"os"
	"time"

	"github.com/piweb-go/piweb/internal/durable"
)

// ledger is what earlier runs found unused.
type ledger struct {
	Version int          `json:"version"`
	Seen    map[Key]note `json:"seen"`
}

// note says when a thing was found unused first, and how old it was then: one that
// was touched since begins anew.
type note struct {
	First    time.Time `json:"first"`
	Modified time.Time `json:"modified"`
}

// readLedger reads the notes. None, and damaged ones, only cost time: everything
// is seen for the first time.
func readLedger(path string) ledger {
	var l ledger
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &l) != nil || l.Version != 1 {
		return ledger{}
	}
	return l
}

func (l ledger) write(path string) error {
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return durable.Save(durable.OS{}, path, data, 0o600)
}
