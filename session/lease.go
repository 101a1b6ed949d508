package session

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/piweb-go/piweb/internal/durable"
)

// The lease of a session is the lock on its file, taken at the first write and
// given back by Close. The system gives it back for a process that died, so that a
// dead owner is a free lock; nobody ever takes it from a living one.
//
// Beside it lies a record that says who holds it and where that process can be
// asked. The record is a hint: it decides nothing, may be missing, and one that a
// dead process left behind is overwritten by the next owner.

// Holder is the process that holds a session.
type Holder struct {
	Path    string    `json:"path"` // of the session file, without links
	PID     int       `json:"pid"`
	Address string    `json:"address,omitempty"` // where it can be asked; "" for nowhere
	Key     string    `json:"key,omitempty"`     // what it wants to hear from who asks
	Since   time.Time `json:"since"`
}

// Lease says how this process tells others that it holds sessions. The zero value
// tells nobody.
type Lease struct {
	// Dir holds the records, readable by the user alone. It may be deleted at any
	// time.
	Dir string
	// Announce says where this process can be asked, when it first takes a session;
	// see Holder. nil, and an empty address, for nowhere.
	Announce func() (address, key string)
}

// InUseError says that another process holds a session, and which one where that
// is known. It matches ErrInUse.
type InUseError struct {
	Path   string
	Holder Holder // PID is 0 where it is not known
}

func (e *InUseError) Error() string {
	who := "another process"
	if e.Holder.PID > 0 {
		who = fmt.Sprintf("process %d", e.Holder.PID)
	}
	return fmt.Sprintf("%s: %v (%s); close it there, or wait until its turn has ended", e.Path, ErrInUse, who)
}

// Is matches ErrInUse.
func (e *InUseError) Is(target error) bool { return target == ErrInUse }

// maxRecord bounds a record, in bytes.
const maxRecord = 64 << 10

// recordPath is where the record of a session lies.
func (l Lease) recordPath(path string) (file, real string) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil || l.Dir == "" {
		return "", ""
	}
	sum := sha256.Sum256([]byte(real))
	return filepath.Join(l.Dir, hex.EncodeToString(sum[:16])+".json"), real
}

// Holder reads who holds a session, by the record that was left. The process may
// be gone; ask it. A record that others can write, or read, is not believed.
func (l Lease) Holder(path string) (Holder, bool) {
	file, real := l.recordPath(path)
	if file == "" {
		return Holder{}, false
	}
	info, err := os.Lstat(file)
	if err != nil || !private(info) {
		return Holder{}, false
	}
	f, err := os.Open(file)
	if err != nil {
		return Holder{}, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRecord))
	var h Holder
	if err != nil || json.Unmarshal(data, &h) != nil || h.Path != real || h.PID <= 0 {
		return Holder{}, false
	}
	return h, true
}

// claim leaves a record. It is called by who holds the lock; that it could not be
// written is nobody's concern.
func (l Lease) claim(path string, now time.Time) {
	file, real := l.recordPath(path)
	if file == "" {
		return
	}
	h := Holder{Path: real, PID: os.Getpid(), Since: now.UTC()}
	if l.Announce != nil {
		h.Address, h.Key = l.Announce()
	}
	data, err := json.Marshal(h)
	if err == nil && os.MkdirAll(l.Dir, 0o700) == nil {
		_ = durable.Put(durable.OS{}, file, data, 0o600)
	}
}

// disclaim takes the record away. It is called before the lock is given back, so
// that it cannot be another's.
func (l Lease) disclaim(path string) {
	if file, _ := l.recordPath(path); file != "" {
		_ = os.Remove(file)
	}
}

// lockFile takes the lock of a session's file.
func (o *Options) lockFile(path string) (*durable.Lock, error) {
	lock, err := durable.TryLock(path)
	if !errors.Is(err, durable.ErrLocked) {
		return lock, err
	}
	held := &InUseError{Path: path}
	if h, ok := o.Lease.Holder(path); ok && alive(h.PID) {
		held.Holder = h
	}
	return nil, held
}

// Held tells whether this session holds its file for writing.
func (s *Session) Held() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lock != nil
}
