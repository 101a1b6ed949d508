package session

import (
	"sync"
	"testing"

	"github.com/piweb-go/piweb/message"
)

// TestReadWhileTheFileAppears: whoever reads the entries of a session that has no
// file yet is not disturbed by the file's coming into being. It fails with -race
// where entries are changed in place.
func TestReadWhileTheFileAppears(t *testing.T) {
	for _, appears := range []func(*Session) error{
		func(s *Session) error {
			_, err := s.Append(Message(&message.User{Content: message.Content{message.Text("hi")}}))
			return err
		},
		(*Session).Persist,
	} {
		dir := t.TempDir()
		s, err := Create(NewSession{Dir: dir, CWD: dir}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			if _, err := s.Append(SessionInfo{Name: "a name"}); err != nil {
				t.Fatal(err)
			}
		}
		var readers sync.WaitGroup
		begun := make(chan struct{})
		done := make(chan struct{})
		readers.Go(func() {
			first := true
			for {
				for e := range s.Entries() {
					if raw, err := s.Raw(e); err != nil || len(raw) == 0 {
						t.Errorf("entry %s: %d bytes, %v", e.ID, len(raw), err)
						return
					}
					if first {
						first = false
						close(begun)
					}
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
		<-begun
		if err := appears(s); err != nil {
			t.Error(err)
		}
		close(done)
		readers.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
