package session

// Persist gives a session without a file its file, with everything that was
// appended so far, durable. It does nothing for one that has a file. A session
// otherwise gets its file with its first message; a subagent's must stand before
// anything runs, and so must that of a session that delegates before it was ever
// prompted. On error there is no file, and the session stays as it was.
func (s *Session) Persist() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(); err != nil {
		return err
	}
	if s.file != nil {
		return nil
	}
	all := append([]Entry(nil), s.entries...)
	if err := s.createFile(all); err != nil {
		return err
	}
	s.entries = all // not in place: somebody may be reading the old ones
	return s.sync()
}
