package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/piweb-go/piweb/internal/durable"
)

// The answers of subagents stand beside the artifacts as <id>.md, where the id is
// <index>-<name>, and <parent>.<index>-<name> below another subagent; a structured
// result stands beside the answer as <id>.json. Sources: oh-my-pi 13 for the names,
// 18 for the structured result (spec/omp.md §6, §10; RULINGS 22).

// AgentID names the output of a subagent. Those that we give are
// <index>-<name>, with those of its parents before it; others are read as they are.
type AgentID string

// URL is how a model asks for the output.
func (id AgentID) URL() string { return "agent://" + string(id) }

// Levels is how many sessions keep the output: the one that started the subagent,
// and those over it whose subagents the id names.
func (id AgentID) Levels() int { return strings.Count(string(id), ".") + 1 }

// agents is the series of agent:// below a parent. Indexes are used by answers, and
// by transcripts of subagents that have not answered yet.
func agents(prefix string) scope {
	return scope{".id-agent-" + prefix, func(name string) (int64, bool) {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok || !strings.HasSuffix(name, ".md") && !strings.HasSuffix(name, sessionSuffix) {
			return 0, false
		}
		index, _, ok := strings.Cut(rest, "-")
		if !ok {
			return 0, false
		}
		return ID(index).parsed()
	}}
}

// maxAgentID bounds an id that is written, in bytes: a file name has 255, and its
// suffix needs some.
const maxAgentID = 240

// check refuses an id that could not be a file name of ours.
func (id AgentID) check() error {
	bad := id == "" || len(id) > maxAgentID || strings.HasPrefix(string(id), ".")
	for _, c := range []byte(id) {
		bad = bad || !identByte(c) && c != '.'
	}
	if bad || strings.Contains(string(id), "..") {
		return fmt.Errorf("%w: %q is no id of a subagent's output", ErrURL, string(id))
	}
	return nil
}

// AgentOutput is what a subagent has answered.
type AgentOutput struct {
	Text   string
	Result json.RawMessage // structured; nil for none
}

// SaveAgent writes the answer of a subagent, whole and durable. An answer that is
// there already is replaced: a subagent that is asked again answers again. On error
// the old one stands.
func (s *Store) SaveAgent(id AgentID, out AgentOutput) (Kept, error) {
	if err := id.check(); err != nil {
		return Kept{}, err
	}
	size := int64(len(out.Text) + len(out.Result))
	if s.opts.MaxOutput > 0 && size > s.opts.MaxOutput {
		return Kept{}, fmt.Errorf("keep the answer %s of %d bytes: %w (%d bytes for one)", id, size, ErrQuota, s.opts.MaxOutput)
	}
	if out.Result != nil && !json.Valid(out.Result) {
		return Kept{}, fmt.Errorf("keep the answer %s: its structured result is not valid JSON", id)
	}
	f, err := s.make()
	if err != nil {
		return Kept{}, err
	}
	defer f.close()
	if err := s.room(f, size); err != nil {
		return Kept{}, err
	}
	name, result := string(id)+".md", string(id)+".json"
	for _, n := range []string{name, result} {
		if info, err := f.root.Lstat(n); err == nil && !info.Mode().IsRegular() {
			return Kept{}, fmt.Errorf("%s: %w", filepath.Join(f.path, n), ErrLinked)
		}
	}
	if err := f.saveBoth(name, result, out); err != nil {
		return Kept{}, fmt.Errorf("keep the answer %s in %s: %w", id, f.path, err)
	}
	s.count(size)
	return Kept{ID(id), filepath.Join(s.path, name), int64(len(out.Text))}, nil
}

// saveBoth replaces text and result. Both are on the disk before the first of them
// gets its name, and the text comes last: until then a failure can be taken back.
func (f *folder) saveBoth(name, result string, out AgentOutput) (err error) {
	var temps []string
	defer func() {
		for _, tmp := range temps {
			_ = f.fs.Remove(tmp) // those that have got their name are not there
		}
	}()
	temp := func(data []byte) (string, error) {
		tmp, err := durable.Temp(f.fs, name, 0o600, func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
		if err == nil {
			temps = append(temps, tmp)
		}
		return tmp, err
	}
	text, err := temp([]byte(out.Text))
	if err != nil {
		return err
	}
	old, hadOld, err := f.before(result)
	if err != nil {
		return err
	}
	switch {
	case out.Result != nil:
		var tmp string
		if tmp, err = temp(out.Result); err == nil {
			err = f.fs.Rename(tmp, result)
		}
	case hadOld:
		err = f.fs.Remove(result)
	}
	if err != nil {
		return err
	}
	if err = f.fs.Rename(text, name); err != nil {
		return errors.Join(err, f.restore(result, old, hadOld))
	}
	if err := f.fs.SyncDir("."); err != nil {
		return fmt.Errorf("it is in place, but may not survive a power cut: %w", err)
	}
	return nil
}

// before is what a structured result holds now.
func (f *folder) before(name string) (data []byte, there bool, err error) {
	if _, err := f.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	data, err = f.root.ReadFile(name)
	return data, err == nil, err
}

// restore brings a structured result back to what it was.
func (f *folder) restore(name string, data []byte, there bool) error {
	if there {
		return durable.Save(f.fs, name, data, 0o600)
	}
	if err := f.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Agents lists the outputs of subagents by their ids, in the order of names.
func (s *Store) Agents() ([]Info, error) {
	return s.list(func(name string) (ID, string, bool) {
		id, ok := strings.CutSuffix(name, ".md")
		return ID(id), "", ok && id != ""
	})
}

// openOutput opens an answer, or its structured result. The id is looked up among
// the names of the folder, so it cannot lead anywhere else.
func (s *Store) openOutput(id string, structured bool) (*File, error) {
	if id == "" {
		return nil, fmt.Errorf("%w: agent:// needs the id of an output, as in agent://0-name", ErrURL)
	}
	f, err := s.open()
	if err != nil {
		return nil, err
	}
	defer f.close()
	list, err := f.entries()
	if err != nil {
		return nil, err
	}
	suffix := ".md"
	if structured {
		suffix = ".json"
	}
	var ids []string
	for _, e := range list {
		if e.Name() == id+suffix {
			file, info, err := f.open(e.Name())
			if err != nil {
				return nil, fmt.Errorf("output %s: %w", id, err)
			}
			return &File{file, Info{ID(id), "", e.Name(), info.Size(), info.ModTime()}}, nil
		}
		if stem, ok := strings.CutSuffix(e.Name(), ".md"); ok && stem != "" {
			ids = append(ids, stem)
		}
	}
	return nil, fmt.Errorf("output %s: %w\nAvailable: %s", strconv.Quote(id), ErrNotFound, available(ids))
}

// OpenAgent opens the answer of a subagent.
func (s *Store) OpenAgent(id AgentID) (*File, error) { return s.openOutput(string(id), false) }
