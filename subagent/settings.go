package subagent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/piweb-go/piweb/internal/durable"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// Settings are the switches of <agentDir>/agents/settings.json.
type Settings struct {
	// BuiltIn switches the built-in profiles on. Whatever is wrong with the file,
	// they are off then.
	BuiltIn bool
	// Concurrent is how many children of a session run at once.
	Concurrent int
	// Disabled are built-in profiles that are switched off by name, lower-case
	// comparison, in the order of the file.
	Disabled []string
}

// ErrSettings says that the file of the switches cannot be read as one; it is
// never overwritten then.
var ErrSettings = errors.New("the settings of subagents cannot be read")

// SettingsFile reads and writes the switches. It is safe for concurrent use.
type SettingsFile struct {
	path string
	fs   durable.FS
	mu   sync.Mutex
}

// NewSettingsFile names the file of an agent directory. fs is nil for the
// system's.
func NewSettingsFile(agentDir string, fsys durable.FS) *SettingsFile {
	if fsys == nil {
		fsys = durable.OS{}
	}
	return &SettingsFile{path: filepath.Join(agentDir, "agents", "settings.json"), fs: fsys}
}

// maxSettings bounds the file.
const maxSettings = 1 << 20

// raw is the file's text; "{}" where there is none.
func (f *SettingsFile) raw() ([]byte, error) {
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return []byte("{}"), nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxSettings) {
		return nil, fmt.Errorf("%w: %s is no file of a sensible size", ErrSettings, f.path)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(f.path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSettings, err)
	}
	if !gjson.ValidBytes(data) || !gjson.ParseBytes(data).IsObject() {
		return nil, fmt.Errorf("%w: %s is no JSON object; mend it or move it away", ErrSettings, f.path)
	}
	return data, nil
}

// Read reads the switches. On error they are as if nothing was said: the built-in
// profiles are off, and none is disabled by name.
func (f *SettingsFile) Read() (Settings, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, err := f.raw()
	if err != nil {
		return parseSettings(nil), err
	}
	return parseSettings(data), nil
}

func parseSettings(data []byte) Settings {
	s := Settings{BuiltIn: gjson.GetBytes(data, "builtInEnabled").Type == gjson.True, Concurrent: defaultConcurrent}
	if n := gjson.GetBytes(data, "maxConcurrent"); n.Type == gjson.Number && n.Num == float64(int(n.Num)) && n.Num >= 1 && n.Num <= MaxConcurrent {
		s.Concurrent = int(n.Num)
	}
	s.Disabled = disabledOf(data)
	return s
}

func disabledOf(data []byte) []string {
	out := []string{}
	list := gjson.GetBytes(data, "disabledBuiltIns")
	if !list.IsArray() {
		return out
	}
	for _, v := range list.Array() {
		name := strings.TrimSpace(v.String())
		if v.Type == gjson.String && name != "" && !has(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func has(list []string, name string) bool {
	return slices.ContainsFunc(list, func(n string) bool { return strings.EqualFold(n, name) })
}

// SetBuiltIn switches the built-in profiles.
func (f *SettingsFile) SetBuiltIn(on bool) error {
	return f.change(func(data []byte) ([]byte, error) {
		if v := gjson.GetBytes(data, "builtInEnabled"); v.IsBool() && v.Bool() == on {
			return data, nil
		}
		return sjson.SetBytes(data, "builtInEnabled", on)
	})
}

// SetConcurrent sets how many children of a session run at once, 1 to 32.
func (f *SettingsFile) SetConcurrent(n int) error {
	if n < 1 || n > MaxConcurrent {
		return fmt.Errorf("maxConcurrent must be from 1 to %d, not %d", MaxConcurrent, n)
	}
	return f.change(func(data []byte) ([]byte, error) {
		if v := gjson.GetBytes(data, "maxConcurrent"); v.Type == gjson.Number && v.Num == float64(n) {
			return data, nil
		}
		return sjson.SetBytes(data, "maxConcurrent", n)
	})
}

// SetEnabled switches one built-in profile by its name.
func (f *SettingsFile) SetEnabled(name string, on bool) error {
	name = strings.TrimSpace(name)
	if name == "" {
		return errors.New("a built-in profile must be named")
	}
	return f.change(func(data []byte) ([]byte, error) {
		list := disabledOf(data)
		if has(list, name) != on {
			return data, nil
		}
		if on {
			list = slices.DeleteFunc(list, func(n string) bool { return strings.EqualFold(n, name) })
		} else {
			list = append(list, name)
		}
		return sjson.SetBytes(data, "disabledBuiltIns", list)
	})
}

// change edits the file: what is not changed stays, a change of nothing writes
// nothing, and a broken file is left as it is.
func (f *SettingsFile) change(edit func([]byte) ([]byte, error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, err := f.raw()
	if err != nil {
		return err
	}
	next, err := edit(bytes.Clone(data))
	if err != nil {
		return fmt.Errorf("%s: change the settings of subagents: %w", f.path, err)
	}
	if bytes.Equal(next, data) {
		return nil
	}
	if next, err = sjson.SetBytes(next, "version", 1); err != nil {
		return err
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, next, "", "  "); err != nil {
		return err
	}
	pretty.WriteByte('\n')
	if err := f.fs.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return fmt.Errorf("make the folder of subagents: %w", err)
	}
	to := f.path
	if real, err := filepath.EvalSymlinks(to); err == nil {
		to = real // a link stays one: people keep such files elsewhere
	}
	return durable.Save(f.fs, to, pretty.Bytes(), 0o600)
}
