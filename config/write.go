package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/piweb-go/piweb/internal/confine"
	"github.com/piweb-go/piweb/internal/durable"
)

// ErrBusy says that another program holds a configuration file.
var ErrBusy = errors.New("another program is writing the file")

// The lock is pi's: a folder beside the file. One that nobody has touched for
// lockStale was left behind.
const (
	lockStale = 10 * time.Second
	lockWait  = 3 * time.Second
	lockPause = 20 * time.Millisecond
)

// withLock does something while pi keeps away from a file.
func withLock(path string, do func() error) error {
	lock := path + ".lock"
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	for end := time.Now().Add(lockWait); ; time.Sleep(lockPause) {
		err := os.Mkdir(lock, 0o700)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("lock %s: %w", path, err)
		}
		if info, err := os.Lstat(lock); err == nil && time.Since(info.ModTime()) > lockStale {
			_ = os.Remove(lock) // an empty folder or nothing
			continue
		}
		if time.Now().After(end) {
			return fmt.Errorf("write %s: %w (%s is there); try again", path, ErrBusy, filepath.Base(lock))
		}
	}
	defer os.Remove(lock)
	return do()
}

// Change sets a value by the keys that lead to it, or removes it where Value is
// nil.
type Change struct {
	Keys  []string
	Value json.RawMessage
}

// EditSettings changes values of a settings file and keeps everything else:
// unknown keys, their order, the spelling of numbers. A file that is not there is
// made; one that is broken is left alone and is an error. The file is written as
// pi writes it, with an indentation of two blanks, under pi's lock.
func EditSettings(path string, changes ...Change) error {
	return withLock(path, func() error {
		data, mode, target, err := readForEdit(path)
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(data)) == 0 {
			data = []byte("{}")
		}
		if !gjson.ValidBytes(data) || !gjson.ParseBytes(data).IsObject() {
			return fmt.Errorf("%s is no JSON object; correct it first, it was not changed", path)
		}
		for _, c := range changes {
			if data, err = apply(data, c); err != nil {
				return fmt.Errorf("change %s in %s: %w", strings.Join(c.Keys, "."), path, err)
			}
		}
		return save(target, data, mode)
	})
}

func apply(data []byte, c Change) ([]byte, error) {
	if len(c.Keys) == 0 {
		return nil, errors.New("no key is named")
	}
	at := make([]string, len(c.Keys))
	for i, k := range c.Keys {
		if k == "" {
			return nil, errors.New("a key is empty")
		}
		// A number would be the place in a list.
		at[i] = strings.NewReplacer(`\`, `\\`, ".", `\.`, "*", `\*`, "?", `\?`, "|", `\|`, "#", `\#`, "@", `\@`, "!", `\!`, "{", `\{`, "[", `\[`, "=", `\=`, "<", `\<`, ">", `\>`, "%", `\%`, ":", `\:`).Replace(k)
		if strings.Trim(k, "0123456789") == "" || k == "-1" {
			at[i] = ":" + k
		}
		if i < len(c.Keys)-1 {
			if v := gjson.GetBytes(data, strings.Join(at[:i+1], ".")); v.Exists() && !v.IsObject() {
				return nil, fmt.Errorf("%s is no object", strings.Join(c.Keys[:i+1], "."))
			}
		}
	}
	path := strings.Join(at, ".")
	if c.Value == nil {
		return sjson.DeleteBytes(data, path)
	}
	if !json.Valid(c.Value) {
		return nil, errors.New("the value is not valid JSON")
	}
	return sjson.SetRawBytes(data, path, c.Value)
}

// readForEdit reads a file that may be a link: it is written where it leads to.
func readForEdit(path string) (data []byte, mode os.FileMode, target string, err error) {
	target, mode = path, 0o600
	if real, err := filepath.EvalSymlinks(path); err == nil {
		target = real
	}
	info, err := os.Stat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, mode, target, nil
	}
	if err != nil {
		return nil, mode, target, err
	}
	data, err = confine.ReadRegular(target, maxFile)
	return bytes.TrimPrefix(data, bom), info.Mode().Perm(), target, err
}

func save(path string, data []byte, mode os.FileMode) error {
	var out bytes.Buffer
	if err := json.Indent(&out, bytes.TrimSpace(data), "", "  "); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	out.WriteByte('\n')
	return durable.Save(durable.OS{}, path, out.Bytes(), mode)
}

// SaveTrust records whether a folder, and those below it that say nothing
// themselves, may bring settings and more of its own; nil takes the decision
// back. The folder counts by its real path. A trust.json that is broken is left
// alone and is an error.
func SaveTrust(agentDir, dir string, decision *bool) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("trust: %q is not an absolute path", dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fmt.Errorf("trust %s: %w", dir, err)
	}
	path := filepath.Join(agentDir, "trust.json")
	return withLock(path, func() error {
		saved := readTrust(agentDir)
		if saved.problem != nil {
			return fmt.Errorf("trust %s: %w; it was not changed", dir, saved.problem)
		}
		_, mode, target, err := readForEdit(path)
		if err != nil {
			return err
		}
		if saved.decisions == nil {
			saved.decisions = map[string]bool{}
		}
		for key := range saved.decisions {
			if sameSpelling(filepath.Clean(key), real) {
				delete(saved.decisions, key)
			}
		}
		if decision != nil {
			saved.decisions[real] = *decision
		}
		data, err := json.Marshal(saved.decisions) // sorted by key, as pi's
		if err != nil {
			return err
		}
		return save(target, data, mode)
	})
}

// ReadSetting returns a value of one settings file as it is written there, and
// whether there is one. A file that is not there has none.
func ReadSetting(path string, keys ...string) (json.RawMessage, bool, error) {
	data, _, _, err := readForEdit(path)
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return nil, false, err
	}
	if !gjson.ValidBytes(data) {
		return nil, false, fmt.Errorf("%s: %w", path, ErrSyntax)
	}
	v := gjson.ParseBytes(data)
	for _, k := range keys {
		if !v.IsObject() {
			return nil, false, nil
		}
		v = v.Map()[k]
	}
	return json.RawMessage(v.Raw), v.Exists() && v.Type != gjson.Null, nil
}
