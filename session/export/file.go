package export

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/piweb-go/piweb/internal/durable"
)

// File makes a file of what write gives, synced. A file that exists is an error
// (fs.ErrExist) and stays as it is, unless it may be replaced; then readers see
// the old one or the new one, never a part. On error nothing is left behind.
func File(path string, replace bool, write func(io.Writer) error) error {
	if !replace {
		return create(path, write)
	}
	var suffix [8]byte
	if _, err := rand.Read(suffix[:]); err != nil {
		return err
	}
	dir, base := filepath.Split(path)
	tmp := filepath.Join(dir, "."+base+"."+hex.EncodeToString(suffix[:])+".tmp")
	if err := create(tmp, write); err != nil {
		return err
	}
	if err := (durable.OS{}).Rename(tmp, path); err != nil {
		return errors.Join(fmt.Errorf("replace %s: %w", path, err), os.Remove(tmp))
	}
	return durable.OS{}.SyncDir(filepath.Dir(path))
}

func create(path string, write func(io.Writer) error) error {
	f, err := durable.Create(durable.OS{}, path, nil, 0o644)
	if err != nil {
		return fmt.Errorf("create the export: %w", err)
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return errors.Join(err, durable.OS{}.Remove(path))
	}
	return durable.OS{}.SyncDir(filepath.Dir(path))
}
