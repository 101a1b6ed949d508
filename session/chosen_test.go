package session

import (
	"errors"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/message"
)

// TestChosenID: an entry has the id that its author chose, in memory and in the
// file, and no second one gets it.
func TestChosenID(t *testing.T) {
	s, err := Create(NewSession{Dir: t.TempDir(), CWD: "/work"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	user := func(text string) Payload {
		return Message(&message.User{Content: message.Content{message.Text(text)}, Timestamp: 1})
	}
	ids, err := s.Append(ModelChange{Provider: "p", ModelID: "m"}, WithID("00112233aabbccdd", user("one")))
	if err != nil || len(ids) != 2 || ids[1] != "00112233aabbccdd" {
		t.Fatalf("ids %v, %v", ids, err)
	}
	if _, err := s.Append(WithID("00112233aabbccdd", user("two"))); !errors.Is(err, ErrIDTaken) {
		t.Errorf("a second entry with the id: %v", err)
	}
	if _, err := s.Append(WithID("a0a0a0a0", user("x")), WithID("a0a0a0a0", user("y"))); !errors.Is(err, ErrIDTaken) {
		t.Errorf("two entries of one write: %v", err)
	}
	if ids, err = s.Append(WithID("", user("three"))); err != nil || len(ids[0]) != 8 {
		t.Errorf("no choice: %v, %v", ids, err)
	}
	again, err := Open(s.Path(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if e, ok := again.Entry("00112233aabbccdd"); !ok || e.Role != "user" || len(again.Diagnostics()) != 0 {
		t.Errorf("read back: %+v %t %v", e, ok, again.Diagnostics())
	}
}

func TestParseID(t *testing.T) {
	for _, good := range []string{"00112233", "00112233aabbccdd", strings.Repeat("f", 32)} {
		if id, err := ParseID(good); err != nil || string(id) != good {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "0011223", strings.Repeat("f", 33), "0011223G", "AABBCCDD", "../../../etc", "00112233\n", "零零零零零零零零"} {
		if _, err := ParseID(bad); err == nil {
			t.Errorf("%q is taken for an id", bad)
		}
	}
}
