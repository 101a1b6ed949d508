package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/message"
)

// TestKeysCountToTheLetter: a key of another case is another key, and of keys that
// repeat the last counts, also where both hold objects. encoding/json knows neither.
func TestKeysCountToTheLetter(t *testing.T) {
	for line, want := range map[string]Payload{
		`"type":"message","message":{"ROLE":"user","role":"assistant","Content":"no","content":"yes","MODEL":"m"}`: MessagePayload{&message.Assistant{Content: message.Content{message.Text("yes")}}},
		`"type":"message","message":{"role":"user","content":"no"},"message":{"role":"user","timestamp":5}`:        MessagePayload{&message.User{Timestamp: 5}},
		`"type":"label","TargetID":"no","targetId":"b","LABEL":"x"`:                                                Label{TargetID: "b"},
		`"type":"label","targetId":"a","label":"old","targetId":"b","label":"new"`:                                 Label{"b", "new"},
		`"type":"session_info","NAME":"no"`:                                                                        SessionInfo{},
		`"type":"model_change","provider":"p","modelId":"m","PROVIDER":"x","modelID":"y"`:                          ModelChange{"p", "m"},
		`"type":"context_edit","targetId":"a","replacement":{"content":"x"},"Replacement":null`:                    ContextEdit{"a", &Replacement{[]byte(`"x"`)}},
		`"type":"context_edit","targetId":"a","replacement":{"content":"x"},"replacement":{"other":1}`:             ContextEdit{"a", &Replacement{}},
		`"type":"compaction","summary":"s","firstKeptEntryId":"a","FirstKeptEntryID":"b","tokensBefore":3`:         Compaction{Summary: "s", FirstKeptEntryID: "a", TokensBefore: 3},
		`"type":"custom","customType":"t","CustomType":"u","data":{"a":1},"DATA":2`:                                Custom{"t", []byte(`{"a":1}`)},
		`"type":"usage","kind":"k","usage":{"input":1,"OUTPUT":2},"Usage":{"input":9}`:                             UsageRecord{Kind: "k", Usage: message.Usage{Input: 1}},
		`"type":"usage","usage":{"input":1,"cost":{"total":1}},"usage":{"output":2,"cost":{"input":3}}`:            UsageRecord{Usage: message.Usage{Output: 2, Cost: message.Cost{Input: 3}}},
		`"TYPE":"label","type":"session_info","name":"n"`:                                                          SessionInfo{"n"},
		`"type":"custom_message","customType":"t","content":"x","CONTENT":"y","display":true,"Display":false`:      CustomMessage{CustomType: "t", Content: message.Content{message.Text("x")}, Display: true},
	} {
		s := open(t, putFile(t, head3+`{"id":"e","ID":"f","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z",`+line+"}\n"))
		e, ok := s.Entry("e")
		if !ok {
			t.Errorf("%s: no entry e", line)
			continue
		}
		got, err := s.Decode(e)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got)\n%s", line, d)
		}
	}
}

// TestUsageOfRepeatedKeys: what is added up is what is decoded.
func TestUsageOfRepeatedKeys(t *testing.T) {
	s := open(t, putFile(t, head3+
		`{"type":"message","id":"a","parentId":null,"message":{"role":"user"},"message":{"role":"assistant","provider":"x","provider":"p","model":"m","content":[{"type":"toolCall"}],"content":[],"usage":{"input":1,"totalTokens":1},"usage":{"output":2,"totalTokens":2,"OUTPUT":7},"Usage":{"input":5}}}`+"\n"))
	u, err := s.Usage()
	if err != nil || len(u.Lines) != 1 || u.Lines[0].Model != "p/m" || u.Total.Output != 2 || u.Total.Input != 0 || u.Counts.ToolCalls != 0 {
		t.Errorf("%+v, %v", u, err)
	}
}

// TestChangedFieldsAreChangedForEveryReader: where a key repeats, a fork and a
// migration leave none of the old values.
func TestChangedFieldsAreChangedForEveryReader(t *testing.T) {
	path := putFile(t, head1+"\n"+said1("q")+"\n"+`{"type":"message","id":"x","id":"y","parentId":"z","parentId":"z","message":{"role":"user"},"message":{"role":"hookMessage","role":"hookMessage","content":"h"}}`+"\n")
	s := open(t, path)
	e := s.entries[1]
	raw, err := s.Raw(e)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"message","message":{"role":"custom","role":"custom","content":"h"},"message":{"role":"custom","role":"custom","content":"h"},"id":"` + string(e.ID) + `","parentId":"` + string(s.entries[0].ID) + `"}`
	if string(raw) != want {
		t.Errorf("migrated to\n%s, want\n%s", raw, want)
	}
}
