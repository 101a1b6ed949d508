// Package document reads text files that somebody has named for a task, and writes
// them as the block that a model reads behind it.
//
// Both the files that a subagent is started with and those that a person mentions
// come through here, so both have the same limits and the same form. Files are
// opened through the folder's root, by the path that their links lead to, and are
// read once: what was checked is what is shown.
//
// What may be touched here: limits, decoding, the form of the block. What not: who
// may name files, and where the block goes. The package writes nothing.
//
// Source of limits, order of checks and form: pi-web 0.9.3, "input_files".
package document

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/piweb-go/piweb/internal/confine"
)

// The limits of one task.
const (
	MaxFiles = 8
	MaxBytes = 524288 // of all files together, inclusive
)

// The reasons for which files are refused; match them with errors.Is. The message
// names the file as it was asked for.
var (
	ErrTooMany  = errors.New("too many files")
	ErrEmpty    = errors.New("the path must not be empty")
	ErrMissing  = errors.New("the file does not exist")
	ErrOutside  = errors.New("the file is outside the session cwd")
	ErrNotFile  = errors.New("this is not a file")
	ErrTotal    = errors.New("the files exceed the total limit")
	ErrEncoding = errors.New("the file is not valid UTF-8")
)

// Limits bound the files of one task; zero fields are MaxFiles and MaxBytes.
type Limits struct {
	Files int
	Bytes int64
}

func (l Limits) orDefaults() Limits {
	if l.Files <= 0 {
		l.Files = MaxFiles
	}
	if l.Bytes <= 0 {
		l.Bytes = MaxBytes
	}
	return l
}

// Document is a text file, or some lines of one.
type Document struct {
	Path    string // below the folder, with forward slashes, without links
	Content string // without a byte order mark
	From    int    // first line, from 1; 0 for the whole
	To      int
}

// Read reads files below a folder, in the order in which they are named. The first
// that cannot be had ends it with an error, and nothing comes back. A file that is
// named twice, by whatever path, is there once.
func Read(root *confine.Root, names []string, limits Limits) ([]Document, error) {
	limits = limits.orDefaults()
	if len(names) > limits.Files {
		return nil, fmt.Errorf("%w: at most %d can be given, not %d", ErrTooMany, limits.Files, len(names))
	}
	var docs []Document
	left := limits.Bytes
	taken := map[string]bool{}
	for _, name := range names {
		rel, err := locate(root, name)
		if err != nil {
			return nil, err
		}
		if taken[rel] {
			continue
		}
		taken[rel] = true
		doc, size, err := read(root, name, rel, left)
		if errors.Is(err, confine.ErrTooBig) {
			return nil, fmt.Errorf("%w of %d bytes: %s", ErrTotal, limits.Bytes, name)
		}
		if err != nil {
			return nil, err
		}
		left -= size
		docs = append(docs, doc)
	}
	return docs, nil
}

// locate finds the link-free path of a file.
func locate(root *confine.Root, name string) (rel string, err error) {
	if strings.TrimSpace(name) == "" {
		return "", ErrEmpty
	}
	rel, info, err := root.Resolve(name)
	switch {
	case errors.Is(err, confine.ErrOutside):
		return "", fmt.Errorf("%w: %s", ErrOutside, name)
	case err != nil:
		return "", fmt.Errorf("%w: %s", ErrMissing, name)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%w: %s", ErrNotFile, name)
	}
	return rel, nil
}

// read reads a located file, at most limit bytes.
func read(root *confine.Root, name, rel string, limit int64) (doc Document, size int64, err error) {
	data, err := readPlain(root, rel, limit)
	switch {
	case errors.Is(err, confine.ErrTooBig):
		return doc, 0, err
	case errors.Is(err, confine.ErrOutside):
		return doc, 0, fmt.Errorf("%w: %s", ErrOutside, name)
	case errors.Is(err, confine.ErrNotRegular):
		return doc, 0, fmt.Errorf("%w: %s", ErrNotFile, name)
	case errors.Is(err, fs.ErrNotExist):
		return doc, 0, fmt.Errorf("%w: %s", ErrMissing, name)
	case err != nil:
		return doc, 0, fmt.Errorf("read %s: %w", name, err)
	}
	if !utf8.Valid(data) {
		return doc, 0, fmt.Errorf("%w: %s", ErrEncoding, name)
	}
	text := bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	return Document{Path: filepath.ToSlash(rel), Content: string(text)}, int64(len(data)), nil
}

// readPlain reads the file that lies at a path itself, so that the path is true: a
// link that was put on the way since may lead elsewhere in the folder.
func readPlain(root *confine.Root, rel string, limit int64) ([]byte, error) {
	f, _, err := root.OpenPlain(rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return confine.ReadOpen(f, limit)
}

// Lines is the part of a document between two lines, both in it and counted from
// 1. What goes beyond the end is left out.
func (d Document) Lines(from, to int) Document {
	if from <= 0 {
		return d
	}
	rest, n := d.Content, 1
	for ; n < from; n++ {
		_, after, ok := strings.Cut(rest, "\n")
		if !ok {
			rest = ""
			break
		}
		rest = after
	}
	end := 0
	for ; n <= to && end < len(rest); n++ {
		at := strings.IndexByte(rest[end:], '\n')
		if at < 0 {
			end = len(rest)
			break
		}
		end += at + 1
	}
	d.Content, d.From, d.To = strings.TrimSuffix(rest[:end], "\n"), from, to
	return d
}

// Append writes documents behind a task. Without any the task stays as it is.
//
// Content is not escaped, so that a model reads a file as it is. Where it holds
// the closing tag, that of its document carries a suffix, which the opening tag
// names and the content does not hold.
func Append(task string, docs []Document) string {
	if len(docs) == 0 {
		return task
	}
	blocks := make([]string, 0, len(docs))
	for _, d := range docs {
		blocks = append(blocks, d.block())
	}
	return task + "\n\n<documents>\n" + strings.Join(blocks, "\n\n") + "\n</documents>"
}

func (d Document) block() string {
	open, end := "<document path="+quote(d.Path), "</document>"
	if d.From > 0 {
		open += fmt.Sprintf(` lines="%d-%d"`, d.From, max(d.From, d.To))
	}
	if held := strings.ToLower(d.Content); strings.Contains(held, "</document") {
		suffix := suffixFor(held)
		open += ` suffix="` + suffix + `"`
		end = "</document-" + suffix + ">"
	}
	return open + ">\n" + d.Content + "\n" + end
}

// suffixFor is a word that a text does not hold and cannot foresee. It comes from
// the text itself, so that the same task is the same bytes.
func suffixFor(text string) string {
	for seed := text; ; seed += "." {
		sum := sha256.Sum256([]byte(seed))
		if suffix := hex.EncodeToString(sum[:8]); !strings.Contains(text, suffix) {
			return suffix
		}
	}
}

// quote is a JSON string in which <, > and other letters stay as they are.
func quote(path string) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(path) // a string always encodes
	text := strings.TrimSuffix(out.String(), "\n")
	// JSON escapes these two; they are letters like others.
	return strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(text)
}
