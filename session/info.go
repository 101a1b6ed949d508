package session

import (
	"regexp"
	"strings"
)

var lineBreaks = regexp.MustCompile(`[\r\n]+`)

// CleanName is how pi writes a name: line breaks become one space, ends are
// trimmed.
func CleanName(name string) string {
	return strings.TrimSpace(lineBreaks.ReplaceAllString(name, " "))
}

// Name is the session's name: the last one set anywhere in the file, or "".
func (s *Session) Name() (string, error) {
	for e := range s.Backward() {
		if e.Type != TypeSessionInfo {
			continue
		}
		p, err := s.Decode(e)
		if err != nil {
			return "", err
		}
		info, _ := p.(SessionInfo)
		return CleanName(info.Name), nil
	}
	return "", nil
}

// Labels maps entries to their labels: the last one set anywhere in the file;
// an empty label takes it away.
func (s *Session) Labels() (map[ID]string, error) {
	labels := map[ID]string{}
	for e := range s.Entries() {
		if e.Type != TypeLabel {
			continue
		}
		p, err := s.Decode(e)
		if err != nil {
			return nil, err
		}
		l, _ := p.(Label)
		if l.Label == "" {
			delete(labels, l.TargetID)
		} else {
			labels[l.TargetID] = l.Label
		}
	}
	return labels, nil
}
