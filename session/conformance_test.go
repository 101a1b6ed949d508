package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/message"
)

// report is what the real session manager said of a file.
type report struct {
	Error        string
	SessionID    string
	CWD          string
	Name         *string
	EntriesCount int
	DistinctIDs  int
	LeafID       *string
	BranchIDs    []string
	ContextIDs   []string `json:"contextEntryIds"`
	Model        *ModelRef
	Thinking     string `json:"thinkingLevel"`
	Context      []reportMessage
	Labels       map[string]string
}

type reportMessage struct {
	Role, Text string
}

// better lists the files on which piweb answers differently on purpose, and
// how. Everything else must be what the real manager reports.
var better = map[string]func(want *report){
	// pi loops until it runs out of memory; here the walk takes the earlier entry
	// that has the id, so nothing is lost.
	"duplicate-ids": func(want *report) {
		want.Error = ""
		want.BranchIDs = []string{"aaaaaaaa", "bbbbbbbb", "aaaaaaaa"}
		want.ContextIDs = want.BranchIDs
		want.Model, want.Thinking = &ModelRef{"fake", "fake-1"}, "off"
		want.Context = []reportMessage{{"user", "first"}, {"assistant", "a"}, {"user", "same id as first"}}
		want.Labels = map[string]string{}
	},
	// pi loops until it runs out of memory; here the entry acts as a root.
	"self-parent": func(want *report) {
		want.Error = ""
		want.BranchIDs = []string{"aaaaaaaa"}
		want.ContextIDs = want.BranchIDs
		want.Thinking = "off"
		want.Context = []reportMessage{{"user", "self"}}
		want.Labels = map[string]string{}
	},
	// pi counts scalars and arrays as entries, and loses the history when one is
	// the last line; here they are reported and passed over.
	"json-scalars": func(want *report) { want.EntriesCount, want.DistinctIDs = 1, 1 },
	// pi writes a header when it opens an empty file; here opening never writes,
	// and there is no id before the first message.
	"empty-file": func(want *report) { want.SessionID, want.CWD = "", "" },
	// pi takes the directory of the process; here the caller must name one.
	"header-no-cwd": func(want *report) { want.CWD = "" },
}

func TestConformancePi(t *testing.T) {
	files, err := filepath.Glob("../fixtures/pi/*.jsonl")
	if err != nil || len(files) != 40 {
		t.Fatalf("want 40 files, have %d (%v)", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			var want report
			data, err := os.ReadFile(strings.TrimSuffix(file, ".jsonl") + ".expected.json")
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			got, err := ask(t, file)
			if change, ok := better[name]; ok {
				change(&want)
			}
			if want.Error != "" && errors.Is(err, ErrNotSession) {
				return // both refuse
			}
			if err != nil {
				t.Fatal(err)
			}
			if name == "v1" {
				sameShape(t, &want, got) // pi draws the ids of a v1 file at random
			}
			if d := gocmp.Diff(want, got); d != "" {
				t.Errorf("differs from the real manager (-pi +piweb):\n%s", d)
			}
		})
	}
}

// ask reports on a file in the words of the real manager.
func ask(t *testing.T, file string) (r report, err error) {
	t.Helper()
	s, err := Open(file, Options{})
	if err != nil {
		return r, err
	}
	defer s.Close()
	r.SessionID, r.CWD = s.Header().ID, s.Header().CWD
	if name, err := s.Name(); err != nil {
		t.Fatal(err)
	} else if name != "" {
		r.Name = &name
	}
	r.EntriesCount = s.Len()
	distinct := map[ID]bool{}
	for e := range s.Entries() {
		distinct[e.ID] = true
	}
	r.DistinctIDs = len(distinct)
	if leaf := string(s.Leaf()); leaf != "" {
		r.LeafID = &leaf
	}
	c, err := s.Context()
	if err != nil {
		t.Fatal(err)
	}
	r.BranchIDs, r.ContextIDs = strs(c.Branch), strs(c.Selected)
	r.Model, r.Thinking = c.Model, cmp.Or(c.ThinkingLevel, "off")
	r.Context = []reportMessage{}
	for _, m := range c.Messages {
		r.Context = append(r.Context, reportMessage{string(m.Role()), message.Describe(m)})
	}
	r.Labels = map[string]string{}
	labels, err := s.Labels()
	if err != nil {
		t.Fatal(err)
	}
	for id, l := range labels {
		r.Labels[string(id)] = l
	}
	return r, nil
}

func strs(ids []ID) []string {
	out := []string{}
	for _, id := range ids {
		out = append(out, string(id))
	}
	return out
}

// sameShape replaces the ids of want by those of got that stand in their places.
func sameShape(t *testing.T, want *report, got report) {
	t.Helper()
	if len(want.BranchIDs) != len(got.BranchIDs) {
		t.Fatalf("branch of %d entries, want %d", len(got.BranchIDs), len(want.BranchIDs))
	}
	ours := map[string]string{}
	for i, id := range want.BranchIDs {
		ours[id] = got.BranchIDs[i]
		want.BranchIDs[i] = got.BranchIDs[i]
	}
	for i, id := range want.ContextIDs {
		want.ContextIDs[i] = ours[id]
	}
	leaf := ours[*want.LeafID]
	want.LeafID = &leaf
}
