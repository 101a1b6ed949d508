package account

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/piweb-go/piweb/internal/durable"
)

// Role says what a user may do.
type Role string

// The roles. A member sees and uses own sessions. An admin sees all, and may change
// what holds for everybody. Metrics may read figures and nothing else.
const (
	Member  Role = "user"
	Admin   Role = "admin"
	Metrics Role = "metrics"
)

// User is one who may use a server.
type User struct {
	Name string
	Role Role
	Made time.Time
	// Hash is the SHA-256 of the token.
	Hash [sha256.Size]byte
}

// Problem is a line of the users file that is not understood. Nobody is let in by
// it.
type Problem struct {
	Line int // from 1
	Text string
}

func (p Problem) String() string { return fmt.Sprintf("line %d: %s", p.Line, p.Text) }

// Errors of users.
var (
	ErrName    = errors.New("a user's name has 1 to 32 letters a to z, digits, - or _, begins with a letter, and is not \"local\"")
	ErrRole    = errors.New("a role is user, admin or metrics")
	ErrExists  = errors.New("there is a user of this name already")
	ErrUnknown = errors.New("there is no user of this name")
	// ErrLoose says that the users file is not believed, because others could have
	// written it.
	ErrLoose = errors.New("others may write to the users file, so nobody is let in by it; take that right away: chmod 600")
)

var name = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// ValidName tells whether a user may have a name. "local" is who has no user: the
// person at the machine.
func ValidName(s string) bool { return name.MatchString(s) && s != "local" }

// maxUsersFile is how large a users file may be, in bytes.
const maxUsersFile = 1 << 20

// Users are the users of a file. It is looked at again by every question, so that a
// user who was removed is out at once. It is safe for concurrent use, also with other
// programs that change the file by the same means.
type Users struct {
	path string
	fs   durable.FS
	now  func() time.Time

	mu       sync.Mutex
	seen     os.FileInfo // of what was read; nil for no file
	list     []User
	problems []Problem
	err      error
	loads    int // how often it was read
}

// OpenUsers knows the users of an agent directory. There need not be any.
func OpenUsers(agentDir string) *Users {
	return &Users{path: filepath.Join(agentDir, "piweb-data", "users"), fs: durable.OS{}, now: time.Now}
}

// Path is the file.
func (u *Users) Path() string { return u.path }

// Find is the user of a token. Every user's hash is compared, whichever fits.
func (u *Users) Find(token string) (User, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.load()
	sum := sha256.Sum256([]byte(token))
	var found User
	ok := false
	for _, one := range u.list {
		if subtle.ConstantTimeCompare(sum[:], one.Hash[:]) == 1 {
			found, ok = one, true
		}
	}
	return found, ok
}

// Get is the user of a name.
func (u *Users) Get(name string) (User, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.load()
	for _, one := range u.list {
		if one.Name == name {
			return one, true
		}
	}
	return User{}, false
}

// List gives the users as they are now, in the order of the file, and the lines
// that are not understood. An error says that the file was not read or not
// believed; there are no users then.
func (u *Users) List() ([]User, []Problem, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.load()
	return append([]User(nil), u.list...), append([]Problem(nil), u.problems...), u.err
}

// Loads counts how often the file was read; who sees it grow asks List what is new.
func (u *Users) Loads() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.load()
	return u.loads
}

// load reads the file if it is another one than before.
func (u *Users) load() {
	st, err := u.fs.Stat(u.path)
	if errors.Is(err, fs.ErrNotExist) {
		if u.seen != nil || u.err != nil {
			u.loads++
		}
		u.seen, u.list, u.problems, u.err = nil, nil, nil, nil
		return
	}
	if err == nil && u.err == nil && u.seen != nil && os.SameFile(st, u.seen) && st.Size() == u.seen.Size() && st.ModTime().Equal(u.seen.ModTime()) && st.Mode() == u.seen.Mode() {
		return
	}
	was := u.err
	u.seen, u.list, u.problems, u.err = st, nil, nil, err
	var text []byte
	if u.err == nil {
		text, u.err = readUsers(u.path, st)
	}
	if u.err == nil {
		u.list, u.problems = parse(text)
	}
	if u.err == nil || was == nil || u.err.Error() != was.Error() {
		u.loads++
	}
}

func readUsers(path string, st os.FileInfo) ([]byte, error) {
	switch {
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s: it is not a file", path)
	case st.Size() > maxUsersFile:
		return nil, fmt.Errorf("%s: it has more than %d bytes; a users file is a list of names", path, maxUsersFile)
	case runtime.GOOS != "windows" && st.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("%s: %w", path, ErrLoose)
	}
	return os.ReadFile(path)
}

// parse reads the lines of a users file: name, role, "sha256:" and 64 hex digits,
// and the time when the token was made. What begins with # is a remark.
func parse(text []byte) (list []User, problems []Problem) {
	at := map[string]int{}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		one, err := parseLine(line)
		if err == nil && at[one.Name] > 0 {
			err = fmt.Errorf("the user %s stands on line %d already", one.Name, at[one.Name])
		}
		if err != nil {
			problems = append(problems, Problem{i + 1, err.Error()})
			continue
		}
		at[one.Name] = i + 1
		list = append(list, one)
	}
	return list, problems
}

// parseLine never repeats what it read: a line may hold a token that somebody put
// there by mistake.
func parseLine(line string) (User, error) {
	fields := strings.Fields(line)
	if len(fields) != 4 {
		return User{}, fmt.Errorf("it has %d parts and not 4: name, role, sha256:…, time", len(fields))
	}
	one := User{Name: fields[0], Role: Role(fields[1])}
	if !ValidName(one.Name) {
		return User{}, ErrName
	}
	if !one.Role.valid() {
		return User{}, ErrRole
	}
	digits, ok := strings.CutPrefix(fields[2], "sha256:")
	sum, err := hex.DecodeString(digits)
	if !ok || err != nil || len(sum) != sha256.Size {
		return User{}, errors.New("the third part is no hash: sha256: and 64 hex digits")
	}
	copy(one.Hash[:], sum)
	if one.Made, err = time.Parse(time.RFC3339, fields[3]); err != nil {
		return User{}, errors.New("the fourth part is no time, such as 2026-01-31T12:00:00Z")
	}
	return one, nil
}

func (r Role) valid() bool { return r == Member || r == Admin || r == Metrics }

func (u User) line() string {
	return fmt.Sprintf("%s %s sha256:%s %s", u.Name, u.Role, hex.EncodeToString(u.Hash[:]), u.Made.UTC().Format(time.RFC3339))
}

// Add makes a user and returns the token, which is nowhere else.
func (u *Users) Add(name string, role Role) (token string, err error) {
	if !ValidName(name) {
		return "", ErrName
	}
	if !role.valid() {
		return "", ErrRole
	}
	return token, u.change(func(lines []string) ([]string, error) {
		if find(lines, name) >= 0 {
			return nil, fmt.Errorf("%s: %w", name, ErrExists)
		}
		var one User
		one, token = u.fresh(name, role)
		return append(lines, one.line()), nil
	})
}

// Rotate gives a user another token; the old one is worth nothing from then on.
func (u *Users) Rotate(name string) (token string, err error) {
	return token, u.change(func(lines []string) ([]string, error) {
		i := find(lines, name)
		if i < 0 {
			return nil, fmt.Errorf("%s: %w", name, ErrUnknown)
		}
		one, err := parseLine(strings.TrimSpace(lines[i]))
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", u.path, i+1, err)
		}
		one, token = u.fresh(name, one.Role)
		lines[i] = one.line()
		return lines, nil
	})
}

// Remove takes a user away. The sessions stay, and keep the name as their owner.
func (u *Users) Remove(name string) error {
	return u.change(func(lines []string) ([]string, error) {
		i := find(lines, name)
		if i < 0 {
			return nil, fmt.Errorf("%s: %w", name, ErrUnknown)
		}
		return append(lines[:i], lines[i+1:]...), nil
	})
}

// find is the first line of a user, -1 for none.
func find(lines []string, name string) int {
	for i, line := range lines {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] == name {
			return i
		}
	}
	return -1
}

func (u *Users) fresh(name string, role Role) (User, string) {
	token := "piweb_" + rand.Text() // 130 random bits
	return User{Name: name, Role: role, Made: u.now(), Hash: sha256.Sum256([]byte(token))}, token
}

const usersHead = "# Who may use piweb: name, role (user, admin, metrics), hash of the token, when it was made.\n# `piweb users` changes this file."

// change rewrites the file in one step, under a lock. Lines that it does not mean
// stay as they are.
func (u *Users) change(do func(lines []string) ([]string, error)) error {
	if err := u.fs.MkdirAll(filepath.Dir(u.path), 0o700); err != nil {
		return err
	}
	lock, err := waitLock(u.path + ".lock")
	if err != nil {
		return err
	}
	defer lock.Unlock()
	lines := strings.Split(usersHead, "\n")
	st, err := u.fs.Stat(u.path)
	switch {
	case err == nil:
		text, err := readUsers(u.path, st)
		if err != nil {
			return err
		}
		lines = strings.Split(string(bytes.TrimRight(text, "\n")), "\n")
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if lines, err = do(lines); err != nil {
		return err
	}
	return durable.Save(u.fs, u.path, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

// lockTime is how long a change waits for that of another program.
const lockTime = 5 * time.Second

func waitLock(path string) (*durable.Lock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	_ = f.Close()
	for end := time.Now().Add(lockTime); ; time.Sleep(10 * time.Millisecond) {
		lock, err := durable.TryLock(path)
		if err == nil || !errors.Is(err, durable.ErrLocked) || time.Now().After(end) {
			return lock, err
		}
	}
}
