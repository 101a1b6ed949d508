package signed

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/piweb-go/piweb/internal/confine"
	"github.com/piweb-go/piweb/internal/durable"
)

// maxFile bounds a file of secrets, in bytes.
const maxFile = 64 << 10

// Load reads keys from a file of ours: one secret a line, the first signs. Where
// there is no file it makes one with a fresh secret, which the owner alone can
// read; of several processes that start together all get the same. To rotate, put
// a new line on top, and take the old one away once its references have ended.
func Load(fsys durable.FS, path string) (*Keys, error) {
	k, err := read(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if err := create(fsys, path); err != nil {
		return nil, fmt.Errorf("signed: make a secret in %s: %w", path, err)
	}
	return read(path)
}

func read(path string) (*Keys, error) {
	data, err := confine.ReadRegular(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("signed: read the secret: %w", err)
	}
	var secrets []string
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			secrets = append(secrets, string(line))
		}
	}
	if len(secrets) == 0 {
		return nil, fmt.Errorf("signed: %s holds no secret; remove the file to get a new one", path)
	}
	return NewKeys(secrets[0], secrets[1:]...)
}

// create makes the file whole and under its own name in one step, and gives way
// to another that was quicker.
func create(fsys durable.FS, path string) error {
	dir := filepath.Dir(path)
	if err := fsys.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var secret [32]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return err
	}
	tmp, err := durable.Temp(fsys, path, 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, hex.EncodeToString(secret[:])+"\n")
		return err
	})
	if err != nil {
		return err
	}
	err = fsys.Link(tmp, path)
	switch {
	case err == nil, errors.Is(err, fs.ErrExist):
		_ = fsys.Remove(tmp)
	default: // no hard links here
		if err := fsys.Rename(tmp, path); err != nil {
			_ = fsys.Remove(tmp)
			return err
		}
	}
	return fsys.SyncDir(dir)
}

// Secret is the secret of a file that signs, for a program of ours that is started
// to sign as we do. The file is made where there is none.
func Secret(fsys durable.FS, path string) (string, error) {
	k, err := Load(fsys, path)
	if err != nil {
		return "", err
	}
	return string(k.secrets[0]), nil
}
